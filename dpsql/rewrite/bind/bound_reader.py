"""A query as PostgreSQL has bound it, read by our parser; that the two mean the same is checked and not believed.

The parser's tree is written again, and PostgreSQL binds that, too: it must say the same words of both.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.errors import TooComplex, Unsupported
from dpsql.lexer import reader as lexer_tokens
from dpsql.lexer.reader import TEXTS, Token, TokenKind, tokens
from dpsql.policy.model import PUBLIC, TableName
from dpsql.question import ColumnDescription
from dpsql.rewrite.bind.deparsed import (
    Counts,
    in_equations,
    in_plain_words,
    with_counts,
    with_ctes_inside,
    with_joins_in_line,
    with_negations_within,
    with_own_names,
    with_tables_in_place,
)
from dpsql.rewrite.ir.literal import ConstantEvaluator
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import PREFIXES, PrefixOperator, parse_query, render
from dpsql.rewrite.syntax.read.trees import copy_tree, every, kinds_below

# Forms of texts in PostgreSQL's words: what PostgreSQL said of a text holds of others that differ in plain constants.
#
# SELECT count(*) AS count FROM public.trips WHERE (trips.fare > (20)::double precision)
# →  the form SELECT count(*) AS count FROM public.trips WHERE (trips.fare > (0)::double precision), and the constant 20
#
# Claim: whether our reading of a text is PostgreSQL's, and which columns it has, depends on its form alone. Proof: a constant
# is left out only if it is a number of digits, or a text of letters, digits and a few signs, which are one token to both
# parsers and decide nothing in them. To PostgreSQL a number is an integer or a numeric by its form, since it writes any other
# type with a cast; a text is what the cast behind it says, and the numbers of a type stay. A reading keeps the constants in
# their order, which is looked at each time. Operators of JSON, of which our parser reads the paths, have no form.

_MOST = 2 * 2**20
"""Bytes of what is remembered of readings, and of columns."""
_CONSTANT = re.compile(
    r'"(?:[^"]|"")*"'
    r"|(?:::|\bAS )[\w. ]+\(\d+(?:, ?\d+)?\)"  # a type, which a column may have: numeric(12,2)
    r"|E?'(?:[^']|'')*'"
    r"|(?<![\w.])\d+(?:\.\d+)?(?![\w.])",
)
_PLAIN = re.compile(r"'[A-Za-z0-9_ .,:;+/%@-]*'")
_PATHS = ("->", "#>")


@dataclass(frozen=True, slots=True)
class Form:
    """A text without its plain constants, and these."""

    text: str
    constants: tuple[str, ...]


def form_of(text: str) -> Form | None:
    """Return the form of a text in PostgreSQL's words, None where it has none."""
    if any(operator in text for operator in _PATHS):
        return None
    constants: list[str] = []

    def without(match: re.Match[str]) -> str:
        token = match[0]
        if token[0] in '":A' or not (token[0].isdigit() or _PLAIN.fullmatch(token)):
            return token
        constants.append(token)
        return "''" if token[0] == "'" else "0.0" if "." in token else "0"

    return Form(_CONSTANT.sub(without, text), tuple(constants))


# Forms of clients' queries: one that differs from an earlier one in compared numbers alone has its tree, but for these.
#
# SELECT count(*) FROM trips WHERE fare > 20     the form has a gap for 20, and so has the tree
# SELECT count(*) FROM trips WHERE fare > 25.5   is another form: 25.5 is numeric, and 20 an integer
#
# Claim: PostgreSQL binds two queries of one form alike, and our reading of its words is alike. Proof: they differ in numbers
# behind an operator that compares, each of them an integer of at most nine digits in both, or numeric in both, and of one
# text where it has that in the other. So a number has one type in both, is no ordinal, no LIMIT and no part of a type. Two
# expressions are equal in both or in neither, as GROUP BY asks. PostgreSQL computes nothing when it binds, and writes such a
# number as it stands; that a reading depends on the form of its words alone is claimed above. Where in the tree a number
# stands is not believed, but seen: a query with numbers that occur nowhere else is bound and read as well.

