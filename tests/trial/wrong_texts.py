"""Texts for an engine with one thing put in that makes them wrong, or whose meaning the second reading can't know."""

WRONG = (
    # 2 rows of a unit count
    (
        2,
        "SELECT count(*) FROM rides",
        (
            ("GROUP BY 1)", "GROUP BY 1, GROUPING SETS ((), ()))"),
            ("GROUP BY 1)", "GROUP BY GROUPING SETS (1, 1))"),
            ("GROUP BY 1)", "GROUP BY ALL)"),
            (
                '"rider" AS u FROM',
                '"rider" AS u, unnest([1,2,3,4]) AS g FROM',
            ),
            (
                '"rider" AS u FROM',
                '"rider" AS u, UNNEST(range(9)) AS g FROM',
            ),
            (
                '"rider" AS u FROM',
                '"rider" AS u, generate_series(1,9) AS g FROM',
            ),
            ("sum(w)", "sum(w * w)"),
            ("sum(w)", "sum(w ** 2)"),
            ("sum(w)", "sum(70000) FILTER (WHERE w > 0)"),
            ("sum(w)", "count(*) FILTER (WHERE w > 0)"),
            ('WHERE s0."rider" IS NOT NULL', "WHERE s0.\"rider\" IS NOT NULL AND uuid()::VARCHAR < '5'"),
            ('WHERE s0."rider" IS NOT NULL', 'WHERE s0."rider" IS NOT NULL AND random() < 0.5'),
            ('WHERE s0."rider" IS NOT NULL', "WHERE s0.\"rider\" IS NOT NULL AND gen_random_uuid()::VARCHAR < '5'"),
            ('WHERE s0."rider" IS NOT NULL', "WHERE s0.\"rider\" IS NOT NULL AND nextval('x') < 5"),
            (
                'WHERE s0."rider" IS NOT NULL',
                'WHERE s0."rider" IS NOT NULL AND (SELECT count(*) FROM memory.main."rides" AS q) > 5',
            ),
            ('WHERE s0."rider" IS NOT NULL', 'WHERE s0."rider" IS NOT NULL OR TRUE'),
            ("greatest(count(*), 2)", "greatest(count(*) FILTER (WHERE fare > 3), 2)"),
            ("greatest(count(*), 2)", "greatest(count(*), 2, 1)"),
            ("INTEGER) AS w", "INTEGER) * 2 AS w"),
            ("AS INTEGER) AS w", "AS UTINYINT) AS w"),
            ("JOIN h ON u = hu", "LEFT JOIN h ON u = hu"),
            ("JOIN h ON u = hu", "JOIN h ON u = hu JOIN h AS h2 ON TRUE"),
            ("JOIN h ON u = hu", "CROSS JOIN h"),
            ("JOIN h ON u = hu", "ASOF JOIN h ON u = hu"),
            ("JOIN h ON u = hu", "POSITIONAL JOIN h"),
            ("JOIN h ON u = hu", "JOIN (SELECT * FROM h UNION ALL SELECT * FROM h) AS h ON u = hu"),
            ("JOIN h ON u = hu", "JOIN rides ON u = hu"),
            ("JOIN h ON u = hu", "JOIN h AS x ON u = hu"),
            ("JOIN h ON u = hu", "JOIN heavy ON u = hu"),
            ("JOIN h ON u = hu", 'JOIN h ON u = hu GROUP BY (SELECT count(*) FROM memory.main."rides")'),
        ),
    ),
    # 2 rows of a unit count
    (
        2,
        "SELECT z.borough, count(*) FROM rides r JOIN zones z ON z.zone_id=r.from_zone GROUP BY 1",
        (
            ("GROUP BY k0", "GROUP BY ROLLUP (k0)"),
            ("GROUP BY k0", "GROUP BY CUBE (k0)"),
            ("GROUP BY k0", "GROUP BY GROUPING SETS (k0, ())"),
            ("GROUP BY k0", "GROUP BY k0 LIMIT 3"),
            ("GROUP BY k0", "GROUP BY k0 HAVING count(*) > 7"),
            ("SELECT k0, CAST", 'SELECT (SELECT max(fare) FROM memory.main."rides") AS k0, CAST'),
            ("SELECT k0, CAST", "SELECT row_number() OVER () AS k0, CAST"),
            ("SELECT k0, CAST", "SELECT max(fare), k0, CAST"),
            ("SELECT k0, CAST", "SELECT any_value(u), k0, CAST"),
            ("SELECT k0, CAST", "SELECT string_agg(u), k0, CAST"),
            ("SELECT k0, CAST", "SELECT k0 || max(u), CAST"),
            (
                'JOIN memory.main."zones" AS s1 ON (s1."zone_id" = s0."from_zone")',
                'POSITIONAL JOIN memory.main."zones" AS s1',
            ),
            ('JOIN memory.main."zones" AS s1 ON', 'ASOF JOIN memory.main."zones" AS s1 ON'),
            ('JOIN memory.main."zones" AS s1 ON', 'RIGHT JOIN memory.main."zones" AS s1 ON'),
            ('JOIN memory.main."zones" AS s1 ON', 'FULL JOIN memory.main."zones" AS s1 ON'),
            ('JOIN memory.main."zones" AS s1 ON', 'SEMI JOIN memory.main."zones" AS s1 ON'),
            ('JOIN memory.main."zones" AS s1 ON', 'ANTI JOIN memory.main."zones" AS s1 ON'),
            ('(CAST(s1."borough" AS VARCHAR) COLLATE "C") AS k0', "row_number() OVER () AS k0"),
            ('(CAST(s1."borough" AS VARCHAR) COLLATE "C") AS k0', '(SELECT max(fare) FROM memory.main."rides") AS k0'),
            ('(CAST(s1."borough" AS VARCHAR) COLLATE "C") AS k0', "unnest([1,2]) AS k0"),
            ('(CAST(s1."borough" AS VARCHAR) COLLATE "C") AS k0', "random() AS k0"),
            ('(CAST(s1."borough" AS VARCHAR) COLLATE "C") AS k0', "error(s0.fare::varchar) AS k0"),
        ),
    ),
    # 2 rows of a unit count
    (
        2,
        "SELECT avg(n) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS t",
        (
            ("AS f0 FROM (", "AS f0, row_number() OVER () AS k0 FROM ("),
            ('SELECT s0."rider" AS u,', 'SELECT s0."rider" AS u, unnest([1,2,3]) AS g,'),
            (
                'AND s0."count" IS NOT NULL)',
                'AND s0."count" IS NOT NULL AND (SELECT count(*) FROM memory.main."rides") > 3)',
            ),
            ('AND s0."count" IS NOT NULL)', 'AND s0."count" > (SELECT avg(fare) FROM memory.main."rides"))'),
            ('AND s0."count" IS NOT NULL)', 'AND s0."count" IS NOT NULL AND row_number() OVER () < 3)'),
            ('AND s0."count" IS NOT NULL)', 'AND s0."count" IS NOT NULL QUALIFY row_number() OVER () < 3)'),
            ("GROUP BY 1) AS s0", "GROUP BY 1, GROUPING SETS ((), ())) AS s0"),
            ('count(*) AS "count"', 'count(*) AS "count", unnest([1,2]) AS g'),
            ('count(*) AS "count"', 'count(*) + (SELECT count(*) FROM memory.main."rides") AS "count"'),
            ('count(*) AS "count"', 'sum(count(*)) OVER () AS "count"'),
            ('count(*) AS "count"', 'rank() OVER (ORDER BY count(*)) AS "count"'),
            ('WHEN s0."count" >= (2) THEN 2048', 'WHEN s0."count" >= (2) THEN 2049'),
            ('s0."count" < (2)', 's0."count" < (3)'),
            ("- (1)) * 2048", "- (1)) * 2050"),
        ),
    ),
    # 2 rows of a unit count
    (
        2,
        "SELECT count(DISTINCT rider) FROM rides",
        (
            ("GROUP BY 1) AS r", "GROUP BY 1, GROUPING SETS ((), ())) AS r"),
            ('s0."rider" AS u', 's0."rider" AS u, unnest([1,2])'),
            ("count(*)", 'count(*) + (SELECT count(*) FROM memory.main."rides")'),
            (") AS r", ') AS r CROSS JOIN memory.main."zones"'),
            (") AS r", ') AS r, memory.main."zones"'),
            (") AS r", ") AS r(u)"),
        ),
    ),
    # 20 rows of a unit count
    (
        20,
        "SELECT count(*) FROM rides",
        (
            ("AS r UNION ALL", ", (SELECT 1) AS rr UNION ALL"),
            (
                '"rider" AS u FROM',
                '"rider" AS u, unnest([1,2,3]) AS g FROM',
            ),
            ("GROUP BY 1 HAVING", 'GROUP BY 1, s0."fare" HAVING'),
            ("count(*) > 20", "count(*) > 20 AND max(fare) > 3"),
            ("GROUP BY (u | 0))", "GROUP BY (u | 0), GROUPING SETS ((),()))"),
            ("GROUP BY (u | 0))", "GROUP BY CUBE (u | 0))"),
            ("// 2 AS u FROM", "// 3 AS u FROM"),
            ("// 2", '// 2 + (SELECT count(*) FROM memory.main."rides")'),
            ("// 2", "// 2 + random()"),
            ("- 65536) * CAST(s0 AS HUGEINT) FROM h", '- 65536) * CAST(s0 AS HUGEINT) FROM h, memory.main."zones"'),
            ("- 65536) * CAST(s0 AS HUGEINT) FROM h", "- 65536) * CAST(s0 AS HUGEINT) FROM h GROUP BY ALL"),
            ("- 65536) * CAST(s0 AS HUGEINT) FROM h", "- 65536) * CAST(s0 AS SMALLINT) FROM h"),
            ("- 65536) * CAST(s0 AS HUGEINT) FROM h", "- 65536) * CAST(abs(s0 - 3) AS HUGEINT) FROM h"),
            ("- 65536) * CAST(s0 AS HUGEINT) FROM h", "- 65536) * CAST(s0 * s0 AS HUGEINT) FROM h"),
            ("- 65536) * CAST(s0 AS HUGEINT) FROM h", "- 65536) * CAST(2 * s0 AS HUGEINT) FROM h"),
            ("- 65536) * CAST(s0 AS HUGEINT) FROM h", "- 65536) * CAST(s0 AS HUGEINT), 5 FROM h"),
            ("CAST(sum(s0) AS VARCHAR)", "CAST(CAST(sum(s0) AS SMALLINT) AS VARCHAR)"),
            ("CAST(sum(s0) AS VARCHAR)", "CAST(sum(s0) AS BIT)"),
            ("CAST(sum(s0) AS VARCHAR)", "CAST(sum(DISTINCT s0) AS VARCHAR)"),
            (") AS g", ") AS g GROUP BY GROUPING SETS ((),())"),
            (") AS g", ") AS g WHERE s0 > 5"),
            (") AS g", ") AS g HAVING sum(s0) > 5"),
            ("AS MATERIALIZED (SELECT u AS hu", "AS MATERIALIZED (SELECT u + 0 AS hu"),
            ("AS w, s0 FROM p", "AS w, s0 + 1 AS s0 FROM p"),
            ("AS w, s0 FROM p", "AS w, s0 * 2 AS s0 FROM p"),
            ("AS w, s0 FROM p", "AS w, n * n AS s0 FROM p"),
            ("AS w, s0 FROM p", "AS w, unnest([s0, s0]) AS s0 FROM p"),
            ("AS w, s0 FROM p", "AS w, s0, unnest([s0, s0]) AS q FROM p"),
            ("AS w, s0 FROM p", 'AS w, (SELECT count(*) FROM memory.main."rides") AS s0 FROM p'),
            ("greatest(n, 20) AS INTEGER", "greatest(n, 20) AS SMALLINT"),
            ("SELECT (u | 0) AS u, count(*)", "SELECT (u | 0) AS u, unnest([1,2]) AS q, count(*)"),
        ),
    ),
    # 20 rows of a unit count
    (
        20,
        "SELECT shared, count(*), sum(fare) FROM rides GROUP BY 1",
        (
            ("FROM p JOIN h ON u = hu", "FROM p JOIN h ON u = hu GROUP BY ALL"),
            ("max(c) AS c FROM p", "min(c) AS c FROM p"),
            ("GROUP BY (u | 0), k0)", "GROUP BY (u | 0), k0, n)"),
            ("GROUP BY (u | 0), k0)", "GROUP BY (u | 0), k0, CUBE (k0))"),
            ("GROUP BY k0 UNION", "GROUP BY CUBE (k0) UNION"),
            (
                'AS HUGEINT) AS s1 FROM (SELECT s0."rider" AS u,',
                'AS HUGEINT) AS s1 FROM (SELECT s0."rider" AS u, unnest([1,2]) AS q,',
            ),
        ),
    ),
    # whose joined rows are
    (
        2,
        "SELECT count(*) FROM rides r JOIN rides t ON t.rider = r.rider WHERE t.fare > 3",
        (
            ('ON (s1."rider" = s0."rider")', "ON TRUE"),
            ('ON (s1."rider" = s0."rider")', 'ON (s1."from_zone" = s0."rider")'),
            ('ON (s1."rider" = s0."rider")', 'ON (s1."rider" = s0."seats")'),
            ('ON (s1."rider" = s0."rider")', 'ON (s1."rider" >= s0."rider")'),
            ('ON (s1."rider" = s0."rider")', 'ON (s1."rider" = s0."rider" + 1)'),
            ('ON (s1."rider" = s0."rider")', 'ON (s1."rider" = s0."rider" OR s0."fare" > 3)'),
            ('ON (s1."rider" = s0."rider")', 'ON NOT (s1."rider" = s0."rider")'),
            ('ON (s1."rider" = s0."rider")', 'ON (s1."rider" = s1."rider")'),
            ('ON (s1."rider" = s0."rider")', 'ON (s0."rider" = s0."rider")'),
            (' JOIN memory.main."rides"', ' RIGHT JOIN memory.main."rides"'),
            (' JOIN memory.main."rides"', ' FULL JOIN memory.main."rides"'),
            (' JOIN memory.main."rides"', ' ANTI JOIN memory.main."rides"'),
            (' JOIN memory.main."rides"', ' ASOF JOIN memory.main."rides"'),
            (
                ' JOIN memory.main."rides" AS s1',
                ' JOIN memory.main."rides" AS s2 ON TRUE JOIN memory.main."rides" AS s1',
            ),
            (
                ' JOIN memory.main."rides" AS s1',
                ' JOIN (SELECT * FROM memory.main."rides" LIMIT 9) AS s1',
            ),
            (
                ' JOIN memory.main."rides" AS s1',
                ' JOIN (SELECT max(fare) AS fare, 1 AS rider FROM memory.main."rides") AS s1',
            ),
            ('AND s1."rider" IS NOT NULL', 'AND EXISTS (SELECT 1 FROM memory.main."rides" AS q)'),
        ),
    ),
    # whose groups are that rows are joined to
    (
        2,
        (
            "SELECT count(*) FROM rides r JOIN (SELECT rider, count(*) AS n, max(fare) AS f FROM rides GROUP BY 1) g"
            " ON g.rider = r.rider WHERE g.n > 1 AND g.f > 2"
        ),
        (
            ('AS "rider", count(*)', 'AS "driver", s0."seats" AS "rider", count(*)'),
            ('s0."rider" AS "rider", count(*)', 's0."seats" AS "rider", count(*)'),
            ('s0."rider" AS "rider", count(*)', 'max(s0."rider") AS "rider", count(*)'),
            ('s0."rider" AS "rider", count(*)', '1 AS "rider", count(*)'),
            ('s0."rider" AS "rider", count(*)', 's0."rider" + 0 AS "rider", count(*)'),
            ('s0."rider" AS "rider", count(*)', 's0."rider" AS "rider", s0."seats" AS "rider", count(*)'),
            ("GROUP BY 1) AS s1", "GROUP BY 2) AS s1"),
            ("GROUP BY 1) AS s1", ") AS s1"),
            ("GROUP BY 1) AS s1", "GROUP BY ALL) AS s1"),
            ("GROUP BY 1) AS s1", "GROUP BY 1 LIMIT 9) AS s1"),
            ("GROUP BY 1) AS s1", "GROUP BY 1 QUALIFY row_number() OVER () < 9) AS s1"),
            (
                "GROUP BY 1) AS s1",
                'GROUP BY 1 HAVING count(*) > (SELECT count(*) FROM memory.main."rides")) AS s1',
            ),
            ("count(*) AS", "sum(s0.fare) AS"),
            ("count(*) AS", "any_value(s0.seats) AS"),
            ("count(*) AS", "count(*) OVER () AS"),
            ("GROUP BY 1) AS s1", "GROUP BY 1 UNION SELECT 1, 1, 1) AS s1"),
            ('(s1."rider" = s0."rider")', '(s1."rider" < s0."rider")'),
            ('(s1."rider" = s0."rider")', '(s1."f" = s0."rider")'),
        ),
    ),
    # whose rows of two tables are
    (
        2,
        "SELECT count(*) FROM (SELECT rider, seats FROM rides UNION ALL SELECT rider, age FROM rides) AS t WHERE seats > 2",
        (
            ("UNION ALL", "UNION"),
            ("UNION ALL", "EXCEPT ALL"),
            ('UNION ALL SELECT s0."rider"', 'UNION ALL SELECT s0."seats"'),
            ('UNION ALL SELECT s0."rider" AS "unit"', 'UNION ALL SELECT s0."seats" AS "seats", s0."rider" AS "unit"'),
            ('UNION ALL SELECT s0."rider" AS "unit"', 'UNION ALL SELECT s0.*, s0."rider" AS "unit"'),
            ("UNION ALL", "UNION ALL SELECT 1, 3 UNION ALL"),
            ('SELECT s0."rider" AS "unit"', 'SELECT s0."seats" AS "unit"'),
        ),
    ),
    # which of a unit's rows come first
    (
        2,
        (
            "SELECT count(*) FROM (SELECT rider, seats, row_number() OVER (PARTITION BY rider ORDER BY seats) AS n"
            " FROM rides) AS t WHERE n <= 2"
        ),
        (
            ('OVER (PARTITION BY "rider" ', "OVER ("),
            ('PARTITION BY "rider" ', 'PARTITION BY "seats" '),
            ('PARTITION BY "rider" ', 'PARTITION BY "rider" + 1 '),
            ('PARTITION BY "rider" ', 'PARTITION BY "rider" // 2 '),
            ('PARTITION BY "rider" ', "PARTITION BY 1 "),
            ('ORDER BY "seats" ASC NULLS LAST, "seats")', ")"),
            ('ORDER BY "seats" ASC NULLS LAST, "seats")', 'ORDER BY "seats" + 1)'),
            ('ORDER BY "seats" ASC NULLS LAST, "seats")', 'ORDER BY "rider")'),
            ('ORDER BY "seats" ASC NULLS LAST, "seats")', "ORDER BY random())"),
            ('s0."rider" AS "rider", (CASE', 's0."rider" AS "rider", s0."fare" AS "fare", (CASE'),
            ('s0."rider" AS "rider", (CASE', "s0.*, (CASE"),
            ('s0."rider" AS "rider", (CASE', 's0."seats" AS "rider", (CASE'),
            ("row_number() OVER", "percent_rank() OVER w AS q, row_number() OVER"),
            ("row_number() OVER", "max(count(*)) OVER (PARTITION BY rider) AS q, row_number() OVER"),
            ("row_number() OVER", "sum(s0.fare) OVER () AS q, row_number() OVER"),
            (
                "row_number() OVER",
                "any_value(s0.seats) OVER (PARTITION BY rider ORDER BY seats) AS q, row_number() OVER",
            ),
            ("row_number() OVER", "count(*) OVER (PARTITION BY rider ROWS 1 PRECEDING) AS q, row_number() OVER"),
            (
                "row_number() OVER",
                'max((SELECT max(fare) FROM memory.main."rides")) OVER (PARTITION BY rider) AS q, row_number() OVER',
            ),
            (') AS "row_number" FROM', ') AS "row_number", unnest([1,2]) AS q FROM'),
            (') AS "row_number" FROM', ') + random() AS "row_number" FROM'),
            (') AS "row_number" FROM', ') AS "row_number", count(*) AS q FROM'),
            ('s0."seats" IS NOT NULL) AS s0) AS s0', 's0."seats" IS NOT NULL) AS s0 LIMIT 9) AS s0'),
            ('s0."seats" IS NOT NULL) AS s0) AS s0', 's0."seats" IS NOT NULL LIMIT 9) AS s0) AS s0'),
            (
                's0."seats" IS NOT NULL) AS s0) AS s0',
                's0."seats" IS NOT NULL) AS s0 QUALIFY row_number() OVER () < 9) AS s0',
            ),
            (
                's0."seats" IS NOT NULL) AS s0) AS s0',
                's0."seats" IS NOT NULL) AS s0 CROSS JOIN memory.main."rides" AS q) AS s0',
            ),
            (
                's0."rider" AS u FROM',
                's0."rider" AS u, row_number() OVER (PARTITION BY rider ORDER BY seats) AS k0 FROM',
            ),
        ),
    ),
    # whether a unit has other rows
    (
        2,
        "SELECT count(*) FROM rides r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.passenger_id = r.rider AND t.fare > 3)",
        (
            ('(s1."passenger_id" = s0."rider") AND', "TRUE AND"),
            ('(s1."passenger_id" = s0."rider") AND', '(s1."passenger_id" = s0."seats") AND'),
            ('(s1."passenger_id" = s0."rider") AND', '(s1."passenger_id" >= s0."rider") AND'),
            ('(s1."passenger_id" = s0."rider") AND', '(s1."passenger_id" = s0."rider" + 1) AND'),
            ('(s1."passenger_id" = s0."rider") AND', '(s1."passenger_id" = s1."passenger_id") AND'),
            ('(s1."passenger_id" = s0."rider") AND', '(s0."rider" = s0."rider") AND'),
            ('(s1."passenger_id" = s0."rider") AND', '(s1."passenger_id" = s0."rider") OR'),
            ('(s1."passenger_id" = s0."rider") AND', 'NOT (s1."passenger_id" = s0."rider") AND'),
            ('(s1."passenger_id" = s0."rider") AND', '(s1."passenger_count" = s0."rider") AND'),
            (
                'memory.main."trips" AS s1 WHERE',
                'memory.main."trips" AS s1 JOIN memory.main."trips" AS s2 ON TRUE WHERE',
            ),
            (
                'memory.main."trips" AS s1 WHERE',
                'memory.main."trips" AS s1 JOIN memory.main."zones" AS s0 ON s0."zone_id" = s1."fare" WHERE',
            ),
            (
                'memory.main."trips" AS s1 WHERE',
                '(SELECT * FROM memory.main."trips" LIMIT 9) AS s1 WHERE',
            ),
            (
                'CAST(s1."fare" AS DOUBLE) > 3.0e0))',
                'CAST(s1."fare" AS DOUBLE) > 3.0e0)) HAVING count(*) > 3',
            ),
            (
                'CAST(s1."fare" AS DOUBLE) > 3.0e0))',
                'CAST(s1."fare" AS DOUBLE) > 3.0e0)) LIMIT 9',
            ),
            (
                'CAST(s1."fare" AS DOUBLE) > 3.0e0))',
                's1."fare" > (SELECT avg(fare) FROM memory.main."trips")))',
            ),
            (
                'CAST(s1."fare" AS DOUBLE) > 3.0e0))',
                'EXISTS (SELECT 1 FROM memory.main."rides" AS s3 WHERE s3."fare" = s1."fare")))',
            ),
            ("EXISTS (SELECT 1", "(SELECT count(*) > 3"),
            ('s0."rider" AS u FROM', 's0."rider" AS u, EXISTS (SELECT 1 FROM memory.main."rides") AS k0 FROM'),
        ),
    ),
    # values of each unit, of which some are kept
    (
        2,
        "SELECT late, sum(DISTINCT stars) FROM rides GROUP BY 1",
        (
            ("place <= 2", "place <= 3"),
            ("place <= 2", "place < 4"),
            ("place <= 2", "place >= 2"),
            ("place <= 2", "place <= 2 OR x > 3"),
            ("place <= 2", "TRUE"),
            ("PARTITION BY u ORDER", "PARTITION BY u, x ORDER"),
            ("PARTITION BY u ORDER", "PARTITION BY x ORDER"),
            ("PARTITION BY u ORDER", "PARTITION BY u // 2 ORDER"),
            ("PARTITION BY u ORDER", "ORDER"),
            ("row_number() OVER", "rank() OVER"),
            ("row_number() OVER", "-row_number() OVER"),
            (", k0, x, f0) AS place", ") AS place"),
            (", k0, x, f0) AS place", ", k0, x) AS place"),
            ("SELECT r.*, row", "SELECT r.*, unnest([1,2]) AS q, row"),
            ("SELECT * FROM (SELECT r", "SELECT *, unnest([1,2]) AS q FROM (SELECT r"),
            ("SELECT DISTINCT k0, x, f0 FROM", "SELECT DISTINCT k0, x, f0 * 2 AS f0 FROM"),
            ("SELECT DISTINCT k0, x, f0 FROM", "SELECT DISTINCT k0, x, unnest([f0, 3]) AS f0 FROM"),
            ("SELECT DISTINCT k0, x, f0 FROM", "SELECT DISTINCT ON (k0) k0, x, f0 FROM"),
            (
                "SELECT DISTINCT k0, x, f0 FROM",
                'SELECT DISTINCT k0, x, (SELECT count(*) FROM memory.main."rides") AS f0 FROM',
            ),
            ('WHEN s0."stars" >= (5) THEN 2050', 'WHEN s0."stars" >= (5) THEN 2051'),
            ('s0."rider" AS u, s0."late" AS k0', 's0."seats" AS u, s0."late" AS k0'),
            ('s0."rider" AS u, s0."late" AS k0', 's0."rider" AS u, 3 AS place, s0."late" AS k0'),
            ("sum(f0)", "sum(f0 * f0)"),
            (") AS v GROUP BY k0", ") AS v GROUP BY k0 HAVING count(*) > 3"),
            (") AS v GROUP BY k0", ") AS v GROUP BY CUBE (k0)"),
            (") AS v GROUP BY k0", ') AS v JOIN memory.main."zones" ON TRUE GROUP BY k0'),
        ),
    ),
    # groups of each unit
    (
        2,
        "SELECT late, count(DISTINCT rider) FROM rides GROUP BY 1",
        (
            ("131072 //", "131073 //"),
            ("FROM r GROUP BY 1", "FROM r WHERE k0 GROUP BY 1"),
            ("FROM r GROUP BY 1", "FROM (SELECT DISTINCT u FROM r) AS r GROUP BY 1"),
            ("SELECT u AS hu", "SELECT u + 0 AS hu"),
            ("JOIN h ON u = hu", "LEFT JOIN h ON u = hu"),
            ("JOIN h ON u = hu", "JOIN h ON TRUE"),
            ("JOIN h ON u = hu", "JOIN h ON u = hu JOIN r AS q ON TRUE"),
            ("sum(w)", "sum(2 * w)"),
            ("FROM r JOIN h", "FROM rides AS r JOIN h"),
            ('s0."rider" AS u, s0."late" AS k0', 's0."seats" AS u, s0."late" AS k0'),
            ('s0."late" AS k0', "count(*) OVER () AS k0"),
        ),
    ),
    # one row of each unit, of several tables
    (
        2,
        (
            "SELECT count(*) FROM (SELECT rider FROM rides GROUP BY 1) a"
            " JOIN (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) b ON b.passenger_id = a.rider WHERE b.n > 2"
        ),
        (
            ("IS NOT NULL GROUP BY 1) AS s0", "IS NOT NULL) AS s0"),
            ("IS NOT NULL GROUP BY 1) AS s1", 'IS NOT NULL GROUP BY 1, s0."fare") AS s1'),
            ("IS NOT NULL GROUP BY 1) AS s0", 'IS NOT NULL GROUP BY 1, s0."fare") AS s0'),
            ('(s1."passenger_id" = s0."rider")', '(s1."count" = s0."rider")'),
            ('(s1."passenger_id" = s0."rider")', '(s1."passenger_id" > s0."rider")'),
            ('(s1."passenger_id" = s0."rider")', "TRUE"),
            (" JOIN (SELECT s0", ' JOIN memory.main."zones" AS z ON TRUE JOIN (SELECT s0'),
            (" JOIN (SELECT s0", " FULL JOIN (SELECT s0"),
        ),
    ),
)

