# ruff: noqa: E501  (a statement a line)
"""What Metabase sends to PostgreSQL, written down: synchronization, fingerprints, values of fields, questions, a table."""

# mypy: ignore-errors

import psycopg
from told import DATABASE, HOST, PASSWORD, PORT, USER, tried

ADDRESS = {"host": HOST, "port": PORT, "user": USER, "password": PASSWORD, "dbname": DATABASE, "sslmode": "disable"}
_NOT_OURS = "NOT IN ('information_schema', 'pg_catalog', 'dpsql')"
SYNCHRONIZATION = {
    "can connect": "SELECT 1",
    "version": "SELECT version()",
    "time zone": "SELECT current_setting('TIMEZONE') <> ''",
    "schemas": f"""
        SELECT nspname FROM pg_catalog.pg_namespace
        WHERE nspname !~ '^pg_' AND nspname {_NOT_OURS} AND has_schema_privilege(oid, 'USAGE') ORDER BY nspname""",
    "tables": """
        SELECT n.nspname AS schema, c.relname AS name,
          CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW'
            WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' END AS type,
          d.description AS description
        FROM pg_catalog.pg_class AS c
        INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
        LEFT JOIN pg_catalog.pg_description AS d ON c.oid = d.objoid AND d.objsubid = 0
          AND d.classoid = 'pg_class'::regclass
        WHERE c.relnamespace = n.oid AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
          AND c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname IN ('public') ORDER BY type ASC, schema ASC, name ASC""",
    "privileges": """
        WITH table_privileges AS (
          SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table,
            pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') AS update,
            pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') AS select,
            pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'insert') AS insert,
            pg_catalog.has_table_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'delete') AS delete
          FROM (
            SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables
            UNION SELECT schemaname, viewname AS objectname FROM pg_catalog.pg_views
            UNION SELECT schemaname, matviewname AS objectname FROM pg_catalog.pg_matviews
          ) t
          WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema'
            AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')
        )
        SELECT t.* FROM table_privileges t WHERE t.schema = 'public' AND t.table IN ('trips', 'zones') AND t.select ORDER BY 3""",
    "fields": """
        SELECT c.column_name AS name, c.udt_name AS "database-type", c.ordinal_position - 1 AS "database-position",
          c.table_schema AS "table-schema", c.table_name AS "table-name", pk.column_name IS NOT NULL AS "pk?",
          col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID), c.ordinal_position) AS "field-comment",
          (c.column_default IS NULL OR LOWER(c.column_default) = 'null') AND c.is_nullable = 'NO' AND NOT ((c.column_default IS NOT NULL AND c.column_default LIKE '%nextval(%') OR c.is_identity <> 'NO') AS "database-required",
          (c.column_default IS NOT NULL AND c.column_default LIKE '%nextval(%') OR c.is_identity <> 'NO' AS "database-is-auto-increment"
        FROM information_schema.columns AS c
        LEFT JOIN (
          SELECT tc.table_schema, tc.table_name, kc.column_name
          FROM information_schema.table_constraints AS tc
          INNER JOIN information_schema.key_column_usage AS kc ON tc.constraint_name = kc.constraint_name
            AND tc.table_schema = kc.table_schema AND tc.table_name = kc.table_name
          WHERE tc.constraint_type = 'PRIMARY KEY'
        ) AS pk ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name
        WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND c.table_schema IN ('public')
          AND c.table_name IN ('trips', 'zones') ORDER BY "table-schema", "table-name", "database-position" """,
    "foreign keys": """
        SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS "fk-column-name",
          pk_ns.nspname AS "pk-table-schema", pk_table.relname AS "pk-table-name", pk_column.attname AS "pk-column-name"
        FROM pg_constraint AS c
        INNER JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid
        INNER JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
        INNER JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid
        INNER JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid
        INNER JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid
        INNER JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid
        WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f'::char
          AND fk_column.attnum = ANY(c.conkey) AND pk_column.attnum = ANY(c.confkey) AND fk_ns.nspname IN ('public')
        ORDER BY "fk-table-schema", "fk-table-name" """,
    "indexes": """
        SELECT tmp."table-schema", tmp."table-name", TRIM(BOTH '"' FROM pg_catalog.pg_get_indexdef(tmp."ci-oid", tmp.pos, false)) AS "field-name"
        FROM (
          SELECT n.nspname AS "table-schema", ct.relname AS "table-name", ci.oid AS "ci-oid",
            (information_schema._pg_expandarray(i.indkey)).n AS pos
          FROM pg_catalog.pg_class AS ct
          INNER JOIN pg_catalog.pg_namespace AS n ON ct.relnamespace = n.oid
          INNER JOIN pg_catalog.pg_index AS i ON ct.oid = i.indrelid
          INNER JOIN pg_catalog.pg_class AS ci ON ci.oid = i.indexrelid
          WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL AND n.nspname !~ '^information_schema|catalog_history|pg_'
        ) AS tmp
        WHERE tmp.pos = 1 AND tmp."table-schema" = 'public' ORDER BY 1, 2""",
    "enumerations": """
        SELECT nspname, typname FROM pg_type AS t JOIN pg_namespace AS n ON t.typnamespace = n.oid
        WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum)""",
    "rows in all": "SELECT reltuples::bigint IS NOT NULL FROM pg_class WHERE oid = 'public.zones'::regclass",
    "columns, by no row": 'SELECT TRUE AS "_" FROM "public"."trips" WHERE 1 <> 1 LIMIT 0',
}
"""Asked each hour; what changes with the server's state is asked as a condition."""
_COLUMNS = 'SELECT {} FROM "public"."trips" LIMIT 10000'
FINGERPRINTS = {
    "a column's rows": _COLUMNS.format('"public"."trips"."fare" AS "fare", "public"."trips"."tip" AS "tip"'),
    "a text's rows": (
        'SELECT "source"."substring1" AS "substring1" FROM (SELECT substring("public"."trips"."payment_type", 1, 1234)'
        ' AS "substring1" FROM "public"."trips") AS "source" LIMIT 10000'
    ),
    "both": (
        'SELECT "source"."pickup_ts" AS "pickup_ts", "source"."fare" AS "fare", "source"."substring1" AS "substring1"'
        ' FROM (SELECT "public"."trips"."pickup_ts" AS "pickup_ts", "public"."trips"."fare" AS "fare",'
        ' SUBSTRING("public"."trips"."payment_type", 1, 1234) AS "substring1" FROM "public"."trips") AS "source" LIMIT 10000'
    ),
}
PUBLIC_FINGERPRINT = (
    'SELECT "source"."zone_id" AS "zone_id", "source"."substring1" AS "substring1" FROM (SELECT "public"."zones"."zone_id" AS'
    ' "zone_id", SUBSTRING("public"."zones"."borough", 1, 1234) AS "substring1" FROM "public"."zones") AS "source" LIMIT 10000'
)
FIELD_VALUES = {
    f"values of {name}": (
        f'SELECT "public"."trips"."{name}" AS "{name}" FROM "public"."trips"'
        f' GROUP BY "public"."trips"."{name}" ORDER BY "public"."trips"."{name}" ASC LIMIT 1001'
    )
    for name in ("payment_type", "passenger_count", "pickup_zone")
}
SOURCE = '"public"."trips"."{}"'.format
QUESTIONS = {
    "count": 'SELECT COUNT(*) AS "count" FROM "public"."trips"',
    "distinct values": f'SELECT COUNT(DISTINCT {SOURCE("pickup_zone")}) AS "count" FROM "public"."trips"',
    "average by a category": (
        f'SELECT {SOURCE("payment_type")} AS "payment_type", AVG({SOURCE("fare")}) AS "avg", COUNT(*) AS "count" FROM "public"."trips"'
        f" GROUP BY {SOURCE('payment_type')} ORDER BY {SOURCE('payment_type')} ASC"
    ),
    "filtered": f'SELECT COUNT(*) AS "count" FROM "public"."trips" WHERE {SOURCE("payment_type")} = \'cash\'',
    "by week": (
        'SELECT (CAST(DATE_TRUNC(\'week\', (CAST("public"."trips"."pickup_ts" AS timestamp) + INTERVAL \'1 day\')) AS timestamp)'
        ' + INTERVAL \'-1 day\') AS "pickup_ts", COUNT(*) AS "count" FROM "public"."trips" GROUP BY 1 ORDER BY 1 ASC'
    ),
    "by day": (
        'SELECT CAST("public"."trips"."pickup_ts" AS date) AS "pickup_ts", COUNT(*) AS "count" FROM "public"."trips"'
        ' WHERE "public"."trips"."pickup_ts" >= DATE \'2019-03-02\' AND "public"."trips"."pickup_ts" < DATE \'2019-03-05\''
        ' GROUP BY CAST("public"."trips"."pickup_ts" AS date) ORDER BY 1 ASC'
    ),
    "by hour of the day": (
        'SELECT CAST(extract(hour from "public"."trips"."pickup_ts") AS integer) AS "pickup_ts", COUNT(*) AS "count"'
        ' FROM "public"."trips" GROUP BY 1 ORDER BY 1 ASC LIMIT 3'
    ),
    "bins": (
        'SELECT FLOOR(("public"."trips"."fare" / 12.5)) * 12.5 AS "fare", COUNT(*) AS "count" FROM "public"."trips"'
        ' GROUP BY FLOOR(("public"."trips"."fare" / 12.5)) * 12.5 HAVING COUNT(*) > 0 ORDER BY 1 ASC'
    ),
    "joined": (
        'SELECT "Zones"."borough" AS "Zones__borough", COUNT(*) AS "count" FROM "public"."trips" LEFT JOIN "public"."zones" AS "Zones"'
        ' ON "public"."trips"."pickup_zone" = "Zones"."zone_id" GROUP BY "Zones"."borough" ORDER BY "Zones"."borough" ASC'
    ),
    "of a question": (
        'SELECT "source"."count" AS "count" FROM (SELECT "public"."trips"."payment_type" AS "payment_type", COUNT(*) AS "count"'
        ' FROM "public"."trips" GROUP BY "public"."trips"."payment_type") AS "source" WHERE "source"."count" > 10 LIMIT 2000'
    ),
    "a custom expression": (
        'SELECT "source"."share" AS "share", COUNT(*) AS "count" FROM (SELECT CASE WHEN "public"."trips"."fare" > 30 THEN \'dear\''
        ' ELSE \'cheap\' END AS "share" FROM "public"."trips") AS "source" GROUP BY "source"."share" ORDER BY "source"."share" ASC'
    ),
}


