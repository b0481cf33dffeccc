"""SQL for the shadow that planning asks: written by us from a tree of allowed constants, never a client's own text.

Promise: what is spelled has no side effect, and nothing of a client's text is in it but numbers that match a pattern,
names in double quotes, and strings in quotes of our own. Names that are not listed are refused.

    extract(epoch FROM x)  →  extract('epoch' FROM "x")          now() - '1 day'  →  (pg_catalog.now() - '1 day')
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlglot import exp

from dpsql.policy.model import TableName
from dpsql.question import Argument
from dpsql.rewrite.ir.literal import (
    AGGREGATES,
    CLOCKS,
    PLAIN_FUNCTIONS,
    SERIES_FUNCTIONS,
    SYNTAX_FUNCTIONS,
    TEMPORAL,
    SpelledSql,
    UnspeakableError,
    literal,
    number,
    only,
    quoted_name,
    type_name,
    word,
)
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import ViewRead, render
from dpsql.rewrite.syntax.whole.single_row import OPERATORS, PARTIAL

# Writing one tree for the shadow, rule by rule: what has no rule is not written.
#
# lpad(name, 3)  →  pg_catalog.lpad("name", 3)

# 'now'::timestamp is the time at which PostgreSQL reads the text, and so is one in '{yesterday,today}'::date[].
_CLOCK_WORDS = re.compile(r"(?<![a-z])(?:now|today|tomorrow|yesterday)(?![a-z])", re.IGNORECASE | re.ASCII)
_PADS = frozenset({"lpad", "rpad"})
_PADDED = 100_000
"""Characters to which a constant may be padded."""


class Speller:
    """Spells one tree; remembers whether a clock is in it."""

    def __init__(
        self,
        arguments: Sequence[Argument],
        rules: Mapping[type, "Rule"],
        operators: Mapping[type, str],
        *,
        queries: "Rule | None",
    ) -> None:
        self._arguments = arguments
        self._rules, self._operators = rules, operators
        self._queries = queries
        self.volatile = False
        self.row_names = frozenset[str]()
        """The names that stand for the rows of a query around what is spelled."""

    def of(self, node: object) -> str:
        """Return one expression, in parentheses where it has an operator."""
        if not isinstance(node, exp.Expr):
            raise UnspeakableError
        rule, operator = self._rules.get(type(node)), self._operators.get(type(node))
        if rule is not None:
            return rule(self, node)
        if operator is None:
            raise UnspeakableError
        return self._binary(node, operator)

    def list(self, nodes: Sequence[exp.Expr]) -> str:
        """Return expressions with commas between."""
        return ", ".join(self.of(node) for node in nodes)

    def string(self, text: str) -> str:
        """Return a string, and note whether PostgreSQL might read it as a time that moves."""
        self.volatile = self.volatile or _CLOCK_WORDS.search(text) is not None
        return literal(text)

    def cast(self, value: str, type_: str, *, is_constant: bool) -> str:
        """Return a cast; a text that is no constant (`is_constant`) may be made by functions, and name a time that moves."""
        spelled, name = type_name(type_)
        self.volatile = self.volatile or (name in TEMPORAL and not is_constant)
        return f"CAST({value} AS {spelled})"

    @contextmanager
    def knowing(self, name: str) -> Iterator[None]:
        """Let a name stand for the rows of a query."""
        before, self.row_names = self.row_names, self.row_names | {name}
        yield
        self.row_names = before

    def query(self, node: exp.Expr) -> str:
        """Return a query, where queries are allowed."""
        if self._queries is None:
            raise UnspeakableError
        return self._queries(self, node)

    def _binary(self, node: exp.Expr, operator: str) -> str:
        only(node, "this", "expression", "negate", "typed", "safe")
        text = f"({self.of(node.this)} {operator} {self.of(node.args['expression'])})"
        return f"(NOT {text})" if node.args.get("negate") else text

    def call(self, node: exp.Expr) -> str:
        """Return the call of an allowed function, in PostgreSQL's own schema."""
        name = node.this if isinstance(node.this, str) else fold(node.this)
        name = name.lower() if isinstance(node.this, str) else name
        if name in SYNTAX_FUNCTIONS:
            return f"{name}({self.list(node.expressions)})"
        if self._queries is not None and name in AGGREGATES:
            return f"pg_catalog.{name}({self._aggregated(node.expressions)})"
        if name not in (PLAIN_FUNCTIONS if self._queries is None else PLAIN_FUNCTIONS | SERIES_FUNCTIONS):
            raise UnspeakableError
        if name in _PADS and not (len(node.expressions) > 1 and _is_short(node.expressions[1])):
            raise UnspeakableError
        self.volatile = self.volatile or name in CLOCKS or (name == "age" and len(node.expressions) == 1)
        return f"pg_catalog.{name}({self.list(node.expressions)})"

    def _aggregated(self, nodes: Sequence[exp.Expr]) -> str:
        if len(nodes) == 1 and isinstance(nodes[0], exp.Star):
            return "*"
        if len(nodes) == 1 and isinstance(nodes[0], exp.Distinct):
            return f"DISTINCT {self.list(nodes[0].expressions)}"
        return self.list(nodes)

    def parameter(self, node: exp.Expr) -> str:
        """Return the value that was bound."""
        argument = self._arguments[int(node.name) - 1]
        value = "NULL" if argument.text is None else self.string(argument.text)
        return self.cast(value, argument.type, is_constant=True)


