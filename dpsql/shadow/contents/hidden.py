"""The parts of the catalogue that would tell one client about another.

These are sessions, locks, and the definitions and sizes of temporary tables and views. How many rows they have had is not
counted, since the server runs with `track_counts = off`.
"""

from psycopg import Connection
from psycopg.sql import SQL

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