def asked(statement: str) -> object:
    with psycopg.connect(**ADDRESS) as held:
        held.read_only = True
        held.execute("SET SESSION TIMEZONE TO 'UTC'")
        return [list(row) for row in held.execute(statement.encode()).fetchall()]


def number(statement: str) -> object:
    return len(asked(statement))


def _by_cursor() -> object:
    with psycopg.connect(**ADDRESS) as held, held.cursor("metabase") as cursor:
        cursor.execute(QUESTIONS["average by a category"])
        return len(cursor.fetchmany(500))


def plain(statement: str) -> object:
    return [
        [value if isinstance(value, (int, float, str, type(None))) else str(value) for value in row]
        for row in asked(statement)
    ]


for name, statement in SYNCHRONIZATION.items():
    tried("synchronization", name, lambda s=statement: len(asked(s)) if s.startswith("SELECT version") else plain(s))
tried("fingerprints of public tables", "zones", lambda: plain(PUBLIC_FINGERPRINT))
for name, statement in FINGERPRINTS.items():
    tried("fingerprints", name, lambda s=statement: number(s) > 999)
for name, statement in FIELD_VALUES.items():
    tried("values of fields", name, lambda s=statement: plain(s))
for name, statement in QUESTIONS.items():
    tried("questions", name, lambda s=statement: plain(s))
tried("questions", "by a cursor", _by_cursor)
tried(
    "rows",
    "a table",
    lambda: (
        number(
            'SELECT "public"."trips"."trip_id" AS "trip_id", "public"."trips"."fare" AS "fare" FROM "public"."trips" LIMIT 2000'
        )
        > 999
    ),
)
tried(
    "rows",
    "a record",
    lambda: number(
        'SELECT "public"."trips"."fare" AS "fare" FROM "public"."trips" WHERE "public"."trips"."trip_id" = 7 LIMIT 2000'
    ),
)
