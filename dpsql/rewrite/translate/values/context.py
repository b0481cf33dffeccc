"""The context in which one SELECT's expressions are translated, and the refusal of all that it lacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Facts, IntervalValue, Ref, refs, with_refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import excerpt
from dpsql.rewrite.syntax.read.trees import holds
from dpsql.rewrite.translate.public.constants import Constants

# The expression that a name stands for inside one SELECT: PostgreSQL's rules, over the names that FROM offers.


def every_column(ref: Ref) -> None:
    """Let any column be named."""
    del ref


@dataclass(frozen=True, slots=True)
class Names:
    """The tables of a FROM clause by alias, each with its columns in order."""

    tables: Mapping[str, Mapping[str, Expr]]
    around: "Names | None" = None
    """The names of the query around this one, for those that nothing here has."""
    require: Callable[[Ref], None] = every_column
    """Checks that the role may name a column of a table."""

    def behind(self, sources: int, around: "Names") -> "Names":
        """Return what the names mean where so many other sources stand before theirs, which `around` offers."""

        def change(ref: Ref) -> Ref:
            return replace(ref, source=ref.source + sources)

        return replace(self.changed(lambda expr: with_refs(expr, change)), around=around)

    def changed(self, change: Callable[[Expr], Expr]) -> "Names":
        """Return what the names mean where each expression has become another."""
        tables = {alias: {n: change(e) for n, e in place.items()} for alias, place in self.tables.items()}
        return replace(self, tables=tables)

    def find(self, column: exp.Column) -> Expr:
        """Return what `column` stands for.

        Raises:
            Unsupported: nothing here has that name.
        """
        name, table = fold(column.this), fold(column.args.get("table"))
        place = self.tables.get(table)
        # PostgreSQL has put its table before each column (`bind`): a table that is not here is one of the query around.
        if place is None and self.around is not None:
            return self.around.find(column)
        if place is None or name not in place:
            raise Unsupported(
                f'"{column.sql()}" is not a column of a protected table here',
                because="column-not-found",
                hint="\\d and dpsql.columns show what there is.",
            )
        return self.named(place[name])

    def row(self, whole: exp.Column) -> tuple[Expr, ...]:
        """Return the columns of a row as a whole, `t.*`; the role may name all of them.

        Raises:
            DpsqlError: it may not, or nothing here has that name.
        """
        place = self.tables.get(fold(whole.args.get("table")))
        if place is None:
            raise Unsupported(f'"{whole.sql()}" is not a row of a protected table here', because="column-not-found")
        return tuple(map(self.named, place.values()))

    def named(self, expr: Expr) -> Expr:
        """Return what a name stands for, if the role may name all that it is made of.

        Raises:
            AccessDenied: it is made of a column that they may not.
        """
        for ref in refs(expr):
            self.require(ref)
        return expr

    def all(self) -> Mapping[str, Expr]:
        """Return what `*` stands for."""
        return {name: expr for place in self.tables.values() for name, expr in place.items()}


def rename_columns(relation: Relation, alias: exp.Expr | None) -> Relation:
    """Return the relation with the column names of `AS t (a, b)`."""
    new = [fold(column) for column in (alias.args.get("columns") or ())] if isinstance(alias, exp.TableAlias) else []
    if not new:
        return relation
    old = list(relation.columns.items())
    names = [*new, *(name for name, _ in old[len(new) :])]
    return replace(relation, columns={name: e for name, (_, e) in zip(names, old, strict=False)})


MICROS = "micros"
"""The function that changes nothing but whether a number, or a time of the day or an interval, is meant."""
_MOST_OPERATIONS = 5_000
"""Of one expression: analysing ten times as many keeps a statement's planning busy for seconds."""

_READ: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Is: frozenset({"negate", "unknown"}), exp.Like: frozenset({"negate"}), exp.ILike: frozenset({"negate"}),
    exp.Div: frozenset({"typed"}), exp.DPipe: frozenset({"safe"}),
    exp.JSONExtract: frozenset({"only_json_types"}), exp.JSONExtractScalar: frozenset({"only_json_types"}),
}  # fmt: skip
"""The parser's flags of a node beside its parts, such as NOT; a version with more of them is not believed to say less."""


@dataclass(frozen=True, slots=True)
class IntervalTimes:
    """A constant interval times a whole number: exists only until it is added to a timestamp."""

    number: Expr
    span: IntervalValue


@dataclass(frozen=True, slots=True)
class ElapsedTime:
    """The interval between two times, as `t - u` has it."""

    later: Expr
    earlier: Expr

    @property
    def micros(self) -> Expr:
        """Return how long it is, in microseconds."""
        return Apply("elapsed", (self.later, self.earlier), SqlType.BIGINT)

    @property
    def span(self) -> Expr:
        """Return it as a value, of which a column can be made; it has no parts then, such as days, but its length."""
        return Apply(MICROS, (self.micros,), SqlType.INTERVAL)


