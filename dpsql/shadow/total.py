"""Functions for what is computed from released values: NULL where PostgreSQL's own would fail.

Noise makes a divisor 0 and a variance negative where true values would not, and an empty public group has no true value
at all: a statement that was paid for must not fail for that. `dpsql.sqrt` and the like are PostgreSQL's, NULL where those
raise; `dpsql.nonzero` is a divisor, NULL where it is 0; `dpsql.fits_…` a value, NULL where a cast of it would fail;
`dpsql.not_negative` a LIMIT or OFFSET, 0 where it is less. `rewrite/syntax/undefined.py` writes them into statements.
"""

from psycopg import Connection
from psycopg.sql import SQL, Identifier, Literal

from dpsql.rewrite.syntax.undefined import CASTS, PARTIAL

DIVISORS = ("smallint", "integer", "bigint", "real", "double precision", "numeric")
LIMITS = ("integer", "bigint", "double precision", "numeric")

_MIRRORED = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT f.proname AS name, pg_get_function_arguments(f.oid) AS arguments,
                    pg_get_function_result(f.oid) AS result, f.proisstrict AS null_on_null, f.provolatile = 'i' AS fixed,
                    (SELECT string_agg('$' || n, ', ' ORDER BY n) FROM generate_series(1, f.pronargs) AS n) AS given
               FROM pg_proc AS f
              WHERE f.pronamespace = 'pg_catalog'::regnamespace AND f.proname = ANY ({names}) AND NOT f.proretset
  LOOP
    EXECUTE format(
      'CREATE FUNCTION dpsql.%I(%s) RETURNS %s LANGUAGE plpgsql %s %s SET search_path = pg_catalog, pg_temp AS $f$'
      ' BEGIN RETURN pg_catalog.%I(%s);'
      ' EXCEPTION WHEN data_exception OR feature_not_supported OR program_limit_exceeded THEN RETURN NULL; END $f$',
      one.name, one.arguments, one.result, CASE WHEN one.fixed THEN 'IMMUTABLE' ELSE 'STABLE' END,
      CASE WHEN one.null_on_null THEN 'STRICT' ELSE 'CALLED ON NULL INPUT' END, one.name, one.given);
  END LOOP;
END $$
"""
_NONZERO = "CREATE FUNCTION dpsql.nonzero({0}) RETURNS {0} LANGUAGE sql IMMUTABLE RETURN NULLIF($1, 0::{0})"
_MONEY = "CREATE FUNCTION dpsql.nonzero(money) RETURNS money LANGUAGE sql STABLE RETURN NULLIF($1, 0::money)"
_NOT_NEGATIVE = (
    "CREATE FUNCTION dpsql.not_negative({0}) RETURNS bigint LANGUAGE sql IMMUTABLE"
    " RETURN CASE WHEN $1 < 0 THEN 0 ELSE $1 END::bigint"
)
_FITS = """
CREATE FUNCTION dpsql.{name}(value anyelement{arguments}) RETURNS anyelement LANGUAGE plpgsql STABLE STRICT
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cast_value {type};
BEGIN
  cast_value := {cast};
  RETURN value;
EXCEPTION WHEN data_exception OR feature_not_supported THEN
  RETURN NULL;
END $$
"""
# What numeric(p, s) is in the catalogue.
_NUMERIC = "pg_catalog.numeric(value::numeric, ((places << 16) | (scale & 2047)) + 4)"


def create_total(connection: Connection) -> None:
    """Create the functions; the owner's connection, in the new database, when the schema `dpsql` is there."""
    connection.execute(SQL(_MIRRORED).format(names=Literal(sorted(PARTIAL))))
    for statement, types in ((_NONZERO, DIVISORS), (_NOT_NEGATIVE, LIMITS)):
        for type_ in types:
            connection.execute(SQL(statement).format(SQL(type_)))
    connection.execute(_MONEY)
    for type_ in sorted(set(CASTS.values())):
        _create_fits(connection, f"fits_{type_}", "", type_, f"value::{type_}")
    _create_fits(connection, "fits_numeric", ", places integer, scale integer", "numeric", _NUMERIC)


def _create_fits(connection: Connection, name: str, arguments: str, type_: str, cast: str) -> None:
    parts = {"name": Identifier(name), "arguments": SQL(arguments), "type": SQL(type_), "cast": SQL(cast)}
    connection.execute(SQL(_FITS).format(**parts))
