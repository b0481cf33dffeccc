"""Tables of one name in several schemas: what is measured is what PostgreSQL reads, and nobody's rights are another's.

Each of the tables called patients has another number of rows, so that an answer tells which was measured.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from dpsql.agents import tools
from dpsql.policy.model import TableName
from dpsql.web import explore as ask
from tests.support.connected import Connect, connections
from tests.support.two_schemas import ROWS, write_site

PUBLIC, CORE, CLINICAL = ROWS["patients"], ROWS["core.patients"], ROWS["clinical.patients"]


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    """Serve the tables to a user of each role, who is called as the role is."""
    with TemporaryDirectory(prefix="dpsql-schemas-") as place:
        Path(place).chmod(0o711)
        with connections(write_site(Path(place))) as connected:
            yield connected


PATHS = (
    ("public", PUBLIC),
    ("core, public", CORE),
    ("public, core", PUBLIC),
    ("clinical, core, public", CLINICAL),
    ("hidden, nowhere, core", CORE),
    ('"core"', CORE),
    ("CORE", CORE),
    ("pg_temp, clinical", CLINICAL),
    ("clinical, pg_temp", CLINICAL),
    ("pg_catalog, clinical", CLINICAL),
    ("dpsql, clinical", CLINICAL),
    ('"$user", public', PUBLIC),
    ("'core', 'public'", CORE),
    ('"Core", clinical', CLINICAL),
)


@pytest.mark.parametrize(("path", "rows"), PATHS)
def test_a_bare_name_is_what_the_search_path_finds(connect: Connect, path: str, rows: int) -> None:
    """Whether it is asked by itself, prepared before, in a CTE or beside a table that says its schema."""
    asking = connect("owner")
    asking.execute(f"SET search_path = {path}")
    assert asking.execute("SELECT count(*) FROM patients").fetchone() == (rows,)
    assert asking.execute("SELECT count(*) FROM patients WHERE person > %s", (100,)).fetchone() == (rows - 100,)
    in_cte = "WITH p AS (SELECT person FROM patients) SELECT count(*), (SELECT count(*) FROM public.patients) FROM p"
    assert asking.execute(in_cte).fetchone() == (rows, PUBLIC)


ODD_PATHS = (
    "core.x,public",
    "core -- x",
    "/* x */ clinical",
    "$user,public",
    "core",
    "core,,public",
    "  core  ,  public  ",
)


@pytest.mark.parametrize("path", ODD_PATHS)
def test_a_path_is_read_as_postgresql_reads_it(connect: Connect, path: str) -> None:
    """In whatever way it is set: then the table is the one whose columns PostgreSQL describes, or there is none."""
    asking = connect("owner")
    with pytest.raises(psycopg.Error) if "--" in path or "/*" in path or ",," in path else TemporaryDirectory():
        asking.execute("SELECT set_config('search_path', %s, false)", (path,))
    name = asking.execute(
        "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = to_regclass('patients')"
    ).fetchone()
    assert name is not None
    rows = {"public": PUBLIC, "core": CORE, "clinical": CLINICAL}[name[0]]
    assert asking.execute("SELECT count(*) FROM patients").fetchone() == (rows,)


def test_a_users_own_schema_is_searched_for_them_alone(connect: Connect) -> None:
    """The same statement is another one for a user who is called as a schema is, and remembered for nobody else."""
    sql = "SELECT count(*), 'own' FROM patients"
    assert connect("owner").execute(sql).fetchone() == (PUBLIC, "own")
    assert connect("core").execute(sql).fetchone() == (CORE, "own")
    assert connect("viewer").execute("SELECT count(*) FROM patients").fetchone() == (PUBLIC,)
    own = connect("core")
    own.execute("SET search_path = public")
    with pytest.raises(psycopg.Error, match='permission denied for table "patients"'):
        own.execute(sql)


TEMPORARY = ("patients", "encounters", "scores", '"clinical.patients"', '"Mixed ""Case"""', '"Old Ward.Mixed ""Case"""')


@pytest.mark.parametrize("name", TEMPORARY)
def test_no_temporary_table_bears_a_tables_name(connect: Connect, name: str) -> None:
    """With its schema or without, in whatever way it is made: it would be read in the place of a table."""
    asking = connect("owner")
    for made in (
        f"CREATE TEMP TABLE {name} (person integer)",
        f"CREATE TEMP TABLE {name} AS SELECT 1 AS person",
        f"SELECT 1 AS person INTO TEMP {name}",
        f"CREATE TEMP VIEW {name} AS SELECT 1 AS person",
        f"CREATE TEMP TABLE {name} AS SELECT count(*) FROM clinical.patients",
    ):
        with pytest.raises(psycopg.Error, match="can't be named"):
            asking.execute(made)


