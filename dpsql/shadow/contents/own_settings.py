"""dpsql's own settings, where `set_config` is to set them: PostgreSQL would take them for any setting of a client's.

The wire reads SET, and refuses values that the session may not have. Only the shadow knows a function's arguments. It
checks names, and how values are written; the gateway checks the role's limits with the next question. A session can't
change its role either: no user has another role that it could take (`role`).
"""

from psycopg import Connection
from psycopg.sql import SQL, Composed, Literal

from dpsql.question import OWN_SETTINGS, PREFIX

_FUNCTIONS = """
CREATE FUNCTION pg_dpsql.may_be_set(name text, value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  written text := CASE lower(name) {cases} END;
BEGIN
  IF lower(name) IN ('role', 'session_authorization') AND lower(value) NOT IN ('none', 'default') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied to set %s', lower(name));
  ELSIF starts_with(lower(name), {prefix}) IS NOT TRUE THEN
    RETURN true;
  ELSIF written IS NULL THEN
    RAISE undefined_object USING MESSAGE = format('unrecognized configuration parameter "%s"', name), HINT = {known};
  ELSIF value !~ written THEN
    RAISE invalid_parameter_value USING MESSAGE = format('invalid value for parameter "%s": "%s"', name, value),
      HINT = {known};
  END IF;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;
ALTER FUNCTION pg_catalog.set_config(text, text, boolean) RENAME TO dpsql_set_config;
CREATE FUNCTION pg_catalog.set_config(setting_name text, new_value text, is_local boolean) RETURNS text
  LANGUAGE sql VOLATILE
  RETURN CASE WHEN pg_dpsql.may_be_set(setting_name, new_value)
    THEN pg_catalog.dpsql_set_config(setting_name, new_value, is_local) END;
"""
"""A setting that has the name of PostgreSQL's has no SET of its own: one for the transaction would end with the
function."""
_EXAMPLES = (
    "dpsql's own settings are, for example: dpsql.epsilon = '0.1', dpsql.error = '5 %', dpsql.empty_groups = 'hide'."
)


def create_check(connection: Connection) -> None:
    """Replace PostgreSQL's `set_config` by ours; the owner's connection, in the new database."""
    cases = SQL(" ").join(_case(name, form) for name, form in OWN_SETTINGS.items())
    connection.execute(SQL(_FUNCTIONS).format(prefix=Literal(PREFIX), cases=cases, known=Literal(_EXAMPLES)))


def _case(name: str, form: str) -> Composed:
    return SQL("WHEN {} THEN {}").format(Literal(name), Literal(rf"^\s*({form})?\s*$"))
