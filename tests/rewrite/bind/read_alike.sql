select 1_000 + a from t;

select 0x1F, 0o17, 0b101, 1e3, .5, 5., 1_0.2_5;

select U&'d\0061t\+000061', E'a\nb\x41', $$dollar$$, $x$a$b$x$ from t;

select U&'d!0061t' UESCAPE '!';

select U&"\0061" from t;

select a operator(pg_catalog.+) 1 from t;

select b collate "C" from t order by b collate "C" desc nulls last;

select '{"a":1}' is json, j is json object from (select j::text j from t) s;

select count(*) from t group by distinct a, rollup(a, b) order by 1;

select a from t order by a fetch first 1 rows with ties;

select a from t order by a fetch first row only;

select a from t order by a offset 1 rows fetch next 2 rows only;

select a from t order by a limit all;

select * from rows from (generate_series(1,3), generate_series(1,2)) as r(x,y);

select * from generate_series(1,2) with ordinality as g(x, n);

table t;

table u order by a limit 1;

select * from (values (1,'a'),(2,'b')) v(x,y);

select * from t, lateral (select z from u where u.a = t.a) l;

select * from t left join lateral (select z from u where u.a = t.a) l on true;

with m as materialized (select a from t) select * from m;

with m as not materialized (select a from t) select * from m;

with recursive r(n) as (select 1 union all select n+1 from r where n < 3) select * from r;

with recursive r(n) as (select 1 union all select n+1 from r where n < 3) search depth first by n set o select * from r;

with recursive r(n) as (select 1 union all select n+1 from r where n < 3) cycle n set c using p select * from r;

select a = any(arr), a = all(arr), a = some(arr) from t;

select a = any(array[1,2]) from t;

select a from t where a = any('{1,2}'::int[]) order by 1;

select a from t where a in (1,2) order by 1;

select b similar to 'x|y%' from t;

select b not similar to 'x|y%' escape '\' from t;

select substring(b from 'x') from t;

select substring(b from 1 for 1), substring(b for 1), substring(b, 1, 2) from t;

select (d, d + interval '1 day') overlaps (timestamp '2020-01-01', timestamp '2020-02-01') from t;

select (a, b) = (1, 'x'), (a, b) < (2, 'y'), row(a, b) is distinct from row(1, 'x') from t;

select (a, b) in ((1,'x'),(2,'y')) from t;

select row(a,b), row(t.*) from t;

select (1,2);

select t from t;

select t.* from t;

select (t).a from t;

select (t).* from t;

select arr[1], arr[1:2], arr[:2], arr[2:] from t;

select (array[1,2,3])[2];

select array[[1,2],[3,4]];

select array(select a from t order by a);

select extract(epoch from d), extract('year' from d), date_part('month', d) from t;

select cast(d as date), d::date::text, date '2020-01-01', timestamp '2020-01-01 00:00', timestamp with time zone '2020-01-01 00:00+00', time '10:00', interval '1' day, interval '1 day 2 hours', interval '1-2' year to month from t;

select current_date = current_date, current_timestamp(0) is not null, localtimestamp is not null, current_user = user, session_user is not null, current_schema, current_catalog;

select case a when 1 then 'one' when 2 then 'two' else 'many' end, case when a > 1 then 1 end from t;

select coalesce(b, 'none'), nullif(a, 1), greatest(a, 2), least(a, 2, c) from t;

select a between 1 and 2, a not between 1 and 2, a between symmetric 2 and 1 from t;

select b is null, b is not null, b isnull, b notnull, k is true, k is not true, k is unknown, k is not unknown from t;

select not k, k and true, k or false from t;

select b like 'x%', b ilike 'X%', b not like 'x', b like 'a!%' escape '!', b ~~ 'x', b !~~ 'x', b ~~* 'X', b !~~* 'X' from t;

select b ~ 'x', b ~* 'X', b !~ 'x', b !~* 'X' from t;

select b ^@ 'x' from t;

select 'a' || b || 1 from t;

select j -> 'a', j ->> 'a', j #> '{a,b}', j #>> '{a,b}', j -> '$.a', j ->> '$.a' from t;

select j['a'], j['a']['b'] from t;

select json_build_object('a', 1, 'b', b), json_build_array(1, b), jsonb_build_object('x', a) from t;

select string_agg(b, ',' order by b desc), array_agg(distinct b order by b) , count(distinct b), count(distinct (a,b)) from t;

select count(*) filter (where a > 1), sum(a) filter (where k) from t;

