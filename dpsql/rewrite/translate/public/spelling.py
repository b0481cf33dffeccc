"""Writing one tree for the shadow, rule by rule: what has no rule is not written.

lpad(name, 3)  →  pg_catalog.lpad("name", 3)
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlglot import exp

from dpsql.question import Argument
from dpsql.rewrite.ir.spelled import (
    AGGREGATES,
    CLOCKS,
    PLAIN_FUNCTIONS,
    SERIES_FUNCTIONS,
    SYNTAX_FUNCTIONS,
    TEMPORAL,
    UnspeakableError,
    literal,
    only,
    type_name,
)
from dpsql.rewrite.syntax.named.identifiers import fold

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
