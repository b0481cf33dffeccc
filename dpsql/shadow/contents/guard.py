"""The schemas `dpsql` and `pg_dpsql` in the shadow: what clients may look at, and what refuses or only works for it.

Tools list all schemas but those of PostgreSQL itself, which they know by their beginning: six hundred functions that
stand in for PostgreSQL's own are in such a one.

Promise: no function of ours looks a name up in a place that a client can fill. Bodies in SQL are bound when they are
made; the others have `search_path = pg_catalog, pg_temp`, temporary objects last, but for one that names all schemas itself
(`_TRIAL`). `tests/shadow/test_functions.py` holds it.
"""

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier, Literal

from dpsql.policy.model import Policy
from dpsql.question import OWN_SETTINGS, PREFIX
from dpsql.rewrite.syntax.whole.single_row import CASTS, OPERATORS, PARTIAL, SETS

REFUSAL = "refused by dpsql"
"""The message that `pg_dpsql.refuse` raises; the wire replaces it by its own."""

_FUNCTIONS = """
CREATE SCHEMA dpsql;
COMMENT ON SCHEMA dpsql IS 'what dpsql says of itself: your budget, what was charged, the columns and their bounds';
SET LOCAL allow_system_table_mods = on;
CREATE SCHEMA pg_dpsql;
RESET allow_system_table_mods;

-- Plans are told as XML also where PostgreSQL was built without its parser: what is written is well-formed. The body is bound
-- when it is made, so that nobody else finds the cast.
CREATE CAST (bytea AS xml) WITHOUT FUNCTION;
CREATE FUNCTION pg_dpsql.xml_of(plan text) RETURNS xml LANGUAGE sql STABLE RETURN convert_to(plan, 'UTF8')::xml;
DROP CAST (bytea AS xml);

CREATE FUNCTION pg_dpsql.refuse(code text) RETURNS void LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = code, MESSAGE = 'refused by dpsql';
END $$;

CREATE FUNCTION pg_dpsql.tripwire(name text) RETURNS boolean LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '42501',
    MESSAGE = pg_catalog.format('rows of %s are protected; ask for count(*), sum(x), avg(x) ... GROUP BY', name),
    DETAIL = 'rule: rows-of-protected-table',
    HINT = 'Ask it in a plain SELECT statement, or in COPY (SELECT ...) TO STDOUT.';
END $$;

-- Parameters reach the gateway as text that no setting of the session changes.
CREATE FUNCTION pg_dpsql.spell(value anyelement) RETURNS text LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp
  SET datestyle = 'ISO, YMD' SET intervalstyle = 'iso_8601' SET extra_float_digits = 1 SET bytea_output = 'hex' AS $$
BEGIN
  RETURN value::pg_catalog.text;
END $$;

-- What a session calls its own may hide PostgreSQL's types; their names are remembered for all sessions.
CREATE FUNCTION pg_dpsql.spell_type(type oid, modifier integer) RETURNS text LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN pg_catalog.format_type(type, modifier);
END $$;

CREATE FUNCTION dpsql.margin(value anyelement) RETURNS double precision LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '0A000',
    MESSAGE = 'dpsql.margin is only defined for an aggregate over a protected table',
    HINT = 'Write dpsql.margin(count(*)) in the statement that also selects count(*).';
END $$;

-- Of an interval it is one, too.
CREATE FUNCTION dpsql.margin(value interval) RETURNS interval LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '0A000',
    MESSAGE = 'dpsql.margin is only defined for an aggregate over a protected table',
    HINT = 'Write dpsql.margin(count(*)) in the statement that also selects count(*).';
END $$;

COMMENT ON FUNCTION dpsql.margin(anyelement) IS 'half the width of the interval in which the truth lies 95 times of 100';
COMMENT ON FUNCTION dpsql.margin(interval) IS 'half the width of the interval in which the truth lies 95 times of 100';

CREATE FUNCTION dpsql.cut(value anyelement) RETURNS double precision LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '0A000',
    MESSAGE = 'dpsql.cut is only defined for a count or a sum over a protected table',
    HINT = 'Write dpsql.cut(count(*)) in the statement that also selects count(*).';
END $$;

COMMENT ON FUNCTION dpsql.cut(anyelement) IS 'the share of a count or a sum that max_rows cuts off, about';

CREATE FUNCTION dpsql.shrunk(value anyelement) RETURNS double precision LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '0A000',
    MESSAGE = 'dpsql.shrunk is only defined for an average over a protected table',
    HINT = 'Write dpsql.shrunk(avg(x)) in a statement with GROUP BY.';
END $$;

-- Of an interval it is one, too.
CREATE FUNCTION dpsql.shrunk(value interval) RETURNS interval LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '0A000',
    MESSAGE = 'dpsql.shrunk is only defined for an average over a protected table',
    HINT = 'Write dpsql.shrunk(avg(x)) in a statement with GROUP BY.';
END $$;

COMMENT ON FUNCTION dpsql.shrunk(anyelement) IS 'an average, drawn to that of all groups where noise hides how they differ';
COMMENT ON FUNCTION dpsql.shrunk(interval) IS 'an average, drawn to that of all groups where noise hides how they differ';

CREATE FUNCTION pg_dpsql.median_of(kept double precision[]) RETURNS double precision LANGUAGE sql IMMUTABLE
  RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FROM unnest(kept) AS value);
CREATE AGGREGATE public.median(double precision)
  (SFUNC = array_append, STYPE = double precision[], FINALFUNC = pg_dpsql.median_of);

CREATE FUNCTION pg_dpsql.median_of(kept interval[]) RETURNS interval LANGUAGE sql IMMUTABLE
  RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FROM unnest(kept) AS value);
CREATE AGGREGATE public.median(interval) (SFUNC = array_append, STYPE = interval[], FINALFUNC = pg_dpsql.median_of);

CREATE FUNCTION pg_dpsql.median_of(kept timestamp[]) RETURNS timestamp LANGUAGE sql IMMUTABLE
  RETURN (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY value) FROM unnest(kept) AS value);
CREATE AGGREGATE public.median(timestamp) (SFUNC = array_append, STYPE = timestamp[], FINALFUNC = pg_dpsql.median_of);
"""

