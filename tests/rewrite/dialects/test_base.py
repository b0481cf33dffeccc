"""A dialect is complete, and nobody but its own room asks which one it is."""

import ast
import inspect
import math
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import TINY, Dialect, Forms
from dpsql.shadow.contents.role import ORACLE
from tests.support.dialects import DIALECTS, DUCKDB, POSTGRES, SPARK
from tests.support.fix_world import World

ROOM = Path(__file__).parents[3] / "dpsql"
NAMED_BY = {
    "engines/databases/source.py",
    "engines/duckdb/engine.py",
    "engines/duckdb/heavy_rows.py",
    "engines/postgres/engine.py",
    "engines/snapshot/copying.py",
    "engines/snapshot/kept_columns.py",
    "engines/spark/engine.py",
}
"""The engines, each of which says what it speaks, and what copies from one of them."""
FORMS = {field.name for field in fields(Forms)}


@pytest.mark.parametrize("missing", sorted(Dialect.__abstractmethods__))
def test_a_dialect_without_a_method_is_none(missing: str) -> None:
    """An engine that leaves one out can't be made; mypy refuses it by the same rule."""
    members = {name: getattr(type(DUCKDB), name) for name in Dialect.__abstractmethods__ if name != missing}
    incomplete = type("Incomplete", (Dialect,), members)
    with pytest.raises(TypeError, match=missing):
        incomplete()


def test_every_difference_is_a_method_that_has_to_be_written() -> None:
    """The class has no default that a third engine would take over unseen, but for what follows from its own words."""
    public = {name for name in vars(Dialect) if not name.startswith("_")}
    assert public - Dialect.__abstractmethods__ - FORMS == {"literal", "flush_tiny", "days", "micros"}


@pytest.mark.parametrize("missing", sorted(FORMS))
def test_forms_are_written_all(missing: str) -> None:
    """None of them has a default either, and each is what the method of its name writes."""
    with pytest.raises(TypeError, match=missing):
        Forms(**dict.fromkeys(FORMS - {missing}, ""))
    of = len(inspect.signature(getattr(Dialect, missing)).parameters) - 1
    for dialect in (*DIALECTS, SPARK):
        text = getattr(dialect, missing)(*(f"{{{i}}}" for i in range(of)))
        assert text == getattr(dialect.forms, missing)
        assert all(f"{{{i}}}" in text for i in range(of)) or (not text and missing == "named_rows")


def _mentions(text: str) -> Iterator[str]:
    """Give what in a file names a dialect or asks which one it is; most do not even have the word."""
    for node in ast.walk(ast.parse(text)) if "dialect" in text else ():
        match node:
            case ast.ImportFrom(
                module="dpsql.rewrite.dialects.duckdb"
                | "dpsql.rewrite.dialects.postgres"
                | "dpsql.rewrite.dialects.spark"
            ):
                yield f"imports {node.module}"
            case ast.Attribute(value=value, attr="name") if _is_dialect(value):
                yield ast.unparse(node)
            case ast.Compare(left=left, comparators=others) if any(map(_is_dialect, (left, *others))):
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="isinstance"), args=[first, *_]) if _is_dialect(first):
                yield ast.unparse(node)
            case ast.Match(subject=subject) if _is_dialect(subject):
                yield ast.unparse(node)


def _is_dialect(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] == "dialect"


def test_nobody_asks_which_engine_it_is() -> None:
    """Outside its room a dialect is called, never compared: a third engine would silently get another's SQL."""
    asked = {
        (str(file.relative_to(ROOM)), mention)
        for file in ROOM.rglob("*.py")
        if ROOM / "rewrite" / "dialects" not in file.parents
        for mention in _mentions(file.read_text(encoding="utf-8"))
    }
    assert {file for file, _ in asked} == NAMED_BY
    assert all(mention.startswith("imports ") for _, mention in asked)


@pytest.mark.parametrize(
    "text",
    [
        "from dpsql.rewrite.dialects.duckdb import DUCKDB",
        "x = 1 if emitter.dialect is other else 2",
        "dialect == 'duckdb'",
        "{'duckdb': 1}[self.dialect.name]",
        "isinstance(dialect, DuckDbDialect)",
    ],
)
def test_such_a_question_would_be_found(text: str) -> None:
    """None of the ways to ask hides from the test above."""
    assert list(_mentions(text))


FAR = Fraction(10) ** 400


@pytest.mark.parametrize(
    ("value", "number", "postgres"),
    [
        (Fraction(0), 0.0, "'0.0'::float8"),
        (Fraction(-3, 2), -1.5, "'-1.5'::float8"),
        (TINY, 1e-130, "'1e-130'::float8"),
        (FAR, math.inf, "'Infinity'::float8"),
        (-FAR, -math.inf, "'-Infinity'::float8"),
    ],
)
def test_numbers_are_literals_in_double_precision(value: Fraction, number: float, postgres: str) -> None:
    """What is beyond double precision is infinite, with its sign; a decimal would be rounded otherwise."""
    text = DUCKDB.double(value)
    assert duckdb.execute(f"SELECT {text}, typeof({text})").fetchone() == (number, "DOUBLE")
    assert POSTGRES.double(value) == postgres


