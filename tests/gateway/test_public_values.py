"""Public tables in the shadow: every value as the engine has it, whatever its type, and a key that identifies."""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from dpsql.engines.duckdb.engine import DuckDb
from dpsql.errors import ConfigError
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from tests.support.fix_world import running

_CONFIG = """\
dataset: taxi
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget: {rider: {epsilon: 1}}
roles:
  owner: {protects: rider, budget: {epsilon: 1}, per_query: {epsilon: 1}}
users: {}
"""
_RIDES = "table: rides\nprivacy_units: {rider: {column: rider, max_rows: 1}}\ncolumns: {rider: {type: bigint}}\n"
EXTREME: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "numeric(20,4)": (
        "decimal(20,4)",
        ("1234567890123456.7891", "1234567890123456.7892", "-0.0001", "0.1", "0", "7.5"),
    ),
    "numeric(38,10)": (
        "decimal(38,10)",
        ("9999999999999999999999999999.9999999999", "-1234567890123456789012345678.0123456789"),
    ),
    "numeric(38,0)": (
        "decimal(38,0)",
        ("99999999999999999999999999999999999999", "-99999999999999999999999999999999999998"),
    ),
    "numeric(10,2)": ("double", ("0.1", "123456.79", "-0.05")),
    "numeric": ("decimal(38,20)", ("0.12345678901234567891", "123456789012345678.12345678901234567892")),
    "double precision": (
        "double",
        ("5e-324", "1.7976931348623157e308", "-0.1", "2.2250738585072014e-308", "12345678901.123"),
    ),
    "real": ("real", ("1e-45", "3.4028235e38", "0.1", "16777216")),
    "bigint": ("bigint", ("9223372036854775807", "-9223372036854775808")),
    "smallint": ("smallint", ("32767", "-32768")),
    "date": ("date", ("0001-01-01", "9999-12-31", "2000-02-29")),
    "timestamp": ("timestamp", ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2019-03-01 00:00:00.000001")),
    "timestamptz": (
        "timestamptz",
        ("2019-03-31 00:30:00.123456+00", "0001-01-01 00:00:00+00", "2019-10-27 02:30:00+02"),
    ),
    "time": ("time", ("00:00:00", "23:59:59.999999", "24:00:00")),
    "interval": ("interval", ("1 day 00:00:00.000001", "-00:00:00.000001", "-3 days", "99999 days")),
    "text": (
        "varchar",
        ("", "NULL", "\\N", "\\", "a'b\"c", "tab\there", "line\nfeed\r", "😀", "á", "a", " a ", "$1", "{}"),
    ),
    "varchar(3)": ("varchar", ("abc", "a", "😀😀😀")),
    "char(3)": ("varchar", ("abc", "a", " b")),
    "boolean": ("boolean", ("true", "false")),
    "uuid": ("uuid", ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff")),
}
"""What each declared type is in DuckDB, and values that PostgreSQL reads alike."""
NOWHERE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "date": ("date", ("infinity", "-infinity", "4713-01-01 (BC)", "0044-03-15 (BC)", "10000-01-01")),
    "timestamp": ("timestamp", ("infinity", "0044-03-15 (BC) 00:00:00", "10000-01-01 00:00:00")),
    "timestamptz": ("timestamptz", ("-infinity", "0044-03-15 (BC) 00:00:00+00")),
    "double precision": ("double", ("nan", "infinity", "-infinity")),
    "real": ("real", ("nan", "infinity")),
    "interval": ("interval", ("1 month", "1 year", "1000000 days")),
}
"""Values that are NULL in public tables, as they are among private rows."""
NARROW: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "varchar(3)": ("varchar", ("abcd",)),
    "text": ("varchar", ("a\0b",)),
    "numeric(4,2)": ("double", ("99.995",)),
    "real": ("double", ("1e39",)),
}
"""Values without room in the declared type."""
ALIKE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "numeric(10,2)": ("decimal(20,4)", ("1.001", "1.002")),
    "real": ("double", ("0.1", "0.10000000001")),
    "varchar(3)": ("varchar", ("abc", "abc ")),
    "char(3)": ("varchar", ("a", "a ")),
}
"""Values that differ in the engine, and not in the declared type."""


def _policy(directory: Path, declared: str, *, key: bool) -> Policy:
    (directory / "schemas").mkdir()
    (directory / "config.yaml").write_text(_CONFIG, encoding="utf-8")
    (directory / "schemas" / "rides.yaml").write_text(_RIDES, encoding="utf-8")
    (directory / "schemas" / "prices.yaml").write_text(
        f"table: prices\npublic: true\n{'key: k' if key else ''}\n"
        f'columns: {{k: {{type: "{declared}"}}, n: {{type: bigint}}}}\n',
        encoding="utf-8",
    )
    return load(directory / "config.yaml").policy


def _engine(directory: Path, kind: str, values: tuple[str, ...]) -> DuckDb:
    file = directory / "prices.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE rides (rider BIGINT)")
        connection.execute(f"CREATE TABLE prices (k {kind}, n BIGINT)")
        connection.executemany(f"INSERT INTO prices VALUES (?::{kind}, ?)", [[v, n] for n, v in enumerate(values)])
    return DuckDb(file)


@pytest.mark.parametrize("declared", EXTREME)
def test_extreme_values_are_in_the_shadow_as_they_are(declared: str, tmp_path: Path) -> None:
    """Each is what PostgreSQL itself makes of its text, and identifies its row."""
    kind, values = EXTREME[declared]
    policy = _policy(tmp_path, declared, key=True)
    with running(policy, {}, _engine(tmp_path, kind, values)) as world:
        connection = world.connect("dpsql_owner")
        rows = connection.execute("SELECT n, k::text FROM prices ORDER BY n").fetchall()
        for number, text in enumerate(values):
            shown = connection.execute(f"SELECT %s::{declared}::text", [text]).fetchone()
            assert rows[number] == (number, *(shown or ()))
        connection.close()


@pytest.mark.parametrize("declared", NOWHERE)
def test_what_can_not_be_measured_is_null(declared: str, tmp_path: Path) -> None:
    """In the shadow as in the engine's statements; as a key it would be several."""
    kind, values = NOWHERE[declared]
    engine, policy = _engine(tmp_path, kind, values), _policy(tmp_path, declared, key=False)
    assert set(read_public(policy, engine).rows["prices"]["k"]) == {None}
    (tmp_path / "keyed").mkdir()
    with pytest.raises(ConfigError, match="is not unique or has NULLs"):
        read_public(_policy(tmp_path / "keyed", declared, key=True), engine)


@pytest.mark.parametrize("declared", NARROW)
def test_what_has_no_room_is_told_before_the_shadow_is_filled(declared: str, tmp_path: Path) -> None:
    """PostgreSQL would refuse the row; the owner hears which column."""
    kind, values = NARROW[declared]
    with pytest.raises(ConfigError, match='column "k" of public table "prices" has a value that has no room'):
        read_public(_policy(tmp_path, declared, key=False), _engine(tmp_path, kind, values))


@pytest.mark.parametrize("declared", ALIKE)
def test_a_key_identifies_in_its_declared_type(declared: str, tmp_path: Path) -> None:
    """What the shadow would take for one value is no key."""
    kind, values = ALIKE[declared]
    with pytest.raises(ConfigError, match="is not unique"):
        read_public(_policy(tmp_path, declared, key=True), _engine(tmp_path, kind, values))