_TABLES = """
CREATE TABLE dpsql.budget (
  unit_kind text, period text, renews timestamp with time zone, epsilon_total numeric, epsilon_spent numeric,
  epsilon_left numeric, delta_total numeric, delta_spent numeric, delta_left numeric, per_query_epsilon numeric,
  usual_epsilon numeric, questions_left bigint, epsilon_composed numeric);
COMMENT ON TABLE dpsql.budget IS 'what your role may still spend';

CREATE TABLE dpsql.charges (
  charge_id bigint, made_at timestamp with time zone, user_name text, unit_kind text, epsilon numeric, delta numeric,
  statement text);
COMMENT ON TABLE dpsql.charges IS 'what your role has spent';

CREATE TABLE dpsql.registry (
  role_name text, unit_kind text, statement text, epsilon numeric, delta numeric, first_told timestamp with time zone,
  last_told timestamp with time zone, times bigint);
COMMENT ON TABLE dpsql.registry IS 'what was released, and what each answer has cost in all';

CREATE TABLE dpsql.audit (
  line bigint, made_at timestamp with time zone, event text, user_name text, role_name text, address text,
  application text, statement text, parameters text[], verdict text, sqlstate text, rule text, epsilon numeric,
  delta numeric, releases text[], trial text);
COMMENT ON TABLE dpsql.audit IS 'who asked what, and what became of it: for owners';

CREATE TABLE dpsql.profile (
  table_name text, column_name text, what text, value double precision, margin double precision);
COMMENT ON TABLE dpsql.profile IS 'what is known of whole tables, by a profile that was paid for';

CREATE TABLE dpsql.releases (epoch bigint, statement text, measured text, groups bigint, epsilon numeric);
COMMENT ON TABLE dpsql.releases IS 'what was released to your role in this epoch: all that follows from it is free';

CREATE TABLE dpsql.standing (
  role_name text, table_name text, term text, state text, epsilon numeric, statement text,
  began timestamp with time zone, measured_until timestamp with time zone, periods bigint, first_period date,
  last_period date, next_closes timestamp with time zone);
COMMENT ON TABLE dpsql.standing IS 'questions that are paid once a term, and measured as their periods close';

CREATE FUNCTION dpsql.take_profile() RETURNS text LANGUAGE sql STABLE
  RETURN 'take the profile by this statement alone: SELECT dpsql.take_profile()';
COMMENT ON FUNCTION dpsql.take_profile() IS 'measures the profile of your unit kind, for the ε that the policy says';

CREATE TABLE pg_dpsql.declared (
  table_name text, place integer, column_name text, type text, lower_bound text, upper_bound text,
  "values" text[], nullable boolean, description text, inside text, relation text);
COMMENT ON COLUMN pg_dpsql.declared.inside IS 'of a path in JSON: the column, to which rights are';

CREATE VIEW dpsql.columns AS
  SELECT table_name, column_name, type, lower_bound, upper_bound, "values", nullable, description,
         NULL::double precision AS share_below, NULL::double precision AS share_above
    FROM pg_dpsql.declared WHERE has_column_privilege(relation, coalesce(inside, column_name), 'select')
   ORDER BY table_name, place;
COMMENT ON VIEW dpsql.columns IS 'what the owner of the data declared about the columns, and which values are beyond it';

CREATE TABLE pg_dpsql.declared_tables (
  table_name text, unit_kind text, unit_columns text[], max_rows bigint, expected_rows bigint, relation text);

CREATE VIEW dpsql.tables AS
  SELECT table_name, unit_kind,
         CASE WHEN (SELECT pg_catalog.bool_and(has_column_privilege(relation, name, 'select'))
                      FROM pg_catalog.unnest(unit_columns) AS name) THEN unit_columns END AS unit_columns,
         max_rows, expected_rows
    FROM pg_dpsql.declared_tables WHERE has_any_column_privilege(relation, 'select')
   ORDER BY table_name, unit_kind;
COMMENT ON VIEW dpsql.tables IS 'whose rows the protected tables have, and how many to expect';
"""