def _is_short(node: exp.Expr) -> bool:
    """Return whether a length is written as a number that is padded to in no time; PostgreSQL pads without a pause."""
    return (
        isinstance(node, exp.Literal)
        and not node.is_string
        and str(node.this).isdecimal()
        and int(node.this) <= _PADDED
    )


Rule = Callable[[Speller, exp.Expr], str]
"""How one kind of node is spelled."""


# Queries over public rows as the shadow is asked them: each clause, and each element of FROM, is known by name or refused.
#
# SELECT zone FROM zones WHERE name = 'JFK'  →  SELECT "zone" FROM "public"."zones" WHERE ("name" = 'JFK')
# generate_series(1, 9) AS g                 →  (SELECT pg_catalog.generate_series(1, 9)) AS "g" ("g")

_SIDES = frozenset({"", "LEFT", "RIGHT", "FULL"})
_KINDS = frozenset({"", "INNER", "OUTER", "CROSS"})
_SETS: Mapping[type[exp.Expr], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_CLAUSES = ("expressions", "distinct", "from_", "joins", "where", "group", "having", "kind", "order", "limit", "offset")


def spelled_query(s: Speller, node: exp.Expr) -> str:
    """Return a query without CTEs over constants and tables in `public`."""
    match node:
        case exp.Select():
            return _select(s, node)
        case exp.Subquery():
            only(node, "this")
            return f"({spelled_query(s, node.this)})"
        case exp.Union() | exp.Intersect() | exp.Except():
            only(node, "this", "expression", "distinct", "order", "limit", "offset")
            how = f"{_SETS[type(node)]}{'' if node.args.get('distinct') else ' ALL'}"
            return f"{_side(s, node.this)} {how} {_side(s, node.expression)}{spelled_tail(s, node)}"
        case _:
            raise UnspeakableError


def _side(s: Speller, node: exp.Expr) -> str:
    text = spelled_query(s, node)
    return text if isinstance(node, exp.Subquery) else f"({text})"


def _select(s: Speller, node: exp.Select) -> str:
    with_ = node.args.get("with_")
    if with_ is not None:
        return _recursive(s, node, with_)
    only(node, *_CLAUSES)
    distinct, source, joins = node.args.get("distinct"), node.args.get("from_"), node.args.get("joins") or []
    if (distinct and distinct.args.get("on")) or node.args.get("kind"):
        raise UnspeakableError
    outputs = ", ".join(_output(s, output) for output in node.expressions)
    parts = [f"SELECT {'DISTINCT ' if distinct else ''}{outputs}"]
    parts += [] if source is None else [f"FROM {spelled_source(s, source.this)}"]
    parts += [_join(s, join) for join in joins]
    where, group, having = (node.args.get(name) for name in ("where", "group", "having"))
    parts += [] if where is None else [f"WHERE {s.of(where.this)}"]
    if group is not None:
        only(group, "expressions")
        parts.append(f"GROUP BY {s.list(group.expressions)}")
    parts += [] if having is None else [f"HAVING {s.of(having.this)}"]
    return " ".join(parts) + spelled_tail(s, node)


def _recursive(s: Speller, node: exp.Select, with_: exp.Expr) -> str:
    """Return a query over the rows of one that names itself."""
    only(with_, "expressions", "recursive")
    (cte,) = with_.expressions
    only(cte, "this", "alias", "materialized")
    plain, name = node.copy(), fold(cte.args["alias"].this)
    plain.set("with_", None)
    # The name stands for its rows in itself and in the query over it; anywhere else it is a table's.
    with s.knowing(name):
        return f"WITH RECURSIVE{_called(cte)[3:]} AS ({spelled_query(s, cte.this)}) {_select(s, plain)}"


def spelled_tail(s: Speller, node: exp.Expr) -> str:
    """Return ORDER BY, LIMIT and OFFSET."""
    text, order = "", node.args.get("order")
    if order is not None:
        only(order, "expressions")
        text = f" ORDER BY {', '.join(_ordered(s, key) for key in order.expressions)}"
    for name in ("limit", "offset"):
        clause = node.args.get(name)
        if clause is not None:
            only(clause, "expression")
            text += f" {name.upper()} {s.of(clause.expression)}"
    return text


def _ordered(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "desc", "nulls_first")
    nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
    return f"{s.of(node.this)} {'DESC' if node.args.get('desc') else 'ASC'} NULLS {nulls}"


def _output(s: Speller, node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return f"{s.of(node.this)} AS {quoted_name(fold(node.args['alias']))}"
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return f"{quoted_name(fold(node.args.get('table')))}.*"
    return "*" if isinstance(node, exp.Star) and not any(node.args.values()) else s.of(node)


def spelled_source(s: Speller, node: exp.Expr) -> str:
    """Return an element of FROM."""
    match node:
        case exp.Values():
            only(node, "expressions", "alias")
            return f"(VALUES {', '.join(_row(s, row) for row in node.expressions)}){_called(node)}"
        case ViewRead():  # of public rows: PostgreSQL has the view, for any query of it
            return f"{TableName.of(node.view).quoted}{_called(node)}"
        case exp.Subquery():
            only(node, "this", "alias")
            return f"({spelled_query(s, node.this)}){_called(node)}"
        case exp.Table(this=exp.Anonymous() as call):
            only(node, "this", "alias", "ordinality")
            if str(call.this).lower() == "unnest":
                numbered = " WITH ORDINALITY" if node.args.get("ordinality") else ""
                return f"unnest({s.list(call.expressions)}){numbered}{_called(node)}"
            return _series(s, node, call)
        case exp.Table():
            only(node, "this", "db", "alias")
            # zones  →  "public"."zones": no search path decides which table is read.
            name = fold(node.this)
            of_rows = not node.args.get("db") and name in s.row_names
            return f"{quoted_name(name) if of_rows else TableName.of(name).quoted}{_called(node)}"
        case _:
            raise UnspeakableError


def _row(s: Speller, node: exp.Expr) -> str:
    return f"({s.list(node.expressions) if isinstance(node, exp.Tuple) else s.of(node)})"


def _series(s: Speller, node: exp.Expr, call: exp.Anonymous) -> str:
    """Return a series as a query that makes its rows one by one: FROM would write all of them down before the first."""
    plain = str(call.this).lower() == "generate_series" and not node.args.get("ordinality")
    if not plain or not 2 <= len(call.expressions) <= 3:
        raise UnspeakableError
    alias = node.args.get("alias")
    name = "generate_series" if alias is None else fold(alias.this)
    columns = [] if alias is None else alias.args.get("columns") or []
    column = fold(columns[0]) if columns else name
    text = f"pg_catalog.generate_series({s.list(call.expressions)})"
    return f"(SELECT {text}) AS {quoted_name(name)} ({quoted_name(column)})"


def _called(node: exp.Expr) -> str:
    """Return ` AS name (columns)`, nothing where it has no name."""
    alias = node.args.get("alias")
    if alias is None:
        return ""
    only(alias, "this", "columns")
    columns = ", ".join(quoted_name(fold(column)) for column in alias.args.get("columns") or ())
    return f" AS {quoted_name(fold(alias.this))}" + (f" ({columns})" if columns else "")


def _join(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "side", "kind", "on", "using")
    side, kind = (str(node.args.get(name) or "").upper() for name in ("side", "kind"))
    if side not in _SIDES or kind not in _KINDS:
        raise UnspeakableError
    using, on = node.args.get("using"), node.args.get("on")
    how = f" ON {s.of(on)}" if on is not None else ""
    how = f" USING ({', '.join(quoted_name(fold(name)) for name in using)})" if using else how
    return f"{side} {kind or ('' if how else 'CROSS')} JOIN {spelled_source(s, node.this)}{how}"


_BINARY: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^", exp.DPipe: "||",
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.And: "AND", exp.Or: "OR",
    exp.Like: "LIKE", exp.ILike: "ILIKE", exp.RegexpLike: "~", exp.RegexpILike: "~*",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_WORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date", exp.CurrentTimestamp: "current_timestamp", exp.Localtimestamp: "localtimestamp",
}  # fmt: skip
_RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist"})
_TOTAL = frozenset({"not_negative", "negative", "fits", *((PARTIAL & PLAIN_FUNCTIONS) - {"lpad", "rpad"})})
"""The functions in the schema `pg_dpsql` that take the place of PostgreSQL's."""
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "btrim"}