WRONG_IN_ONE_PLACE = (
    # 20 rows of a unit count, of those that have several
    (
        20,
        "SELECT count(*) FROM (SELECT rider, count(*) OVER (PARTITION BY rider) AS n FROM rides) AS t WHERE n > 3",
        (
            ('count(*) OVER (PARTITION BY "rider")', "count(*) OVER ()"),
            ('count(*) OVER (PARTITION BY "rider")', 'sum(s0."rider" * 0.1) OVER (PARTITION BY "rider")'),
            ('count(*) OVER (PARTITION BY "rider")', 'count(s0."rider") OVER (PARTITION BY "rider")'),
            ('(s0."aggregate" > 3)', '(s0."aggregate" > 4)'),
            (
                'WHERE s0."rider" IS NOT NULL) AS s0) AS s0',
                'WHERE s0."rider" IS NOT NULL AND s0."seats" > 2) AS s0) AS s0',
            ),
            ('s0."rider" AS "rider" FROM', 's0."rider" + 0 AS "rider" FROM'),
            ('s0."rider" AS "rider" FROM', 's0."rider" AS "rider", s0."seats" AS "seats" FROM'),
            ("HAVING count(*) > 20", "HAVING count(*) > 21"),
        ),
    ),
    # 20 rows of a unit in two tables count
    (
        10,
        "SELECT count(*), avg(f) FROM (SELECT rider, fare AS f FROM rides UNION ALL SELECT rider, tip AS f FROM rides) AS t",
        (
            ('WHERE s0."rider" IS NOT NULL UNION ALL', 'WHERE s0."rider" IS NOT NULL AND s0."seats" > 2 UNION ALL'),
            ('WHERE s0."rider" IS NOT NULL UNION ALL', 'WHERE s0."rider" IS NOT NULL AND FALSE UNION ALL'),
            ('WHERE s0."rider" IS NOT NULL UNION ALL', 'WHERE s0."rider" IS NOT NULL LIMIT 9 UNION ALL'),
            ('WHERE s0."rider" IS NOT NULL UNION ALL', 'WHERE s0."rider" IS NOT NULL UNION'),
            ('WHERE s0."rider" IS NOT NULL UNION ALL', 'WHERE s0."rider" IS NOT NULL EXCEPT ALL'),
            ('SELECT s0."rider" AS "unit" FROM memory', 'SELECT DISTINCT s0."rider" AS "unit" FROM memory'),
            ('SELECT s0."rider" AS "unit" FROM memory', 'SELECT s0."seats" AS "unit" FROM memory'),
            ('SELECT s0."rider" AS "unit" FROM memory', 'SELECT s0."rider" // 3 AS "unit" FROM memory'),
            ('SELECT s0."rider" AS "unit", CAST(', 'SELECT generate_series(1,9) AS g, s0."rider" AS "unit", CAST('),
            ('SELECT s0."rider" AS "unit", CAST(', 'SELECT s0."rider" // 3 AS "unit", CAST('),
            ("HAVING count(*) > 20", "HAVING count(*) > 21"),
            ("GROUP BY 1 HAVING", 'GROUP BY 1, s0."unit" HAVING'),
        ),
    ),
    # 20 rows of a unit count, some of them in several sums
    (
        20,
        "SELECT count(*), count(*) FILTER (WHERE late), sum(fare) FILTER (WHERE seats > 2) FROM rides",
        (
            ('s0."late" AS f0', 'NOT s0."late" AS f0'),
            ('s0."late" AS f0', "TRUE AS f0"),
            ("> 2)", ">= 2)"),
            ("> 2)", "> 3)"),
        ),
    ),
    (
        20,
        "SELECT count(*) FILTER (WHERE seats = 1), count(*) FILTER (WHERE seats = 2) FROM rides",
        (
            ("= 1) THEN 0", "= 3) THEN 0"),
            ("THEN 1 ELSE", "THEN 0 ELSE"),
        ),
    ),
    # as many rows as values come to, of two columns
    (
        20,
        "SELECT late, count(*), sum(fare), sum(tip) FROM rides GROUP BY 1",
        (
            ("sum(greatest(", "sum(least("),
            ("sum(greatest(coalesce(", "sum(greatest(0 * coalesce("),
            (" // count(*) AS BIGINT) + 1", " // count(*) AS BIGINT)"),
            ("max(c) AS c FROM p", "min(c) AS c FROM p"),
            ("coalesce(CAST(f0 AS BIGINT), ", "coalesce(CAST(f0 AS BIGINT), 0 * "),
            ("coalesce(CAST(f0 AS BIGINT), ", "coalesce(CAST(f0 AS BIGINT) - 9, "),
        ),
    ),
)
"""Texts that are right as they are, with one thing changed in one of the places where it stands, and not in the others."""