_COMPARING = frozenset({"<", ">", "<=", ">=", "=", "<>", "!=", "between"})
_INTEGER, _NUMERIC = re.compile(r"0|[1-9]\d{0,8}"), re.compile(r"(?:0|[1-9]\d{0,15})\.\d{1,15}")
_FIRST_MARK = 731_055_000
"""The first of the numbers that stand for others; each is one more."""
_MOST_COMPARED = 100
"""Numbers of one query: those of one with more are not looked at."""
_PER_CHARACTER = 200
"""Bytes that a tree takes for each character of its query."""


@dataclass(frozen=True, slots=True)
class ComparedForm:
    """A query with gaps for the numbers that something is compared with."""

    pieces: tuple[str | int, ...]
    """Its text, and at each gap the number of the constant that stands there."""
    kinds: tuple[bool, ...]
    """Of each constant whether it is an integer."""

    def filled(self, constants: Sequence[str]) -> str:
        """Return the text with these constants."""
        return "".join(piece if isinstance(piece, str) else constants[piece] for piece in self.pieces)

    def marks(self) -> tuple[str, ...]:
        """Return constants of the same kinds, each of another text than every other number of the query."""
        return tuple(f"{_FIRST_MARK + at}{'' if whole else '.5'}" for at, whole in enumerate(self.kinds))


@dataclass(frozen=True, slots=True)
class KnownTree:
    """The tree of a form with marks for its constants; nobody changes it."""

    marks: Sequence[str]
    tree: exp.Query
    size: int
    """Bytes that it takes, about."""

    def filled(self, constants: Sequence[str]) -> exp.Query:
        """Return the tree with these constants, which is the caller's."""
        by_mark = dict(zip(self.marks, constants, strict=True))
        tree = copy_tree(self.tree, {})
        for literal in every(tree, exp.Literal):
            if (constant := by_mark.get(literal.this)) is not None:
                literal.set("this", constant)
        return tree


def compared_form_of(query: str) -> tuple[ComparedForm, tuple[str, ...]] | None:
    """Return the form of a client's query and its constants; None where it has none, or too many."""
    constants, others = dict[str, int](), set[str]()
    kinds, pieces = list[bool](), list[str | int]()
    end, before, ends_range = 0, "", False
    for token in tokens(query):
        if token.sort is TokenKind.NUMBER:
            whole = _INTEGER.fullmatch(token.text) is not None
            if (before in _COMPARING or (before == "and" and ends_range)) and (whole or _NUMERIC.fullmatch(token.text)):
                if token.text not in constants:
                    constants[token.text] = len(kinds)
                    kinds.append(whole)
                pieces += (query[end : token.start], constants[token.text])
                end = token.end
            else:
                others.add(token.text)
            ends_range = before == "between"
        elif token.word != "and":
            ends_range = False
        before = token.word
    if not 0 < len(constants) <= _MOST_COMPARED or others & constants.keys() or str(_FIRST_MARK)[:6] in query:
        return None
    return ComparedForm((*pieces, query[end:]), tuple(kinds)), tuple(constants)


class KnownForms:
    """What PostgreSQL said of texts, by their forms; any thread may use it. It is of one database."""

    def __init__(self) -> None:
        self._read: ByteLimitedCache[bool] = ByteLimitedCache(_MOST, _weight)
        self._columns: ByteLimitedCache[Sequence[ColumnDescription]] = ByteLimitedCache(_MOST, _weight)
        self.trees: ByteLimitedCache[KnownTree | bool] = ByteLimitedCache(_MOST, _weight)
        """By the forms of clients' queries, and all else that a tree depends on; True of a form that was read once, and False
        of one whose trees are not alike."""

    def is_read(self, text: str, written: str, types: Hashable) -> bool:
        """Return whether it is known that a text, which our parser has read and `written`, is read as PostgreSQL does."""
        key = _pair(text, written)
        return key is not None and self._read.get((*key, types)) is not None

    def keep_read(self, text: str, written: str, types: Hashable) -> None:
        """Remember that PostgreSQL says the same words of a text and of what our parser has written of it."""
        if (key := _pair(text, written)) is not None:
            self._read.keep((*key, types), value=True)

    def columns(self, query: str, types: Hashable) -> Sequence[ColumnDescription] | None:
        """Return the columns of a query; None if they are not known."""
        form = form_of(query)
        return None if form is None else self._columns.get((form.text, types))

    def keep_columns(self, query: str, types: Hashable, columns: Sequence[ColumnDescription]) -> None:
        """Remember the columns of a query."""
        if (form := form_of(query)) is not None:
            self._columns.keep((form.text, types), columns)


