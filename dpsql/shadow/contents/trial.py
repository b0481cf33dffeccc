"""Functions that try a statement in its session and take it back: what fails before an answer is paid for costs nothing.

The wire prepares the statement; what is tried is no text, so that a client who calls the functions gains nothing by it.
"""

from psycopg import Connection

PREPARED = "_dpsql_tried"
"""The name of the prepared statement that is tried."""

_FUNCTIONS = f"""
-- Return what the statement fails with, NULL if it does not. It has no search path of its own, since what it runs is to
-- find the session's names; its own names of tables and types all have their schemas. Sequences, which no end of a
-- transaction takes back, are set back.
CREATE FUNCTION pg_dpsql.tried(arguments pg_catalog.text[]) RETURNS pg_catalog.text[] LANGUAGE plpgsql AS $$
DECLARE
  listed pg_catalog.text := (SELECT pg_catalog.string_agg(pg_catalog.quote_nullable(value), ',' ORDER BY place)
                               FROM pg_catalog.unnest(arguments) WITH ORDINALITY AS _u (value, place));
  sequences pg_catalog.oid[] := ARRAY(SELECT oid FROM pg_catalog.pg_class
    WHERE relkind = 'S' AND relnamespace = pg_catalog.pg_my_temp_schema() ORDER BY oid);
  before pg_catalog.text[] := ARRAY(SELECT pg_dpsql.state(one) FROM pg_catalog.unnest(sequences) AS _u (one));
  code pg_catalog.text; message pg_catalog.text; detail pg_catalog.text; hint pg_catalog.text;
  schema_ pg_catalog.text; table_ pg_catalog.text; column_ pg_catalog.text; type_ pg_catalog.text; rule pg_catalog.text;
  said pg_catalog.text[];
BEGIN
  BEGIN
    EXECUTE pg_catalog.concat('EXECUTE {PREPARED}', '(' || listed || ')');
    RAISE EXCEPTION USING ERRCODE = 'DP001';
  EXCEPTION
    WHEN SQLSTATE 'DP001' THEN said := NULL;
    WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT, schema_ = SCHEMA_NAME, table_ = TABLE_NAME, column_ = COLUMN_NAME,
        type_ = PG_DATATYPE_NAME, rule = CONSTRAINT_NAME;
      said := ARRAY[code, message, detail, hint, schema_, table_, column_, type_, rule];
  END;
  PERFORM pg_dpsql.set_back(one, was) FROM ROWS FROM (pg_catalog.unnest(sequences), pg_catalog.unnest(before))
    AS _u (one, was) WHERE pg_dpsql.state(one) <> was;
  RETURN said;
END $$;

CREATE FUNCTION pg_dpsql.state(sequence oid) RETURNS text LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found text;
BEGIN
  EXECUTE format('SELECT concat(last_value, '' '', is_called) FROM %s', sequence::regclass) INTO found;
  RETURN found;
END $$;

CREATE FUNCTION pg_dpsql.set_back(sequence oid, state text) RETURNS void LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM setval(sequence::regclass, split_part(state, ' ', 1)::bigint, split_part(state, ' ', 2)::boolean);
END $$;

-- Raise what `pg_dpsql.tried` has returned.
CREATE FUNCTION pg_dpsql.fail(said text[]) RETURNS void LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = said[1], MESSAGE = said[2], DETAIL = said[3], HINT = said[4], SCHEMA = said[5],
    TABLE = said[6], COLUMN = said[7], DATATYPE = said[8], CONSTRAINT = said[9];
END $$;
"""


def create_trial(connection: Connection) -> None:
    """Create the functions; the owner's connection, in the new database, when the schema `pg_dpsql` is there."""
    connection.execute(_FUNCTIONS)
