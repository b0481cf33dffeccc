"""What PostgreSQL says of a text holds of all texts of its form: real PostgreSQL is asked of other constants."""

import random
import re
from collections.abc import Iterator, Sequence

import pytest

from dpsql.errors import DpsqlError
from dpsql.question import ColumnDescription, Settings
from dpsql.rewrite.bind.bound_reader import Binder, BoundReader, KnownForms, compared_form_of, form_of
from dpsql.rewrite.bind.deparsed import in_plain_words
from dpsql.rewrite.syntax.read.dialect import parse_query, render
from dpsql.rewrite.syntax.read.parse import locate_lone_query
from tests.support.fix_world import World
from tests.support.golden import load
from tests.support.samples import examples

FORMS = [
    ("SELECT 1 AS a, 'x y'::text AS b", "SELECT 0 AS a, ''::text AS b", ("1", "'x y'")),
    ("a > 1.5 AND t1.b2 < 10", "a > 0.0 AND t1.b2 < 0", ("1.5", "10")),
    ("\"a 'b' 1\" = 'it''s' OR x = E'\\\\n' OR y = '√2'", "\"a 'b' 1\" = 'it''s' OR x = E'\\\\n' OR y = '√2'", ()),
    ("x::numeric(12,2) + CAST(y AS DECIMAL(3, 1)) + 5", "x::numeric(12,2) + CAST(y AS DECIMAL(3, 1)) + 0", ("5",)),
    ("'2019-03-01 00:00:00+01'::timestamptz", "''::timestamptz", ("'2019-03-01 00:00:00+01'",)),
]


@pytest.mark.parametrize(("text", "form", "constants"), FORMS)
def test_a_form_lacks_plain_constants(text: str, form: str, constants: tuple[str, ...]) -> None:
    """Names, and texts with anything in them that a parser could take for something else, stay."""
    made = form_of(text)
    assert made is not None
    assert (made.text, made.constants) == (form, constants)


@pytest.mark.parametrize("text", ["x ->> 'a'::text", "x #> '{a}'::text[]"])
def test_paths_of_json_have_no_form(text: str) -> None:
    """Our parser reads what is in them."""
    assert form_of(text) is None


def test_constants_in_another_order_are_another_reading() -> None:
    """What was found of a reading that keeps them says nothing of one that does not."""
    known = KnownForms()
    known.keep_read("a < 1 AND b < 2", "a < 1 AND b < 2", ())
    assert known.is_read("a < 3 AND b < 4", "a < 3 AND b < 4", ())
    assert not known.is_read("a < 3 AND b < 4", "a < 4 AND b < 3", ())
    assert not known.is_read("a < 3 AND b < 4", "a < 3 AND b < 4", ("integer",))
    assert not known.is_read("a < 3.0 AND b < 4", "a < 3.0 AND b < 4", ())


GOLDEN = sorted({golden.sql for golden in load() if golden.verdict in ("answered", "refused")})
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_postgresql_says_the_same_of_all_texts_of_a_form(part: int, world: World) -> None:
    """Golden statements with other constants: our reading is PostgreSQL's where it was, and the columns are the same."""
    chance, seen = random.Random(part), 0  # noqa: S311
    shadow = world.oracle(Settings())
    for sql in GOLDEN[part::PARTS][: examples(60, 10_000)]:
        place = locate_lone_query(sql)
        try:
            text = shadow.canonical(sql if place is None else sql[place[1] : place[2]], ())
            columns = shadow.describe([text], ())
        except DpsqlError:
            continue
        form = form_of(text)
        if form is None or not form.constants or (is_read := _is_read(text, shadow)) is None:
            continue
        for other in _others(text, chance):
            try:
                canonical = shadow.canonical(other, (), again=True)
            except DpsqlError:
                continue  # no such date, and so on
            if canonical != other or (other_is_read := _is_read(other, shadow)) is None:
                continue  # which PostgreSQL writes otherwise, or OFFSET 5 LIMIT 9 after OFFSET 5 LIMIT 5
            seen += 1
            assert other_is_read == is_read, other
            assert shadow.describe([other], ()) == columns, other
    assert seen > 30


COMPARED = [
    ("SELECT 1 FROM t WHERE a > 5 AND b BETWEEN 1.5 AND 7 AND 8 < b", ("5", "1.5", "7")),
    ("SELECT a > 5, count(*) FROM t WHERE b > 5 GROUP BY a > 5", ("5",)),
    (
        "SELECT 1 FROM t WHERE a > -5 OR a = 1e3 OR a < 007 OR a < 1234567890 OR a = 6::text OR f(b => 3) LIMIT 9",
        ("6",),
    ),
    ("SELECT 1 FROM t WHERE a = 'x = 5' AND b = $$= 4$$ /* = 3 */ AND \"= 2\" = 6", ("6",)),
]


@pytest.mark.parametrize(("query", "constants"), COMPARED)
def test_a_clients_form_lacks_the_numbers_that_are_compared(query: str, constants: tuple[str, ...]) -> None:
    """Equal numbers have one gap, so that what GROUP BY finds equal stays so; what else is a number stays where it is."""
    found = compared_form_of(query)
    assert found is not None
    assert (found[1], found[0].filled(constants)) == (constants, query)


@pytest.mark.parametrize(
    "query", ["SELECT 1 FROM t WHERE a > 1", "SELECT 2 FROM t", "SELECT 7 FROM t WHERE a = 731055001"]
)
def test_a_query_has_no_form_where_a_number_stands_elsewhere_too(query: str) -> None:
    """Whether two expressions are equal may hang on that."""
    assert compared_form_of(query) is None


