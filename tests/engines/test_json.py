"""Values inside of JSON are read by total forms: no text that a column holds makes an engine fail, and both read the same."""

import json
import random
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pytest

from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.engines.duckdb.opening import ALLOWED_OPTIMIZERS, CAREFULLY, other_optimizers
from dpsql.engines.tables import fits_column, misfits_of
from dpsql.errors import Unsupported
from dpsql.policy.load.scalars import json_keys
from dpsql.policy.model import Policy, SqlType
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.ir.relation import ref
from tests.support.dialects import DUCKDB, POSTGRES, SPARK
from tests.support.fix_json import NOT_JSON, ODD, JsonEngines, events
from tests.support.fix_world import World
from tests.support.samples import examples

_DUCKDB_ALONE = (
    '{"plan": "p\\u0000ro", "note": "\\u0000"}', '{"age": NaN, "weight": Infinity, "serial": -Infinity}', "\x00",
    '{"age": 1,}', '{"age": 1e9999999999999999999}', '{"age": -0, "weight": -0.0}', '{"plan": "free", "plan": 3}',
    '{"": {"": 1}}', '{"weight": 1e-400, "score": -1e-400}',
)  # fmt: skip
_CHARACTERS = '{}[]:,"\\ \n\t0123456789.eE+-truefalsnNaInity/*\u00e9\U0001f600\x7fplanagescorewightivedcr'


def _paths(policy: Policy) -> list[Ref]:
    table = policy.tables["events"]
    return [ref(0, table, path.name) for path in table.paths]


def _expressions(policy: Policy, emitter: Emitter) -> list[str]:
    """Return what statements make of each path."""
    every: list[str] = []
    for path in _paths(policy):
        every += [emitter.raw(path), emitter.sql(path), emitter.sql(path, computed=True), emitter.present(path)]
        every += [text for text in emitter.beyond(path) if text != "FALSE"]
    return every


def _mutants(number: int) -> list[str]:
    """Return texts that were JSON before some of their characters were changed."""
    draw = random.Random(5)  # noqa: S311  (synthetic records)
    right = [str(row["props"]) for row in events(200) if row["props"] is not None] + [*ODD[:20]]
    made: list[str] = []
    for _ in range(number):
        text = list(draw.choice(right)[:400])
        for _ in range(draw.randrange(1, 5)):
            at = draw.randrange(len(text) + 1)
            text[at : at + draw.randrange(3)] = draw.choice(_CHARACTERS)
        made.append("".join(text))
    return made


def test_any_text_can_be_read_in_duckdb(json_policy: Policy) -> None:
    """It is JSON or not; as conditions, as keys and as what is summed; with all optimizers that are allowed, and without."""
    emitter = Emitter(DUCKDB, DeclaredFacts({}))
    texts = [*NOT_JSON, *ODD, *_DUCKDB_ALONE, *_mutants(examples(2_000, 20_000))]
    for optimizers in (ALLOWED_OPTIMIZERS, CAREFULLY, ()):
        with duckdb.connect() as connection:
            connection.execute("SET GLOBAL disabled_optimizers = ?", [other_optimizers(connection, optimizers)])
            connection.execute("CREATE TABLE events AS SELECT unnest(CAST(? AS VARCHAR[])) AS props", [texts])
            for text in _expressions(json_policy, emitter):
                connection.execute(f"SELECT {text} FROM events AS s0").fetchall()
                connection.execute(f"SELECT {text} AS k, count(*) FROM events AS s0 GROUP BY 1").fetchall()
                connection.execute(
                    f"SELECT count(*) FROM events AS s0 WHERE ({text}) IS NULL AND s0.props <> 'x'"
                ).fetchall()


def test_what_a_file_calls_json_is_refused(json_policy: Policy, tmp_path: Path) -> None:
    """DuckDB fails as it reads a malformed value of that type from a Parquet file; texts may be anything."""
    rows = 'SELECT 1 AS person, 2.5 AS amount, \'{"plan": "pro"}\' AS props FROM range(3)'
    columns = {name: column.type for name, column in json_policy.tables["events"].columns.items()}
    said: dict[str, dict[str, str]] = {}
    for kind in ("JSON", "VARCHAR"):
        file = tmp_path / f"{kind}.parquet"
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT * REPLACE (props::{kind} AS props) FROM ({rows})) TO '{file}'")
            file.write_bytes(file.read_bytes().replace(b'{"plan": "pro"}', b'{"plan": "pro"?'))
            with suppress(duckdb.InvalidInputException):
                connection.execute(f"SELECT max(length(props)) FROM '{file}'")
                assert kind == "VARCHAR"
        with closing(DuckDb({"events": TableFile(file, columns)})) as engine:
            said[kind] = misfits_of(json_policy, engine)
            if kind == "VARCHAR":
                for text in _expressions(json_policy, Emitter(DUCKDB, DeclaredFacts({}))):
                    engine.for_owner(
                        f"SELECT {text}, count(*) FROM {engine.named('events')} AS s0 GROUP BY 1", timeout=9
                    )
    assert said["VARCHAR"] == {}
    assert said["JSON"]["events"] == (
        'schemas/events.yaml: column "props" of table "events" is declared jsonb, the engine has JSON in a Parquet file; '
        "JSON is read from columns of type json, and in files from varchar alone: DuckDB fails at what is none there"
    )