def test_what_is_temporary_beside_a_table_is_not_measured(connect: Connect) -> None:
    """A CTE, an alias or a temporary table never becomes a table of a schema, nor the reverse."""
    asking = connect("owner")
    asking.execute("CREATE TEMP TABLE clinical AS SELECT 7 AS patients, 8 AS person")
    asking.execute("SET search_path = clinical, public")
    for sql, answer in (
        ("WITH patients AS (SELECT 1 AS x) SELECT count(*) FROM patients", 1),
        ('WITH "clinical.patients" AS (SELECT 1 AS x) SELECT count(*) FROM "clinical.patients"', 1),
        ("WITH patients AS (SELECT 1 AS x) SELECT count(*) FROM clinical.patients", CLINICAL),
        ("WITH clinical AS (SELECT 1 AS x) SELECT count(*) FROM clinical.patients", CLINICAL),
        ("SELECT count(*) FROM clinical", 1),
        ("SELECT count(*) FROM pg_temp.clinical", 1),
        ("SELECT count(clinical.patients) FROM clinical", 1),
        ("SELECT count(*) FROM core.patients AS clinical", CORE),
        ("SELECT count(clinical.person) FROM core.patients AS clinical JOIN patients USING (person)", CORE),
        ('SELECT count("clinical.patients".person) FROM core.patients AS "clinical.patients"', CORE),
        ('SELECT count(*) FROM (SELECT 1) AS "clinical.patients", core.patients', CORE),
        ("SELECT count(*) FROM hospital.core.patients", CORE),
        ('SELECT count(*) FROM "Old Ward"."Mixed ""Case"""', 500),
    ):
        assert asking.execute(sql).fetchone() == (answer,), sql


NOWHERE = (
    'SELECT count(*) FROM "clinical.patients"',
    'SELECT count(*) FROM public."clinical.patients"',
    'SELECT count(*) FROM "core.patients" AS p',
    "SELECT count(*) FROM hidden.patients",
    "SELECT count(*) FROM Old.patients",
    'SELECT count(*) FROM "old ward"."mixed ""case"""',
    "SELECT count(*) FROM main.patients",
    "SELECT count(*) FROM records.core.patients",
)


@pytest.mark.parametrize("sql", NOWHERE)
def test_what_is_not_declared_is_nowhere(connect: Connect, sql: str) -> None:
    """Neither under the text by which the policy keeps it, nor as the engine's."""
    with pytest.raises(psycopg.Error, match=r"does not exist|cross-database"):
        connect("owner").execute(sql)


WITHHELD = {
    "ward": (
        "SELECT count(*) FROM core.patients",
        "SELECT count(*) FROM public.patients",
        "SELECT count(*) FROM patients",
        "SELECT sum(secret) FROM clinical.patients",
        "SELECT sum(patients.secret) FROM clinical.patients",
        "SELECT sum(p.secret) FROM clinical.patients p",
        "SELECT sum(clinical.patients.secret) FROM clinical.patients",
        "SELECT sum(x) FROM clinical.patients AS p (a, b, x)",
        "SELECT count(*) FROM clinical.patients WHERE secret > 1",
        "SELECT sum(c.secret) FROM clinical.patients p JOIN core.patients c USING (person)",
        "SELECT count(*) FROM clinical.encounters e JOIN core.patients p USING (person)",
        "SELECT count(*) FROM clinical.encounters WHERE person IN (SELECT person FROM patients)",
        "SELECT (SELECT count(*) FROM core.patients), count(*) FROM clinical.patients",
        "WITH patients AS (SELECT * FROM clinical.patients) SELECT sum(secret) FROM patients",
        'WITH "core.patients" AS (SELECT * FROM public.patients) SELECT count(*) FROM "core.patients"',
        "SELECT secret FROM clinical.patients LIMIT 0",
        "SELECT person FROM core.patients LIMIT 0",
        "EXPLAIN SELECT count(*) FROM core.patients",
        "COPY (SELECT count(*) FROM core.patients) TO STDOUT",
        "CREATE TEMP TABLE kept AS SELECT count(*) FROM core.patients",
    ),
    "core": (
        "SELECT count(*) FROM public.patients",
        "SELECT count(*) FROM clinical.patients",
        "SELECT count(*) FROM clinical.encounters",
        "SELECT count(*) FROM clinical.scores",
        "SELECT count(*) FROM core.patients JOIN clinical.patients USING (person)",
        'SELECT count(*) FROM "Old Ward"."Mixed ""Case"""',
    ),
    "viewer": (
        "SELECT count(*) FROM clinical.patients",
        "SELECT count(*) FROM core.patients",
        "SELECT count(secret) FROM clinical.scores",
        "SELECT * FROM clinical.patients LIMIT 5",
    ),
}


