"""The objects that clients may create: temporary tables and views, by names that are free. An event trigger refuses the rest.

PostgreSQL fires it for every statement that changes the catalogue, also for those that were hidden from the wire. It does
not fire for roles, databases and settings: a client's role has no privilege for them, or the warden takes them back. Nor
does it fire for the table that EXPLAIN ANALYZE creates, a temporary one of any name: the wire refuses that statement.
"""

from psycopg import Connection
from psycopg.sql import SQL, Literal

from dpsql.policy.model import Policy
from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.server.postgres import OWNER

_ALLOWED = ("CREATE TABLE", "CREATE TABLE AS", "SELECT INTO", "DROP TABLE", "CREATE VIEW", "DROP VIEW", "COMMENT")

_TRIGGERS = """
CREATE FUNCTION pg_dpsql.check_command() RETURNS event_trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF session_user = {oracle} AND tg_tag IN ('CREATE FUNCTION', 'CREATE TABLE') THEN
    RETURN;  -- temporary ones: it may make no others
  END IF;
  IF session_user <> {owner} AND (session_user = {oracle} OR tg_tag <> ALL ({allowed})) THEN
    RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = pg_catalog.format('permission denied for %s', tg_tag),
      HINT = 'Temporary tables and views can be created, and dropped.';
  END IF;
END $$;
CREATE EVENT TRIGGER dpsql_command ON ddl_command_start EXECUTE FUNCTION pg_dpsql.check_command();

-- A temporary table of that name would be read in the place of what has it, as a table or as a type.
CREATE FUNCTION pg_dpsql.check_names() RETURNS event_trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  taken pg_catalog.name;
BEGIN
  IF session_user = {owner} THEN
    RETURN;
  END IF;
  SELECT made.relname INTO taken FROM pg_catalog.pg_event_trigger_ddl_commands() AS command
    JOIN pg_catalog.pg_class AS made ON made.oid = command.objid AND command.classid = 'pg_catalog.pg_class'::regclass
   WHERE made.relname = ANY ({names})
      OR EXISTS (SELECT FROM pg_catalog.pg_class AS other
                  WHERE other.relname = made.relname AND other.relnamespace = 'pg_catalog'::regnamespace)
      OR EXISTS (SELECT FROM pg_catalog.pg_type AS other WHERE other.typnamespace = 'pg_catalog'::regnamespace
                  AND other.typname IN (made.relname, '_' || made.relname));
  IF taken IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = '42501',
      MESSAGE = pg_catalog.format('temporary table can''t be named "%s", which is another''s name', taken),
      HINT = 'Give it another name.';
  END IF;
END $$;
CREATE EVENT TRIGGER dpsql_names ON ddl_command_end EXECUTE FUNCTION pg_dpsql.check_names();

-- Everybody reads all comments: a client's own are gone when they have been written.
CREATE FUNCTION pg_dpsql.forget_comments() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF session_user <> {owner} THEN
    DELETE FROM pg_catalog.pg_description USING pg_catalog.pg_event_trigger_ddl_commands() AS command
     WHERE objoid = command.objid AND classoid = command.classid AND pg_description.objsubid = command.objsubid;
    RAISE NOTICE 'comments of temporary tables are not kept, because all clients would see them';
  END IF;
END $$;
CREATE EVENT TRIGGER dpsql_comments ON ddl_command_end WHEN TAG IN ('COMMENT') EXECUTE FUNCTION pg_dpsql.forget_comments();
"""


def create_triggers(connection: Connection, policy: Policy) -> None:
    """Create the event triggers; the owner's connection, in the new database, when everything else is there."""
    parts = {
        "owner": Literal(OWNER),
        "oracle": Literal(ORACLE),
        "allowed": Literal(list(_ALLOWED)),
        "names": Literal(sorted(policy.taken)),
    }
    connection.execute(SQL(_TRIGGERS).format(**parts))
