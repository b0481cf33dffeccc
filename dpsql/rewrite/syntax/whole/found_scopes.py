"""The contents of a query's tree: the SELECTs that aggregate private rows, and the rows of the query itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from dpsql.frozen import quickly_made
from dpsql.rewrite.syntax.forms.inner import InnerAnswer
from dpsql.rewrite.syntax.named.grouping import Grouping

Copies = Mapping[int, exp.Expr]
"""The copies of a tree's nodes, by the `id` of each."""


class Kind(Enum):
    """The kind of a query's rows."""

    PUBLIC = "public"
    ROWS = "rows"
    ANSWER = "answer"


@quickly_made
@dataclass(frozen=True, slots=True)
class Scope:
    """One SELECT over private rows that aggregates: its group keys and its aggregate calls, as nodes of the tree."""

    select: exp.Select
    grouping: Grouping
    aggregates: tuple[exp.Expr, ...]
    ctes: Mapping[str, exp.CTE]
    """The CTEs that it can see."""
    alone: bool = False
    """Whether it is known that no other query stands in it."""

    @property
    def keys(self) -> tuple[exp.Expr, ...]:
        """Return the group keys."""
        return self.grouping.keys

    def among(self, copies: Copies) -> "Scope":
        """Return the same scope of a copy.

        Raises:
            KeyError: not all of it stands in the tree.
        """
        keys, calls = ([copies[id(node)] for node in part] for part in (self.keys, self.aggregates))
        select = copies[id(self.select)]
        assert isinstance(select, exp.Select)
        return Scope(
            select, Grouping(tuple(keys), self.grouping.sets), tuple(calls), _among(self.ctes, copies), self.alone
        )


@quickly_made
@dataclass(frozen=True, slots=True)
class FoundScopes:
    """All scopes of a query, and what the whole query is."""

    kind: Kind
    scopes: tuple[Scope, ...]
    inner: tuple[InnerAnswer, ...] = ()
    """The inner queries that are answered before its rows are measured, but for those within one another."""
    alone: tuple[exp.Expr, ...] = field(default=(), compare=False, repr=False)
    """The nodes of a query with no other in it, where they are known."""

    @property
    def own(self) -> tuple[Scope, ...]:
        """Return the scopes that stand in none of the inner queries."""
        if not self.inner:
            return self.scopes
        within = {id(node) for answer in self.inner for node in answer.node.walk()}
        return tuple(scope for scope in self.scopes if id(scope.select) not in within)

    def among(self, copies: Copies) -> "FoundScopes | None":
        """Return the same of a copy of the query; None where it is to be looked for again."""
        try:
            scopes = tuple(scope.among(copies) for scope in self.scopes)
            inner = tuple(InnerAnswer(copies[id(answer.node)], _among(answer.ctes, copies)) for answer in self.inner)
        except KeyError:
            return None
        return FoundScopes(self.kind, scopes, inner)


def _among(ctes: Mapping[str, exp.CTE], copies: Copies) -> Mapping[str, exp.CTE]:
    copied = {name: copies[id(cte)] for name, cte in ctes.items()}
    return {name: cte for name, cte in copied.items() if isinstance(cte, exp.CTE)}