select percentile_cont(0.5) within group (order by c), mode() within group (order by b), percentile_disc(array[0.1,0.9]) within group (order by a desc) from t;

select rank(2) within group (order by a) from t;

select row_number() over (order by a), sum(a) over (partition by k order by a rows between unbounded preceding and current row), lag(a, 1, 0) over w, first_value(a) over (w rows between 1 preceding and 1 following exclude current row) from t window w as (order by a);

select sum(a) over (order by d range between interval '1 day' preceding and current row) from t;

select sum(a) over (order by a groups between 1 preceding and 1 following) from t;

select nth_value(a, 2) over (order by a) from t;

select a, grouping(a), count(*) from t group by grouping sets ((a), ()) order by 1;

select a, b, count(*) from t group by cube (a, b) order by 1,2;

select a, b, count(*) from t group by rollup (a, (b, c)) order by 1,2,3;

select count(*) from t group by ();

select count(*) from t having count(*) > 1;

select distinct on (b) b, a from t order by b, a;

select distinct b from t order by b;

select all b from t;

select a from t union select a from u order by 1;

select a from t union all select a from u order by 1 limit 2 offset 1;

select a from t intersect select a from u;

select a from t except all select a from u order by 1;

(select a from t order by a limit 1) union all (select a from u order by a desc limit 1);

select * from t join u using (a);

select * from t natural join u;

select * from t natural left join u;

select * from t cross join u order by t.a, u.a;

select * from t left outer join u on t.a = u.a order by t.a;

select * from (t join u on t.a = u.a) order by 1;

select * from (t join u using (a)) as x (q, w) order by 1;

select * from t as x (q, w), u where u.a = x.q;

select x.* from t x tablesample bernoulli (100) repeatable (1);

select * from only t;

select * from t for read only;

select * from t for update;

select * from t for share of t nowait;

select * from t for no key update skip locked;

select exists (select 1 from u where u.a = t.a), a in (select a from u), a not in (select a from u), a > all (select a from u), a = any (select a from u) from t;

select (select max(a) from u), (select z from u where u.a = t.a) from t;

select "a" as "A b", a "as", a as select_x, b value from t;

select a as "it's", 1 as "x""y" from t;

select e'\\' || '\';

select '\d+' ~ 'x', regexp_replace(b, '\w', '#') from t;

select trim(both 'x' from b), trim(b), trim(leading from b), trim(trailing 'z' from b), ltrim(b, 'x'), btrim(b) from t;

select position('x' in b), strpos(b, 'x'), overlay(b placing 'q' from 1 for 1), overlay(b placing 'q' from 1) from t;

select to_char(d, 'YYYY-MM-DD"T"HH24:MI'), to_date('2020', 'YYYY'), to_timestamp(0), to_number('12', '99') from t;

select date_trunc('month', d), date_trunc('day', d::timestamptz, 'UTC'), date_bin('15 min', d, '2001-01-01'), age(d), make_date(2020,1,1), justify_days(interval '35 days') from t limit 0;

select d + interval '1 day' * a, d - d, e - e, e + 1, e - date '2019-01-01', d - interval '1' month from t;

select a::float8, a::double precision, a::numeric(5,1), a::varchar(3), a::char(2), a::"char", b::name, a::bit(4), a::int8::text, '12'::int2, a::pg_catalog.int4, a::oid, 'pg_class'::regclass, a::money from t;

select cast(b as varchar), cast(a as character varying(2)), cast(a as dec(5,2)), cast(c as real), cast(d as timestamp(0)), cast(d as timestamp(3) with time zone), cast(d as time), cast(a as bigint), cast(a as int4) from t where a < 3;

select 'a'::text collate "C" < 'b';

select a from t where (a > 1) is true;

select a from t where a <> 1 and a != 2 order by 1;

select a from t order by 1 desc nulls first, b asc;

select a+1 as x from t order by x;

select sum(a)::int from t;

select pg_catalog.abs(a), abs(a), "abs"(a), pg_catalog."substring"('abc', 1, 2) from t;

select make_interval(days => 10), make_interval(days := 3);

select format('%s', a) from t;

select generate_series(1,3), unnest(array['a','b']);

select * from unnest(array[1,2], array['a','b']) as x(a,b);

select * from unnest(array[1,2]) with ordinality;

select * from json_to_recordset('[{"a":1}]') as x(a int);

select * from jsonb_each('{"a":1}');

select * from pg_get_keywords() limit 0;

select (pg_get_keywords()).word limit 0;

select current_setting('TimeZone'), version() is not null;