@dataclass(frozen=True, slots=True)
class Age:
    """The interval between two times, as `age(t, u)` counts it: exists only until a number is made of it."""

    later: Expr
    earlier: Expr


Duration = ElapsedTime | Age
Operand = Expr | IntervalValue | IntervalTimes | Duration
"""The things that may stand in an expression: a value of each row, or an interval."""


@dataclass(frozen=True, slots=True)
class Translator:
    """One SELECT's names, the statement's constants, and the facts about columns."""

    names: Names
    constants: Constants
    facts_of: Callable[[Expr], Facts]
    handlers: Mapping[type[exp.Expr], "Handler"]
    public: Callable[[exp.Expr], exp.Expr | None]
    """Returns a query with its CTEs in their places; None if it reads anything but public tables."""
    inner: Mapping[int, Expr] = field(default_factory=dict)
    """Inner queries among these expressions, and tests of their values, by their nodes."""
    by_value: bool = True
    """Whether the shadow may be asked what a function makes of each of few values."""
    facts_in_rows: Callable[[Expr], Facts] | None = None
    """The facts about expressions in the rows that WHERE leaves; None where there are no others, or not yet."""
    zoned: dict[int, tuple[exp.Expr, bool]] = field(init=False, repr=False, compare=False, default_factory=dict)
    on_clock: dict[Expr, Expr] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Of times with a zone that were made of days what the session's clock shows: the days."""
    """By nodes that were looked at, whether they are times with a zone."""

    def expression(self, node: exp.Expr) -> Expr:
        """Return the expression.

        Raises:
            Unsupported: with the construct that is not allowed over private rows.
        """
        return self.value(self.operand(node))

    def value(self, operand: Operand) -> Expr:
        """Return an operand as a value of each row.

        Raises:
            Unsupported: it is an age, or has months.
        """
        if isinstance(operand, IntervalTimes) or (isinstance(operand, IntervalValue) and operand.months):
            raise Unsupported("an interval is not a value of a column here", because="interval-as-value")
        if isinstance(operand, IntervalValue):
            return Apply(MICROS, (Const(operand.days * DAY + operand.micros, SqlType.BIGINT),), SqlType.INTERVAL)
        if isinstance(operand, Age):
            raise Unsupported(
                "an age is not a value of a column here",
                because="interval-as-value",
                hint="Write t - u for the time between two others, or extract(year FROM age(t, u)).",
            )
        return operand.span if isinstance(operand, ElapsedTime) else operand

    def operand(self, node: exp.Expr, *, endless: bool = False) -> Operand:
        """Return the expression, or the interval; a constant that is not finite where it may be `endless`."""
        if id(node) in self.inner:
            return self.inner[id(node)]
        if not isinstance(node, exp.Column) and _may_be_constant(node):
            return self.constants.of(node, endless=endless)
        # Refused are both a kind of node that nobody knows, and a flag on a known one, such as a NOT, which nobody would
        # read.
        handler = self.handlers.get(type(node))
        if handler is None or any(v is True and k not in _READ.get(type(node), ()) for k, v in node.args.items()):
            raise unknown_construct(node, because="construct-not-known")
        return _not_too_large(handler(self, node), node)


Handler = Callable[[Translator, exp.Expr], Operand]


def unknown_construct(node: exp.Expr, *, because: str) -> Unsupported:
    """Return the error for a construct that is not known here; `because` is the code of the rule that it breaks."""
    text = excerpt(node)
    if isinstance(node, exp.Exists):
        return Unsupported(
            "EXISTS is supported over private rows as a condition of WHERE only",
            because=because,
            hint="It may be one of those that AND joins; or write x IN (SELECT … FROM a public table).",
        )
    return Unsupported(
        f"{text} is not supported over private rows",
        because=because,
        hint="docs/sql/expressions.md lists the supported functions.",
    )


def _not_too_large(operand: Operand, node: exp.Expr) -> Operand:
    """Refuse at once what grows with every step: of `x BETWEEN 1 AND 2` there are two `x`, of 20 in each other a million."""
    if isinstance(operand, Apply) and operand.operations > _MOST_OPERATIONS:
        raise Unsupported(
            f"{excerpt(node)} takes {operand.operations:,} operations a row, the limit is {_MOST_OPERATIONS:,}",
            because="too-many-operations",
            hint="Nest fewer operations in each other. Where a clock changes, arithmetic by days is simpler behind it: "
            "(t AT TIME ZONE 'Europe/Berlin') + interval '1 day'.",
        )
    return operand


_VARYING = (exp.Column, exp.Star, exp.Query, exp.Subquery, exp.Window, exp.Filter, exp.WithinGroup)


def _may_be_constant(node: exp.Expr) -> bool:
    while isinstance(node, exp.Cast):  # none of them is in a type
        node = node.this
    return not holds(node, *_VARYING)
