"""Functions and operators for what is computed from released values: NULL where PostgreSQL's own would fail.

Noise makes a divisor 0 and a variance negative where true values would not, and an empty public group has no true value
at all: a statement that was paid for must not fail for that. `pg_dpsql.sqrt` and the like are PostgreSQL's, NULL where those
raise, and so are the operators; `pg_dpsql.fits…` is a value, NULL where a cast of it would fail; `pg_dpsql.not_negative` a
LIMIT or OFFSET, 0 where it is less; `pg_dpsql.positive` is NULL where it is not. `rewrite/syntax/undefined.py` writes them.
"""

from psycopg import Connection
from psycopg.sql import SQL, Identifier, Literal

from dpsql.rewrite.syntax.whole.partial import CASTS, OPERATORS, PARTIAL, SETS

# Operators for what is computed from released values: PostgreSQL's own, but NULL where those would fail.
#
# Each sign has all the types that PostgreSQL gives it, so that `n OPERATOR(pg_dpsql.+) 1` is resolved as `n + 1` is. Common
# arguments (whole numbers, and others far from an overflow) are computed without leaving the expression: a function that
# may catch an error costs microseconds.

_WHOLE = ("smallint", "integer", "bigint")
_BROKEN = ("real", "double precision", "numeric")

_CHECKED = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT o.oid, o.oprname AS sign, o.oprleft::regtype AS a, o.oprright::regtype AS b, o.oprresult::regtype AS type,
                    CASE f.provolatile WHEN 'i' THEN 'IMMUTABLE' ELSE 'STABLE' END AS volatility,
                    CASE WHEN f.proisstrict THEN 'STRICT' ELSE 'CALLED ON NULL INPUT' END AS strictness
               FROM pg_operator AS o JOIN pg_proc AS f ON f.oid = o.oprcode
              WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprname = ANY ({signs}) AND o.oprkind = 'b'
  LOOP
    EXECUTE format(
      'CREATE FUNCTION pg_dpsql.%I(%s, %s) RETURNS %s LANGUAGE plpgsql %s %s SET search_path = pg_catalog, pg_temp AS $f$'
      ' BEGIN RETURN $1 OPERATOR(pg_catalog.%s) $2; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $f$',
      'checked_' || one.oid, one.a, one.b, one.type, one.volatility, one.strictness, one.sign);
  END LOOP;
END $$
"""
_QUICK = """
DO $$ DECLARE one record; BEGIN
  FOR one IN
    WITH operator AS (
      SELECT o.oid, o.oprname AS sign, o.oprleft::regtype AS a, o.oprright::regtype AS b, o.oprresult::regtype AS type,
             'checked_' || o.oid AS checked,
             2::numeric ^ CASE o.oprresult::regtype::text WHEN 'bigint' THEN 63 WHEN 'integer' THEN 31 ELSE 15 END AS beyond,
             ARRAY[o.oprleft, o.oprright]::regtype[] <@ {whole}::regtype[] AS whole,
             ARRAY[o.oprleft, o.oprright]::regtype[] <@ {broken}::regtype[] AS broken
        FROM pg_operator AS o
       WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprname = ANY ({signs}) AND o.oprkind = 'b')
    SELECT operator.*, CASE
      WHEN whole AND sign IN ('+', '-', '*') THEN format(
        'CASE WHEN $1::%s %s $2 BETWEEN %s AND %s THEN $1 %2$s $2 END',
        CASE type WHEN 'bigint'::regtype THEN 'numeric' ELSE 'bigint' END, sign,
        -beyond, beyond - 1)
      WHEN whole AND sign IN ('/', '%') THEN format(
        'CASE WHEN $2 NOT IN (0, -1) THEN $1 %s $2 WHEN $2 <> 0 THEN pg_dpsql.%I($1, $2) END', sign, checked)
      WHEN broken AND sign IN ('+', '-') THEN format(
        'CASE WHEN abs($1) < 1e30 AND abs($2) < 1e30 THEN $1 %s $2 ELSE pg_dpsql.%I($1, $2) END', sign, checked)
      WHEN broken AND sign IN ('*', '/') THEN format(
        'CASE WHEN abs($1) BETWEEN 1e-15 AND 1e15 AND abs($2) BETWEEN 1e-15 AND 1e15 THEN $1 %s $2'
        ' ELSE pg_dpsql.%I($1, $2) END', sign, checked)
      END AS quick FROM operator
  LOOP
    IF one.quick IS NOT NULL THEN
      EXECUTE format('CREATE FUNCTION pg_dpsql.%I(%s, %s) RETURNS %s LANGUAGE sql IMMUTABLE RETURN %s',
                     'quick_' || one.oid, one.a, one.b, one.type, one.quick);
    END IF;
    EXECUTE format('CREATE OPERATOR pg_dpsql.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = pg_dpsql.%I)', one.sign, one.a,
                   one.b, CASE WHEN one.quick IS NULL THEN one.checked ELSE 'quick_' || one.oid END);
  END LOOP;
