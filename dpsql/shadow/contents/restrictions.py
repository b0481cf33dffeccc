"""What of PostgreSQL's own is taken from clients: what would tell of others, and what can't be interrupted.

The former are sessions, locks, and definitions and sizes of temporary tables and views. How many rows they have had is not
counted, since the server runs with `track_counts = off`.
"""

from collections.abc import Mapping

from psycopg import Connection
from psycopg.sql import SQL, Literal

_ACTIVITY = """
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_dpsql.activity AS TABLE pg_catalog.pg_stat_activity WITH NO DATA;
DO $$
DECLARE
  rows text := rtrim(pg_get_viewdef('pg_catalog.pg_stat_activity'::regclass), ';');
BEGIN
  EXECUTE format('CREATE FUNCTION pg_dpsql.own_activity() RETURNS SETOF pg_dpsql.activity LANGUAGE sql SECURITY DEFINER'
    ' SET search_path = pg_catalog, pg_temp BEGIN ATOMIC SELECT * FROM (%s) AS a WHERE usename = session_user; END', rows);
END $$;
CREATE OR REPLACE VIEW pg_catalog.pg_stat_activity AS SELECT * FROM pg_dpsql.own_activity();
RESET allow_system_table_mods;
"""
"""A user sees their own sessions only, and so finds the one to cancel.

SECURITY DEFINER, because PostgreSQL's own function shows the sessions of others to all that may call it. The body is
bound when it is made: no name in it is looked up later.
"""

_STAND_INS = """
SET LOCAL allow_system_table_mods = on;
DO $$
DECLARE
  empty name;
  columns text;
BEGIN
  FOREACH empty IN ARRAY {empty}::name[] LOOP
    CONTINUE WHEN to_regclass(format('pg_catalog.%I', empty)) IS NULL;  -- of another version of PostgreSQL
    SELECT string_agg(format('NULL::%s%s AS %I', format_type(atttypid, atttypmod),
        CASE WHEN attcollation <> 0 THEN format(' COLLATE %s', attcollation::regcollation) END, attname), ', '
        ORDER BY attnum) INTO columns
      FROM pg_catalog.pg_attribute WHERE attrelid = format('pg_catalog.%I', empty)::regclass AND attnum > 0;
    EXECUTE format('CREATE OR REPLACE VIEW pg_catalog.%I AS SELECT %s WHERE false', empty, columns);
  END LOOP;
END $$;
CREATE OR REPLACE VIEW pg_catalog.pg_stat_ssl AS
  SELECT pid, NULL::boolean AS ssl, NULL::text AS version, NULL::text AS cipher, NULL::integer AS bits,
    NULL::text AS client_dn, NULL::numeric AS client_serial, NULL::text AS issuer_dn FROM pg_catalog.pg_stat_activity;
CREATE OR REPLACE VIEW pg_catalog.pg_stat_gssapi AS
  SELECT pid, false AS gss_authenticated, NULL::text AS principal, false AS encrypted, false AS credentials_delegated
    FROM pg_catalog.pg_stat_activity;
DO $$
BEGIN
  EXECUTE format('CREATE OR REPLACE VIEW pg_catalog.pg_policies AS SELECT * FROM (%s) AS p'
    ' WHERE current_setting(''application_name'') LIKE ''pgAdmin%%''',
    rtrim(pg_get_viewdef('pg_catalog.pg_policies'::regclass), ';'));
END $$;
RESET allow_system_table_mods;
"""
"""Views that tools show in dashboards, and pgAdmin reads when it connects: one's own sessions, or nothing.

Of TLS the shadow knows nothing, since clients have it with dpsql; nobody has GSSAPI. Policies are the tripwire's alone:
drizzle-kit would write it into a schema, and pgAdmin shows no table whose policies it finds in pg_policy and not here.
"""

_EMPTY = (
    "pg_locks",
    "pg_prepared_xacts",
    "pg_stat_archiver",
    "pg_stat_bgwriter",
    "pg_stat_checkpointer",
    "pg_stat_io",
    "pg_stat_progress_analyze",
    "pg_stat_progress_basebackup",
    "pg_stat_progress_cluster",
    "pg_stat_progress_copy",
    "pg_stat_progress_create_index",
    "pg_stat_progress_vacuum",
    "pg_stat_replication",
    "pg_stat_slru",
    "pg_stat_subscription",
    "pg_stat_subscription_stats",
    "pg_stat_wal",
    "pg_stat_wal_receiver",
)
"""Views that would tell of other sessions or of the server; the functions behind stay denied."""

