"""The roles that clients have in the shadow: one a user, allowed to read and to keep temporary tables, nothing else.

PostgreSQL grants much to PUBLIC. Functions that could sleep, lock, notify, read files or other sessions, or run code
are taken away by name; `tests/shadow/test_role.py` tries each.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import psycopg
from psycopg import Connection
from psycopg.errors import InvalidObjectDefinition
from psycopg.sql import SQL, Identifier, Literal

from dpsql.errors import ConfigError
from dpsql.policy.model import Policy, Role, TableName
from dpsql.question import OWN_SETTINGS
from dpsql.shadow.contents.schema import VIEWS, all_schemas, qualified_name
from dpsql.shadow.server.postgres import OWNER

CLIENTS = "dpsql_clients"
"""The role that every user is a member of."""
ORACLE = "dpsql_oracle"
"""The user as whom planning asks; it may read public tables and call functions, and has no rights to go back to."""

# Each of these reads a file, waits, tells of other sessions, or runs a text as a statement. PostgreSQL gives most of
# them to superusers only; what it lets everybody call is taken away here.
_DENIED_PATTERN = (
    "^(lo_|pg_advisory|pg_try_advisory|pg_sleep|pg_notify|pg_notification|pg_read_|pg_ls_|pg_stat_file|pg_stat_get_backend"
    "|pg_stat_get_activity|pg_stat_get_progress|pg_stat_get_wal|pg_stat_get_subscription"
    "|pg_stat_get_(?:io|slru|archiver|bgwriter_|checkpointer_|buf_)|pg_cancel_backend"
    "|pg_terminate_backend|pg_logical|pg_replication|pg_create_|pg_drop_|pg_export_snapshot|pg_log_|pg_lock_status"
    "|pg_safe_snapshot|pg_isolation_test|pg_prepared_xact|pg_switch|pg_backup|pg_promote|pg_reload"
    "|pg_rotate|pg_current_logfile|pg_hba_file|pg_ident_file|pg_show_all_file|pg_get_backend_memory|pg_get_shmem"
    "|pg_control|pg_import_system|pg_stat_reset|pg_stat_force|pg_stat_clear|query_to_xml|table_to_xml|schema_to_xml"
    "|database_to_xml|cursor_to_xml)"
)
_DENIED_NAMES = (
    "loread",
    "lowrite",
    # They run statements that they are given as text.
    "ts_stat",
    "ts_rewrite",
    # Clients get it back below; what planning asks must not change how the next constant is read.
    "set_config",
)
_ALLOWED_NAMES = (
    "pg_advisory_unlock_all",  # drivers call it when they give a connection back; it gives up what nobody can take
    "pg_stat_get_backend_idset",
    # The stop button of tools. PostgreSQL itself lets a role signal its own sessions only.
    "pg_cancel_backend",
    "pg_terminate_backend",
)

_PATIENCE = 10_000  # milliseconds for a session to end
_END_SESSIONS = """
SELECT pg_catalog.pg_terminate_backend(pid, %s) FROM pg_catalog.pg_stat_get_activity(NULL)
 WHERE usesysid = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %s)
"""
_REVOKE = """
DO $$ DECLARE found regprocedure; BEGIN
  FOR found IN SELECT oid::regprocedure FROM pg_catalog.pg_proc
     WHERE pronamespace = 'pg_catalog'::regnamespace AND (proname ~ {pattern} OR proname = ANY ({names}))
       AND proname <> ALL ({allowed})
  LOOP EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', found); END LOOP;
END $$
"""


def create_roles(connection: Connection, users: Mapping[str, str]) -> None:
    """Make the cluster's roles exactly these users', for any others before; connected to any of its databases.

    Raises:
        ConfigError: for a user's name that can't be a role.
    """
    _check(users)
    for name in _names(connection):
        connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))
    connection.execute(SQL("DROP ROLE IF EXISTS {}").format(Identifier(CLIENTS)))
    connection.execute(SQL("CREATE ROLE {} NOLOGIN").format(Identifier(CLIENTS)))
    connection.execute(SQL("DROP ROLE IF EXISTS {}").format(Identifier(VIEWS)))
    connection.execute(SQL("CREATE ROLE {} NOLOGIN").format(Identifier(VIEWS)))
    _add(connection, (ORACLE, *users))


def change_roles(connection: Connection, policy: Policy, users: Mapping[str, str]) -> None:
    """Make the roles of users that are new, and grant each what their role may read now; in the data set's database.

    Those of others stay, until `drop_others`.

    Raises:
        ConfigError: for a user's name that can't be a role.
    """
    _check(users)
    names = _names(connection)
    _add(connection, [user for user in users if user not in names])
    for user in users:
        connection.execute(
            SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(all_schemas(policy), Identifier(user))
        )
    _search(connection, policy)
    _grant(connection, policy, users)


def drop_others(connection: Connection, users: Mapping[str, str]) -> None:
    """End the sessions and roles of everybody who is not among these users; in the data set's database, in autocommit."""
    for name in _names(connection) - {ORACLE, *users}:
        connection.execute(_END_SESSIONS, (_PATIENCE, name))
        connection.execute(SQL("DROP OWNED BY {}").format(Identifier(name)))
        connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))