def spell(node: exp.Expr, arguments: Sequence[Argument] = (), *, queries: bool = False) -> SpelledSql:
    """Return the SQL of a constant, or of an expression in columns of public values; with `queries`, of a SELECT as well.

    Raises:
        UnspeakableError: something in it is not allowed.
    """
    speller = Speller(arguments, _RULES, _BINARY, queries=spelled_query if queries else None)
    try:
        return SpelledSql(speller.query(node) if isinstance(node, exp.Query) else speller.of(node), speller.volatile)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # a tree of a form that no rule thought of
        raise UnspeakableError from None


def _literal(s: Speller, node: exp.Expr) -> str:
    text = str(node.this)
    if node.is_string:
        return s.string(text)
    return number(text)


def _clock(s: Speller, node: exp.Expr) -> str:
    only(node)
    s.volatile = True
    return _WORDS[type(node)]


def _cast(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "to")
    is_constant = isinstance(node.this, (exp.Literal, exp.Null, exp.Parameter))
    return s.cast(s.of(node.this), render(node.args["to"].copy()), is_constant=is_constant)


def _case(s: Speller, node: exp.Expr) -> str:
    subject, default = node.args.get("this"), node.args.get("default")
    parts = ["CASE"] if subject is None else ["CASE", s.of(subject)]
    parts += [f"WHEN {s.of(branch.this)} THEN {s.of(branch.args['true'])}" for branch in node.args["ifs"]]
    return " ".join([*parts, "END"] if default is None else [*parts, f"ELSE {s.of(default)}", "END"])


