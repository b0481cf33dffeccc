"""The configuration read again: sessions end only where they must, and hear why."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import psycopg
import pytest

from dpsql.wire.protocol.scram import Verifier
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.data import write as write_tables
from tests.clients.site import Site, configure, serving
from tests.faults.controls import not_reloaded, reload
from tests.faults.controls import write as replace
from tests.support.demo_schemas import copy_with_numbers

NOISE = 500
"""What the noise of a sum never passes: 166 times its scale."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server, and what it reads."""

    site: Site
    config: Path
    log: Path

    @property
    def schemas(self) -> Path:
        """Return where the schemas are."""
        return self.config.parent / "schemas"

    @property
    def tables(self) -> Path:
        """Return the file with the tables."""
        return self.config.parent / "taxi.duckdb"


@pytest.fixture(scope="module")
def first() -> Iterator[Served]:
    """Give a server to all tests."""
    with TemporaryDirectory(prefix="dpsql-reload-") as made:
        directory = Path(made)
        directory.chmod(0o711)
        copy_with_numbers(directory / "schemas")
        config = configure(directory, schemas=Path("schemas/"))
        with (directory / "log").open("w") as log, serving(config, log=log) as site:
            yield Served(site, config, directory / "log")


@pytest.fixture
def served(first: Served) -> Iterator[Served]:
    """Give it as it was at first: what a test changes is undone."""
    before = {file: file.read_bytes() for file in (first.config, first.tables, *first.schemas.iterdir())}
    yield first
    for file, content in before.items():
        if file.read_bytes() != content:
            file.with_suffix(".old").write_bytes(content)
            file.with_suffix(".old").replace(file)
    reload(first.site)


def _line(role: str, password: str) -> str:
    """Return what the configuration says of a user bob."""
    return f'  bob: {{role: {role}, password: "{Verifier.of(password)}"}}\n'


def _add(config: Path, line: str) -> None:
    replace(config, "users:\n", f"users:\n{line}")


def _bob(site: Site, password: str) -> psycopg.Connection:
    """Connect as bob."""
    return psycopg.connect(site.words.replace("ana", "bob").replace("a pass:word", password), autocommit=True)


def _last_words(connection: psycopg.Connection) -> str:
    """Return what a session was told when it ended, within a minute."""
    with socket.socket(fileno=os.dup(connection.fileno())) as raw, connection:
        raw.settimeout(60)
        told = b""
        while piece := raw.recv(1000):
            told += piece
    return told.decode("latin-1")


def _farewell(connection: psycopg.Connection) -> str:
    """Return the same of a session that was told why."""
    told = _last_words(connection)
    assert "C57P01\0" in told
    return told


def test_hangup_reloads_users_and_descriptions(served: Served) -> None:
    """New users come in, comments are new ones, and no session ends for that."""
    with psycopg.connect(served.site.dsn, autocommit=True) as asked:
        asked.execute("CREATE TEMP TABLE kept AS SELECT 1")
        _add(served.config, _line("analyst", "first"))
        replace(served.schemas / "trips.yaml", "metered fare in dollars", "what the meter said")
        replace(served.schemas / "zones.yaml", "description: the taxi zones of New York\n", "")
        reload(served.site)
        assert "what the meter said" in str(asked.execute("SELECT description FROM dpsql.columns").fetchall())
        comments = "SELECT col_description('trips'::regclass, 9), obj_description('zones'::regclass)"
        assert asked.execute(comments).fetchone() == ("what the meter said", None)
        assert asked.execute("TABLE kept").fetchall() == [(1,)]
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        with _bob(served.site, "first") as bob:
            assert bob.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def _ends_bob(served: Served, old: str, new: str, password: str) -> None:
    """Change bob's line, and see that all of his sessions end."""
    asked, silent = _bob(served.site, password), _bob(served.site, password)
    asked.execute("CREATE TEMP TABLE kept AS SELECT 1")
    replace(served.config, old, new)
    reload(served.site)
    for session in (asked, silent):
        assert "its user was removed or changed" in _farewell(session)


def test_only_changed_users_are_hung_up_on(served: Served) -> None:
    """Who is no user any more, or has another password or role, hears why; the others notice nothing."""
    other = "other: {protects: passenger, budget: {epsilon: 9}, per_query: {epsilon: 1}}"
    replace(served.config, "roles:\n", f"roles:\n  {other}\n")
    first, second, third = _line("analyst", "first"), _line("analyst", "second"), _line("other", "second")
    _add(served.config, first)
    reload(served.site)
    with psycopg.connect(served.site.dsn, autocommit=True) as asked:
        asked.execute("CREATE TEMP TABLE kept AS SELECT 1")
        _ends_bob(served, first, second, "first")
        _ends_bob(served, second, third, "second")
        _ends_bob(served, third, "", "second")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            _bob(served.site, "second")
        assert asked.execute("TABLE kept").fetchall() == [(1,)]
        assert asked.execute("SELECT count(*) FROM pg_roles WHERE rolname = 'bob'").fetchone() == (0,)