_SIZE = """
CREATE FUNCTION pg_dpsql.size_of(relations oid[]) RETURNS bigint LANGUAGE sql STABLE
  RETURN (SELECT sum(greatest(relpages, 1)) * 8192 FROM pg_catalog.pg_class
           WHERE oid = ANY (relations) AND relpersistence <> 't')::bigint;
CREATE FUNCTION pg_dpsql.indexes_of(relation oid) RETURNS oid[] LANGUAGE sql STABLE
  RETURN ARRAY(SELECT indexrelid FROM pg_catalog.pg_index WHERE indrelid = relation);
CREATE FUNCTION pg_dpsql.size_of_all() RETURNS bigint LANGUAGE sql STABLE
  RETURN pg_dpsql.size_of(ARRAY(SELECT oid FROM pg_catalog.pg_class));
"""

_SIZES = {
    "pg_relation_size(regclass)": "pg_dpsql.size_of(ARRAY[$1::oid])",
    "pg_relation_size(regclass, text)": "pg_dpsql.size_of(ARRAY[$1::oid])",
    "pg_table_size(regclass)": "pg_dpsql.size_of(ARRAY[$1::oid])",
    "pg_indexes_size(regclass)": "pg_dpsql.size_of(pg_dpsql.indexes_of($1))",
    "pg_total_relation_size(regclass)": "pg_dpsql.size_of($1::oid || pg_dpsql.indexes_of($1))",
    "pg_database_size(name)": "pg_dpsql.size_of_all()",
    "pg_database_size(oid)": "pg_dpsql.size_of_all()",
    "pg_tablespace_size(name)": "pg_dpsql.size_of_all()",
    "pg_tablespace_size(oid)": "pg_dpsql.size_of_all()",
}
"""PostgreSQL's functions that ask the disk, which has the temporary tables of everybody, and what they say here."""

_SHOWN = """
CREATE FUNCTION pg_dpsql.is_shown(relation oid) RETURNS boolean LANGUAGE sql STABLE
  RETURN NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = relation AND relpersistence = 't'
    AND NOT pg_catalog.pg_has_role(session_user, relowner, 'MEMBER'));
"""
"""Whether a relation is not another user's temporary one; who asks is the session's user, whoever a function runs as."""

_PRINTED = {
    "pg_get_viewdef(oid)": "$1",
    "pg_get_viewdef(oid, boolean)": "$1",
    "pg_get_viewdef(oid, integer)": "$1",
    "pg_get_viewdef(text)": "to_regclass($1)",
    "pg_get_viewdef(text, boolean)": "to_regclass($1)",
    "pg_get_ruledef(oid)": "(SELECT ev_class FROM pg_catalog.pg_rewrite WHERE oid = $1)",
    "pg_get_ruledef(oid, boolean)": "(SELECT ev_class FROM pg_catalog.pg_rewrite WHERE oid = $1)",
    "pg_get_constraintdef(oid)": "(SELECT conrelid FROM pg_catalog.pg_constraint WHERE oid = $1)",
    "pg_get_constraintdef(oid, boolean)": "(SELECT conrelid FROM pg_catalog.pg_constraint WHERE oid = $1)",
    "pg_get_indexdef(oid)": "$1",
    "pg_get_indexdef(oid, integer, boolean)": "$1",
    "pg_get_expr(pg_node_tree, oid)": "$2",
    "pg_get_expr(pg_node_tree, oid, boolean)": "$2",
    "pg_get_partkeydef(oid)": "$1",
    "pg_get_partition_constraintdef(oid)": "$1",
}
"""PostgreSQL's functions that print what a relation is made of, and which relation that is.

Ours run as their owner, by the session's search path: clients may not call PostgreSQL's own, nor read the trees of views.
"""
_RAW = """
REVOKE SELECT ON pg_catalog.pg_rewrite FROM PUBLIC;
GRANT SELECT (tableoid, oid, rulename, ev_class, ev_type, ev_enabled, is_instead) ON pg_catalog.pg_rewrite TO PUBLIC;
"""
"""The trees of views are printed by functions, and read by nobody else."""
_VIEWS = r"""
DO $$ DECLARE one record; replaced text; BEGIN
  SELECT string_agg(oid::text, '|') INTO replaced FROM pg_proc
   WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^dpsql_';
  FOR one IN SELECT format('%I.%I', c.relnamespace::regnamespace, c.relname) AS name, pg_get_viewdef(c.oid) AS definition
               FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = r.ev_class
              WHERE r.ev_type = '1' AND r.ev_action::text ~ format(':funcid (%s) ', replaced)
  LOOP
    EXECUTE format('CREATE OR REPLACE VIEW %s AS %s', one.name,
      regexp_replace(one.definition, '\mdpsql_(\w+)\(', '\1(', 'g'));
  END LOOP;
END $$
"""


