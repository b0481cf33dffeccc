"""A MariaDB as a source: types of every kind beside the same rows in PostgreSQL, rights, states, kills, a full disk."""

import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from dpsql.engines.connect import connect_database
from dpsql.engines.open import open_engine
from dpsql.engines.snapshot.open import current_snapshot, open_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.engines.tables import require_tables
from dpsql.errors import ConfigError, QueryCanceled
from dpsql.policy.config import Config, CopiedDatabase
from dpsql.policy.model import Column, JsonPath, SqlType
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Ref
from tests.clients.installed.mariadb import PASSWORD, READER, MariaDb, mariadb
from tests.engines.copies import column, copying, table
from tests.engines.nasty import DECLARED, Engines, compared
from tests.support.dialects import DUCKDB, POSTGRES
from tests.support.plain_server import installed_servers, running_server

TYPES: dict[str, tuple[SqlType, str, str, str, list[Any]]] = {
    "bool": (SqlType.BOOLEAN, "boolean", "boolean", "boolean", [True, False]),
    "bit1": (SqlType.BOOLEAN, "boolean", "bit(1)", "boolean", [True, False]),
    "bit12": (SqlType.BIGINT, "bigint", "bit(12)", "bigint", [0, 300, 4095]),
    "tiny": (SqlType.SMALLINT, "smallint", "tinyint", "smallint", [-128, 127]),
    "utiny": (SqlType.SMALLINT, "smallint", "tinyint unsigned zerofill", "smallint", [0, 7, 255]),
    "small": (SqlType.SMALLINT, "smallint", "smallint", "smallint", [-32768, 32767]),
    "medium": (SqlType.INTEGER, "integer", "mediumint", "integer", [-8388608, 8388607]),
    "int": (SqlType.INTEGER, "integer", "int(11)", "integer", [-(2**31), 2**31 - 1]),
    "uint": (SqlType.BIGINT, "bigint", "int unsigned", "bigint", [0, 2**32 - 1]),
    "big": (SqlType.BIGINT, "bigint", "bigint", "bigint", [-(2**63), 2**63 - 1]),
    "ubig": (SqlType.NUMERIC, "numeric(20,0)", "bigint unsigned", "numeric(20,0)", [0, 2**63, 2**64 - 1]),
    "zero": (SqlType.BIGINT, "bigint", "bigint(20) unsigned zerofill", "bigint", [42]),
    "year": (SqlType.SMALLINT, "smallint", "year", "smallint", [1901, 2155]),
    "money": (SqlType.NUMERIC, "numeric(10,2)", "decimal(10,2)", "numeric(10,2)", ["12345678.91", "-0.01"]),
    "fine": (SqlType.NUMERIC, "numeric(38,18)", "decimal(38,18)", "numeric(38,18)",
             ["12345678901234567890.123456789012345678", "0.000000000000000001"]),
    "wide": (SqlType.NUMERIC, "numeric(65,30)", "decimal(65,30)", "numeric(65,30)",
             ["12345678901234567890123456789012345.123456789012345678901234567890"]),
    "real": (SqlType.REAL, "real", "float", "real", [0.1, 3.4e38, -1.17549e-38]),
    "short": (SqlType.REAL, "real", "float(7,3)", "real", [1234.567]),
    "double": (SqlType.DOUBLE, "double precision", "double", "double precision",
               [0.1, 1.7976931348623157e308, 5e-324, -0.0]),
    "char": (SqlType.CHARACTER, "character(5)", "char(5)", "character(5)", ["ab", "ab   ", "äöüßé"]),
    "varchar": (SqlType.TEXT, "character varying(20)", "varchar(20)", "varchar(20)",
                ["", " a ", "a'b\"c\\d", "日本 \U0001f600"]),
    "latin": (SqlType.TEXT, "text", "varchar(20) character set latin1", "text", ["Zürich", "façade"]),
    "greek": (SqlType.TEXT, "text", "varchar(20) character set greek", "text", ["Αθήνα"]),
    "cyrillic": (SqlType.TEXT, "text", "varchar(20) character set koi8r", "text", ["Москва"]),
    "sjis": (SqlType.TEXT, "text", "varchar(20) character set sjis", "text", ["日本"]),
    "long": (SqlType.TEXT, "text", "longtext", "text", ["x" * 300_000, "a,b\n\r\t"]),
    "label": (SqlType.ENUM, "text", "enum('small','large','it''s')", "text", ["small", "it's"]),
    "set": (SqlType.TEXT, "text", "set('a','b','c')", "text", ["a,c", ""]),
    "json": (SqlType.JSON, "jsonb", "json", "jsonb", ['{"a": 1, "b": "é"}', "[1, 2]", '{"a": "12"}']),
    "uuid": (SqlType.UUID, "uuid", "uuid", "uuid", ["00112233-4455-6677-8899-aabbccddeeff"]),
    "uuidtext": (SqlType.UUID, "uuid", "char(36)", "uuid", ["00112233-4455-6677-8899-AABBCCDDEEFF"]),
    "uuidbytes": (SqlType.UUID, "uuid", "binary(16)", "uuid", ["00112233-4455-6677-8899-aabbccddeeff"]),
    "date": (SqlType.DATE, "date", "date", "date", ["2024-02-29", "1000-01-01", "9999-12-31"]),
    "moment": (SqlType.TIMESTAMP, "timestamp", "datetime(6)", "timestamp",
               ["2024-03-31 02:30:00.123456", "9999-12-31 23:59:59.999999"]),
    "seconds": (SqlType.TIMESTAMP, "timestamp", "datetime", "timestamp", ["2024-02-29 23:59:59"]),
    "zoned": (SqlType.TIMESTAMPTZ, "timestamptz", "timestamp(6) null", "timestamptz",
              ["2024-03-31 00:30:00.5", "2037-01-01 00:00:00"]),
    "time": (SqlType.TIME, "time", "time(6)", "time", ["00:00:00", "23:59:59.999999"]),
    "span": (SqlType.INTERVAL, "interval", "time(6)", "interval", ["838:59:59", "-838:59:59.5", "00:00:01"]),
}  # fmt: skip
"""By column: what it is declared as, MariaDB's type, PostgreSQL's, and values beside NULL."""
ODD: dict[str, tuple[SqlType, str, str, list[tuple[str, object]]]] = {
    "day": (SqlType.DATE, "date", "date", [("'0000-00-00'", None), ("'2024-00-15'", None), ("'2024-02-29'", "2024-02-29")]),
    "noon": (SqlType.TIMESTAMP, "timestamp", "datetime", [("'0000-00-00 00:00:00'", None), ("'2024-02-30 10:00:00'", None)]),
    "late": (SqlType.TIME, "time", "time", [("'25:00:00'", None), ("'-00:00:01'", None), ("'24:00:00'", "24:00:00")]),
    "huge": (SqlType.BIGINT, "bigint", "bigint unsigned",
             [("18446744073709551615", None), ("9223372036854775807", "9223372036854775807")]),
    "narrow": (SqlType.SMALLINT, "smallint", "int", [("70000", None), ("-7", "-7")]),
    "text": (SqlType.INTEGER, "integer", "varchar(9)", [("'12'", "12"), ("'1.5'", None), ("'secret'", None), ("''", None)]),
    "whole": (SqlType.INTEGER, "integer", "decimal(10,2)", [("12.00", "12"), ("12.50", None)]),
    "label": (SqlType.ENUM, "text", "enum('a')", [("'neither'", ""), ("'a'", "a")]),
    "flag": (SqlType.BOOLEAN, "boolean", "char(1)", [("'Y'", "true"), ("'n'", "false"), ("'?'", None)]),
    "many": (SqlType.BOOLEAN, "boolean", "tinyint(1)", [("2", None), ("1", "true")]),
    "null": (SqlType.TEXT, "text", "varchar(9)", [("'a\\0b'", None), ("'a\\\\b'", "a\\b")]),
    "bytes": (SqlType.UUID, "uuid", "binary(16)", [("x'ff'", "ff000000-0000-0000-0000-000000000000")]),
}  # fmt: skip
"""By column: what it is declared as, MariaDB's type, and what MariaDB writes with what is read of it."""
T = table("t", column("a", SqlType.BIGINT), column("b", SqlType.TEXT), unit="a")
ROWS = "INSERT INTO t SELECT seq, concat('secret', seq) FROM seq_1_to_{}"
CHILD = """
import sys
from dataclasses import replace
from pathlib import Path
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.policy.config import CopiedDatabase, Resources
from dpsql.question import Cancellation
from tests.clients.installed.test_mariadb import T
from tests.engines.copies import copying

print("begun", flush=True)
config = copying(Path(sys.argv[1]), CopiedDatabase(sys.argv[2]), T)
config = replace(config, snapshot=replace(config.snapshot, resources=Resources("300MB", 1)))
write_snapshot(config, lambda _: None, Cancellation())
"""


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDb]:
    """Give a server."""
    with mariadb() as running:
        yield running