_MISTAKES = {
    "unknown key": ("dataset: taxi\n", "dataset: taxi\ncolour: green\n"),
    "no YAML": ("dataset: taxi\n", 'dataset: "taxi\n'),
    "no YAML after the users": ("users:\n", "users:\n  # who comes in\n\n"),
    "no file of tables": ("schemas: schemas\n", "schemas: nowhere\n"),
    "what needs a restart": ("port: 0", "port: 1"),
    "another engine": ("taxi.duckdb", "other.duckdb"),
    "a budget below none": ("budget: {passenger: {epsilon: 10000000}}", "budget: {passenger: {epsilon: -1}}"),
    "another user's password": ("users:\n", "users:\n  eve: {role: analyst, password: plain}\n"),
}


@pytest.mark.parametrize("mistake", _MISTAKES)
def test_a_mistake_keeps_nobody_in_who_was_removed(served: Served, mistake: str) -> None:
    """Whatever is wrong with the file: who is not in it any more is hung up on, and the others notice nothing."""
    bob = _line("analyst", "first")
    _add(served.config, bob)
    reload(served.site)
    asked, silent = _bob(served.site, "first"), _bob(served.site, "first")
    asked.execute(GROUPED.encode())
    with psycopg.connect(served.site.dsn, autocommit=True) as other:
        other.execute("CREATE TEMP TABLE kept AS SELECT 1")
        replace(served.config, bob, "")
        replace(served.config, *_MISTAKES[mistake])
        if mistake.endswith("after the users"):
            served.config.write_text(served.config.read_text() + "web: {host\n")
        assert "but these users are gone: bob\n" in not_reloaded(served.site, served.log)
        for session in (asked, silent):
            told = _last_words(session)  # where the shadow lets go of a session first, it may end without a word
            assert not told or ("C57P01" in told and "its user was removed or changed" in told)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            _bob(served.site, "first")
        assert other.execute("TABLE kept").fetchall() == [(1,)]
        assert other.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def test_a_mistake_keeps_no_password_that_was_changed(served: Served) -> None:
    """Nor does a role stay that was taken away; a role that is not served lets nobody in."""
    first, second = _line("analyst", "first"), _line("analyst", "second")
    _add(served.config, first)
    reload(served.site)
    replace(served.config, "dataset: taxi\n", "dataset: taxi\ncolour: green\n")
    replace(served.config, first, second)
    assert "these users have another password or role: bob" in not_reloaded(served.site, served.log)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        _bob(served.site, "first")
    _bob(served.site, "second").close()
    replace(served.config, "bob: {role: analyst", "bob: {role: analist")
    assert "everything goes on as before" in not_reloaded(served.site, served.log)
    other = "other: {protects: passenger, budget: {epsilon: 9}, per_query: {epsilon: 1}}"
    replace(served.config, "roles:\n", f"roles:\n  {other}\n")
    replace(served.config, "bob: {role: analist", "bob: {role: other")
    assert "these users are gone: bob" in not_reloaded(served.site, served.log)


def test_users_that_can_not_be_read_are_as_before_and_it_is_said(served: Served) -> None:
    """A key that is misspelt lets nobody go: everybody would be locked out by it."""
    replace(served.config, "users:\n", "user:\n")
    assert "users can't be read either" in not_reloaded(served.site, served.log)
    psycopg.connect(served.site.dsn).close()


def test_what_needs_a_restart_is_named(served: Served) -> None:
    """Nothing was said but that something does, while `dpsql check` found no mistake."""
    replace(served.config, "port: 0", "port: 1")
    assert "config.yaml: listen changed, which needs a restart" in not_reloaded(served.site, served.log)