def _check(users: Iterable[str]) -> None:
    for user in users:
        if user.startswith("pg_") or user in (OWNER, CLIENTS, ORACLE, VIEWS, "public", "none", ""):
            raise ConfigError(f'user "{user}" can\'t be a role of PostgreSQL', hint="Choose another name.")


def _names(connection: Connection) -> set[str]:
    roles = connection.execute("SELECT rolname FROM pg_roles WHERE rolcanlogin AND NOT rolsuper").fetchall()
    return {name for (name,) in roles}


def _add(connection: Connection, names: Iterable[str]) -> None:
    """Make roles that all log in with the owner's secret, which only dpsql knows."""
    ((verifier,),) = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (OWNER,)).fetchall()
    for name in names:
        made = SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {}")
        connection.execute(made.format(Identifier(name), verifier))
        if name != ORACLE:
            # Its rights, and not the right to be it: a session is its user's, with any of its settings.
            granted = SQL("GRANT {} TO {} WITH INHERIT TRUE, SET FALSE")
            connection.execute(granted.format(Identifier(CLIENTS), Identifier(name)))


def close_databases(connection: Connection, database: str) -> None:
    """Let clients into `database` only, and make nothing but temporary tables there."""
    # PUBLIC may connect to each database by default, also to template1, where nothing is locked down.
    for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall():
        connection.execute(SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(Identifier(name)))
    name = Identifier(database)
    connection.execute(SQL("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}").format(name, Identifier(CLIENTS)))
    # Queries are bound as functions that are temporary and never called; `_TRIGGERS` lets it make nothing else.
    connection.execute(SQL("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}").format(name, Identifier(ORACLE)))


def lock_down(connection: Connection, policy: Policy, users: Mapping[str, str]) -> None:
    """Take away what PUBLIC has and grant each user what their role may read; in the new database, at the end."""
    pattern, names, allowed = _DENIED_PATTERN, list(_DENIED_NAMES), list(_ALLOWED_NAMES)
    connection.execute(SQL(_REVOKE).format(pattern=pattern, names=names, allowed=allowed))
    # Without a language there are no functions, and no DO blocks.
    connection.execute("REVOKE USAGE ON LANGUAGE sql, plpgsql FROM PUBLIC")
    # Not a setting of roles: those are rows that a role can write itself.
    connection.execute(SQL("ALTER DATABASE {} SET statement_timeout = '5min'").format(Identifier(policy.dataset)))
    # So that SHOW knows them before anybody has set them: as the role has it.
    for setting in OWN_SETTINGS:
        name = Identifier(*setting.split("."))
        connection.execute(SQL("ALTER DATABASE {} SET {} = ''").format(Identifier(policy.dataset), name))
    both = SQL(", ").join(map(Identifier, (CLIENTS, ORACLE)))
    for statement, to in (
        ("REVOKE ALL ON SCHEMA public FROM PUBLIC", both),
        ("GRANT USAGE ON SCHEMA dpsql, pg_dpsql TO {}", both),
        ("GRANT USAGE ON LANGUAGE sql TO {}", Identifier(ORACLE)),
        (
            "GRANT SELECT ON dpsql.budget, dpsql.charges, dpsql.registry, dpsql.audit, dpsql.profile, dpsql.columns TO {}",
            Identifier(CLIENTS),
        ),
        (
            "GRANT SELECT ON dpsql.releases, dpsql.tables, dpsql.standing TO {}",
            Identifier(CLIENTS),
        ),
        ("GRANT EXECUTE ON FUNCTION dpsql.take_profile() TO {}", Identifier(CLIENTS)),
        ("GRANT EXECUTE ON FUNCTION pg_catalog.set_config, pg_catalog.dpsql_set_config TO {}", Identifier(CLIENTS)),
    ):
        connection.execute(SQL(statement).format(to))
    connection.execute(SQL("GRANT USAGE ON SCHEMA {} TO {}").format(all_schemas(policy), both))
    for table in (*policy.tables, *policy.views):
        if not policy.protects(table):
            connection.execute(SQL("GRANT SELECT ON {} TO {}").format(qualified_name(table), both))
    _search(connection, policy)
    _grant(connection, policy, users)


