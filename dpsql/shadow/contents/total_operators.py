"""Operators for what is computed from released values: PostgreSQL's own, but NULL where those would fail.

Each sign has all the types that PostgreSQL gives it, so that `n OPERATOR(pg_dpsql.+) 1` is resolved as `n + 1` is. Common
arguments (whole numbers, and others far from an overflow) are computed without leaving the expression: a function that
may catch an error costs microseconds.
"""

from psycopg import Connection
from psycopg.sql import SQL, Literal

from dpsql.rewrite.syntax.whole.partial import OPERATORS

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
