"""The drivers of the matrix: those of the Python index, of npm, and of Debian."""

from dataclasses import replace

from tests.clients.matrix.asked import NAMED, PERCENT, QUESTION
from tests.clients.matrix.driver import CLIENTS, Driver, built, interpreted, node, python
from tests.clients.matrix.poolers import pgbouncer, pgpool

_URL = "postgresql://ana:…@host:5433/taxi"
_CHECKED = "sslmode=verify-full sslrootcert=… channel_binding=require"
_QUERY = _CHECKED.replace(" ", "&")
_SSL = "ssl: {ca: …}, enableChannelBinding: true"
_ALCHEMY = "postgresql+{}://ana:…@host:5433/taxi"

PYTHON = (
    python("psycopg 3", "psycopg3", f'psycopg.connect("host=… dbname=taxi user=ana {_CHECKED}")', PERCENT),
    python("psycopg 2", "psycopg2", f'psycopg2.connect("host=… dbname=taxi user=ana {_CHECKED}")', PERCENT),
    python("asyncpg", "asyncpg", f'asyncpg.connect("{_URL}", ssl=ssl.create_default_context(cafile="…"))'),
    python("pg8000", "pg8000", 'pg8000.dbapi.connect("ana", host="…", database="taxi", ssl_context=…)', PERCENT),
    *(
        python(
            f"SQLAlchemy, {on}", f"sqlalchemy {on}", f'create_engine("{_ALCHEMY.format(on)}", connect_args=…)', NAMED
        )
        for on in ("psycopg", "psycopg2", "pg8000")
    ),
    python(
        "SQLAlchemy, asyncpg", "sqlalchemy asyncpg", f'create_async_engine("{_ALCHEMY.format("asyncpg")}", …)', NAMED
    ),
    python("Django", "django", '{"ENGINE": "django.db.backends.postgresql", "OPTIONS": …, …}', PERCENT, own=True),
    python("Tortoise", "tortoise", 'await Tortoise.init(db_url="asyncpg://ana:…@host:5433/taxi", …)', own=True),
    python("peewee", "peewee", 'PostgresqlDatabase("taxi", sslmode="verify-full", …)', PERCENT, own=True),
    python("pandas", "pandas", "pandas.read_sql(…, sqlalchemy.create_engine(…))", NAMED),
    python("ADBC", "adbc", f'adbc_driver_postgresql.dbapi.connect("{_URL}?{_QUERY}")'),
    python("polars", "polars", f'polars.read_database_uri(…, "{_URL}?{_QUERY}", engine="adbc")'),
    python("connectorx", "connectorx", f'connectorx.read_sql("{_URL}?sslmode=require&sslrootcert=…", …)'),
    python("ibis", "ibis", 'ibis.postgres.connect(database="taxi", sslmode="verify-full", …)', PERCENT, own=True),
    python("dbt", "dbt", "{type: postgres, dbname: taxi, schema: public, sslmode: verify-full, …}", own=True),
    python("pgcli", "pgcli", f'pgcli "{_URL}?{_QUERY}"', own=True),
    python("harlequin", "harlequin", f'harlequin -a postgres "{_URL}?{_QUERY}"', own=True),
)
NPM = (
    node("pg", "pg", f'new Client({{host: "…", user: "ana", database: "taxi", {_SSL}}})'),
    node("postgres.js", "postgres", f'postgres("{_URL}", {{ssl: {{ca: …}}}})'),
    node("knex", "knex", f'knex({{client: "pg", connection: {{host: "…", {_SSL}, …}}}})', QUESTION),
    node("Sequelize", "sequelize", f'new Sequelize("taxi", "ana", "…", {{dialectOptions: {{{_SSL}}}, …}})'),
    node("Drizzle", "drizzle", f'drizzle({{connection: {{host: "…", {_SSL}, …}}}})'),
    node("TypeORM", "typeorm", f'new DataSource({{type: "postgres", url: "{_URL}", ssl: {{ca: …}}, …}})'),
    node("Kysely", "kysely", f"new PostgresDialect({{pool: new Pool({{{_SSL}, …}})}})"),
    node("Cube", "cube", "CUBEJS_DB_TYPE=postgres CUBEJS_DB_NAME=taxi CUBEJS_DB_SSL=true CUBEJS_DB_SSL_CA=…"),
)
_BINDS = f"Driver={{PostgreSQL Unicode}};Database=taxi;SSLmode=verify-full;pqopt={{{_CHECKED[20:]}}}"
_PQXX = "g++ -std=c++17 -w -o OUT HERE/cpp/steps.cpp -lpqxx -lpq"
DEBIAN = (
    replace(
        built(
            "pgjdbc",
            "",
            "javac -d OUT HERE/jvm/Steps.java",
            "jdbc:postgresql://host:5433/taxi?sslmode=verify-full&sslrootcert=…",
        ),
        command=("java", "-cp", f"/usr/share/java/postgresql.jar:{CLIENTS / 'bin'}", "Steps"),
        mark=QUESTION,
    ),
    python("psqlODBC", "odbc UseDeclareFetch=1;Fetch=2;UseServerSidePrepare=0", _BINDS, QUESTION),
    python("psqlODBC, prepared", "odbc UseServerSidePrepare=1", f"{_BINDS};UseServerSidePrepare=1", QUESTION),
    interpreted(
        "PHP PDO", "php", "php/steps.php", f'new PDO("pgsql:host=…;dbname=taxi;{_CHECKED.replace(" ", ";")}")', QUESTION
    ),
    interpreted("Ruby pg", "ruby", "ruby/steps.rb", f'PG.connect("host=… dbname=taxi user=ana {_CHECKED}")'),
    interpreted(
        "DBD::Pg",
        "perl",
        "perl/steps.pl",
        f'DBI->connect("dbi:Pg:host=…;dbname=taxi;{_CHECKED.replace(" ", ";")}")',
        QUESTION,
    ),
    built(
        "lib/pq",
        "pq",
        "go build -o OUT HERE/go/steps.go HERE/go/pq.go",
        f'sql.Open("postgres", "{_URL}?sslmode=verify-full")',
    ),
    built(
        "pgx",
        "pgx",
        "go build -tags pgx -o OUT HERE/go/steps.go HERE/go/pgx.go",
        f'pgx.Connect(ctx, "{_URL}?sslmode=verify-full")',
    ),
    built("libpqxx", "pqxx", _PQXX, f'pqxx::connection("host=… dbname=taxi user=ana {_CHECKED}")'),
    interpreted("Pgtcl", "tclsh", "tcl/pgtcl.tcl", f'pg_connect -conninfo "host=… dbname=taxi user=ana {_CHECKED}"'),
    interpreted(
        "tdbc::postgres", "tclsh", "tcl/tdbc.tcl", "tdbc::postgres::connection new -sslmode verify-full …", NAMED
    ),
    interpreted(
        "RPostgreSQL", "Rscript", "r/steps.R", f'dbConnect(PostgreSQL(), dbname = "host=… dbname=taxi {_CHECKED}")'
    ),
    replace(
        python("pgbouncer", "psycopg3 pooled", "taxi = host=… port=5433", PERCENT),
        before=pgbouncer,
    ),
    replace(
        python("pgpool", "psycopg2 pooled", "backend_hostname0 = '…'", PERCENT),
        before=pgpool,
    ),
)
DRIVERS: tuple[Driver, ...] = (*PYTHON, *NPM, *DEBIAN)
