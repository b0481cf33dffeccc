"""The configuration read again: sessions end only where they must, and hear why."""

import os
import shutil
import socket
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.wire.protocol.scram import Verifier
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.data import write as write_tables
from tests.clients.site import Site, serving
from tests.faults.controls import reload
from tests.faults.controls import write as replace

NOISE = 500
"""What the noise of a sum never passes: 166 times its scale."""


def _own_schemas(config: Path) -> Path:
    """Give the configuration schemas of its own, to be changed; return where they are."""
    theirs, schemas = Path(__file__).parent.parent.parent / "schemas", config.parent / "schemas"
    shutil.copytree(theirs, schemas)
    replace(config, str(theirs), "schemas/")
    return schemas


def _line(role: str, password: str) -> str:
    """Return what the configuration says of a user bob."""
    return f'  bob: {{role: {role}, password: "{Verifier.of(password)}"}}\n'


def _add(config: Path, line: str) -> None:
    replace(config, "users:\n", f"users:\n{line}")


def _bob(site: Site, password: str) -> psycopg.Connection:
    """Connect as bob."""
    return psycopg.connect(site.words.replace("ana", "bob").replace("a pass:word", password), autocommit=True)


def _farewell(connection: psycopg.Connection) -> str:
    """Return what a session was told when it ended."""
    with socket.socket(fileno=os.dup(connection.fileno())) as raw, connection:
        raw.settimeout(10)
        told = b""
        while piece := raw.recv(1000):
            told += piece
    assert b"C57P01\0" in told
    return told.decode("latin-1")


def test_hangup_reloads_users_and_descriptions(config: Path) -> None:
    """New users come in, comments are new ones, and no session ends for that."""
    schemas = _own_schemas(config)
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        asked.execute("CREATE TEMP TABLE kept AS SELECT 1")
        _add(config, _line("analyst", "first"))
        replace(schemas / "trips.yaml", "metered fare in dollars", "what the meter said")
        replace(schemas / "zones.yaml", "description: the taxi zones of New York\n", "")
        reload(site)
        assert "what the meter said" in str(asked.execute("SELECT description FROM dpsql.columns").fetchall())
        comments = "SELECT col_description('trips'::regclass, 9), obj_description('zones'::regclass)"
        assert asked.execute(comments).fetchone() == ("what the meter said", None)
        assert asked.execute("TABLE kept").fetchall() == [(1,)]
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        with _bob(site, "first") as bob:
            assert bob.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def _ends_bob(site: Site, config: Path, old: str, new: str, password: str) -> None:
    """Change bob's line, and see that all of his sessions end."""
    asked, silent = _bob(site, password), _bob(site, password)
    asked.execute("CREATE TEMP TABLE kept AS SELECT 1")
    replace(config, old, new)
    reload(site)
    for session in (asked, silent):
        assert "its user was removed or changed" in _farewell(session)


def test_only_changed_users_are_hung_up_on(config: Path) -> None:
    """Who is no user any more, or has another password or role, hears why; the others notice nothing."""
    other = "other: {protects: passenger, budget: {epsilon: 9}, per_query: {epsilon: 1}}"
    replace(config, "roles:\n", f"roles:\n  {other}\n")
    first, second, third = _line("analyst", "first"), _line("analyst", "second"), _line("other", "second")
    _add(config, first)
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        asked.execute("CREATE TEMP TABLE kept AS SELECT 1")
        _ends_bob(site, config, first, second, "first")
        _ends_bob(site, config, second, third, "second")
        _ends_bob(site, config, third, "", "second")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            _bob(site, "second")
        assert asked.execute("TABLE kept").fetchall() == [(1,)]
        assert asked.execute("SELECT count(*) FROM pg_roles WHERE rolname = 'bob'").fetchone() == (0,)


def test_a_role_with_fewer_tables_counts_at_once(config: Path) -> None:
    """Sessions go on, and may read what their role may."""
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        asked.execute(GROUPED.encode())
        replace(config, "protects: passenger, budget", "protects: passenger, tables: [], budget")
        reload(site)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            asked.execute("SELECT count(*) FROM trips")
        replace(config, "tables: [], ", "")
        reload(site)
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def test_other_rows_of_public_tables_end_no_session(config: Path) -> None:
    """Who reads them sees the new ones with the next statement."""
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        assert asked.execute("SELECT count(*) FROM zones").fetchone() == (5,)
        write_tables(config.parent / "new.duckdb")
        with duckdb.connect(config.parent / "new.duckdb") as new:
            new.execute("INSERT INTO zones VALUES (6, 'Zone 6', 'Queens')")
        (config.parent / "new.duckdb").replace(config.parent / "taxi.duckdb")
        reload(site)
        assert asked.execute("SELECT count(*) FROM zones").fetchone() == (6,)


def test_prepared_statement_is_answered_as_declared_now(config: Path) -> None:
    """Bounds that have changed since it was prepared count; nothing is measured by the old ones."""
    schemas, total = _own_schemas(config), "SELECT sum(fare) FROM trips WHERE tip >= $1"
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        asked.execute(f"PREPARE by_name (integer) AS {total}".encode())
        asked.pgconn.prepare(b"by_message", total.encode())
        before = pytest.approx(sum(3 + n % 50 for n in range(3_000)), abs=NOISE)
        assert asked.execute("EXECUTE by_name (0)").fetchone() == (before,)
        replace(schemas / "trips.yaml", "bounds: [0, 150]", "bounds: [0, 10]")
        reload(site)
        after = pytest.approx(sum(min(3 + n % 50, 10) for n in range(3_000)), abs=NOISE)
        assert asked.execute("EXECUTE by_name (0)").fetchone() == (after,)
        assert float(asked.pgconn.exec_prepared(b"by_message", [b"0"]).get_value(0, 0) or 0) == after


def test_other_columns_end_sessions_and_say_so(config: Path) -> None:
    """What a session knows of a table would be wrong; who has asked nothing yet stays."""
    schemas = _own_schemas(config)
    with serving(config) as site:
        asked = psycopg.connect(site.dsn, autocommit=True)
        asked.execute("SELECT 1")
        idle = psycopg.connect(site.dsn, autocommit=True)
        text = (schemas / "trips.yaml").read_text()
        (schemas / "trips.yaml").write_text("".join(line for line in text.splitlines(True) if "  tip:" not in line))
        reload(site)
        assert "the declared tables have changed" in _farewell(asked)
        with idle, pytest.raises(psycopg.errors.UndefinedColumn):
            idle.execute("SELECT tip FROM trips")


_LOST = """
import psycopg
from dpsql.shadow import build

def dismiss(*_: object) -> None:
    raise psycopg.OperationalError("connection refused")

build.dismiss = dismiss
"""


def test_a_shadow_that_dies_at_the_end_of_a_reload_is_no_bug(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The roles that are to go stay until the next one; the log says so, without a traceback."""
    with serving(config, before=_LOST) as site:
        reload(site)
    said = capfd.readouterr().err
    assert "the shadow still has roles of users that are no more" in said
    assert "Traceback" not in said
