"""SQL for the shadow that planning asks: written by us from a tree of allowed constants, never a client's own text.

Promise: what is spelled has no side effect, and nothing of a client's text is in it but numbers that match a pattern,
names in double quotes, and strings in quotes of our own. What is not known by name is refused.

    extract(epoch FROM x)  →  extract('epoch' FROM "x")          now() - '1 day'  →  (pg_catalog.now() - '1 day')
"""

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dpsql.question import Argument
from dpsql.rewrite.ir.spelled import (
    AGGREGATES,
    CLOCKS,
    PLAIN_FUNCTIONS,
    SYNTAX_FUNCTIONS,
    TEMPORAL,
    Spelled,
    UnspeakableError,
    literal,
    number,
    only,
    quoted,
    type_name,
    word,
)
from dpsql.rewrite.syntax.dialect import render
from dpsql.rewrite.syntax.identifiers import fold

_CLOCK_WORDS = re.compile(r"(?<![a-z])(?:now|today|tomorrow|yesterday)(?![a-z])", re.IGNORECASE | re.ASCII)
_BINARY: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^", exp.DPipe: "||",
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.And: "AND", exp.Or: "OR",
    exp.Like: "LIKE", exp.ILike: "ILIKE", exp.SimilarTo: "SIMILAR TO", exp.RegexpLike: "~", exp.RegexpILike: "~*",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_SIDES = frozenset({"", "LEFT", "RIGHT", "FULL"})
_KINDS = frozenset({"", "INNER", "OUTER", "CROSS"})
_WORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date", exp.CurrentTimestamp: "current_timestamp", exp.Localtimestamp: "localtimestamp",
}  # fmt: skip
_PADS = frozenset({"lpad", "rpad"})
_PADDED = 100_000
"""Characters to which a constant may be padded."""
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "btrim"}
_FIELDS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})


def spell(node: exp.Expr, arguments: Sequence[Argument] = (), *, queries: bool = False) -> Spelled:
    """Return the SQL of a constant, or of an expression in columns of public values; with `queries`, of a SELECT as well.

    Raises:
        UnspeakableError: something in it is not allowed.
    """
    speller = _Speller(arguments, queries=queries)
    try:
        return Spelled(speller.query(node) if isinstance(node, exp.Select) else speller.of(node), speller.volatile)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # a tree of a form that no rule thought of
        raise UnspeakableError from None