_WORDS = {
    "budget": {
        "unit_kind": "whose contribution is protected",
        "period": "how long the budget is for",
        "renews": "when it begins anew",
        "epsilon_total": "what your role may spend, grants included",
        "epsilon_spent": "what it has spent",
        "epsilon_left": "what it may still spend",
        "delta_total": "likewise of delta",
        "delta_spent": "likewise of delta",
        "delta_left": "likewise of delta",
        "per_query_epsilon": "the most that one statement may cost",
        "usual_epsilon": "the median price of your role's recent statements",
        "questions_left": "how many more there are at that price",
        "epsilon_composed": "the privacy loss of all charges together, by the budget's way of adding them up",
    },
    "charges": {
        "charge_id": "counts the charges, the newest last",
        "made_at": "when it was charged",
        "user_name": "who asked",
        "unit_kind": "whose contribution is protected",
        "epsilon": "what it cost",
        "delta": "likewise of delta",
        "statement": "what was asked",
    },
    "registry": {
        "role_name": "to whom it was released",
        "unit_kind": "whose contribution is protected",
        "statement": "what was asked",
        "epsilon": "what its answers have cost in all",
        "delta": "likewise of delta",
        "first_told": "when it was released, and charged, first",
        "last_told": "when it was charged last",
        "times": "how many times it was charged",
    },
    "audit": {
        "line": "counts the lines of the trail",
        "made_at": "when it was written",
        "event": "what happened",
        "user_name": "whose session it was",
        "role_name": "the user's role",
        "address": "where the client was",
        "application": "what the client calls itself",
        "statement": "what was asked",
        "parameters": "with which values of its parameters",
        "verdict": "what became of it",
        "sqlstate": "the code of its error",
        "rule": "the rule by which it was refused",
        "epsilon": "what it cost",
        "delta": "likewise of delta",
        "releases": "which stored answers were released for it",
        "trial": "how the measurement was tried before",
    },
    "profile": {
        "table_name": "the table",
        "column_name": "the column, where it is about one",
        "what": "what was measured",
        "value": "the released value",
        "margin": "half the width of its 95 % confidence interval",
    },
    "releases": {
        "epoch": "in which it was released",
        "statement": "what was asked",
        "measured": "what was measured for it",
        "groups": "of how many groups",
        "epsilon": "what the measurement cost",
    },
    "standing": {
        "role_name": "who has paid for it",
        "table_name": "the table that grows",
        "term": "the term that it is about",
        "state": "stands: what closes is measured; over: its term is; ended: what is declared of the table has changed",
        "epsilon": "what it has cost, once for its term",
        "statement": "by which it was first asked",
        "began": "when it was paid for",
        "measured_until": "from when on nothing more of it is measured; until then its cost counts",
        "periods": "how many periods were measured",
        "first_period": "the first day of the first of them",
        "last_period": "the first day of the last of them",
        "next_closes": "when the period after that closes, and a later copy may have it",
    },
    "columns": {
        "table_name": "the table",
        "column_name": "the column",
        "type": "its type",
        "lower_bound": "smaller values count as this",
        "upper_bound": "larger values count as this",
        "values": "the only values that it has",
        "nullable": "whether it may be NULL",
        "description": "what it means",
        "share_below": "which share of the values lies below the bounds, by the profile",
        "share_above": "which share lies above them",
    },
    "tables": {
        "table_name": "the table",
        "unit_kind": "whose contribution is protected",
        "unit_columns": "the columns that identify the unit, or the row of another table that has it",
        "max_rows": "the contribution bound, how many rows of one unit count; NULL where each statement chooses it",
        "expected_rows": "about how many rows there are, as the owner declared",
    },
}
"""What the columns of the tables that clients look at mean."""