def test_literals_hold_any_text() -> None:
    """Quotes are doubled; of a backslash PostgreSQL's settings decide, unless it is escaped."""
    assert DUCKDB.text("it's\\") == "'it''s\\'"
    assert POSTGRES.text("it's\\") == " E'it''s\\\\'"
    assert duckdb.execute(f"SELECT {DUCKDB.text(chr(92) + chr(39))}").fetchone() == ("\\'",)


@pytest.mark.parametrize("numbers", [[1], [1, 2, 3]])
def test_texts_may_be_looked_up_by_their_places(numbers: list[int]) -> None:
    """On DuckDB the place itself is the result where the results count up."""
    results = [str(n) for n in numbers]
    text = DUCKDB.looked_up("'b'", ["'a'", "'b'", "'c'"][: len(numbers)], results)
    assert "list_extract" not in text
    assert duckdb.execute(f"SELECT {text}").fetchone() == ((2,) if len(numbers) > 1 else (None,))


@pytest.mark.parametrize("number", [None, -(2**62), -4, -3, 1, 2, 3, 2**62])
@pytest.mark.parametrize("first", [-3, 0, 1, 10**9])
def test_an_entry_is_found_by_its_number(first: int, number: int | None, world: World) -> None:
    """What no entry has is NULL and no error, whichever number it is."""
    if number is not None and first > 0 and number > 0:
        number += first
    given = "CAST(NULL AS BIGINT)" if number is None else f"CAST({number} AS BIGINT)"
    names = [f"'{n}'" for n in range(first, first + 4)]
    expected = str(number) if number is not None and first <= number < first + 4 else None
    assert duckdb.execute(f"SELECT {DUCKDB.entry(given, first, names)}").fetchone() == (expected,)
    with psycopg.connect(world.server.dsn("taxi", ORACLE)) as postgres:
        entry = postgres.execute(f"SELECT {POSTGRES.entry(given, first, names)}".encode()).fetchone()
    assert entry == (expected,)


@pytest.mark.parametrize("others", [0, 1000])
def test_a_text_is_kept_if_it_is_one_of_them(others: int) -> None:
    """Any other is NULL, and so is NULL, however many texts there are."""
    texts = ["'a'", "''", "'it''s'", *(f"'{n}'" for n in range(others))]
    kept = [
        duckdb.execute(f"SELECT {DUCKDB.if_one_of(text, texts)}").fetchone()
        for text in ("'a'", "''", "'it''s'", "'A'", "'a '", "CAST(NULL AS VARCHAR)")
    ]
    assert kept == [("a",), ("",), ("it's",), (None,), (None,), (None,)]


@pytest.mark.parametrize(("given", "expected"), [("k7", True), ("k8", False), ("k9", None), ("K7", None), (None, None)])
def test_many_keys_are_looked_up_by_their_results(given: str | None, *, expected: bool | None, world: World) -> None:
    """On PostgreSQL in a list for each of a few results; what is no key is NULL."""
    keys = [f"'k{n}'" for n in range(3_000)]
    results = [("CAST(NULL AS BOOLEAN)", "TRUE", "FALSE")[n % 3] for n in range(3_000)]
    text = POSTGRES.looked_up("CAST(%s AS TEXT)", keys, results)
    assert text.count("WHEN") == 3
    with psycopg.connect(world.server.dsn("taxi", ORACLE)) as postgres:
        assert postgres.execute(f"SELECT {text}".encode(), [given] * 3).fetchone() == (expected,)


def test_one_condition_is_no_place() -> None:
    """A map to TRUE alone is a condition, not the number 1."""
    assert "list_extract" in DUCKDB.looked_up("'a'", ["'a'"], ["TRUE"])


def test_only_narrow_keys_are_narrowed() -> None:
    """DuckDB groups by an array where a key has 8 or 16 bits."""
    assert DUCKDB.narrowed("x", 0, 255) == "TRY_CAST(x AS UTINYINT)"
    assert DUCKDB.narrowed("x", -129, 5) == "TRY_CAST(x AS SMALLINT)"
    assert DUCKDB.narrowed("x", 0, 2**15) == POSTGRES.narrowed("x", 0, 1) == "x"


def test_weights_are_whole_on_either_engine() -> None:
    """PostgreSQL would divide a constant beyond 64 bits as a decimal."""
    assert POSTGRES.unit_weight(2**62, "n", heaviest=1) == f"CAST({2**62} / n AS BIGINT)"
    assert POSTGRES.unit_weight(2**63, "n", heaviest=1) == f"CAST(div({2**63}, n) AS BIGINT)"
    assert DUCKDB.unit_weight(2**63, "n", heaviest=2**31) == f"CAST({2**63} // n AS BIGINT)"
    assert DUCKDB.product_type(2**31 - 1) is SqlType.INTEGER
    assert POSTGRES.product_type(1) is SqlType.BIGINT
