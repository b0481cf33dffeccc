"""What PostgreSQL says of a text holds of all texts of its form: real PostgreSQL is asked of other constants."""

import random
import re
from collections.abc import Iterator

import pytest

from dpsql.errors import DpsqlError
from dpsql.question import Settings
from dpsql.rewrite.bind.bound_reader import Binder, BoundReader, KnownForms, form_of
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