def create_hidden(connection: Connection) -> None:
    """Replace what shows other clients' sessions, definitions and sizes; the owner's connection, in the new database."""
    connection.execute(_ACTIVITY)
    connection.execute(SQL(_STAND_INS).format(empty=list(_EMPTY)))
    connection.execute(_SIZE)
    for signature, size in _SIZES.items():
        _replace(connection, signature, "bigint", size)
    # Nobody is told who waits for whom; locks are nobody's, as pg_locks shows them.
    _replace(connection, "pg_blocking_pids(integer)", "integer[]", "'{}'::integer[]")
    connection.execute(_SHOWN)
    for signature, relation in _PRINTED.items():
        _replace(connection, signature, "text", _if_shown(signature, relation), definer=True)
    connection.execute(_RAW)


def rebind_views(connection: Connection) -> None:
    """Let PostgreSQL's own views call what has taken the places of functions: they call these by their numbers."""
    connection.execute("SET LOCAL allow_system_table_mods = on")
    connection.execute(_VIEWS)
    connection.execute("RESET allow_system_table_mods")


def _if_shown(signature: str, relation: str) -> str:
    """Return what PostgreSQL's function says where it says nothing of others, else NULL."""
    name, _, types = signature.partition("(")
    arguments = ", ".join(f"${place}" for place, _ in enumerate(types.split(","), start=1))
    return f"CASE WHEN pg_dpsql.is_shown({relation}) THEN pg_catalog.dpsql_{name}({arguments}) END"


def _replace(connection: Connection, signature: str, kind: str, body: str, *, definer: bool = False) -> None:
    """Replace PostgreSQL's function by one of ours, which may call it by the name `dpsql_…` if `definer`.

    Not by CREATE OR REPLACE: PostgreSQL calls the functions that it was built with by their numbers, against the
    catalogue.
    """
    name = signature.partition("(")[0]
    runs = "SECURITY DEFINER" if definer else ""
    for statement in (
        f"REVOKE ALL ON FUNCTION pg_catalog.{signature} FROM PUBLIC",
        f"ALTER FUNCTION pg_catalog.{signature} RENAME TO dpsql_{name}",
        f"CREATE FUNCTION pg_catalog.{signature} RETURNS {kind} LANGUAGE sql STABLE STRICT {runs} RETURN {body}",
    ):
        connection.execute(statement.encode())


# Functions that PostgreSQL does not interrupt, and whose time grows with the product of what they are given.
#
#     translate(repeat('0', 10^7), repeat('a', 10^6), 'b')   →   54000, at once; by itself it would spin for days
#
# No cancel, no time limit and no end of the client's stops one, and to kill its process would end everybody's session. Ours
# take their places, and look at the sizes before they call PostgreSQL's: for clients, and for the constants of planning. They
# are functions that can be stopped between any two calls: in PL/pgSQL, or in SQL where arrays of rows are given, which the
# other does not take.
#
# They are those that people use, and not all that there are: `left_behind` ends a session in all others.

_MOST_STEPS = 20_000_000
"""The product of both sizes: a tenth of a second."""
_TEXT_STEPS = "octet_length($1)::bigint * octet_length($2)"
_ARRAY_STEPS = "cardinality($1)::bigint * cardinality($2)"

GUARDED: Mapping[str, str] = {
    "replace(text, text, text)": "octet_length($1)::bigint * greatest(octet_length($2), octet_length($3))",
    "translate(text, text, text)": _TEXT_STEPS,
    "split_part(text, text, integer)": _TEXT_STEPS,
    "string_to_array(text, text, text)": _TEXT_STEPS,
    "string_to_table(text, text, text)": _TEXT_STEPS,
    **{
        f"{name}(text, text)": _TEXT_STEPS
        for name in ("strpos", "position", "btrim", "ltrim", "rtrim", "string_to_array", "string_to_table")
    },
    **{f"{name}(bytea, bytea)": _TEXT_STEPS for name in ("position", "btrim", "ltrim", "rtrim")},
    **{f"{name}(anyarray, anyarray)": _ARRAY_STEPS for name in ("arrayoverlap", "arraycontains", "arraycontained")},
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
_REPLACE_GUARDED = """
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


def create_costly(connection: Connection) -> None:
    """Put the functions in their places; the owner's connection, in the new database."""
    connection.execute("SET LOCAL allow_system_table_mods = on")
    connection.execute("SET LOCAL check_function_bodies = off")
    connection.execute(_TOO_MUCH)
    for signature, size in GUARDED.items():
        given = {
            "signature": Literal(f"pg_catalog.{signature}"),
            "size": Literal(size),
            "most": Literal(str(_MOST_STEPS)),
        }
        connection.execute(SQL(_REPLACE_GUARDED).format(**given))
    connection.execute(_SHAPES)
    connection.execute("RESET allow_system_table_mods")