def test_a_role_with_fewer_tables_counts_at_once(served: Served) -> None:
    """Sessions go on, and may read what their role may."""
    with psycopg.connect(served.site.dsn, autocommit=True) as asked:
        asked.execute(GROUPED.encode())
        replace(served.config, "protects: passenger, budget", "protects: passenger, tables: [], budget")
        reload(served.site)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            asked.execute("SELECT count(*) FROM trips")
        replace(served.config, "tables: [], ", "")
        reload(served.site)
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def test_other_rows_of_public_tables_end_no_session(served: Served) -> None:
    """Who reads them sees the new ones with the next statement."""
    with psycopg.connect(served.site.dsn, autocommit=True) as asked:
        assert asked.execute("SELECT count(*) FROM zones").fetchone() == (5,)
        file = served.tables.with_name("new.duckdb")
        write_tables(file)
        with duckdb.connect(file) as new:
            new.execute("INSERT INTO zones VALUES (6, 'Zone 6', 'Queens')")
        file.replace(served.tables)
        reload(served.site)
        assert asked.execute("SELECT count(*) FROM zones").fetchone() == (6,)


def test_prepared_statement_is_answered_as_declared_now(served: Served) -> None:
    """Bounds that have changed since it was prepared count; nothing is measured by the old ones."""
    total = "SELECT sum(fare) FROM trips WHERE tip >= $1"
    with psycopg.connect(served.site.dsn, autocommit=True) as asked:
        asked.execute(f"PREPARE by_name (integer) AS {total}".encode())
        asked.pgconn.prepare(b"by_message", total.encode())
        before = pytest.approx(sum(3 + n % 50 for n in range(3_000)), abs=NOISE)
        assert asked.execute("EXECUTE by_name (0)").fetchone() == (before,)
        replace(served.schemas / "trips.yaml", "bounds: [0, 150]", "bounds: [0, 10]")
        reload(served.site)
        after = pytest.approx(sum(min(3 + n % 50, 10) for n in range(3_000)), abs=NOISE)
        assert asked.execute("EXECUTE by_name (0)").fetchone() == (after,)
        assert float(asked.pgconn.exec_prepared(b"by_message", [b"0"]).get_value(0, 0) or 0) == after


def test_other_columns_end_sessions_and_say_so(served: Served) -> None:
    """What a session knows of a table would be wrong; who has asked nothing yet stays."""
    asked = psycopg.connect(served.site.dsn, autocommit=True)
    asked.execute("SELECT 1")
    idle = psycopg.connect(served.site.dsn, autocommit=True)
    trips = served.schemas / "trips.yaml"
    trips.write_text("".join(line for line in trips.read_text().splitlines(True) if "  tip:" not in line))
    reload(served.site)
    assert "the declared tables have changed" in _farewell(asked)
    with idle, pytest.raises(psycopg.errors.UndefinedColumn):
        idle.execute("SELECT tip FROM trips")


_LOST = """
import psycopg
from dpsql.shadow.contents import build

def drop_departed_users(*_: object) -> None:
    raise psycopg.OperationalError("connection refused")

build.drop_departed_users = drop_departed_users
"""


def test_a_shadow_that_dies_at_the_end_of_a_reload_is_no_bug(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The roles that are to go stay until the next one; the log says so, without a traceback."""
    with serving(config, before=_LOST) as site:
        reload(site)
    said = capfd.readouterr().err
    assert "the shadow still has roles of users that are no more" in said
    assert "Traceback" not in said


_LOST_ONCE = """
import psycopg
from dpsql.shadow.contents import build

known, calls = build.with_views, iter(range(1_000))

def with_views(*words: object) -> object:
    if next(calls) == 1:
        raise psycopg.OperationalError("server closed the connection unexpectedly")
    return known(*words)

build.with_views = with_views
"""


def test_a_connection_that_is_lost_in_a_reload_is_tried_again(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Of a shadow that was killed a connection knows first: its process may be seen a moment longer."""
    with serving(config, before=_LOST_ONCE) as site:
        reload(site)
    said = capfd.readouterr().err
    assert "which is tried again: server closed the connection unexpectedly" in said
    assert "Traceback" not in said


def test_a_view_with_a_mistake_ends_no_session(served: Served) -> None:
    """It is found in a PostgreSQL of its own; a right one comes in, and is asked about."""
    view = served.schemas / "cards.yaml"
    with psycopg.connect(served.site.dsn, autocommit=True) as asked:
        view.write_text("table: cards\nview: SELECT farre FROM trips\n")
        told = not_reloaded(served.site, served.log)
        assert 'cards.yaml:2: view: "cards" can\'t be made: column "farre" does not exist' in told
        assert asked.execute("SELECT 1").fetchone() == (1,)
    view.write_text("table: cards\nview: SELECT payment_type, fare FROM trips\n")
    reload(served.site)
    with psycopg.connect(served.site.dsn, autocommit=True) as asked:
        assert asked.execute(GROUPED.replace("trips", "cards").encode()).fetchall() == BY_PAYMENT
    view.unlink()