@pytest.mark.parametrize("role", WITHHELD)
@pytest.mark.parametrize("path", ["public", "core, clinical, public"])
def test_a_right_to_one_is_none_to_another_of_its_name(connect: Connect, role: str, path: str) -> None:
    """Whichever way leads there, and for nothing."""
    asking = connect(role)
    asking.execute(f"SET search_path = {path}")
    spent = asking.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone()
    for sql in WITHHELD[role]:
        if path != "public" and " FROM patients" in sql and role == "ward" and "WITH" not in sql:
            continue
        with pytest.raises(psycopg.Error, match=r"permission denied|does not exist|are protected"):
            _asked(asking, sql)
    assert asking.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone() == spent


def test_a_condition_is_on_its_own_tables_rows(connect: Connect) -> None:
    """Of the role's 4,000 encounters those count for which it holds, under any name; of other tables nothing is left out."""
    asking = connect("ward")
    asking.execute("SET search_path = clinical")
    for sql in ("clinical.encounters", "encounters", "(SELECT * FROM encounters) AS x", "encounters AS patients"):
        assert asking.execute(f"SELECT count(*) FROM {sql}").fetchone() == (3000,)
        assert asking.execute(f"SELECT count(*) FROM {sql} WHERE cost < 15").fetchone() == (0,)
    assert asking.execute("SELECT count(*) FROM patients WHERE score > 1").fetchone() == (CLINICAL,)
    assert connect("owner").execute("SELECT count(*) FROM clinical.encounters").fetchone() == (4000,)


REFUSED = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.WrongObjectType,
)
ROWS_READ = (
    "TABLE {}",
    "SELECT * FROM {}",
    "SELECT person FROM ONLY {}",
    "SELECT person FROM {} LIMIT 1",
    "COPY {} TO STDOUT",
    "COPY (SELECT * FROM {}) TO STDOUT",
    "CREATE TEMP TABLE kept AS TABLE {}",
    "SELECT array_agg(person) FROM {}",
    "SELECT p FROM {} AS p",
    "SELECT (SELECT person FROM {} LIMIT 1)",
    "SELECT 1 WHERE EXISTS (SELECT FROM {} WHERE pg_typeof(score)::text = 'x')",
)


@pytest.mark.parametrize(
    "table", ["core.patients", "clinical.patients", "clinical.scores", '"Old Ward"."Mixed ""Case"""']
)
def test_rows_are_protected_in_every_schema(connect: Connect, table: str) -> None:
    """By words, and behind them by the shadow."""
    asking = connect("owner")
    for sql in ROWS_READ:
        with (
            pytest.raises(REFUSED),
            asking.transaction(),
        ):
            _asked(asking, sql.format(table))


READ_BY_PATH = (
    ("SELECT * FROM patients LIMIT 5", "clinical, core, public", "clinical.patients"),
    ("SELECT * FROM patients LIMIT 5", "core, public", "core.patients"),
    ("SELECT * FROM patients LIMIT 5", "public, core", "patients"),
    ("SELECT p.* FROM public.patients AS p", "core", "patients"),
    ("SELECT person FROM scores", "clinical", "clinical.scores"),
    ("WITH patients AS (SELECT * FROM core.patients) SELECT * FROM patients", "clinical", "core.patients"),
)


@pytest.mark.parametrize(("sql", "path", "table"), READ_BY_PATH)
def test_a_refusal_names_the_table_that_is_read(connect: Connect, sql: str, path: str, table: str) -> None:
    """And no other of its name, of which the role may know nothing."""
    asking = connect("owner")
    asking.execute(f"SET search_path = {path}")
    with pytest.raises(psycopg.Error, match=f"rows of {table} are protected"):
        asking.execute(sql)