@pytest.fixture
def fresh(server: MariaDb) -> MariaDb:
    """Give it without tables."""
    server.do("DROP DATABASE records", "CREATE DATABASE records CHARACTER SET utf8mb4")
    return server


def _write(config: Config, tell: Callable[[str], None] = lambda _: None) -> Path:
    assert config.snapshot is not None
    return config.snapshot.directory / f"{write_snapshot(config, tell, Cancellation()).name}.duckdb"


def _asked(file: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(file, read_only=True) as copy:
        return copy.execute(sql).fetchall()


def _many(server: MariaDb, directory: Path, rows: int) -> Config:
    server.do("CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR(40))", ROWS.format(rows))
    return copying(directory, CopiedDatabase(server.url()), T)


def test_each_type_answers_as_the_same_rows_in_postgres(fresh: MariaDb, tmp_path: Path) -> None:
    """What statements read of the copy is what they read of PostgreSQL's own table, value by value; nothing is unread."""
    kinds = ", ".join(f"`{name}` {kind}" for name, (_, _, kind, _, _) in TYPES.items())
    own = ", ".join(f'"{name}" {kind}' for name, (_, _, _, kind, _) in TYPES.items())
    columns = [column(name, type_, declared) for name, (type_, declared, *_) in TYPES.items()]
    columns = [replace(each, paths=_paths(each.name)) if each.type is SqlType.JSON else each for each in columns]
    with (
        running_server(installed_servers()[16]) as postgres,
        psycopg.connect(postgres.dsn(), autocommit=True) as theirs,
    ):
        theirs.execute(f"SET TimeZone = 'UTC'; CREATE TABLE nasty (id integer, {own})".encode())
        fresh.do(f"CREATE TABLE nasty (id integer PRIMARY KEY, {kinds})")
        with fresh.owner() as owner, owner.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            for row in range(max(len(values) for *_, values in TYPES.values()) + 1):
                cells = [values[row] if row < len(values) else None for *_, values in TYPES.values()]
                theirs.execute(
                    f"INSERT INTO nasty VALUES (%s{', %s' * len(cells)})".encode(), (row, *map(_text, cells))
                )
                kept = [_bytes(name, cell) for name, cell in zip(TYPES, cells, strict=True)]
                cursor.execute(f"INSERT INTO nasty VALUES (%s{', %s' * len(cells)})", (row, *kept))
        said: list[str] = []
        declared = table("nasty", column("id", SqlType.INTEGER), *columns, unit="id")
        config = copying(tmp_path, CopiedDatabase(fresh.url()), declared)
        with duckdb.connect(_write(config, said.append), read_only=True) as copy:
            compared(Engines(copy, theirs), [Ref(0, "nasty", each.name, each) for each in columns if not each.paths])
            read = [Ref(0, "nasty", path.name, path) for each in columns for path in each.paths]
            asked = [
                f"SELECT {', '.join(Emitter(of, DECLARED).sql(ref) for ref in read)} FROM nasty AS s0 ORDER BY id"
                for of in (DUCKDB, POSTGRES)
            ]
            assert copy.execute(asked[0]).fetchall() == theirs.execute(asked[1].encode()).fetchall()
    assert said == ["snapshot: table nasty, 1 of 1"]
    with closing(open_snapshot(config)) as engine:
        require_tables(config.policy, engine)


def _paths(json: str) -> tuple[Column, ...]:
    """Return what is read inside of JSON: a number, and a text."""
    return tuple(
        replace(column(f"{json}->>'{key}'", type_), path=JsonPath(json, (key,)))
        for key, type_ in (("a", SqlType.BIGINT), ("b", SqlType.TEXT))
    )


def _text(cell: object) -> object:
    """Return a cell as PostgreSQL reads it into any type."""
    return None if cell is None else str(cell)


def _bytes(name: str, cell: object) -> object:
    """Return a cell as MariaDB keeps it."""
    return bytes.fromhex(str(cell).replace("-", "")) if name == "uuidbytes" and cell is not None else cell


@pytest.mark.parametrize("name", ODD)
def test_what_is_not_as_declared_is_null_and_counted(fresh: MariaDb, tmp_path: Path, name: str) -> None:
    """Days that are none, times beyond a day, numbers that are too large: none makes a copy fail, and none is named."""
    type_, declared, kind, cells = ODD[name]
    fresh.do(f"CREATE TABLE t (n INT, x {kind})")
    with fresh.owner() as owner, owner.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        for number, (cell, _) in enumerate(cells):
            cursor.execute(f"INSERT INTO t VALUES ({number}, {cell})")
    said: list[str] = []
    of = table("t", column("n", SqlType.INTEGER), column("x", type_, declared), unit="n")
    file = _write(copying(tmp_path, CopiedDatabase(fresh.url()), of), said.append)
    read = [row[0] for row in _asked(file, "SELECT CAST(x AS VARCHAR) FROM t ORDER BY n")]
    assert read == [wanted for _, wanted in cells]
    unread = sum(wanted is None for _, wanted in cells)
    told = f'snapshot: table t, column "x": {unread} values are not as declared, and NULL'
    assert said[1:] == ([told] if unread else [])


def test_exact_keys_stay_exact(fresh: MariaDb, tmp_path: Path) -> None:
    """Decimals that double precision takes for one, and whole numbers beyond 63 bits, are two units."""
    fresh.do(
        "CREATE TABLE t (a DECIMAL(38, 10) PRIMARY KEY, b BIGINT UNSIGNED UNIQUE)",
        "INSERT INTO t VALUES (9007199254740992.0000000001, 18446744073709551615), "
        "(9007199254740992.0000000002, 18446744073709551614)",
    )
    a, b = column("a", SqlType.NUMERIC, "numeric(38,10)"), column("b", SqlType.NUMERIC, "numeric(20,0)")
    for unit in "ab":
        config = copying(tmp_path / unit, CopiedDatabase(fresh.url()), table("t", a, b, unit=unit))
        ((number,),) = _asked(_write(config), f"SELECT count(DISTINCT {unit}) FROM t")
        assert number == 2
        engine = open_engine(config)
        assert frozenset(unit) in engine.unique_keys("t")
        engine.close()


@pytest.mark.parametrize(
    ("collation", "refused"),
    [
        ("utf8mb4_general_ci", True), ("utf8mb4_unicode_520_ci", True), ("utf8mb4_nopad_bin", False), ("utf8mb4_bin", False),
        ("latin1_swedish_ci", True), ("latin1_general_cs", True), ("latin1_bin", False), ("ascii_general_ci", True),
    ],
)  # fmt: skip
def test_a_unit_is_compared_to_the_letter_or_refused(
    fresh: MariaDb, tmp_path: Path, collation: str, refused: bool
) -> None:
    """Ann, ann and 'ann ' are one in most collations: in the copy one person would be three, with three times the rows."""
    kind = f"VARCHAR(20) CHARACTER SET {collation.partition('_')[0]} COLLATE {collation}"
    fresh.do(f"CREATE TABLE t (a {kind})", "INSERT INTO t VALUES ('ann'), ('ann ')")
    config = copying(tmp_path, CopiedDatabase(fresh.url()), table("t", column("a", SqlType.TEXT), unit="a"))
    if refused:
        with pytest.raises(ConfigError, match="takes different texts for one"):
            _write(config)
        fresh.do(f"CREATE VIEW v AS SELECT CONVERT(lower(a) USING utf8mb4) COLLATE utf8mb4_bin AS a FROM t")  # noqa: F541
        config = copying(tmp_path, CopiedDatabase(fresh.url()), table("v", column("a", SqlType.TEXT), unit="a"))
        assert _asked(_write(config), "SELECT DISTINCT a FROM v") == [("ann",)]
    else:
        names = _asked(_write(config), "SELECT DISTINCT a FROM t ORDER BY 1")
        assert names == ([("ann",), ("ann ",)] if "nopad" in collation else [("ann",)])


@pytest.mark.parametrize(
    ("grants", "says"),
    [
        (["INSERT ON records.*"], "INSERT"),
        (["ALL PRIVILEGES ON records.*"], "ALL PRIVILEGES"),
        (["SELECT ON records.*", "FILE ON *.*"], "FILE"),
        (["SELECT ON records.* TO other WITH GRANT OPTION"], "GRANT OPTION"),
        (["SELECT (a), UPDATE (b) ON records.t"], "UPDATE"),
        (["SELECT (a, b), SHOW VIEW ON records.t"], None),
    ],
)
def test_an_account_that_may_do_more_than_read_is_refused(
    fresh: MariaDb, tmp_path: Path, grants: list[str], says: str | None
) -> None:
    """By its own rights, on whatever they are."""
    config = _many(fresh, tmp_path, 1)
    fresh.do("CREATE OR REPLACE USER other@'%' IDENTIFIED BY 'x'")
    for grant in grants:
        what, _, rest = grant.partition(" TO other")
        fresh.do(f"GRANT {what} TO other@'%'{rest}")
    other = replace(config, engine=CopiedDatabase(fresh.url("other", "x")))
    if says is None:
        _write(other)
        return
    with pytest.raises(ConfigError, match=f"the account has the rights {says}; dpsql connects only as one that can do"):
        connect_database(other)


def test_a_role_of_the_account_counts(fresh: MariaDb, tmp_path: Path) -> None:
    """Also one that it has not put on yet."""
    config = _many(fresh, tmp_path, 1)
    fresh.do("CREATE OR REPLACE USER other@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON records.* TO other@'%'")
    fresh.do("CREATE OR REPLACE ROLE writer", "GRANT DELETE ON records.* TO writer", "GRANT writer TO other@'%'")
    with pytest.raises(ConfigError, match="the account has the rights DELETE"):
        connect_database(replace(config, engine=CopiedDatabase(fresh.url("other", "x"))))


def test_all_tables_are_of_one_state(fresh: MariaDb, tmp_path: Path) -> None:
    """What is written while the first is copied is not in the second; of tables without transactions `check` warns."""
    fresh.do(*(text for name in "tu" for text in (f"CREATE TABLE {name} (a INT)", f"INSERT INTO {name} VALUES (1)")))
    fresh.do("CREATE TABLE m (a INT) ENGINE = MyISAM")
    config = copying(
        tmp_path, CopiedDatabase(fresh.url()), *(table(n, column("a", SqlType.INTEGER), unit="a") for n in "tum")
    )

    def tell(line: str) -> None:
        if "table u" in line:
            fresh.do("INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (2)")

    assert _asked(_write(config, tell), "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)") == [(1, 1)]
    with closing(connect_database(config)) as database:
        assert any("no tables of InnoDB's, and so of no one state: m;" in note for note in database.notes())


def test_deleted_rows_and_late_changes_are_in_the_next_copy(fresh: MariaDb, tmp_path: Path) -> None:
    """And the copy before is what it was until then."""
    config = _many(fresh, tmp_path, 3)
    before = _write(config)
    fresh.do("DELETE FROM t WHERE a = 1", "UPDATE t SET b = 'late' WHERE a = 2", "INSERT INTO t VALUES (9, 'new')")
    assert _asked(before, "FROM t SELECT a, b ORDER BY a")[0] == (1, "secret1")
    assert _asked(_write(config), "FROM t SELECT a, b ORDER BY a") == [(2, "late"), (3, "secret3"), (9, "new")]


def test_a_table_of_another_database_is_one_of_a_schema(fresh: MariaDb, tmp_path: Path) -> None:
    """By its name, or by its place."""
    fresh.do(
        "CREATE OR REPLACE DATABASE clinical",
        "CREATE TABLE clinical.labs (a INT)",
        "INSERT INTO clinical.labs VALUES (7)",
    )
    fresh.do("GRANT SELECT ON clinical.* TO dpsql_reader@'%'")
    for name, places in (("clinical.labs", {}), ("labs", {"labs": "clinical.labs"})):
        declared = table(name, column("a", SqlType.INTEGER), unit="a")
        config = copying(tmp_path / name, CopiedDatabase(fresh.url(), places), declared)
        assert _asked(_write(config), f'SELECT a FROM "{name}"') == [(7,)]


def _see_that_the_one_before_is_there(config: Config, before: Path) -> None:
    manifest = current_snapshot(config)
    assert manifest is not None
    assert manifest.name == before.stem
    open_snapshot(config).close()
    assert {file.suffix for file in before.parent.iterdir()} == {".duckdb", ".json", ""}


def test_a_server_that_is_killed_leaves_what_was(tmp_path: Path) -> None:
    """While its rows come: what is told is the kind, and the code."""
    with mariadb() as server:
        config = _many(server, tmp_path, 1_000_000)
        before = _write(config)

        def tell(_: str) -> None:
            _kill_in_a_moment(server)

        with pytest.raises(ConfigError) as caught:
            _write(config, tell)
        assert "the server went away" in caught.value.message
        assert "secret" not in f"{caught.value.message} {caught.value.hint}"
        _see_that_the_one_before_is_there(config, before)
        server.start()
        _write(config)


def _kill_in_a_moment(server: MariaDb) -> None:
    """Kill a server in a moment, when it has begun to send."""
    threading.Timer(0.3, server.kill).start()


def test_a_writer_that_is_killed_leaves_what_was(fresh: MariaDb, tmp_path: Path) -> None:
    """Again and again, at moments that lie anywhere in a copy."""
    config = _many(fresh, tmp_path, 1_000_000)
    before = _write(config)
    for after in (0.1, 0.5, 1.0, 2.0):
        with subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", CHILD, str(tmp_path), fresh.url()],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).parents[3],
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"begun\n"
            time.sleep(after)
            child.send_signal(signal.SIGKILL)
        _see_that_the_one_before_is_there(config, before)


def test_a_full_disk_leaves_what_was(fresh: MariaDb, tmp_path: Path) -> None:
    """What is told is the kind of error alone."""
    config = _many(fresh, tmp_path, 300_000)
    before = _write(config)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def tell(_: str) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))

    try:
        with pytest.raises(ConfigError, match=r"^the snapshot could not be written: ") as caught:
            _write(config, tell)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"
    _see_that_the_one_before_is_there(config, before)