select null, null::int, true, false;

select 1 where true;

select from t;

select a /* c1 */ , -- c2
 b from t;

select /*+ hint */ a from t;

explain select a from t;

select lower(b) as lower, upper(b) from t group by b order by upper(b);

select left(b, 1), right(b, 1), replace(b, 'x', 'y'), reverse(b), repeat(b, 2), split_part(b, '''', 1), char_length(b), length(b), octet_length(b), ascii(b), chr(65), md5(b), initcap(b), lpad(b, 3, '*'), rpad(b, 3), translate(b, 'x', 'y'), starts_with(b, 'x') from t;

select round(c), round(n, 1), ceil(c), ceiling(c), floor(c), trunc(c), trunc(n, 1), sqrt(4), power(a, 2), exp(1), ln(2), log(10), log(2, 8), mod(a, 2), sign(c), div(7, 2), pi(), random() is not null, width_bucket(c, 0, 10, 5), width_bucket(c, array[0,1]::float8[]), cbrt(8), factorial(3), gcd(4,6), degrees(1), sin(1) from t;

select variance(c), var_samp(c), var_pop(c), stddev(c), stddev_samp(c), stddev_pop(c), corr(c, a), covar_pop(c,a), covar_samp(c, a), regr_slope(c, a), bool_and(k), bool_or(k), every(k), bit_and(a), any_value(a) is not null from t;

select array_length(arr, 1), cardinality(arr), arr || 5, arr @> array[1], arr && array[1], array_position(arr, 2), array_to_string(arr, ',') from t;

select int4range(1, 5) @> a, daterange('2020-01-01', '2021-01-01') @> e, int4range(1,3) * int4range(2,5), '[1,2]'::int4range -|- '[3,4]'::int4range from t;

select to_tsvector('a b') @@ to_tsquery('a'), 'a b'::tsvector @@ 'a'::tsquery;

select a, b from t where b in ('x') and not (a = 1 or a = 2) and (k or not k);

select nullif(sum(a), 0) / nullif(count(*), 0)::numeric, 1.0 * sum(a) / count(*) from t;

select sum(a) / count(*), avg(a), 7 / 2, 7 / 2.0, -7 / 2, 7 % -3, 2 ^ 3 ^ 2, -2 ^ 2, 2 * 3 + 4, (2 * (3 + 4)), 1 - 2 - 3, 8 / 4 / 2 from t;

select a::text || 'x' like '1x', - a::int, (- a)::int, a::int + 1::int from t;

select 'x' in ('x', 'y') = true;

select 1 as a, 2 as a;

select case when a = 1 then 1 else null end is null from t;

select lag(a) over (partition by b order by a desc nulls last) from t order by 1;

select count(*) over () from t;

select trim('x' from b), trim(both from b) from t;

select b::date from t where false;

select timestamptz '2020-01-01 00:00+00', '2020-01-01'::timestamptz at time zone interval '2 hours';

select timezone('UTC', d) from t;

select a from t limit 1 + 1;

select a from t limit (select 1);

select a from t order by a limit 2::bigint offset 1::bigint;

select ctid is not null, tableoid::regclass, xmin is not null from t;

select a from t as "T" where "T".a = 1;

select count(*) as count, sum(a) as sum, max(a) max from t;

select 1 as order_, 2 as "order", 3 as year, 4 as date, 5 as timestamp, 6 as type;

select date(d), timestamp(0) '2020-01-01', time(0) '10:00' from t;

select treat(a as int) from t;

select grouping(a) from t group by a;

select a asof from t;

select a from t sample;

select a from t pivot;

select a from t unpivot;

select a from t final;

select a from t prewhere;

select a top from t;

select a "limit" from t;

select a settings from t;

select a format from t;

select a from t exclude;

select a except_ from t;

select a replace from t;

select a div from t;

select a mod from t;

select a ilike_ from t;

select a any_ from t;

select a temporary from t;

select a stored from t;

select a key from t;

select a interval from t;

select interval '1' year, interval '1' month, interval '2' hour, interval '90' minute, interval '1.5' second;

select interval '1 2' day to hour;

select interval '1 2:3' day to minute, interval '2:3' minute to second, interval '1 2:03:04' day to second, interval '2:03' hour to minute;

select '1'::interval;

select d + '1 day'::interval * 2 from t;

select 1::bool, 1::bit(3), 1.5::dec, 1.5::decimal(3), 1.5::float, 1.5::float(20), 1.5::float(50), 1.5::float4, 1.5::float8, 1.5::real, 1::int2, 1::smallint, 1::int8, 1::bigint, 1::integer, 1.7::int;

select '10:00'::time, '10:00'::time(0), '10:00+01'::timetz, '10:00+01'::time with time zone, '2020-01-01'::timestamptz, '2020-01-01'::timestamp(0), '2020-01-01 00:00:00.6'::timestamp(0) without time zone, '2020-01-01'::timestamptz(0);

select 'a'::name, 'a'::"char", '1'::xid, '1'::oid, 'int'::regtype, '{}'::json, '{}'::jsonb, '\x00'::bytea, '1.1.1.1'::inet, '1.1.1.0/24'::cidr, '$.a'::jsonpath, 'a'::tsvector, '1'::money, '(1,2)'::point, '[1,2)'::int4range, '{[1,2)}'::int4multirange, '00000000-0000-0000-0000-000000000000'::uuid;

select arr::bigint[], arr::text[], arr::varchar(2)[], arr::numeric(3,1)[] from t;

select (arr)[1], arr[1]::text, (arr[1:2])[1], arr[a], arr[a+1], arr[-1] from t;

select array[1,2]::bigint[], array[]::int[], array[1, 2.5], array['a', null];

select 1 is distinct from 2 and true, 1 + 1 is null, 1 > 0 is true, not null is null, (1 = 2) is not false, a + 1 = 2 is true from t;

select a::int + 1, a + 1::int, -a::int, - 1::int, not k::bool, a::text || b, (a)::text, a::text::int::text, (a + 1)::text, arr[1]::text from t;

select a at time zone 'UTC' from (select d as a from t) q;

select d at time zone 'UTC' < now(), extract(hour from d at time zone 'UTC'), date_trunc('day', d at time zone 'UTC' at time zone 'CET') from t;

select d::date = e, d::date - e, (d at time zone 'UTC')::date from t;

select a b from t;

select a as b, b as a from t order by a;

select b as a from t order by a || 'x';

select a + 1 as a from t order by a desc limit 2;

select sum(a) as a from t group by a order by a;

select b from t group by 1 order by 1;

select count(*) from t group by b having b is not null order by count(*), b;

select distinct a + 1 from t order by a + 1;

select a from t order by -a;

select a from t order by (select 1), a desc;

select * from t where a = 1 or a = 2 and b = 'x';

select * from t where not a = 1 and b = 'x';

select * from t where (a, b) = (select 1, 'x');

select * from t where a = all (array[1]) or a <> all ('{1,2,3}');

select * from t where b like any (array['x%','y%']) order by a;

select * from t where b ilike all ('{x}') order by a;

select * from t where a not in (1, 2) and b not like 'y%';

select * from t where a::text in ('1') or exists (select from u where z = b);

select * from t where a = (case when k then 1 else 2 end);

select * from t where coalesce(k, false) is not true;

select * from t where (k and a = 1) is null;

select * from t where b = '' or b = ' ' or b = e'\t' or b = '\t';

select '--not comment', '/* nor this */', 'a;b', '$1', ':x', '%s', '{{x}}', '@x', '?';

select $q$it's$q$, $$a$b$$, e'it\'s', 'it''s', E'\u00e4', U&'\00e4', N'x';

select 'a' as "select", 'b' as "A.B", 'c' as "a""b", 'd' as ä;

select count(*), count(distinct b), count(all b), sum(distinct a), min(b collate "C"), array_agg(a order by b nulls first, a desc) from t;

select string_agg(distinct b, ',' order by b), json_agg(b order by a), jsonb_object_agg(a, b) from t;

select sum(a) over w1, count(*) over (w1), sum(a) over (w1 rows 1 preceding) from t window w1 as (partition by k order by a), w2 as (w1);

select sum(a) over (order by a rows unbounded preceding), sum(a) over (order by a range current row), sum(a) over (rows between 1 following and 2 following), sum(a) over (order by a rows between 2 preceding and 1 preceding exclude ties) from t;

select ntile(2) over (order by a), percent_rank() over (order by a), cume_dist() over (order by a), dense_rank() over (order by b), last_value(a) over (order by a rows between current row and unbounded following) from t;

select count(*) filter (where a > 1) over (order by a) from t;

select a, sum(count(*)) over (order by a) from t group by a;

with a as (select 1 x), b as (select x + 1 y from a) select * from a, b;

with a (p, q) as (select 1, 2) select p from a;

with t as (select 5 a) select * from t;

with a as (values (1, 'x')) select * from a;

with a as (table u) select * from a order by 1;

select (with a as (select 1 x) select x from a);

select * from (with a as (select 1 x) select x from a) q;

select * from (select 1) q (w);

select * from (select 1 as x, 2 as y) as q (w);

select q.* from (select 1 x) q, (select 2 y) r;

select * from t x join u y on x.a = y.a left join u z on z.a = y.a + 1 order by 1;

select * from t x join (u y join u z on y.a = z.a) on x.a = y.a order by 1;

select * from t x left join u y using (a) right join u z using (a) order by 1;

select * from t full join u on t.a = u.a order by t.a, u.a;

select * from t inner join u on true where t.a = u.a;

select * from generate_series(1, 3) g;

select * from generate_series(1, 3) g (n) where n > 1;

select g.n from generate_series(1, 3) as g (n);

select * from generate_series(timestamp '2020-01-01', '2020-01-03', '1 day') d;

select * from t, generate_series(1, t.a) g order by t.a, g;

select * from unnest(array[1, 2]) x join unnest(array[2, 3]) y on x = y;

select x from unnest(array[1, 2]) as x;

select * from unnest('{1,2}'::int[], '{3}'::int[]);

select (select array_agg(x) from unnest(arr) x) from t;

select a, (select count(*) from u where u.a <= t.a) from t;

select * from t where a in (select a from u) and a > (select min(a) from u);

select * from t order by a limit 2 offset 1;

select * from t order by a offset 1 limit 2;

select * from t order by a offset 1 row fetch next 1 row only;

select * from t order by b nulls first fetch first 2 rows with ties;

select * from t order by a fetch first row with ties;

select a from t union (select a from u order by a limit 1) order by 1;

select a from t union select a from u except select 1 order by 1;

select a from t union all (select a from u intersect select 2) order by 1;

select a from t intersect select a from u union select 9 order by 1;

select a::text from t union select z from u order by 1 limit 3;

(select 1) order by 1 limit 1;

((select 1));

(select a from t) union (select a from u) order by a desc limit 2;

select 1 union select 1.5 order by 1;

select null union select 1;

select count(*) from (select distinct b, k from t) q;

select * from (values (1), (2)) v order by 1 desc limit 1;

select * from (values (1, 'a'), (2, 'b')) as v (n, s) where n > 1;

select max(n) from (values (1), (2), (null)) v (n);

select case when 1 = 1 then 'x' when 2 = 2 then 'y' end || 'z', case a when 1 then null else b end from t;

select coalesce(null, null, 'x'), greatest('a', 'b'), least(1, 2.5, null), nullif('a', 'b');

select extract(dow from d), extract(isodow from d), extract(week from d), extract(quarter from e), extract(century from e), extract(milliseconds from d), extract(timezone_hour from d::timestamptz), extract(day from interval '1 day'), extract(epoch from d - '2020-01-01') from t;

select position('a' in 'ba') + 1, substring('abc' from 2), substring('abc' from 2 for 1) || 'x', overlay('abcd' placing 'xx' from 2 for 2), trim(both from ' a '), trim(leading 'x' from 'xxa'), trim(' a ');

select localtime is not null, localtime(0) is not null, current_time is not null, localtimestamp(3) is not null, current_role is not null, user is not null;

select row(1, 2) = row(1, 2), (1, 2) < (1, 3), row(1) is null, (a, b) is not null from t;

select a from t where row(a, 1) in (select a, 1 from u);

select a, b from t where (a, b) in (values (1, 'x'));

select (row(1, 'x')).f1, (t).b from t;

select t.arr[1], (t.j)->'a', t.j->'a'->'b'->>0, j->>'a' = '1' from t;

select j -> 0, j -> -1, j ->> 0, j #> array['a'] from t;

select b ~ '^x' and b !~ 'y', b like '%\_%', b like '%!_%' escape '!', b similar to '(x|y)%' from t;

select 'a' < 'b' collate "C", ('a' collate "C") < 'b', lower('A' collate "C");

select pg_typeof(1), pg_typeof(1.0), pg_typeof(1e0), pg_typeof(9999999999), pg_typeof(99999999999999999999), pg_typeof('x'), pg_typeof(null), pg_typeof(array[1]), pg_typeof(1::float4 + 1), pg_typeof(date '2020-01-01' + 1), pg_typeof(date '2020-01-01' - date '2020-01-01'), pg_typeof(now() - now());

select 1.0, 1.50, 100e-2, 1e2, .5e1, 0.1::float8, 12345678901234567890.123456789, 1e400, 007;

select 'NaN'::float8::text, 'Infinity'::float8, '-inf'::float4, 'nan'::numeric::text;

select true and null, null or true, 't'::bool, 'yes'::boolean, 1 = 1;

select lower(b) collate "C" as x from t order by x;

select max(a) filter (where b = 'x') - min(a) from t;

select b, count(*) * 100.0 / sum(count(*)) over () from t group by b order by 1;

select date_part('year', d)::int, to_char(d, 'Mon'), to_char(c, 'FM999.00'), to_char(interval '1 day', 'DD') from t;

select round(avg(c)::numeric, 2), avg(a)::float8, sum(a)::text || '!', (sum(c) / nullif(count(*), 0))::numeric(10, 2) from t;

select floor(c / 10) * 10, floor((c - 1) / 2.5) * 2.5 + 1, width_bucket(c, 0, 10, 5) - 1, trunc(c::numeric, 1), ceil(c)::int from t;

select "t" . "a", t . b from "t";

select a from t -- trailing comment;

select a /* nested /* comment */ here */ from t;

select '1 day'::interval day;

select cast('90 min' as interval hour);

select character varying 'abc';

select varchar 'abc';

select varchar(2) 'abc';

select char(2) 'abc';

select bit(3) '101';

select dec '1.5', float '1.5', float(3) '1.5', real '1.5';

select dec(2,1) '1.5';

select double precision '1.5';

select time with time zone '10:00+00';

select timestamp(0) with time zone '2020-01-01 00:00:00.6+00';

select timestamp without time zone '2020-01-01';

select cast('abc' as char), 'abc'::char, 'abc'::character, 'abc'::bpchar, 'abc'::varchar;

select 'abc'::nchar(2);

select (arr)[1], arr[1]::text, (arr[1:2])[1], arr[a], arr[a+1], arr[-1] from t;

select a::int + 1, a + 1::int, -a::int, - 1::int, not k::bool, a::text || b, (a)::text, a::text::int::text, (a + 1)::text, arr[1]::text from t;

select 1_000 + a as x, 0xff, 0b11, 0o17 from t where a = 0x1;

select 'a'
  'b' || 'c''d'
'e', 'x' from t;

select u&"a" from t;

select U&"d!0061t" UESCAPE '!' from (select 1 as "dat") q;

with q as (select a from t for read only) select * from q;

select a as read, b as only from t for read only;

select interval '1 day' + interval '2:00' - interval '1 mon', interval '1' day, interval '1' day * 2;

select interval '1' as x;

select char_length('a'), "char"('a'), 'a'::"char";

select current_time is not null, current_time(0) is not null;

select 2 ^ 3 * 2, 2 * 2 ^ 3, (2 ^ 3) ^ 2, -(2 ^ 2), 2 ^ (1 + 1), 2 ^ -1 * 3, a ^ 2 + 1 from t;

select b ^@ 'x' and true, not b ^@ 'x' from t;

select interval '1.23456 seconds'::interval(2), (d - d + interval '1.5 s')::interval (0), cast(d - e as interval(3)), max(d - e)::interval(1) as interval_1_ from t group by d, e;

select date '2020-01-02'::text, timestamp '2020-01-02 03:04:05'::date::text::varchar(3), date '2020-01-02'::timestamp;

select double precision '1.50'::text, numeric(10,2) '1.234'::text, bool 't'::int, int '7'::text || 'a', varchar '1'::int;

select '2020-01-02 03:04'::timestamp::date, cast('2020-01-02 03:04'::timestamp as date), (date '2020-01-02')::text from t;

select interval '1 day'::text, timestamp with time zone '2020-01-02 03:04+00'::date, time '10:00'::interval, json '{"a":1}' -> 'a';

select interval(3) '1.23456 seconds';

select interval '1 day' second;

select interval '@ 1 minute ago';

select interval '1 day ago', interval '.5 day';

select char 'abc';

select '{1,2}'::int array, '{1,2}'::int[3];

select '{1,2}'::numeric(3, 1)[3];

select anti.a from t anti join u on anti.a = u.a;

select semi.a, qualify.z from t semi left join u qualify using (a) order by 1;

select pivot.a from t pivot, u unnest, u xor where pivot.a = unnest.a and xor.a = unnest.a;

select a from t order by a using >;

select |/ 4 + 5, ||/ 27, @ -5 + 2, @ c, @ (a - 5), 2 * @ c ^ 2, @ c > 1, @ a::numeric, (@ c)::int from t;