def test_numbers_of_another_type_or_equal_ones_are_another_form() -> None:
    """An integer is no numeric, and two that were equal are not alike with two that differ."""
    forms = [
        compared_form_of(f"SELECT 1 FROM t WHERE a > {x} AND b > {y}") for x, y in ((5, 6), (5, 5), (5.5, 6), (7, 8))
    ]
    first, equal, numeric, other = (found and found[0] for found in forms)
    assert first == other
    assert len({first, equal, numeric}) == 3


class _Counting:
    """A binder that counts what it is asked."""

    def __init__(self, binder: Binder) -> None:
        self._binder, self.asked = binder, list[str]()

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        self.asked.append(query)
        return self._binder.canonical(query, types, again=again)

    def describe(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        return self._binder.describe(queries, types)


@pytest.mark.parametrize("part", range(PARTS))
def test_the_tree_of_a_form_is_that_of_each_query_of_it(part: int, world: World) -> None:
    """Golden statements with other compared numbers: what is known of the form is what PostgreSQL's words are read as."""
    chance, seen = random.Random(part), 0  # noqa: S311
    shadow = world.oracle(Settings())
    for sql in GOLDEN[part::PARTS][: examples(60, 10_000)]:
        place = locate_lone_query(sql)
        query = sql if place is None else sql[place[1] : place[2]]
        counting = _Counting(shadow)
        reader = BoundReader(counting)
        try:
            found = compared_form_of(query)
            if found is None or reader(query) is None:
                continue
        except DpsqlError:
            continue
        form, constants = found
        reader(query)
        counting.asked.clear()
        for _ in range(2):
            other = form.filled([_another(constant, chance) for constant in constants])
            if (same := compared_form_of(other)) is None or same[0] != form:
                continue
            read, fresh = reader(other), BoundReader(shadow)(other)
            assert read is not None
            assert fresh is not None
            assert render(read) == render(fresh), other
            assert repr(read) == repr(fresh), other
            seen += not counting.asked
    assert seen > 5


def test_a_tree_that_was_given_away_is_not_the_one_that_is_kept(world: World) -> None:
    """Who changes the tree of one query changes no other's."""
    reader = BoundReader(world.oracle(Settings()))
    texts = [f"SELECT count(*) FROM trips WHERE fare > {number}" for number in (1, 2, 3, 4)]
    for text in texts[:3]:
        tree = reader(text)
        assert tree is not None
        tree.set("where", None)
    last = reader(texts[3])
    assert last is not None
    assert "> CAST(4 AS DOUBLE PRECISION)" in render(last)


def test_a_query_whose_words_depend_on_a_number_is_read_each_time(world: World) -> None:
    """Two sides of GROUP BY are one expression only where their numbers are equal, whatever brackets one of them has."""
    reader = BoundReader(world.oracle(Settings()))
    query = "SELECT fare > 5 AS far, count(*) FROM trips GROUP BY (5) < fare"
    for _ in range(3):
        with pytest.raises(DpsqlError):
            reader(query)
    query = "SELECT fare > 5 AS far, count(*) FROM trips GROUP BY fare > (5)"
    for _ in range(3):
        assert reader(query) is not None
        with pytest.raises(DpsqlError):
            reader(query.replace("> 5", "> 6"))


def test_sessions_that_read_names_otherwise_share_no_tree(world: World) -> None:
    """What a session's settings decide is a part of what a form is known by."""
    known, query = KnownForms(), "SELECT count(*) FROM trips WHERE fare > {} AND pickup_ts > '02-01-2019'"
    for order in ("MDY", "DMY"):
        settings = Settings(date_order=order)
        reader = BoundReader(world.oracle(settings), known=known, session=settings)
        trees = [reader(query.format(number)) for number in (1, 2, 3)]
        assert all(tree is not None and ("02-01" if order == "MDY" else "01-02") in render(tree) for tree in trees)


def _is_read(text: str, shadow: Binder) -> bool | None:
    """Return whether PostgreSQL reads what our parser writes as it reads a text; None where constants move."""
    tree = parse_query(text)
    if tree is None:
        return None
    in_plain_words(tree)
    written = form_of(render(tree))
    form = form_of(text)
    if written is None or form is None or written.constants != form.constants:
        return None
    reader = BoundReader(shadow)
    return reader._is_bound_alike(text, render(tree))  # without what it remembers


def _others(text: str, chance: random.Random) -> Iterator[str]:
    """Yield a text with other constants, each of the same kind."""
    kinds = re.compile(r"(?<![\w.'\"])\d+(?:\.\d+)?(?![\w.'])|'[A-Za-z]+'(?=::text)|'\d{4}-\d\d-\d\d(?=[ '])")
    for _ in range(2):
        yield kinds.sub(lambda match: _another(match[0], chance), text)


def _another(token: str, chance: random.Random) -> str:
    if token.startswith("'") and token[1].isdigit():
        return f"'{chance.randint(2000, 2030)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    if token.startswith("'"):
        return f"'{''.join(chance.choices('abcXYZ019 -%', k=chance.randint(1, 9))).strip() or 'x'}'"
    if "." in token:
        return f"{chance.randint(0, 99)}.{chance.randint(0, 99):02}"
    return str(chance.randint(1, 60))
