"""The parts of the catalogue that would tell one client about another: sessions, locks, and the sizes of temporary tables."""

from psycopg import Connection
from psycopg.sql import SQL

_ACTIVITY = """
SET LOCAL allow_system_table_mods = on;
CREATE TABLE dpsql.activity AS TABLE pg_catalog.pg_stat_activity WITH NO DATA;
DO $$
DECLARE
  rows text := rtrim(pg_get_viewdef('pg_catalog.pg_stat_activity'::regclass), ';');
BEGIN
  EXECUTE format('CREATE FUNCTION dpsql.own_activity() RETURNS SETOF dpsql.activity LANGUAGE sql SECURITY DEFINER'
    ' SET search_path = pg_catalog, pg_temp BEGIN ATOMIC SELECT * FROM (%s) AS a WHERE usename = session_user; END', rows);
END $$;
CREATE OR REPLACE VIEW pg_catalog.pg_stat_activity AS SELECT * FROM dpsql.own_activity();
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
    "pg_stat_progress_analyze",
    "pg_stat_progress_basebackup",
    "pg_stat_progress_cluster",
    "pg_stat_progress_copy",
    "pg_stat_progress_create_index",
    "pg_stat_progress_vacuum",
    "pg_stat_replication",
    "pg_stat_subscription",
    "pg_stat_subscription_stats",
    "pg_stat_wal",
    "pg_stat_wal_receiver",
)
"""Views that would tell of other sessions or of the server; the functions behind stay denied."""

_SIZE = """
CREATE FUNCTION dpsql.size_of(relations oid[]) RETURNS bigint LANGUAGE sql STABLE
  RETURN (SELECT sum(greatest(relpages, 1)) * 8192 FROM pg_catalog.pg_class
           WHERE oid = ANY (relations) AND relpersistence <> 't')::bigint;
CREATE FUNCTION dpsql.indexes_of(relation oid) RETURNS oid[] LANGUAGE sql STABLE
  RETURN ARRAY(SELECT indexrelid FROM pg_catalog.pg_index WHERE indrelid = relation);
CREATE FUNCTION dpsql.size_of_all() RETURNS bigint LANGUAGE sql STABLE
  RETURN dpsql.size_of(ARRAY(SELECT oid FROM pg_catalog.pg_class));
"""

_SIZES = {
    "pg_relation_size(regclass)": "dpsql.size_of(ARRAY[$1::oid])",
    "pg_relation_size(regclass, text)": "dpsql.size_of(ARRAY[$1::oid])",
    "pg_table_size(regclass)": "dpsql.size_of(ARRAY[$1::oid])",
    "pg_indexes_size(regclass)": "dpsql.size_of(dpsql.indexes_of($1))",
    "pg_total_relation_size(regclass)": "dpsql.size_of($1::oid || dpsql.indexes_of($1))",
    "pg_database_size(name)": "dpsql.size_of_all()",
    "pg_database_size(oid)": "dpsql.size_of_all()",
    "pg_tablespace_size(name)": "dpsql.size_of_all()",
    "pg_tablespace_size(oid)": "dpsql.size_of_all()",
}
"""PostgreSQL's functions that ask the disk, which has the temporary tables of everybody, and what they say here."""


def create_hidden(connection: Connection) -> None:
    """Replace what shows other clients' sessions and sizes; the owner's connection, in the new database."""
    connection.execute(_ACTIVITY)
    connection.execute(SQL(_STAND_INS).format(empty=list(_EMPTY)))
    connection.execute(_SIZE)
    for signature, size in _SIZES.items():
        _replace(connection, signature, "bigint", size)
    # Nobody is told who waits for whom; locks are nobody's, as pg_locks shows them.
    _replace(connection, "pg_blocking_pids(integer)", "integer[]", "'{}'::integer[]")


def _replace(connection: Connection, signature: str, kind: str, body: str) -> None:
    """Replace PostgreSQL's function by one of ours.

    Not by CREATE OR REPLACE: PostgreSQL calls the functions that it was built with by their numbers, against the
    catalogue.
    """
    name = signature.partition("(")[0]
    for statement in (
        f"REVOKE ALL ON FUNCTION pg_catalog.{signature} FROM PUBLIC",
        f"ALTER FUNCTION pg_catalog.{signature} RENAME TO dpsql_{name}",
        f"CREATE FUNCTION pg_catalog.{signature} RETURNS {kind} LANGUAGE sql STABLE STRICT RETURN {body}",
    ):
        connection.execute(statement.encode())
