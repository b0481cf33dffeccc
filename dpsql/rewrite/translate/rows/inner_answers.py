"""Inner queries over released rows, among private rows: their answers are awaited, as sources of the relation.

fare > (SELECT avg(fare) FROM trips)                  →  s1 is the answer, one row of one value; fare > s1.avg
WHERE zone IN (SELECT zone FROM … ORDER BY … LIMIT 3) →  s1 is the answer, each value once, ON zone = s1.zone
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.constant_table import AnswerForm, AwaitedTable
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Expr, Ref
from dpsql.rewrite.ir.relation import Join, Relation, Source, ref
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.translate.values.comparisons import compare
from dpsql.rewrite.translate.values.context import Translator

_BOOL = SqlType.BOOLEAN


def with_inner_answers(
    relation: Relation, select: exp.Select, tables: Mapping[int, AwaitedTable], t: Translator
) -> tuple[Relation, Translator]:
    """Return the relation with the answers that the expressions of a SELECT wait for, and the translator that knows them.

    `tables` has the answers by the nodes that ask for them.
    """
    if not tables:
        return relation, t
    where, waiting = select.args.get("where"), _Waiting(relation, t)
    certain = set() if where is None else {id(conjunct) for conjunct in conjuncts_of(where.this)}
    answers: dict[int, Expr] = {}
    for node in _own(select):
        if isinstance(node, exp.In) and id(node.args.get("query")) in tables:
            table = tables[id(node.args["query"])]
            answers[id(node)] = waiting.among(table, node, certain=id(node) in certain)
        elif id(node) in tables and not isinstance(node.parent, (exp.From, exp.Join, exp.In)):
            table = tables[id(node)].as_form(AnswerForm.SCALAR)
            if table.several:
                raise value_of_several_rows()
            answers[id(node)] = waiting.joined(table, Join.INNER, TRUE, table.column().name)
    return waiting.relation, replace(t, inner=answers)


def value_of_several_rows() -> Unsupported:
    """Return the refusal of a query that stands for one value and may have several rows, for all that anybody knows."""
    return Unsupported(
        "a subquery that stands for one value may have several rows",
        because="value-of-several-rows",
        hint="Add ORDER BY and LIMIT 1, aggregate it, name its one row in its WHERE, or write IN.",
    )


def _own(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the nodes of a SELECT that stand in no query below it; of those the first one."""
    for node in select.walk(prune=lambda child: isinstance(child, exp.Query) and child is not select):
        if node is not select:
            yield node


@dataclass(slots=True)
class _Waiting:
    """A relation to which answers are joined."""

    relation: Relation
    t: Translator

    def joined(self, table: AwaitedTable, join: Join, on: Expr, name: str) -> Ref:
        """Join an answer, and return one of its columns."""
        place = len(self.relation.sources)
        self.relation = replace(self.relation, sources=(*self.relation.sources, Source(table, join, on)))
        return ref(place, table, name, optional=join is Join.LEFT)

    def among(self, table: AwaitedTable, node: exp.In, *, certain: bool) -> Expr:
        """Return `x IN (query)`, in SQL's three values: without values it is false, with NULL among them never.

        Where it is `certain` that each row is to be among the values, the join sees to it.
        """
        x, values = self.t.expression(node.this), table.as_form(AnswerForm.VALUES)
        join, name = Join.INNER if certain else Join.LEFT, table.column().name
        value = ref(len(self.relation.sources), values, name, optional=not certain)
        condition = compare(self.t, "eq", x, value, node)
        self.t.facts_of(condition)  # refuses what could overflow on some row
        self.joined(values, join, condition, name)
        if certain:
            return TRUE
        facts = table.as_form(AnswerForm.FACTS)
        some = self.joined(facts, Join.INNER, TRUE, "some")
        nulls = replace(some, name="nulls", column=facts.columns["nulls"])
        is_found = Apply("not", (Apply("is_null", (value,), _BOOL),), _BOOL)
        is_unknown = Apply("or", (Apply("is_null", (x,), _BOOL), nulls), _BOOL)
        cases = (is_found, TRUE, Apply("not", (some,), _BOOL), FALSE, is_unknown, Const(None, _BOOL), FALSE)
        return Apply("case", cases, _BOOL)