class _Speller:
    """Spells one tree; remembers whether a clock is in it."""

    def __init__(self, arguments: Sequence[Argument], *, queries: bool) -> None:
        self._arguments = arguments
        self._queries = queries
        self.volatile = False

    def of(self, node: object) -> str:
        """Return one expression, in parentheses where it has an operator."""
        if not isinstance(node, exp.Expr):
            raise UnspeakableError
        rule, operator = _RULES.get(type(node)), _BINARY.get(type(node))
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

    def cast(self, value: str, type_: str, *, known: bool) -> str:
        """Return a cast; of what is not `known` to be one text, because the text of a time may be made by functions."""
        spelled, name = type_name(type_)
        self.volatile = self.volatile or (name in TEMPORAL and not known)
        return f"CAST({value} AS {spelled})"

    def query(self, node: exp.Expr) -> str:
        """Return SELECT … FROM … WHERE … GROUP BY … HAVING over tables in `public`."""
        if not self._queries or not isinstance(node, exp.Select):
            raise UnspeakableError
        only(node, "expressions", "distinct", "from_", "joins", "where", "group", "having", "kind")
        distinct, source, joins = node.args.get("distinct"), node.args.get("from_"), node.args.get("joins") or []
        if (distinct and distinct.args.get("on")) or source is None or node.args.get("kind"):
            raise UnspeakableError
        outputs = ", ".join(self._output(one) for one in node.expressions)
        parts = [f"SELECT {'DISTINCT ' if distinct else ''}{outputs} FROM {self._source(source.this)}"]
        parts += [self._join(join) for join in joins]
        for keyword, name in (("WHERE", "where"), ("HAVING", "having")):
            clause = node.args.get(name)
            if name == "having" and (group := node.args.get("group")) is not None:
                only(group, "expressions")
                parts.append(f"GROUP BY {self.list(group.expressions)}")
            if clause is not None:
                parts.append(f"{keyword} {self.of(clause.this)}")
        return " ".join(parts)

    def _output(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Alias):
            return f"{self.of(node.this)} AS {quoted(fold(node.args['alias']))}"
        return "*" if isinstance(node, exp.Star) and not any(node.args.values()) else self.of(node)

    def _source(self, node: exp.Expr) -> str:
        alias = node.args.get("alias")
        only(node, "this", "db", "alias")
        if alias is not None:
            only(alias, "this")
        called = "" if alias is None else f" AS {quoted(fold(alias.this))}"
        if isinstance(node, exp.Subquery):
            return f"({self.query(node.this)}){called}"
        if not isinstance(node, exp.Table):
            raise UnspeakableError
        return f'"public".{quoted(fold(node.this))}{called}'

    def _join(self, node: exp.Expr) -> str:
        only(node, "this", "side", "kind", "on", "using")
        side, kind = (str(node.args.get(name) or "").upper() for name in ("side", "kind"))
        if side not in _SIDES or kind not in _KINDS:
            raise UnspeakableError
        using, on = node.args.get("using"), node.args.get("on")
        how = f" ON {self.of(on)}" if on is not None else ""
        how = f" USING ({', '.join(quoted(fold(name)) for name in using)})" if using else how
        return f"{side} {kind or ('' if how else 'CROSS')} JOIN {self._source(node.this)}{how}"

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
        if self._queries and name in AGGREGATES:
            return f"pg_catalog.{name}({self._aggregated(node.expressions)})"
        if name not in PLAIN_FUNCTIONS:
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
        return self.cast(value, argument.type, known=True)


def _is_short(node: exp.Expr) -> bool:
    """Return whether a length is written as a number that is padded to in no time; PostgreSQL pads without a pause."""
    return (
        isinstance(node, exp.Literal)
        and not node.is_string
        and str(node.this).isdecimal()
        and int(node.this) <= _PADDED
    )


def _literal(s: _Speller, node: exp.Expr) -> str:
    text = str(node.this)
    if node.is_string:
        return s.string(text)
    return number(text)


def _clock(s: _Speller, node: exp.Expr) -> str:
    only(node)
    s.volatile = True
    return _WORDS[type(node)]


def _cast(s: _Speller, node: exp.Expr) -> str:
    only(node, "this", "to")
    known = isinstance(node.this, (exp.Literal, exp.Null, exp.Parameter))
    return s.cast(s.of(node.this), render(node.args["to"].copy()), known=known)


def _interval(s: _Speller, node: exp.Expr) -> str:
    only(node, "this", "unit")
    amount, unit = node.this, node.args.get("unit")
    if not isinstance(amount, exp.Literal) or not amount.is_string:
        raise UnspeakableError
    if isinstance(unit, exp.IntervalSpan):
        first, last = str(unit.this.name).upper(), str(unit.expression.name).upper()
        if not {first, last} <= _FIELDS:
            raise UnspeakableError
        return f"INTERVAL {literal(str(amount.this))} {first} TO {last}"
    named = "" if unit is None else f" {word(unit)}"
    return f"INTERVAL {s.string(str(amount.this) + named)}"


def _case(s: _Speller, node: exp.Expr) -> str:
    subject, default = node.args.get("this"), node.args.get("default")
    parts = ["CASE"] if subject is None else ["CASE", s.of(subject)]
    parts += [f"WHEN {s.of(one.this)} THEN {s.of(one.args['true'])}" for one in node.args["ifs"]]
    return " ".join([*parts, "END"] if default is None else [*parts, f"ELSE {s.of(default)}", "END"])