def _asked(asking: psycopg.Connection[tuple[object, ...]], sql: str) -> None:
    if not sql.startswith("COPY"):
        asking.execute(sql)
        return
    with asking.cursor().copy(sql) as copied:
        list(copied)


def test_public_rows_are_of_the_schema_that_is_named(connect: Connect) -> None:
    """Beside private rows, in conditions, and alone."""
    asking = connect("core")
    assert asking.execute("SELECT string_agg(title, '' ORDER BY ward) FROM clinical.wards").fetchone() == ("abcd",)
    assert asking.execute("SELECT string_agg(title, '' ORDER BY ward) FROM wards").fetchone() == ("wxyz",)
    owner = connect("owner")
    joined = "SELECT w.title, count(*) FROM clinical.encounters JOIN {} AS w USING (ward) GROUP BY 1 ORDER BY 1"
    assert [title for title, _ in owner.execute(joined.format("clinical.wards"))] == list("abcd")
    assert [title for title, _ in owner.execute(joined.format("core.wards"))] == list("wxyz")
    inside = "SELECT count(*) FROM clinical.encounters WHERE ward = (SELECT ward FROM {} WHERE title = 'x')"
    assert owner.execute(inside.format("core.wards")).fetchone() == (1000,)
    assert owner.execute(inside.format("clinical.wards")).fetchone() == (0,)


def test_the_catalogue_has_the_owners_schemas(connect: Connect) -> None:
    """Tools list schemas and tables, and join along keys, which lead across schemas."""
    asking = connect("ward")
    keys = (
        "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f' ORDER BY 2"
    )
    assert asking.execute(keys).fetchall() == [
        ("clinical.encounters", "clinical.wards"),
        ("clinical.encounters", "core.patients"),
    ]
    listed = (
        "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_schema !~ '^(pg_|information|dpsql)'"
    )
    assert sorted(asking.execute(listed).fetchall()) == [("clinical",), ("core",)]
    columns = asking.execute("SELECT column_name FROM dpsql.columns WHERE table_name = 'clinical.patients'").fetchall()
    assert sorted(columns) == [("person",), ("score",)]
    assert asking.execute(
        "SELECT count(*) FROM dpsql.columns WHERE table_name LIKE '%patients' AND column_name = 'secret'"
    ).fetchone() == (0,)


FORMS = (
    ("SELECT count(*) FROM {core}", "core"),
    ("SELECT avg({core}.score) FROM {core} WHERE {core}.secret > 10", "core"),
    ("SELECT mood, count(*), sum(score) FROM {core} GROUP BY mood ORDER BY mood", "core"),
    ("SELECT w.title, avg(cost) FROM {enc} e JOIN {wards} w ON w.ward = e.ward GROUP BY 1 ORDER BY 1", "clinical"),
    ("SELECT count(*) FROM {enc} WHERE cost > (SELECT min(ward) FROM {wards})", "clinical"),
    ("SELECT avg(n) FROM (SELECT person, count(*) AS n FROM {enc} GROUP BY person) AS u", "clinical"),
    ("WITH x AS (SELECT * FROM {enc} WHERE ward < 3) SELECT ward, count(*) FROM x GROUP BY 1 ORDER BY 1", "clinical"),
    (
        "SELECT count(*) FROM {enc} e WHERE EXISTS (SELECT 1 FROM {enc} f WHERE f.person = e.person AND f.cost > 20)",
        "clinical",
    ),
    ("SELECT count(*), avg(more) FROM {scores}", "clinical"),
)
WORDS = {
    "core": ("core", "patients"),
    "enc": ("clinical", "encounters"),
    "wards": ("clinical", "wards"),
    "scores": ("clinical", "scores"),
}


@pytest.mark.parametrize(("sql", "schema"), FORMS)
def test_a_statement_is_the_same_by_whichever_names(connect: Connect, sql: str, schema: str) -> None:
    """With the schema, by a search path, in quotes, in capitals, with the database: once paid for, and told again free."""
    asking = connect("owner")
    spelled = (
        ("public", {word: ".".join(name) for word, name in WORDS.items()}),
        (schema, {word: name[1] for word, name in WORDS.items()}),
        (f"{schema}, public", {word: f'"{name[1]}"' for word, name in WORDS.items()}),
        ("public", {word: f'"{name[0]}"."{name[1]}"' for word, name in WORDS.items()}),
        ("public", {word: ".".join(name).upper() for word, name in WORDS.items()}),
        ("core", {word: f"hospital.{name[0]}.{name[1]}" for word, name in WORDS.items()}),
    )
    answers, spent = [], []
    for path, names in spelled:
        asking.execute(f"SET search_path = {path}")
        answers.append(asking.execute(sql.format(**names)).fetchall())
        spent.append(asking.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone())
    assert all(answer == answers[0] for answer in answers)
    assert len(set(spent)) == 1


