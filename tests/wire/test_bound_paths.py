"""A search path that is set between Parse, Bind and Execute, to dpsql and to a plain PostgreSQL with as many rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.support import clusters
from tests.support.connected import Connect, connections
from tests.support.two_schemas import ROWS, write_site
from tests.wire.raw import SYNC, Raw, bind, close, describe, execute, parse, query

_NAMES = {
    "public.patients": ROWS["patients"],
    "core.patients": ROWS["core.patients"],
    "clinical.patients": ROWS["clinical.patients"],
}


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    """Serve the tables."""
    with TemporaryDirectory(prefix="dpsql-paths-") as place:
        Path(place).chmod(0o711)
        with connections(write_site(Path(place))) as connected:
            yield connected


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    """Give the address of a PostgreSQL with the same numbers of rows."""
    with TemporaryDirectory(prefix="dpsql-paths-plain-") as place:
        Path(place).chmod(0o711)
        server = clusters.start(Path(place) / "server")
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as owner:
            owner.execute("CREATE SCHEMA core; CREATE SCHEMA clinical")
            for name, number in _NAMES.items():
                rows = f"SELECT n AS person, 'good' AS mood FROM generate_series(1, {number}) AS r (n)"
                owner.execute(f"CREATE TABLE {name} AS {rows}".encode())
            for schema, titles in (("core", "wxyz"), ("clinical", "abcd")):
                owner.execute(f"CREATE TABLE {schema}.wards (ward int PRIMARY KEY, title text)".encode())
                for ward, title in enumerate(titles, start=1):
                    owner.execute(f"INSERT INTO {schema}.wards VALUES ({ward}, '{title}')".encode())
        yield server.dsn("postgres")
        server.stop()


def _run(text: str) -> bytes:
    """Parse, bind and execute under names that nobody else uses."""
    return (
        parse(b"own", text.encode())
        + bind(b"own", b"own")
        + execute(b"own")
        + close(b"P", b"own")
        + close(b"S", b"own")
    )


COUNT = b"SELECT count(*) FROM patients"
_CORE, _CLINICAL = "SET LOCAL search_path = core", "SET LOCAL search_path = clinical"
_BOUND = parse(b"s", COUNT) + bind(b"p", b"s")
SENT: dict[str, Sequence[bytes]] = {
    "set behind Bind": (_BOUND, _run(_CORE), execute(b"p"), SYNC),
    "set behind Bind and a Sync": (_BOUND, SYNC, _run(_CORE), SYNC, execute(b"p"), SYNC),
    "set behind Bind by a Query": (_BOUND, SYNC, query(_CORE), execute(b"p"), SYNC),
    "set behind Bind by a function": (
        _BOUND, _run("SELECT set_config('search_path', 'core', true)"), execute(b"p"), SYNC,
    ),
    "set behind Bind by another private statement": (
        _BOUND, _run("SELECT count(*), set_config('search_path', 'core', true) FROM clinical.patients"), execute(b"p"), SYNC,
    ),
    "set behind Parse": (parse(b"s", COUNT), _run(_CORE), bind(b"p", b"s"), execute(b"p"), SYNC),
    "set twice": (
        parse(b"s", COUNT), _run(_CORE), bind(b"p", b"s"), _run(_CLINICAL), bind(b"q", b"s"),
        _run("SET LOCAL search_path = public"), execute(b"p"), execute(b"q"), bind(b"r", b"s"), execute(b"r"), SYNC,
    ),
    "described behind it": (_BOUND, _run(_CORE), describe(b"P", b"p"), execute(b"p"), describe(b"S", b"s"), SYNC),
    "without a name": (parse(b"", COUNT), bind(b"", b""), _run(_CORE), execute(b""), SYNC),
    "bound anew": (_BOUND, _run(_CORE), close(b"P", b"p"), bind(b"p", b"s"), _run(_CLINICAL), execute(b"p"), SYNC),
    "back to a savepoint": (
        _run("SAVEPOINT a"), _run(_CORE), parse(b"s", COUNT), SYNC, _run("SAVEPOINT b"), bind(b"p", b"s"),
        _run("nonsense"), SYNC, _run("ROLLBACK TO a"), bind(b"q", b"s"), _run(_CLINICAL), execute(b"q"), SYNC,
    ),
    "bound before what failed": (
        _BOUND, _run("SAVEPOINT a"), _run(_CORE), SYNC, _run("nonsense"), SYNC, query("ROLLBACK TO a"), query(_CLINICAL),
        execute(b"p"), SYNC,
    ),
    "a cursor": (
        parse(b"s", b"DECLARE c CURSOR FOR SELECT count(*) FROM patients"), bind(b"p", b"s"), _run(_CORE), execute(b"p"),
        _run("FETCH c"), SYNC,
    ),
    "a table": (
        parse(b"s", b"CREATE TEMP TABLE kept AS SELECT count(*) AS n FROM patients"), bind(b"p", b"s"), _run(_CORE),
        execute(b"p"), _run("SELECT n FROM pg_temp.kept"), SYNC,
    ),
    "COPY": (
        parse(b"s", b"COPY (SELECT count(*) FROM patients) TO STDOUT"), bind(b"p", b"s"), _run(_CORE), execute(b"p"), SYNC,
    ),
    "EXECUTE": (
        _run("PREPARE e AS SELECT count(*) FROM patients"), parse(b"s", b"EXECUTE e"), bind(b"p", b"s"), _run(_CORE),
        execute(b"p"), SYNC,
    ),
    "public rows beside": (
        _run(_CORE), parse(b"s", b"SELECT count(*), (SELECT max(title) FROM wards) FROM patients"), bind(b"p", b"s"),
        _run(_CLINICAL), execute(b"p"), SYNC,
    ),
    "public rows joined": (
        _run(_CORE), parse(b"s", b"SELECT w.title, p.n FROM (SELECT count(*) AS n FROM patients) p, wards w ORDER BY 1"),
        bind(b"p", b"s"), _run(_CLINICAL), execute(b"p"), SYNC,
    ),
}  # fmt: skip


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_names_are_those_that_were_bound(sent: Sequence[bytes], connect: Connect, plain: str) -> None:
    """A portal is of the tables that PostgreSQL has found at Bind, and of those at Execute where it looks then."""
    with psycopg.connect(plain, autocommit=True) as other:
        expected, seen = _seen(other, sent), _seen(connect("owner"), sent)
    assert any(rows for _, rows in expected)
    assert seen == expected


def _seen(connection: psycopg.Connection[tuple[object, ...]], sent: Sequence[bytes]) -> list[tuple[bytes, list[bytes]]]:
    """Return what comes back within a transaction, up to each ReadyForQuery: the kinds of messages, and rows."""
    connection.execute("BEGIN")
    connection.execute("SET LOCAL client_min_messages = error")
    with Raw(connection) as raw:
        raw.send(*sent)
        seen = []
        for _ in range(sum(message == SYNC or message[:1] == b"Q" for message in sent)):
            came = raw.receive()
            kinds = b"".join(kind for kind, _ in came if kind not in b"SN")
            seen.append((kinds, [body for kind, body in came if kind in b"Dd"]))
        raw.send(query("ROLLBACK"))
        raw.receive()
    return seen