END $$
"""
# Texts are put together as they are; arrays may not fit.
_JOINED = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT o.oprleft::regtype AS a, o.oprright::regtype AS b, f.proname AS name
               FROM pg_operator AS o JOIN pg_proc AS f ON f.oid = o.oprcode
              WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprname = '||'
  LOOP
    EXECUTE format('CREATE OPERATOR pg_dpsql.|| (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s.%I)', one.a, one.b,
                   CASE WHEN one.name LIKE 'array_%' THEN 'pg_dpsql' ELSE 'pg_catalog' END, one.name);
  END LOOP;
END $$
"""
_NEGATIVE = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT o.oprright::regtype AS a, o.oprresult::regtype AS type FROM pg_operator AS o
              WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprname = '-' AND o.oprkind = 'l'
  LOOP
    EXECUTE format(
      'CREATE FUNCTION pg_dpsql.negative(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE STRICT'
      ' SET search_path = pg_catalog, pg_temp AS $f$'
      ' BEGIN RETURN - $1; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $f$', one.a, one.type);
  END LOOP;
END $$
"""


def create_operators(connection: Connection) -> None:
    """Create the operators; the owner's connection, when the functions of `total.py` that may fail are there."""
    signs = {"signs": Literal(sorted({*OPERATORS.values()} - {"||"}))}
    connection.execute(SQL(_CHECKED).format(**signs))
    connection.execute(SQL(_QUICK).format(whole=Literal(list(_WHOLE)), broken=Literal(list(_BROKEN)), **signs))
    connection.execute(_JOINED)
    connection.execute(_NEGATIVE)


LIMITS = ("integer", "bigint", "double precision", "numeric")
_NUMBERS = (*_WHOLE, "real", "double precision", "numeric")
_AS_THEY_ARE = {
    "smallint": ("smallint",),
    "integer": ("smallint", "integer"),
    "bigint": _WHOLE,
    "real": (*_WHOLE, "real"),
    "double precision": (*_WHOLE, "real", "double precision"),
    "numeric": _NUMBERS,
}
"""The types whose numbers a type of numbers always takes."""