_MASKED = """
CREATE FUNCTION pg_dpsql.masked() RETURNS boolean LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN pg_catalog.pg_my_temp_schema() <> 0 AND EXISTS (
    SELECT FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema() AND relname = ANY ({names}));
END $$;
"""

_TEMPORARY = """
CREATE FUNCTION pg_dpsql.temporary() RETURNS text LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_catalog.pg_my_temp_schema() = 0 THEN
    RETURN NULL;
  END IF;
  RETURN (SELECT pg_catalog.json_agg(pg_catalog.json_build_array(relname, (
      SELECT pg_catalog.json_agg(pg_catalog.json_build_array(attname, pg_catalog.format_type(atttypid, atttypmod))
                                 ORDER BY attnum)
        FROM pg_catalog.pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped), (
      SELECT pg_catalog.json_agg(attname ORDER BY attnum) FROM pg_catalog.pg_index
        JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
       WHERE indrelid = pg_class.oid AND indisprimary AND indimmediate), relkind = 'r') ORDER BY relname)
    FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema() AND relkind IN ('r', 'v', 'p'));
END $$;
"""

_ROWS_APART = """
CREATE FUNCTION pg_dpsql.name_for_rows() RETURNS text LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one name;
  place integer := 1;
BEGIN
  FOR one IN SELECT relname FROM pg_catalog.pg_class AS c
    WHERE relnamespace = pg_catalog.pg_my_temp_schema() AND relkind = 'r' AND relname ~ '^_dpsql_rows_[0-9]+$'
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend WHERE refclassid = 'pg_catalog.pg_class'::regclass
                         AND refobjid = c.oid AND classid = 'pg_catalog.pg_rewrite'::regclass)
  LOOP
    BEGIN
      EXECUTE format('DROP TABLE pg_temp.%I', one);
    EXCEPTION WHEN OTHERS THEN  -- a cursor reads it still
    END;
  END LOOP;
  WHILE to_regclass(format('pg_temp._dpsql_rows_%s', place)) IS NOT NULL LOOP
    place := place + 1;
  END LOOP;
  RETURN format('_dpsql_rows_%s', place);
END $$;
"""


def create_guard(connection: Connection, policy: Policy) -> None:
    """Create the schema; the owner's connection, in the new database, before the tables."""
    connection.execute(_FUNCTIONS)
    connection.execute(_TABLES)
    for table, words in _WORDS.items():
        for column, meaning in words.items():
            where = Identifier("dpsql", table, column)
            connection.execute(SQL("COMMENT ON COLUMN {} IS {}").format(where, Literal(meaning)))
    # Whether a temporary table of this session bears a declared table's name, and would be read in its stead.
    connection.execute(SQL(_MASKED).format(names=Literal(sorted(policy.taken))))
    # The session's temporary tables, for planning to bind statements with.
    connection.execute(_TEMPORARY)
    # Where the rows of a temporary view over an answer may lie; those of views that are gone go, too.
    connection.execute(_ROWS_APART)
    connection.execute("UPDATE pg_proc SET proleakproof = false WHERE proleakproof")
    # A bare boolean column or IS NULL costs nothing and would be tried first, on the dummy row.
    connection.execute("UPDATE pg_proc SET procost = 0 WHERE oid = 'pg_dpsql.tripwire'::regproc")


