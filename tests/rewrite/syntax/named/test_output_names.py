"""Columns that nobody named have PostgreSQL's names: a name that we get wrong fails after the charge."""

from collections.abc import Iterator

import psycopg
import pytest
import sqlglot

from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.dialect import Client
from dpsql.shadow.server.postgres import Postgres
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401

FROM = "(VALUES ('a', 1, timestamp '2019-01-01', true)) AS t(k, x, ts, b)"
EXPRESSIONS = """
count(*)
count(*) FILTER (WHERE x > 0)
pg_catalog.count(*)
percentile_cont(0.5) WITHIN GROUP (ORDER BY x)
mode() WITHIN GROUP (ORDER BY x)
sum(count(*)) OVER ()
row_number() OVER ()
extract(year FROM max(ts))
date_part('year', max(ts))
date_trunc('day', max(ts))
max(ts) AT TIME ZONE 'utc'
CASE WHEN count(*) > 1 THEN 1 END
CASE WHEN true THEN 1 ELSE count(*) END
CASE WHEN true THEN 1 ELSE count(*) + 1 END
CASE 1 WHEN 1 THEN count(*) ELSE (count(*)) END
CASE WHEN true THEN 1 ELSE 2::bigint END
trim(max(k))
trim(LEADING 'a' FROM max(k))
trim(TRAILING 'a' FROM max(k))
trim(BOTH 'a' FROM max(k))
ltrim(max(k))
substring(max(k) FROM 1 FOR 2)
substring(max(k), 1, 2)
substr(max(k), 1, 2)
position('a' IN max(k))
overlay(max(k) PLACING 'x' FROM 1)
upper(max(k))
max(k) COLLATE "C"
max(k)::varchar(3)
count(*)::pg_catalog.int2
max(k) || 'x'
max(k) LIKE 'a'
max(k) SIMILAR TO 'a'
max(k) IS DISTINCT FROM 'a'
ARRAY[count(*)]
(ARRAY[count(*), 2])[1]
ARRAY(SELECT 1)
array_agg(x)
EXISTS (SELECT 1)
(SELECT 1)
(SELECT max(y) FROM (VALUES (1)) v(y))
(SELECT y AS z FROM (VALUES (1)) v(y))
(SELECT count(*) FROM (VALUES (1)) v(y))
1 IN (SELECT 1)
ROW(1, 2)
(1, 2)
coalesce(count(*), 1)
nullif(count(*), 1)
greatest(count(*), 1)
least(count(*), 1)
grouping(1)
count(*)::int
(count(*) + 1)::int
(count(*) + 1)::bigint
avg(x)::numeric(10, 2)
1::int
1::int8
1::smallint
1::real
1::float
1::double precision
1::decimal(3, 1)
1::numeric
'x'::text
'x'::varchar
'x'::char(3)
'x'::character varying(3)
'x'::name
true::boolean
'{1,2}'::int[]
'{1,2}'::integer[]
'2019-01-01'::timestamp
'2019-01-01'::timestamp without time zone
'2019-01-01'::timestamptz
'2019-01-01'::timestamp(0) with time zone
'10:00'::time
date '2019-01-01'
timestamp '2019-01-01'
interval '1 day'
'1 day'::interval
cast(1 AS double precision)
current_date
current_timestamp
current_timestamp(3)
localtimestamp
current_user
session_user
now()
now()::date
1
1.5
'x'
NULL
true
-count(*)
count(*) + 1
NOT bool_and(b)
count(*) IS NULL
count(*) BETWEEN 1 AND 2
count(*) IN (1, 2)
bool_and(b) AND true
round(avg(x), 2)
json_build_object('a', count(*))
count(*) AS n
count(*) AS "N"
(timestamp '2019-01-01', timestamp '2019-01-02') OVERLAPS (timestamp '2019-01-01', timestamp '2019-01-02')
to_char(max(ts), 'YYYY')
""".strip().splitlines()


@pytest.fixture(scope="module")
def plain(shadow: Postgres) -> Iterator[psycopg.Connection]:  # noqa: F811
    """Give a session of a real PostgreSQL."""
    with psycopg.connect(shadow.dsn("postgres"), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_names_are_postgresqls(plain: psycopg.Connection, expression: str) -> None:
    """Whatever stands in a select list, its column has the name that PostgreSQL gives it."""
    written = expression.replace("grouping(1)", "grouping(k)")
    group = " GROUP BY k" if written != expression else ""
    described = plain.execute(f"SELECT {written} FROM {FROM}{group}").description
    assert described is not None
    parsed = sqlglot.parse_one(f"SELECT {written}", read=Client)
    assert isinstance(parsed, sqlglot.exp.Select)
    assert output_name(parsed.expressions[0]) == described[0].name