def test_any_json_can_be_read_in_postgresql(json_policy: Policy, json_world: tuple[World, JsonEngines]) -> None:
    """All that jsonb takes; the optimizer may compute what it wants first."""
    emitter, served = Emitter(POSTGRES, DeclaredFacts({})), json_world[1]["postgres"]
    texts = [text for text in [*ODD, *_mutants(examples(1_000, 10_000))] if _is_json(text)]
    literals = ", ".join("(" + POSTGRES.text(text) + "::text)" for text in texts)
    rows = (
        f"(SELECT props::jsonb AS props FROM (VALUES {literals}) AS v (props) WHERE pg_input_is_valid(props, 'jsonb'))"
    )
    served.execute(f"CREATE TABLE IF NOT EXISTS odd AS SELECT * FROM {rows} AS v")
    for text in _expressions(json_policy, emitter):
        served.execute(f"SELECT {text} AS k, count(*) FROM odd AS s0 GROUP BY 1")
        served.execute(f"SELECT count(*) FROM odd AS s0 WHERE ({text}) IS NULL OR s0.props = '3'")
    served.execute("DROP TABLE odd")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return "\\u0000" not in text


def test_both_engines_read_the_same(json_policy: Policy, json_world: tuple[World, JsonEngines]) -> None:
    """Value by value, of all that both may hold."""
    read: list[Sequence[tuple[object, ...]]] = []
    for name, dialect in (("duckdb", DUCKDB), ("postgres", POSTGRES)):
        emitter = Emitter(dialect, DeclaredFacts({}))
        columns = ", ".join(emitter.sql(path) for path in _paths(json_policy))
        literals = ", ".join("(" + dialect.text(text) + ")" for text in ODD)
        as_stored = "CAST(v.props AS VARCHAR)" if name == "duckdb" else "CAST(v.props AS jsonb)"
        rows = f"(SELECT {as_stored} AS props FROM (VALUES {literals}) AS v (props))"
        read.append(json_world[1][name].execute(f"SELECT {columns} FROM {rows} AS s0"))
    for text, mine, other in zip(ODD, *read, strict=True):
        assert mine == other, text


KEYS = ("plan", "@type", "$ref", "#1", "is-admin", "user:id", "first name", "Ünïcode", "_x", "a$b#c", "SELECT")


def test_keys_are_the_same_to_both_engines(json_world: tuple[World, JsonEngines]) -> None:
    """Whatever they are made of, as far as it may be declared; beside others in an object, and in one inside another."""
    whole = json.dumps({key: {inner: f"{key} {inner}" for inner in KEYS} for key in KEYS}, ensure_ascii=False)
    for name, dialect in (("duckdb", DUCKDB), ("postgres", POSTGRES)):
        paths = [json_keys(f"{key}.{inner}") for key in KEYS for inner in KEYS]
        texts = ", ".join(dialect.in_json("s0.props", path, SqlType.TEXT) for path in paths)
        stored = "VARCHAR" if name == "duckdb" else "jsonb"
        (row,) = json_world[1][name].execute(
            f"SELECT {texts} FROM (SELECT CAST({dialect.text(whole)} AS {stored}) AS props) AS s0"
        )
        assert list(row) == [" ".join(path) for path in paths]


@pytest.mark.parametrize(
    "text", ["", ".", "a.", "0", "tags.0", "-1", " 1", "a/b", "a~b", "a*", "a'b", 'a"b', "a\\b", "a{b", "x" * 64]
)
def test_keys_that_an_engine_may_read_otherwise_are_refused(text: str) -> None:
    """Places in arrays, patterns, and what would have to be quoted."""
    with pytest.raises(ValueError, match="must be keys with points between them"):
        json_keys(text)


def test_json_is_read_where_that_is_total(json_policy: Policy) -> None:
    """`json` of PostgreSQL fails where a text has the character 0; Spark repairs what is no JSON."""
    props = json_policy.tables["events"].columns["props"]
    stored = {DUCKDB: "JSON VARCHAR BLOB STRUCT(a INTEGER)", POSTGRES: "jsonb json text", SPARK: "string variant"}
    fitting = [kind for dialect, kinds in stored.items() for kind in kinds.split() if fits_column(props, kind, dialect)]
    assert fitting == ["JSON", "VARCHAR", "jsonb"]
    with pytest.raises(Unsupported, match="not supported on Spark"):
        Emitter(SPARK, DeclaredFacts({})).raw(_paths(json_policy)[0])