# dpsql's own settings, where `set_config` is to set them: PostgreSQL would take them for any setting of a client's.
#
# The wire reads SET, and refuses values that the session may not have. Only the shadow knows a function's arguments. It
# checks names, and how values are written; the gateway checks the role's limits with the next question. A session can't
# change its role either: no user has another role that it could take (`role`).

_SET_CONFIG = """
CREATE FUNCTION pg_dpsql.may_be_set(name text, value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  written text := CASE lower(name) {cases} END;
BEGIN
  IF lower(name) IN ('role', 'session_authorization') AND lower(value) NOT IN ('none', 'default') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied to set %s', lower(name));
  ELSIF starts_with(lower(name), {prefix}) IS NOT TRUE THEN
    RETURN true;
  ELSIF written IS NULL THEN
    RAISE undefined_object USING MESSAGE = format('unrecognized configuration parameter "%s"', name), HINT = {known};
  ELSIF value !~ written THEN
    RAISE invalid_parameter_value USING MESSAGE = format('invalid value for parameter "%s": "%s"', name, value),
      HINT = {known};
  END IF;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;
ALTER FUNCTION pg_catalog.set_config(text, text, boolean) RENAME TO dpsql_set_config;
CREATE FUNCTION pg_catalog.set_config(setting_name text, new_value text, is_local boolean) RETURNS text
  LANGUAGE sql VOLATILE
  RETURN CASE WHEN pg_dpsql.may_be_set(setting_name, new_value)
    THEN pg_catalog.dpsql_set_config(setting_name, new_value, is_local) END;
"""
"""A setting that has the name of PostgreSQL's has no SET of its own: one for the transaction would end with the
function."""
_EXAMPLES = (
    "dpsql's own settings are, for example: dpsql.epsilon = '0.1', dpsql.error = '5 %', dpsql.empty_groups = 'hide'."
)


def create_check(connection: Connection) -> None:
    """Replace PostgreSQL's `set_config` by ours; the owner's connection, in the new database."""
    cases = SQL(" ").join(_setting_case(name, form) for name, form in OWN_SETTINGS.items())
    connection.execute(SQL(_SET_CONFIG).format(prefix=Literal(PREFIX), cases=cases, known=Literal(_EXAMPLES)))


def _setting_case(name: str, form: str) -> Composed:
    return SQL("WHEN {} THEN {}").format(Literal(name), Literal(rf"^\s*({form})?\s*$"))


# The functions that stop sessions, which in the shadow tell dpsql whom they were asked to stop.
#
# While a private statement is measured its session in the shadow has nothing to do, and a signal to it is lost. So our
# functions with the names of PostgreSQL's call them, and then raises a notice, which the wire reads and no client sees.
# They alone decide whom the caller may stop in the shadow; the wire stops sessions of the caller's own user only.

SIGNAL_CODE = "DPS01"
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
_SIGNALS = """
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
    connection.execute(SQL(_TELL).format(code=Literal(SIGNAL_CODE)))
    connection.execute(SQL(_SIGNALS).format(cancel=Literal(CANCEL), end=Literal(END)))


# Functions that try a statement in its session and take it back: what fails before an answer is paid for costs nothing.
#
# The wire prepares the statement; what is tried is no text, so that a client who calls the functions gains nothing by it.

PREPARED = "_dpsql_tried"
"""The name of the prepared statement that is tried."""

_TRIAL = f"""
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
    connection.execute(_TRIAL)


# Functions and operators for what is computed from released values: NULL where PostgreSQL's own would fail.
#
# Noise makes a divisor 0 and a variance negative where true values would not, and an empty public group has no true value at
# all: a statement that was paid for must not fail for that. `pg_dpsql.sqrt` and the like are PostgreSQL's, NULL where those
# raise, and so are the operators; `pg_dpsql.fits…` is a value, NULL where a cast of it would fail; `pg_dpsql.not_negative` a
# LIMIT or OFFSET, 0 where it is less; `pg_dpsql.positive` is NULL where it is not.
# `rewrite/syntax/whole/constant_probes.py` writes them.

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
    """Create the operators; the owner's connection, when the functions that may fail are there."""
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
