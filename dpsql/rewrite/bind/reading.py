"""A query as PostgreSQL has bound it, read by our parser; that the two mean the same is checked and not believed.

The parser's tree is written again, and PostgreSQL binds that, too: it must say the same words of both.
"""

import re
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.lexer import tokens as lexer_tokens
from dpsql.lexer.tokens import TEXTS, Token, tokens
from dpsql.rewrite.bind.binder import Binder
from dpsql.rewrite.bind.counts import Counts, with_counts
from dpsql.rewrite.bind.ctes_inside import with_ctes_inside
from dpsql.rewrite.bind.joins_in_line import with_joins_in_line
from dpsql.rewrite.bind.known_forms import KnownForms
from dpsql.rewrite.bind.names import with_own_names
from dpsql.rewrite.bind.negations import with_negations_within
from dpsql.rewrite.bind.passed_on import with_tables_in_place
from dpsql.rewrite.bind.plain import in_plain_words
from dpsql.rewrite.bind.schemas import with_kept_names
from dpsql.rewrite.bind.using import in_equations
from dpsql.rewrite.syntax.read.dialect import parsed, render
from dpsql.rewrite.syntax.read.generator import Prefixed
from dpsql.rewrite.syntax.read.parser_tokens import PREFIXES
from dpsql.rewrite.syntax.read.trees import every, kinds_below

_DEEP = 5_000
"""Steps into each other that reading may take: PostgreSQL writes a sum of many parts as sums in brackets."""
sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEP))
_MOVING = re.compile(r"(?i)(?<![a-z])(?:now|today|tomorrow|yesterday)(?![a-z])")
"""The words of texts that are times, and other ones at another time; PostgreSQL reads them when it binds.

'now'::timestamp    'today 06:00'::timestamp    '{yesterday,today}'::date[]    '[2019-03-01,now)'::tsrange
"""


@dataclass(frozen=True, slots=True)
class BoundReader:
    """Reads the queries of one statement; see the module."""

    binder: Binder
    types: Sequence[str] = ()
    """The types of the statement's parameters."""
    counts: Counts = field(default_factory=dict)
    """The values of those that say how many rows there are to be."""
    known: KnownForms = field(default_factory=KnownForms)
    """What was found of texts of the same form."""
    tables: Hashable = ()
    """The tables that the session has of its own."""

    def __call__(self, query: str) -> exp.Query | None:
        """Return the tree of a query; None where our reading is not PostgreSQL's.

        Raises:
            DpsqlError: PostgreSQL does not bind it.
        """
        text = self.binder.canonical(query, self.types)
        tree = parsed(text)
        if tree is None:
            return None
        in_plain_words(tree)
        if not self._is_read(text, tree):
            return None
        kinds = kinds_below(tree)
        for step, changed in _STEPS:
            if any(issubclass(kind, changed) for kind in kinds):
                step(tree)
        with_counts(tree, self.counts)
        return tree

    def _is_read(self, text: str, tree: exp.Query) -> bool:
        rendered, given = render(tree), (tuple(self.types), self.tables)
        if self.known.is_read(text, rendered, given):
            return True
        is_read = self._is_bound_alike(text, rendered)
        if is_read:
            self.known.keep_read(text, rendered, given)
        return is_read

    def _is_bound_alike(self, text: str, rendered: str) -> bool:
        try:
            written = self.binder.canonical(rendered, self.types, again=True)
        except Unsupported:
            return False
        # It reads some of its own words otherwise than they were: a cast of an array is one of its elements.
        if written == text or written == self.binder.canonical(text, self.types, again=True):
            return True
        signed = _without_signs(text)
        return signed != text and written == self.binder.canonical(signed, self.types, again=True)


def _with_names_of_prefixes(tree: exp.Query) -> None:
    for prefixed in every(tree, Prefixed):
        called = PREFIXES[prefixed.args["operator"]]
        prefixed.replace(exp.Anonymous(this=called, expressions=[prefixed.this]))


_STEPS: Sequence[tuple[Callable[[exp.Query], None], tuple[type[exp.Expr], ...]]] = (
    (_with_names_of_prefixes, (Prefixed,)),
    (with_kept_names, (exp.Table,)),
    (in_equations, (exp.Join,)),
    (with_joins_in_line, (exp.Join,)),
    (with_negations_within, (exp.Not,)),
    (with_own_names, (exp.CTE,)),
    (with_ctes_inside, (exp.CTE,)),
    (with_tables_in_place, (exp.Subquery, exp.CTE)),
)
"""What is done to a query that is read, in this order, and the kinds of nodes that it changes: none makes others of these."""


def _without_signs(text: str) -> str:
    """Return PostgreSQL's text without what says of a number that it is one: (n = (+ 1))  →  (n = ( 1)).

    It writes that in brackets, where nothing else begins with the sign; our parser leaves it out.
    """
    read = tokens(text) or ()
    signs = [b.start for a, b in pairwise(read) if text[a.start] == "(" and text[b.start] == "+"]
    pieces = [text[start:end] for start, end in zip([0, *(at + 1 for at in signs)], [*signs, len(text)], strict=True)]
    return "".join(pieces)


def is_moving(read: Sequence[Token]) -> bool:
    """Return whether a text of a statement may be a time that moves: then what is bound serves once."""
    texts = (lexer_tokens.value(token) for token in read if token.sort in TEXTS)
    return any(value is not None and _MOVING.search(value) is not None for value in texts)