def _search(connection: Connection, policy: Policy) -> None:
    """Let new sessions look for bare names where the policy says."""
    name, path = Identifier(policy.dataset), SQL(", ").join(map(Identifier, policy.search_path))
    how = SQL("SET search_path = {}").format(path) if policy.search_path else SQL("RESET search_path")
    connection.execute(SQL("ALTER DATABASE {} {}").format(name, how))


def _named(connection: Connection, policy: Policy, role: Role, table: str) -> AbstractSet[str] | None:
    """Return which columns of a table or view a role may name, None for all: of a view none that are a table's others."""
    named, view = role.columns.get(table), policy.views.get(table)
    others = {column for column, (of, name) in view.origins.items() if not role.may_name(of, name)} if view else set()
    if not others:
        return named
    every = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
    rows = connection.execute(every, (qualified_name(table).as_string(),)).fetchall()
    return {name for (name,) in rows if named is None or name in named} - others


def _grant(connection: Connection, policy: Policy, users: Mapping[str, str]) -> None:
    """Grant each user the protected tables and views of their role, or the columns of them that it may name."""
    for table in policy.protected:
        for user, name in users.items():
            role = policy.roles[name]
            if role.may_use(table):
                named = _named(connection, policy, role, table)
                if named is not None and not named:
                    continue  # of a view with nothing that it may name
                columns = (
                    SQL("") if named is None else SQL("({})").format(SQL(", ").join(map(Identifier, sorted(named))))
                )
                granted = SQL("GRANT SELECT {} ON {} TO {}")
                connection.execute(granted.format(columns, qualified_name(table), Identifier(user)))


# Whether PostgreSQL takes the conditions of roles: over one table's columns, and by nothing that changes without them.


def require_indexable_conditions(connection: Connection, policy: Policy) -> None:
    """See that each condition is one that PostgreSQL would take for an index of its table, of which it reads no row.

    Raises:
        ConfigError: it does not take some: with a line for each, of file, line, key and its reason.
    """
    wrong = sorted(_wrong_conditions(connection, policy))
    if wrong:
        raise ConfigError("\n".join(wrong), hint="docs/configuration.md says what a condition may be.")


def _wrong_conditions(connection: Connection, policy: Policy) -> Iterator[str]:
    for role in policy.roles.values():
        for table, condition in role.where.items():
            name = Identifier(TableName.of(table).name)
            try:
                with connection.transaction(force_rollback=True):
                    made = SQL("CREATE TEMP TABLE {} (LIKE {})").format(name, qualified_name(table))
                    connection.execute(made)
                    # By the extended protocol, which takes one statement only.
                    index = SQL("CREATE INDEX ON {} ((1)) WHERE (\n{}\n)").format(name, SQL(condition.text))
                    connection.execute(index, prepare=True)
            except InvalidObjectDefinition:
                yield f"{condition.place}: depends on more than the row: on the time, or on settings of the session"
            except psycopg.Error as failed:
                yield f"{condition.place}: {failed.diag.message_primary or 'PostgreSQL does not take it'}"


# The objects that clients may create: temporary tables and views, by names that are free. An event trigger refuses the rest.
#
# PostgreSQL fires it for every statement that changes the catalogue, also for those that were hidden from the wire. It does
# not fire for roles, databases and settings: a client's role has no privilege for them, or the warden takes them back. Nor
# does it fire for the table that EXPLAIN ANALYZE creates, a temporary one of any name: the wire refuses that statement.

_MAY_CREATE = ("CREATE TABLE", "CREATE TABLE AS", "SELECT INTO", "DROP TABLE", "CREATE VIEW", "DROP VIEW", "COMMENT")

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
        "allowed": Literal(list(_MAY_CREATE)),
        "names": Literal(sorted(policy.taken)),
    }
    connection.execute(SQL(_TRIGGERS).format(**parts))