def _pair(text: str, written: str) -> tuple[str, str] | None:
    """Return both forms, if the same constants stand in both in the same order."""
    one, other = form_of(text), form_of(written)
    return (one.text, other.text) if one and other and one.constants == other.constants else None


def _weight(value: object) -> int:
    match value:
        case ComparedForm():
            return _weight(value.pieces)
        case KnownTree():
            return value.size
    return sum(map(_weight, value)) if isinstance(value, (tuple, list)) else 100 + len(str(value))


# One name for each table: that of a schema beside `public` becomes a part of it.
#
# FROM clinical.encounters   →  FROM public."clinical.encounters" AS encounters
#
# In PostgreSQL's words every table that is not temporary has its schema, whatever a search path, a temporary table or an
# alias would make of its bare name: this is the one place where a schema is read. From here on a table is known by the text
# by which the policy keeps it, and `generator` writes that as a schema and a name again.
#
# Claim: no two tables get one name, and no CTE or temporary table that of a table. Proof: no declared name has a dot in a
# part of it, and nothing else is in `public`; and what has no schema in PostgreSQL's words stays without one.

_OWN = frozenset({"", PUBLIC, "dpsql", "information_schema"})
"""The schemas whose tables stay as they are: `public`, and what is no owner's."""


def with_kept_names(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    for table in every(tree, exp.Table):
        schema = fold(table.args.get("db"))
        if schema in _OWN or schema.startswith("pg_") or not isinstance(table.this, exp.Identifier):
            continue
        name = fold(table.this)
        if table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        table.set("this", exp.to_identifier(TableName(schema, name).text, quoted=True))
        table.set("db", exp.to_identifier(PUBLIC, quoted=True))


# The questions of binding to the shadow: PostgreSQL's own words for a query, and the columns that queries have.
#
#     SELECT d, (SELECT count(*) FROM trips s WHERE s.fare > d) FROM (VALUES (1), (20)) v (d)
#     →  SELECT v.d, ( SELECT count(*) AS count FROM public.trips s WHERE (s.fare > (v.d)::double precision)) AS count
#        FROM ( VALUES (1), (20)) v(d)
#
# Every name, star, ordinal and type is resolved; nothing is run.


class Binder(Protocol):
    """Sessions in the shadow that read queries as a client's session does."""

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        """Return a query as PostgreSQL writes it; `types` are those of its parameters.

        With `again` the query is in such words already, which no setting of the client's changes.

        Raises:
            DpsqlError: PostgreSQL refuses it, or it is none.
        """

    def describe(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Return the columns of queries in such words."""


class PlanningShadow(Binder, ConstantEvaluator, Protocol):
    """All that planning asks the shadow for one statement."""


# Python's own limit is 1,000, and a sum of so many parts is as many levels.
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
    session: Hashable = ()
    """All of the session that decides how PostgreSQL binds its queries."""

    def __call__(self, query: str) -> exp.Query | None:
        """Return the tree of a query; None where our reading is not PostgreSQL's.

        Raises:
            DpsqlError: PostgreSQL does not bind it.
        """
        tree = self._of_form(query)
        if tree is not None:
            with_counts(tree, self.counts)
        return tree

    def _of_form(self, query: str) -> exp.Query | None:
        """Return the tree of a query, by what is known of its form; else it is read."""
        found = compared_form_of(query)
        if found is None:
            return self._read(query)
        form, constants = found
        key = (form, tuple(self.types), self.session)
        known = self.known.trees.get(key)
        if isinstance(known, KnownTree):
            return known.filled(constants)
        tree = self._read(query)
        if known is None:  # most forms are asked once, and reading another query for them would double what they take
            self.known.trees.keep(key, value=True)
        elif known and tree is not None:
            self.known.trees.keep(key, self._learnt(form, constants, tree) or False)
        return tree

    def _learnt(self, form: ComparedForm, constants: Sequence[str], tree: exp.Query) -> KnownTree | None:
        """Return the tree of a form, to which the `tree` with these constants belongs; None where they are not alike."""
        marks = form.marks()
        marked_query = form.filled(marks)
        try:
            marked = self._read(marked_query)
        except (Unsupported, TooComplex):
            return None
        if marked is None:
            return None
        known = KnownTree(marks, marked, _PER_CHARACTER * len(marked_query))
        return known if render(known.filled(constants)) == render(tree) else None

    def _read(self, query: str) -> exp.Query | None:
        # Three texts: the client's, PostgreSQL's words for it (`canonical`), and what our parser writes of those
        # (`rendered`). If PostgreSQL binds the last to the same words as the second, our tree means what PostgreSQL
        # means. If not, the statement is refused: a parser that misreads can't make a private row public.
        text = self.binder.canonical(query, self.types)
        tree = parse_query(text)
        if tree is None:
            return None
        in_plain_words(tree)
        if not self._is_read(text, tree):
            return None
        kinds = kinds_below(tree)
        if PrefixOperator in kinds and any(map(_is_told_by_sign, every(tree, PrefixOperator))):
            return None
        for step, changed in _STEPS:
            if any(issubclass(kind, changed) for kind in kinds):
                step(tree)
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
        return written == text or written == self.binder.canonical(text, self.types, again=True)


_LISTS = (exp.Ordered, exp.Group, exp.Distinct)
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def _is_told_by_sign(prefixed: exp.Expr) -> bool:
    """Return whether a number with a sign is something else without: the first output, or another key of its own.

    ORDER BY (+ 1)    GROUP BY GROUPING SETS ((x), ((+ x)))
    """
    if prefixed.args["operator"] in PREFIXES:
        return False
    if prefixed.find_ancestor(*_SETS, exp.Select) is not prefixed.parent_select:
        return True
    around = prefixed.parent
    while isinstance(around, (exp.Paren, exp.Tuple)):
        around = around.parent
    return isinstance(around, _LISTS) and isinstance(prefixed.this.unnest(), exp.Literal)


def _with_names_of_prefixes(tree: exp.Query) -> None:
    """Call what stands behind an operator what it is: (|/ fare)  →  sqrt(fare), and a number with a sign itself: (+ fare)."""
    for prefixed in every(tree, PrefixOperator):
        called = PREFIXES.get(prefixed.args["operator"])
        prefixed.replace(prefixed.this if called is None else exp.Anonymous(this=called, expressions=[prefixed.this]))


def _require_keys_apart(tree: exp.Query) -> None:
    """See that PostgreSQL's words tell which outputs the keys of grouping sets are.

    SELECT zone AS a, zone AS b … GROUP BY CUBE (a, b) is written CUBE (zone, zone), as is one that groups by a twice. Each of
    two outputs is NULL in the sets without it.

    Raises:
        Unsupported: two keys are one expression, and two outputs are it.
    """
    for group in every(tree, exp.Group):
        select = group.parent
        if not isinstance(select, exp.Select) or not any(isinstance(element, _SETS) for element in group.expressions):
            continue
        outputs = Counter(render(output.unalias().unnest()) for output in select.expressions)
        keys = Counter(render(key) for key in _keys_in(group))
        if any(number > 1 and outputs[key] > 1 for key, number in keys.items()):
            raise Unsupported(
                "GROUPING SETS, ROLLUP and CUBE are not supported where two keys are one expression, shown twice",
                because="keys-of-one-expression",
                hint="Show it once, and leave one of them out of GROUP BY.",
            )


def _keys_in(element: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the keys that stand in an element of GROUP BY, each as often as it does."""
    element = element.unnest()
    if isinstance(element, (exp.Group, exp.Tuple, *_SETS)):
        for part in element.expressions:
            yield from _keys_in(part)
    else:
        yield element


_STEPS: Sequence[tuple[Callable[[exp.Query], None], tuple[type[exp.Expr], ...]]] = (
    (_require_keys_apart, _SETS),
    (_with_names_of_prefixes, (PrefixOperator,)),
    (with_kept_names, (exp.Table,)),
    (in_equations, (exp.Join,)),
    (with_joins_in_line, (exp.Join,)),
    (with_negations_within, (exp.Not,)),
    (with_own_names, (exp.CTE,)),
    (with_ctes_inside, (exp.CTE,)),
    (with_tables_in_place, (exp.Subquery, exp.CTE)),
)
"""What is done to a query that is read, in this order, and the kinds of nodes that it changes: none makes others of these."""


def is_moving(read: Sequence[Token]) -> bool:
    """Return whether a text of a statement may be a time that moves: then what is bound serves once."""
    texts = (lexer_tokens.literal_value(token) for token in read if token.sort in TEXTS)
    return any(value is not None and _MOVING.search(value) is not None for value in texts)
