"""The functions that stop sessions, which in the shadow tell dpsql whom they were asked to stop.

While a private statement is measured its session in the shadow has nothing to do, and a signal to it is lost. So our
functions with the names of PostgreSQL's call them, and then raises a notice, which the wire reads and no client sees.
They alone decide whom the caller may stop in the shadow; the wire stops sessions of the caller's own user only.
"""

from psycopg import Connection
from psycopg.sql import SQL, Literal

CODE = "DPS01"
"""The SQLSTATE of the notice; its message is the number, and what is to become of the session."""
CANCEL, END = "cancel", "end"

_TELL = """
CREATE FUNCTION pg_dpsql.tell(pid integer, what text, done boolean) RETURNS boolean LANGUAGE plpgsql VOLATILE STRICT
  SET search_path = pg_catalog, pg_temp SET client_min_messages = notice AS $$
BEGIN
  RAISE NOTICE USING ERRCODE = {code}, MESSAGE = pg_catalog.concat(pid, ' ', what);
  RETURN done;
END $$;
"""
_FUNCTIONS = """
ALTER FUNCTION pg_catalog.pg_cancel_backend(integer) RENAME TO dpsql_pg_cancel_backend;
CREATE FUNCTION pg_catalog.pg_cancel_backend(pid integer) RETURNS boolean LANGUAGE sql VOLATILE PARALLEL SAFE
  RETURN pg_dpsql.tell(pid, {cancel}, pg_catalog.dpsql_pg_cancel_backend(pid));
ALTER FUNCTION pg_catalog.pg_terminate_backend(integer, bigint) RENAME TO dpsql_pg_terminate_backend;
CREATE FUNCTION pg_catalog.pg_terminate_backend(pid integer, timeout bigint DEFAULT 0) RETURNS boolean
  LANGUAGE sql VOLATILE
  RETURN pg_dpsql.tell(pid, {end}, pg_catalog.dpsql_pg_terminate_backend(pid, timeout));
"""


def create_signals(connection: Connection) -> None:
    """Replace PostgreSQL's by ours; the owner's connection, in the new database, after the schema `dpsql`."""
    connection.execute(SQL(_TELL).format(code=Literal(CODE)))
    connection.execute(SQL(_FUNCTIONS).format(cancel=Literal(CANCEL), end=Literal(END)))