def _in(s: _Speller, node: exp.Expr) -> str:
    only(node, "this", "expressions", "query")
    query = node.args.get("query")
    among = s.list(node.expressions) if query is None else s.query(query.this)
    return f"({s.of(node.this)} IN ({among}))"


def _between(s: _Speller, node: exp.Expr) -> str:
    how = "SYMMETRIC " if node.args.get("symmetric") else ""
    return f"({s.of(node.this)} BETWEEN {how}{s.of(node.args['low'])} AND {s.of(node.args['high'])})"


def _escape(s: _Speller, node: exp.Expr) -> str:
    like = node.this
    if not isinstance(like, (exp.Like, exp.ILike, exp.SimilarTo)):
        raise UnspeakableError
    left, pattern, escape = s.of(like.this), s.of(like.expression), s.of(node.args["expression"])
    text = f"({left} {_BINARY[type(like)]} {pattern} ESCAPE {escape})"
    return f"(NOT {text})" if like.args.get("negate") else text


def _is(s: _Speller, node: exp.Expr) -> str:
    if not isinstance(node.args["expression"], (exp.Null, exp.Boolean)):
        raise UnspeakableError
    return f"({s.of(node.this)} IS {'NOT ' if node.args.get('negate') else ''}{s.of(node.args['expression'])})"


def _trim(s: _Speller, node: exp.Expr) -> str:
    only(node, "this", "expression", "position")
    name = _TRIMS[str(node.args.get("position") or "BOTH").upper()]
    return _function(name, "this", "expression")(s, node)


def _function(name: str, *parts: str) -> Callable[[_Speller, exp.Expr], str]:
    """Return the rule for syntax that is a function: `substring(a FROM b)` → `pg_catalog.substring(a, b)`."""

    def rule(s: _Speller, node: exp.Expr) -> str:
        only(node, "position", *parts)
        return f"pg_catalog.{name}({', '.join(s.of(node.args[part]) for part in parts if node.args.get(part) is not None)})"

    return rule


def _dot(s: _Speller, node: exp.Expr) -> str:
    if fold(node.this) != "pg_catalog" or not isinstance(node.args["expression"], exp.Anonymous):
        raise UnspeakableError
    return s.call(node.args["expression"])


def _column(s: _Speller, node: exp.Expr) -> str:
    _ = s
    only(node, "this", "table")
    table = node.args.get("table")
    return ("" if table is None else quoted(fold(table)) + ".") + quoted(fold(node.this))


_RULES: Mapping[type, Callable[[_Speller, exp.Expr], str]] = {
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
    exp.Anonymous: lambda s, n: s.call(n),
    exp.Escape: _escape,
    exp.Kwarg: lambda s, n: f"{word(n.this)} => {s.of(n.args['expression'])}",
    exp.CurrentDate: _clock,
    exp.CurrentTimestamp: _clock,
    exp.Localtimestamp: _clock,
    exp.Extract: lambda s, n: f"extract({literal(str(n.this.name).lower())} FROM {s.of(n.args['expression'])})",
    exp.AtTimeZone: lambda s, n: f"({s.of(n.this)} AT TIME ZONE {s.of(n.args['zone'])})",
    exp.Collate: lambda s, n: f"({s.of(n.this)} COLLATE {quoted(fold(n.args['expression']))})",
    exp.Substring: _function("substring", "this", "start", "length"),
    exp.StrPosition: _function("strpos", "this", "substr"),
    exp.Overlay: _function("overlay", "this", "expression", "from_", "for_"),
    exp.Trim: _trim,
    exp.Cast: _cast,
    exp.Interval: _interval,
    exp.Case: _case,
    exp.In: _in,
    exp.Between: _between,
    exp.Is: _is,
    exp.Dot: _dot,
    exp.Column: _column,
    exp.Subquery: lambda s, n: f"({s.query(n.this)})",
}
"""How each kind of node is spelled; binary operators are in `_BINARY`."""

SPOKEN = (*_RULES, *_BINARY)
"""Every kind of node that a constant may have."""