def test_a_prepared_statement_is_bound_anew_where_the_path_changes(connect: Connect) -> None:
    """As PostgreSQL does it, by either protocol, and within a transaction."""
    asking = connect("owner")
    asking.execute("PREPARE counted AS SELECT count(*) FROM patients WHERE person > 0")
    for path, rows in (("core", CORE), ("clinical", CLINICAL), ("public", PUBLIC), ("core", CORE)):
        with asking.transaction():
            asking.execute(f"SET LOCAL search_path = {path}")
            for _ in range(2):
                assert asking.execute("SELECT count(*) FROM patients", prepare=True).fetchone() == (rows,)
            assert asking.execute("EXECUTE counted").fetchone() == (rows,)
    assert asking.execute("EXECUTE counted").fetchone() == (PUBLIC,)


def test_what_is_written_down_is_of_the_table_that_is_named(connect: Connect) -> None:
    """CTEs before INSERT, tables that are made, cursors and COPY read the schema as a plain query does."""
    asking = connect("owner")
    asking.execute("CREATE TEMP TABLE written (n bigint)")
    for sql in (
        "WITH patients AS (SELECT count(*) AS n FROM clinical.patients) INSERT INTO written SELECT n FROM patients",
        "INSERT INTO written SELECT count(*) FROM core.patients",
        "INSERT INTO written VALUES ((SELECT count(*) FROM patients))",
    ):
        asking.execute(sql)
    assert asking.execute("SELECT n FROM written ORDER BY n").fetchall() == [(CORE,), (CLINICAL,), (PUBLIC,)]
    asking.execute("UPDATE written SET n = (SELECT count(*) FROM clinical.patients) WHERE n = 1000")
    asking.execute("CREATE TEMP TABLE made AS SELECT mood, count(*) AS n FROM core.patients GROUP BY mood")
    assert asking.execute("SELECT max(w.n), max(m.n) FROM written w, made m").fetchone() == (PUBLIC, CORE)
    with asking.transaction():
        asking.execute("DECLARE c CURSOR FOR SELECT count(*) FROM clinical.patients")
        assert asking.execute("FETCH c").fetchone() == (CLINICAL,)
    with asking.cursor().copy("COPY (SELECT count(*) FROM core.patients) TO STDOUT") as copied:
        assert list(copied.rows()) == [(str(CORE),)]


def test_previews_are_of_the_table_that_is_named(connect: Connect) -> None:
    """Made-up rows of one that the role may use, and of no other of its name."""
    asking = connect("viewer")
    asking.execute("SET search_path = public, core")
    assert len(asking.execute("SELECT * FROM patients LIMIT 3").fetchall()) == 3
    asking.execute("SET search_path = core, public")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        asking.execute("SELECT * FROM patients LIMIT 3")


@pytest.mark.parametrize("path", ["public", "clinical, core, public", "core, clinical"])
def test_pages_and_agents_name_the_table_that_they_list(connect: Connect, path: str) -> None:
    """Whatever a session's path makes of bare names."""
    asking = connect("owner")
    asking.execute(f"SET search_path = {path}")
    for table, _, written, *_ in asking.execute(ask._DECLARED).fetchall():
        same = asking.execute("SELECT %s::regclass = %s::regclass", (TableName.of(table).quoted, written))
        assert same.fetchone() == (True,), (table, written)
    described = asking.execute(tools._TABLES.replace("$1", "%(name)s"), {"name": None}).fetchall()
    assert [name for name, *_ in described] == sorted(name for name, *_ in described)
    assert {name for name, *_ in described} == {
        *ROWS,
        *('Old Ward.Mixed "Case"', "clinical.encounters", "clinical.scores", "clinical.wards", "core.wards"),
    }
    (one,) = asking.execute(tools._TABLES.replace("$1", "%(name)s"), {"name": "core.patients"}).fetchall()
    assert one[:2] == ("core.patients", "protected")
    references = {of for of, _ in asking.execute(tools._REFERENCES).fetchall()}
    assert references == {"clinical.encounters"}
