"""Functions that PostgreSQL does not interrupt, and whose time grows with the product of what they are given.

    translate(repeat('0', 10^7), repeat('a', 10^6), 'b')   →   54000, at once; by itself it would spin for days

No cancel, no time limit and no end of the client's stops one, and to kill its process would end everybody's session. Ours
take their places, and look at the sizes before they call PostgreSQL's: for clients, and for the constants of planning. They
are functions that can be stopped between any two calls: in PL/pgSQL, or in SQL where arrays of rows are given, which the
other does not take.

They are those that people use, and not all that there are: `left_behind` ends a session in all others.
"""

from collections.abc import Mapping

from psycopg import Connection
from psycopg.sql import SQL, Literal

_MOST = 20_000_000
"""The product of both sizes: a tenth of a second."""
_TEXTS = "octet_length($1)::bigint * octet_length($2)"
_ARRAYS = "cardinality($1)::bigint * cardinality($2)"

GUARDED: Mapping[str, str] = {
    "replace(text, text, text)": "octet_length($1)::bigint * greatest(octet_length($2), octet_length($3))",
    "translate(text, text, text)": _TEXTS,
    "split_part(text, text, integer)": _TEXTS,
    "string_to_array(text, text, text)": _TEXTS,
    "string_to_table(text, text, text)": _TEXTS,
    **{
        f"{name}(text, text)": _TEXTS
        for name in ("strpos", "position", "btrim", "ltrim", "rtrim", "string_to_array", "string_to_table")
    },
    **{f"{name}(bytea, bytea)": _TEXTS for name in ("position", "btrim", "ltrim", "rtrim")},
    **{f"{name}(anyarray, anyarray)": _ARRAYS for name in ("arrayoverlap", "arraycontains", "arraycontained")},
}
"""Each with what its time grows with."""

_TOO_MUCH = """
CREATE FUNCTION pg_dpsql.too_much(name text) RETURNS boolean LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '54000', MESSAGE = format('%s is given more than it can be stopped at', name),
    HINT = 'Shorten its arguments.';
END $$
"""
_REPLACE = """
DO $$ DECLARE one record; old oid := {signature}::regprocedure; BEGIN
  SELECT f.proname AS name, pg_get_function_arguments(f.oid) AS arguments, pg_get_function_result(f.oid) AS result,
         f.proisstrict AS null_on_null, f.provolatile = 'i' AS fixed,
         (SELECT string_agg('$' || n, ', ' ORDER BY n) FROM generate_series(1, f.pronargs) AS n) AS given,
         CASE WHEN f.proretset THEN 'QUERY SELECT * FROM ' ELSE '' END AS rows,
         'anyarray'::regtype = ANY (f.proargtypes) AS of_arrays
    INTO one FROM pg_proc AS f WHERE f.oid = old;
  EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', old::regprocedure);
  EXECUTE format('ALTER FUNCTION %s RENAME TO %I', old::regprocedure, 'dpsql_' || one.name);
  EXECUTE format(
    'CREATE FUNCTION pg_catalog.%1$I(%2$s) RETURNS %3$s LANGUAGE %10$s %4$s %5$s PARALLEL SAFE SECURITY DEFINER'
    ' SET search_path = pg_catalog, pg_temp AS $f$ ' || CASE WHEN one.of_arrays
      THEN 'SELECT CASE WHEN %6$s > %7$s THEN pg_dpsql.too_much(''%1$s'') ELSE dpsql_%1$s(%9$s) END'
      ELSE 'BEGIN IF %6$s > %7$s THEN PERFORM pg_dpsql.too_much(''%1$s''); END IF; RETURN %8$s dpsql_%1$s(%9$s); END'
      END || ' $f$',
    one.name, one.arguments, one.result, CASE WHEN one.fixed THEN 'IMMUTABLE' ELSE 'STABLE' END,
    CASE WHEN one.null_on_null THEN 'STRICT' ELSE 'CALLED ON NULL INPUT' END, {size}, {most}, one.rows, one.given,
    CASE WHEN one.of_arrays THEN 'sql' ELSE 'plpgsql' END);
  UPDATE pg_operator SET oprcode = {signature}::regprocedure WHERE oprcode = old;
END $$
"""

_SHAPES = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT oid::regprocedure AS f FROM pg_proc
              WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f'
                AND ('path'::regtype = ANY (proargtypes) OR 'polygon'::regtype = ANY (proargtypes))
                AND NOT 'internal'::regtype = ANY (proargtypes) AND proname !~ '_(out|send)$'
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', one.f);
  END LOOP;
END $$
"""
"""Shapes of many points are compared point by point: nobody's columns have such types."""


def create_guarded(connection: Connection) -> None:
    """Put the functions in their places; the owner's connection, in the new database."""
    connection.execute("SET LOCAL allow_system_table_mods = on")
    connection.execute("SET LOCAL check_function_bodies = off")
    connection.execute(_TOO_MUCH)
    for signature, size in GUARDED.items():
        given = {"signature": Literal(f"pg_catalog.{signature}"), "size": Literal(size), "most": Literal(str(_MOST))}
        connection.execute(SQL(_REPLACE).format(**given))
    connection.execute(_SHAPES)
    connection.execute("RESET allow_system_table_mods")