def test_it_can_be_cancelled(fresh: MariaDb, tmp_path: Path) -> None:
    """While rows come, and while the database is silent."""
    slow = "CREATE VIEW t AS SELECT a, b FROM s WHERE a < 10 OR sleep(60) = 0"
    fresh.do("CREATE TABLE s (a BIGINT, b VARCHAR(40))", ROWS.replace("INTO t", "INTO s").format(20), slow)
    config, cancellation = copying(tmp_path, CopiedDatabase(fresh.url()), T), Cancellation()
    begun = time.monotonic()
    with pytest.raises(QueryCanceled):
        write_snapshot(config, lambda _: threading.Timer(0.5, cancellation.cancel).start(), cancellation)
    assert time.monotonic() - begun < 20


def test_memory_is_bounded(fresh: MariaDb, tmp_path: Path) -> None:
    """Four times the rows, 130 MB of texts, take no more of it: what DuckDB may use, and one piece."""
    most = []
    for rows in (100_000, 400_000):
        fresh.do("DROP TABLE IF EXISTS t", "CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR(400))")
        fresh.do(f"INSERT INTO t SELECT seq, repeat(md5(seq), 10) FROM seq_1_to_{rows}")
        config = copying(tmp_path / str(rows), CopiedDatabase(fresh.url()), T)
        assert config.snapshot is not None
        # A child of its own, whose most memory the system counts.
        child = f"import resource{CHILD}print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", child, str(tmp_path / str(rows)), fresh.url()],
            capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3],
        )  # fmt: skip
        most.append(int(done.stdout.split()[-1]) / 1024)
    assert most[1] < most[0] + 80, most


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a directory with a certificate of this machine's, and its key."""
    directory = tmp_path_factory.mktemp("certificate")
    subprocess.run(  # noqa: S603
        [  # noqa: S607
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=db",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", directory / "key.pem", "-out", directory / "ca.pem",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    directory.chmod(0o755)
    for file in directory.iterdir():
        file.chmod(0o644)
    return directory


def test_records_come_encrypted_or_not_at_all(certificate: Path, tmp_path: Path) -> None:
    """An account that must use TLS reads by the server's certificate, and not without it, nor by another one."""
    given = [f"--ssl-cert={certificate / 'ca.pem'}", f"--ssl-key={certificate / 'key.pem'}"]
    with mariadb(*given) as server:
        _many(server, tmp_path / "first", 10)
        server.do(f"ALTER USER {READER}@'%' REQUIRE SSL")
        trusted = copying(tmp_path / "trusted", CopiedDatabase(server.url(more=f"?ssl_ca={certificate / 'ca.pem'}")), T)
        assert _asked(_write(trusted), "SELECT count(*) FROM t") == [(10,)]
        other = tmp_path / "other.pem"
        subprocess.run(  # noqa: S603
            [  # noqa: S607
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=db",
                "-keyout", tmp_path / "other.key", "-out", other,
            ],
            check=True, capture_output=True,
        )  # fmt: skip
        for place, more in (("plain", "?ssl_disabled=true"), ("strange", f"?ssl_ca={other}")):
            with pytest.raises(ConfigError) as caught:
                _write(copying(tmp_path / place, CopiedDatabase(server.url(more=more)), T))
            assert "secret" not in f"{caught.value.message} {caught.value.hint}"
            assert PASSWORD not in f"{caught.value.message} {caught.value.hint}"