def _in(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "expressions", "query")
    query = node.args.get("query")
    among = s.list(node.expressions) if query is None else s.query(query.this)
    return f"({s.of(node.this)} IN ({among}))"


def _is(s: Speller, node: exp.Expr) -> str:
    if not isinstance(node.args["expression"], (exp.Null, exp.Boolean)):
        raise UnspeakableError
    return f"({s.of(node.this)} IS {'NOT ' if node.args.get('negate') else ''}{s.of(node.args['expression'])})"


def _trim(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "expression", "position")
    name = _TRIMS[str(node.args.get("position") or "BOTH").upper()]
    return _function(name, "this", "expression")(s, node)


def _function(name: str, *parts: str) -> Rule:
    """Return the rule for syntax that is a function: `substring(a FROM b)` → `pg_catalog.substring(a, b)`."""

    def rule(s: Speller, node: exp.Expr) -> str:
        only(node, "position", *parts)
        return f"pg_catalog.{name}({', '.join(s.of(node.args[part]) for part in parts if node.args.get(part) is not None)})"

    return rule


def _dot(s: Speller, node: exp.Expr) -> str:
    call = node.args["expression"]
    if not isinstance(call, exp.Anonymous) or fold(node.this) not in {"pg_catalog", "pg_dpsql"}:
        raise UnspeakableError
    if fold(node.this) == "pg_catalog":
        return s.call(call)
    if call.this not in _TOTAL and not str(call.this).startswith("fits_"):
        raise UnspeakableError
    return f"pg_dpsql.{call.this}({s.list(call.expressions)})"


