"""dpsql's own settings are looked at when they are set, in whatever way, as PostgreSQL looks at those that it knows."""

from collections.abc import Callable

import psycopg
import pytest

Connect = Callable[..., psycopg.Connection]

WRONG = [
    ("dpsql.empty_groups", "nonsense", "22023"),
    ("dpsql.empty_groups", "show hide", "22023"),
    ("dpsql.error", "five", "22023"),
    ("dpsql.error", "5 % of it", "22023"),
    ("dpsql.error", "-0.05", "22023"),
    ("dpsql.epsilon", "much", "22023"),
    ("dpsql.epsilon", "1/2", "22023"),
    ("dpsql.noise", "low", "42704"),
    ("DPSQL.Epsilom", "0.1", "42704"),
]
OUTSIDE = [("dpsql.epsilon", "0"), ("dpsql.epsilon", "2"), ("dpsql.error", "0"), ("dpsql.error", "101 %")]
"""What is written well, and none that a session of the role may have."""
RIGHT = [
    ("dpsql.empty_groups", "hide"),
    ("dpsql.empty_groups", " Show "),
    ("DPSQL.error", "5 %"),
    ("dpsql.error", "0.05"),
    ("dpsql.epsilon", "1e-1"),
    ("dpsql.epsilon", ""),
]
SET = ["SET {} = '{}'", "SET LOCAL {} TO '{}'", "SET SESSION {} = E'{}'; SELECT 1", "/* so */ SET {} = $${}$$;"]
CALLED = ["SELECT set_config('{}', '{}', false)", "SELECT pg_catalog.set_config('{}', '{}', true)"]


def _sqlstate(connection: psycopg.Connection, statement: str, parameters: tuple[str, ...] | None = None) -> str | None:
    """Return the code of a statement's error; None if it has none."""
    try:
        connection.execute(statement.encode(), parameters)
    except psycopg.Error as error:
        return error.sqlstate if error.diag.message_hint else "without a hint"
    return None


@pytest.mark.parametrize("way", [*SET, *CALLED])
def test_a_value_that_a_setting_can_not_have_is_refused_when_it_is_set(way: str, connect: Connect) -> None:
    """With PostgreSQL's own codes; what was set before stays."""
    connection = connect()
    connection.execute("SET dpsql.empty_groups = 'hide'")
    refused = [(*words, _sqlstate(connection, way.format(*words))) for *words, _ in WRONG]
    assert refused == WRONG
    assert connection.execute("SHOW dpsql.empty_groups").fetchall() == [("hide",)]


def test_a_value_that_comes_as_a_parameter_is_refused(connect: Connect) -> None:
    """`set_config($1, $2, false)` is what drivers and tools send."""
    ask = "SELECT set_config(%s, %s, false)"
    assert [(*words, _sqlstate(connect(), ask, tuple(words))) for *words, _ in WRONG] == WRONG


@pytest.mark.parametrize("way", ["-c {}={}", "-c{}={}", "--{}={}"])
def test_a_session_does_not_start_with_such_a_value(way: str, connect: Connect) -> None:
    """PGOPTIONS is refused as it is with a setting of PostgreSQL's."""
    for name, value, _ in WRONG:
        with pytest.raises(psycopg.OperationalError, match="dpsql"):
            connect(options=way.format(name.replace("_", "-"), value.replace(" ", "\\ ")))


@pytest.mark.parametrize("way", SET)
def test_a_value_outside_of_what_the_role_may_have_is_refused(way: str, connect: Connect) -> None:
    """By SET and at the start of a session, which the policy is read for."""
    assert {_sqlstate(connect(), way.format(*words)) for words in OUTSIDE} == {"22023"}
    for name, value in OUTSIDE:
        with pytest.raises(psycopg.OperationalError, match="dpsql"):
            connect(options=f"-c {name}={value.replace(' ', '')}")


@pytest.mark.parametrize("way", [*SET, *CALLED])
def test_a_right_value_is_set(way: str, connect: Connect) -> None:
    """However it is written, by whatever statement."""
    assert {_sqlstate(connect(), way.format(*words)) for words in RIGHT} == {None}


def test_what_is_no_value_passes(connect: Connect) -> None:
    """Words and numbers without quotes, what is reset, other settings, and how a session starts."""
    connection = connect(options="-c dpsql.empty-groups=hide --dpsql.error=5\\ %")
    assert connection.execute("SHOW dpsql.empty_groups").fetchall() == [("hide",)]
    for statement in (
        "SET dpsql.empty_groups = SHOW",
        "SET dpsql.epsilon TO 0.5",
        "SET dpsql.epsilon TO DEFAULT",
        "RESET dpsql.error",
        "RESET ALL",
        "SET application_name = 'dpsql.noise'",
        "SET other.noise = 'low'",
        "SELECT set_config('dpsql.error', NULL, false)",
        "SELECT set_config('other.noise', 'low', false)",
        "SELECT set_config('work_mem', '1MB', true)",
    ):
        assert _sqlstate(connection, statement) is None, statement


def test_what_is_set_by_a_function_lasts_as_long_as_it_should(connect: Connect) -> None:
    """For the session, or for the transaction and not only for the call."""
    connection = connect()
    connection.execute("SELECT set_config('dpsql.error', '0.5', false)")
    with connection.transaction():
        connection.execute("SELECT set_config('dpsql.error', '0.1', true)")
        assert connection.execute("SELECT current_setting('dpsql.error')").fetchone() == ("0.1",)
    assert connection.execute("SELECT current_setting('dpsql.error')").fetchone() == ("0.5",)


@pytest.mark.parametrize("setting", ["role", "session_authorization"])
def test_no_function_sets_who_the_session_is(setting: str, connect: Connect) -> None:
    """As SET is refused, with the same words, however the name comes about."""
    half = len(setting) // 2
    for statement, parameters in (
        (f"SET {setting} = dpsql_clients", ()),
        (f"SELECT set_config('{setting}', 'dpsql_clients', false)", ()),
        (f"SELECT set_config('{setting}', 'ana', false)", ()),
        ("SELECT set_config(%s, 'dpsql_clients', false)", (setting.upper(),)),
        (f"WITH x AS (SELECT set_config('{setting[:half]}' || '{setting[half:]}', 'dpsql_clients', true)) TABLE x", ()),
    ):
        connection = connect()
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"permission denied to set {setting}"):
            connection.execute(statement.encode(), parameters)
        assert connection.execute("SELECT current_user, session_user").fetchone() == ("ana", "ana")
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        connect(options=f"-c {setting}=dpsql_clients")
