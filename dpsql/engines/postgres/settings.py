"""The settings of every session with a PostgreSQL engine, which decide how statements and values are read.

They are options of the connection, so that they hold before the first statement is read, against those of the
server, the database and the role.
"""

from collections.abc import Mapping, Sequence

POSTGRES_SETTINGS: Mapping[str, str] = {
    # Operators and functions are PostgreSQL's own; tables are named with their schemas. With another schema in the path a
    # stranger's "=" could be preferred, because an exact match of types counts for more than the path's order.
    "search_path": "pg_catalog, pg_temp",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "TimeZone": "UTC",
    "timezone_abbreviations": "Default",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_numeric": "C",
    "lc_time": "C",
    "lc_monetary": "C",
    # A policy may let one person's rows depend on another's: better an error than rows that are missing.
    "row_security": "off",
    # Else an index could leave rows out at random.
    "gin_fuzzy_search_limit": "0",
    # Else every error would be the end of the connection, and look like an outage.
    "exit_on_error": "off",
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "0",
    # Else an ALTER TABLE that waits would hold up everybody.
    "lock_timeout": "10s",
}
PACE: Mapping[str, str] = {
    # Compiling takes longer than what it saves on statements that run for a second, and a second core comes sooner.
    "jit": "off",
    "parallel_setup_cost": "100",
    # Units are sorted to be counted.
    "work_mem": "64MB",
}
"""Settings for speed alone: a DSN may have others."""
_ALSO: Mapping[str, str] = {"client_encoding": "UTF8"}
_EXPECTED = {**POSTGRES_SETTINGS, **_ALSO}

SHOWN = "SELECT " + ", ".join(f"pg_catalog.current_setting('{name}')" for name in _EXPECTED)
"""The statement that tells what holds in a session."""


def options(given: str) -> str:
    """Return libpq's `options`: for speed, then those that were given, then ours; the last one of a name counts."""
    pace, ours = (
        [f"-c {name}={_escaped(value)}" for name, value in settings.items()] for settings in (PACE, POSTGRES_SETTINGS)
    )
    return " ".join((*pace, *([given] if given else []), *ours))


def _escaped(value: str) -> str:
    return value.replace(" ", "\\ ")


def differing(shown: Sequence[str]) -> str | None:
    """Return the first setting that is not ours in a row of `SHOWN`."""
    pairs = zip(_EXPECTED.items(), shown, strict=True)
    return next((f"{name} is {value}" for (name, wanted), value in pairs if value != wanted), None)