_MIRRORED = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT f.proname AS name, pg_get_function_arguments(f.oid) AS arguments,
                    pg_get_function_result(f.oid) AS result, f.proisstrict AS null_on_null, f.provolatile = 'i' AS fixed,
                    CASE WHEN f.proretset THEN 'QUERY SELECT * FROM' END AS rows,
                    (SELECT string_agg(CASE WHEN n = f.pronargs AND f.provariadic <> 0 THEN 'VARIADIC $' ELSE '$' END || n,
                                       ', ' ORDER BY n) FROM generate_series(1, f.pronargs) AS n) AS given
               FROM pg_proc AS f
              WHERE f.pronamespace = 'pg_catalog'::regnamespace AND f.proname = ANY ({names})
                AND f.prokind = 'f' AND 'internal'::regtype <> ALL (f.proargtypes)
  LOOP
    EXECUTE format(
      'CREATE FUNCTION pg_dpsql.%I(%s) RETURNS %s LANGUAGE plpgsql %s %s SET search_path = pg_catalog, pg_temp AS $f$'
      ' BEGIN RETURN %s pg_catalog.%I(%s); EXCEPTION WHEN OTHERS THEN RETURN %s; END $f$',
      one.name, one.arguments, one.result, CASE WHEN one.fixed THEN 'IMMUTABLE' ELSE 'STABLE' END,
      CASE WHEN one.null_on_null THEN 'STRICT' ELSE 'CALLED ON NULL INPUT' END, one.rows, one.name, one.given,
      CASE WHEN one.rows IS NULL THEN 'NULL' END);
  END LOOP;
END $$
"""
_NOT_NEGATIVE = (
    "CREATE FUNCTION pg_dpsql.not_negative({0}) RETURNS bigint LANGUAGE sql IMMUTABLE"
    " RETURN CASE WHEN $1 < 0 THEN 0 WHEN $1 < 1e15 THEN $1 END::bigint"
)
_POSITIVE = (
    "CREATE FUNCTION pg_dpsql.positive(integer) RETURNS integer LANGUAGE sql IMMUTABLE"
    " RETURN CASE WHEN $1 > 0 THEN $1 END"
)
_FITS = """
CREATE FUNCTION pg_dpsql.{name}(value {source}{arguments}) RETURNS {source} LANGUAGE plpgsql STABLE STRICT
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cast_value {type};
BEGIN
  cast_value := {cast};
  RETURN value;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$
"""
_FITS_ANY = """
CREATE FUNCTION pg_dpsql.fits(value anyelement, target anycompatible) RETURNS anyelement LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('SELECT CAST($1 AS %s)', pg_typeof(target)) USING value;
  RETURN value;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$
"""
_FITS_QUICKLY = "CREATE FUNCTION pg_dpsql.{name}(value {type}) RETURNS {type} LANGUAGE sql IMMUTABLE RETURN value"
# The form of numeric(p, s) in the catalogue.
_NUMERIC = "pg_catalog.numeric(value::numeric, ((places << 16) | (scale & 2047)) + 4)"


def create_total(connection: Connection) -> None:
    """Create the functions; the owner's connection, in the new database, when the schema `pg_dpsql` is there."""
    connection.execute("SET LOCAL check_function_bodies = off")  # they are many, and tests run each
    connection.execute(SQL(_MIRRORED).format(names=Literal(sorted(PARTIAL | SETS))))
    create_operators(connection)
    for type_ in LIMITS:
        connection.execute(SQL(_NOT_NEGATIVE).format(SQL(type_)))
    connection.execute(_POSITIVE)
    for type_ in sorted(set(CASTS.values())):
        _create_fits(connection, type_)
    _create_checked(connection, "numeric", "anyelement", ", places integer, scale integer", _NUMERIC)
    connection.execute(_FITS_ANY)


def _create_fits(connection: Connection, type_: str) -> None:
    """Create the function of a type of numbers: what it always takes costs nothing."""
    for source in ("anyelement", *_NUMBERS):
        if source in _AS_THEY_ARE[type_]:
            connection.execute(SQL(_FITS_QUICKLY).format(name=_fits(type_), type=SQL(source)))
        else:
            _create_checked(connection, type_, source, "", f"value::{type_}")


def _create_checked(connection: Connection, type_: str, source: str, arguments: str, cast: str) -> None:
    parts = {"source": SQL(source), "arguments": SQL(arguments), "type": SQL(type_), "cast": SQL(cast)}
    connection.execute(SQL(_FITS).format(name=_fits(type_), **parts))


def _fits(type_: str) -> Identifier:
    return Identifier(f"fits_{type_.replace(' ', '_')}")