def _total_operator(s: Speller, node: exp.Expr) -> str:
    """Return an operator that is NULL where PostgreSQL's own would fail."""
    name = str(node.args["operator"])
    if name.removeprefix("pg_dpsql.") not in OPERATORS.values():
        raise UnspeakableError
    return f"({s.of(node.this)} OPERATOR({name}) {s.of(node.args['expression'])})"


def _window(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "partition_by", "order", "over")
    call = node.this
    ranks = isinstance(call, exp.Anonymous) and str(call.this).lower() in _RANKS and not call.expressions
    function = f"pg_catalog.{str(call.this).lower()}()" if ranks else s.of(call)
    by = [f"PARTITION BY {s.list(parts)}"] if (parts := node.args.get("partition_by")) else []
    return f"{function} OVER ({' '.join(by)}{spelled_tail(s, node)})"


def _column(s: Speller, node: exp.Expr) -> str:
    _ = s
    only(node, "this", "table")
    table = node.args.get("table")
    return ("" if table is None else quoted_name(fold(table)) + ".") + quoted_name(fold(node.this))


_RULES: Mapping[type, Rule] = {
    exp.Literal: _literal,
    exp.ByteString: lambda s, n: s.string(str(n.this)),
    exp.Null: lambda _s, _n: "NULL",
    exp.Boolean: lambda _s, n: "TRUE" if n.this else "FALSE",
    exp.Paren: lambda s, n: f"({s.of(n.this)})",
    exp.Neg: lambda s, n: f"(- {s.of(n.this)})",
    exp.Not: lambda s, n: f"(NOT {s.of(n.this)})",
    exp.Tuple: lambda s, n: f"({s.list(n.expressions)})",
    exp.Array: lambda s, n: f"ARRAY[{s.list(n.expressions)}]",
    exp.Parameter: lambda s, n: s.parameter(n),
    exp.Anonymous: lambda s, n: f"ALL ({s.list(n.expressions)})" if n.name.lower() == "all" else s.call(n),
    exp.Any: lambda s, n: f"ANY ({s.of(n.this)})",
    exp.Kwarg: lambda s, n: f"{word(n.this)} => {s.of(n.args['expression'])}",
    exp.CurrentDate: _clock,
    exp.CurrentTimestamp: _clock,
    exp.Localtimestamp: _clock,
    exp.Extract: lambda s, n: f"extract({literal(str(n.this.name).lower())} FROM {s.of(n.args['expression'])})",
    exp.AtTimeZone: lambda s, n: f"({s.of(n.this)} AT TIME ZONE {s.of(n.args['zone'])})",
    exp.Collate: lambda s, n: f"({s.of(n.this)} COLLATE {quoted_name(fold(n.args['expression']))})",
    exp.Substring: _function("substring", "this", "start", "length"),
    exp.Overlay: _function("overlay", "this", "expression", "from_", "for_"),
    exp.Trim: _trim,
    exp.Cast: _cast,
    exp.Case: _case,
    exp.In: _in,
    exp.Is: _is,
    exp.Dot: _dot,
    exp.Column: _column,
    exp.Subquery: lambda s, n: f"({s.query(n.this)})",
    exp.Operator: _total_operator,
    exp.Window: _window,
}
"""How each kind of node is spelled; binary operators are in `_BINARY`."""

SPOKEN = (*_RULES, *_BINARY)
"""Every kind of node that a constant may have."""
