"""Statements over several protected tables, which are answered, by what they try."""

THROUGH = (
    "SELECT count(*) FROM items",
    "SELECT part, count(*), sum(quantity) FROM items GROUP BY part",
    "SELECT kind, late, count(*) FROM items JOIN parts ON items.part = parts.part GROUP BY 1, 2",
    "SELECT mood, count(*) FROM notes GROUP BY mood",
    "SELECT max(quantity) FROM items WHERE late",
)
"""Units through one reference and through two."""
JOINED = (
    "SELECT count(*) FROM orders JOIN calls ON buyer = caller",
    "SELECT segment, count(*), sum(total) FROM customers c JOIN orders o ON c.customer = o.buyer GROUP BY segment",
    "SELECT status, sum(quantity) FROM orders JOIN items ON order_id = of_order GROUP BY 1",
    "SELECT count(*) FROM items i JOIN orders o ON o.order_id = i.of_order JOIN calls ON caller = buyer",
    (
        "SELECT n.name, p.kind, count(*) FROM customers c, orders o, items i, nations n, parts p WHERE customer = buyer "
        "AND of_order = order_id AND c.nation = n.nation AND i.part = p.part AND total > 1 GROUP BY 1, 2"
    ),
    "SELECT mood, count(*), sum(quantity) FROM items JOIN notes ON about = item WHERE late GROUP BY 1",
    "SELECT count(*) FROM items a JOIN items b ON a.of_order = b.of_order AND a.quantity < b.quantity",
    "SELECT count(*) FROM notes, items, orders, customers WHERE about = item AND of_order = order_id AND customer = buyer",
    (
        "SELECT sum(minutes + total) FROM (SELECT buyer AS b, total FROM orders WHERE total > 1) AS o "
        "JOIN (SELECT caller, minutes FROM calls JOIN customers ON caller = customer WHERE balance > 0) AS c ON b = caller"
    ),
    "SELECT segment, count(DISTINCT buyer) FROM customers JOIN orders ON customer = buyer GROUP BY segment",
    "SELECT count(DISTINCT total) FROM customers JOIN orders ON customer = buyer",
    (
        "SELECT count(*) FROM orders, items "
        "WHERE (order_id = of_order AND quantity > 2) OR (order_id = of_order AND total > 5)"
    ),
)
"""On the unit, and along references."""
OUTER = (
    "SELECT count(*), count(minutes), sum(minutes) FROM customers LEFT JOIN calls ON caller = customer",
    "SELECT status, count(item), count(*) FROM orders LEFT JOIN items ON of_order = order_id AND quantity > 2 GROUP BY 1",
    "SELECT late, count(*) FROM orders LEFT JOIN items ON of_order = order_id GROUP BY late",
    "SELECT name, count(*) FROM nations n RIGHT JOIN customers c ON c.nation = n.nation GROUP BY 1",
    "SELECT status, count(*) FROM orders RIGHT JOIN customers ON buyer = customer GROUP BY status",
    "SELECT segment, count(*) FROM orders LEFT JOIN customers ON buyer = customer GROUP BY segment",
    "SELECT count(*), sum(minutes) FROM customers LEFT JOIN calls ON minutes > 1 WHERE caller = customer",
    "SELECT count(*), count(minutes), sum(balance) FROM customers FULL JOIN calls ON caller = customer",
    "SELECT segment, count(*), count(minutes) FROM customers FULL JOIN calls ON caller = customer AND balance > 0 GROUP BY 1",
    "SELECT status, count(*), count(quantity) FROM orders FULL JOIN items ON of_order = order_id AND late GROUP BY status",
    "SELECT count(*) FROM lines l FULL JOIN returns r ON l.bill = r.bill AND place = of_line WHERE back > 1 OR amount > 2",
    (
        "SELECT count(*) FROM (SELECT coalesce(a.buyer, b.caller) AS u FROM orders a FULL JOIN calls b ON a.buyer = b.caller "
        "GROUP BY 1 HAVING count(*) > 1) AS s"
    ),
    (
        "SELECT count(*), count(o.n), count(c.n) FROM (SELECT buyer, status, count(*) AS n FROM orders GROUP BY 1, 2) AS o "
        "FULL JOIN (SELECT caller, count(*) AS n FROM calls GROUP BY 1) AS c ON o.buyer = c.caller"
    ),
    "SELECT name, count(*) FROM nations n LEFT JOIN customers c ON n.nation = c.nation WHERE balance > 0 GROUP BY 1",
    (
        "SELECT count(*) FROM customers c RIGHT JOIN nations n ON n.nation = c.nation "
        "WHERE c.segment IS NOT NULL OR c.balance < 3"
    ),
    (
        "SELECT count(mood), count(late), count(*) FROM orders LEFT JOIN items ON of_order = order_id "
        "LEFT JOIN notes ON about = item"
    ),
)
"""With rows that find none."""
PARTNERS = (
    (
        "SELECT count(*) FROM orders JOIN (SELECT buyer, of_order AS k FROM orders "
        "LEFT JOIN items ON of_order = order_id GROUP BY 1, 2) AS s ON k = order_id"
    ),
)
"""Of groups that are joined by a column of the partner."""
TOLD_APART = (
    (
        "SELECT status, count(*), sum(most) FROM (SELECT buyer, status, own, max(total) AS most FROM "
        "(SELECT buyer, status, total, gen_random_uuid() AS own FROM orders) AS o GROUP BY 1, 2, own) AS s GROUP BY 1"
    ),
)
"""By a random number of each row."""
EXISTENCE = (
    "SELECT count(*) FROM orders WHERE EXISTS (SELECT * FROM items WHERE of_order = order_id AND quantity > 2)",
    "SELECT status, count(*) FROM orders WHERE NOT EXISTS (SELECT FROM items WHERE of_order = order_id AND late) GROUP BY 1",
    "SELECT segment, count(*) FROM customers WHERE customer IN (SELECT DISTINCT buyer FROM orders) GROUP BY 1",
    "SELECT segment, count(*) FROM customers WHERE customer NOT IN (SELECT buyer FROM orders WHERE total > 3) GROUP BY 1",
    "SELECT count(*) FROM customers WHERE customer = ANY (SELECT caller FROM calls WHERE minutes IS NULL)",
    (
        "SELECT count(*) FROM items a WHERE EXISTS (SELECT 1 FROM items b WHERE b.of_order = a.of_order AND b.part < a.part) "
        "AND NOT EXISTS (SELECT * FROM items c WHERE c.of_order = a.of_order AND c.quantity < a.quantity AND c.late)"
    ),
    (
        "SELECT count(*) FROM customers WHERE customer IN (SELECT buyer FROM orders JOIN items ON of_order = order_id "
        "WHERE part IN (SELECT part FROM parts WHERE kind = 'a') AND total < 8)"
    ),
    (
        "SELECT count(*) FROM customers WHERE EXISTS (SELECT 1 FROM orders WHERE buyer = customer "
        "AND EXISTS (SELECT 1 FROM items WHERE of_order = order_id AND late))"
    ),
    (
        "WITH big AS (SELECT buyer FROM orders WHERE total > 4) "
        "SELECT count(*) FROM customers WHERE customer IN (SELECT buyer FROM big)"
    ),
    (
        "SELECT status, count(*) FROM (SELECT * FROM orders WHERE buyer IN (SELECT caller FROM calls)) AS o "
        "JOIN customers ON buyer = customer WHERE NOT EXISTS (SELECT 1 FROM items WHERE of_order = order_id) GROUP BY 1"
    ),
    "SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM notes JOIN items ON about = item WHERE of_order = order_id)",
)
"""By rows of the same unit that are there, or are not."""
PUBLIC_EXISTENCE = (
    "SELECT count(*) FROM customers c WHERE EXISTS (SELECT 1 FROM nations n WHERE n.nation = c.nation AND name = 'Peru')",
    (
        "SELECT late, count(*) FROM items "
        "WHERE NOT EXISTS (SELECT 1 FROM parts WHERE parts.part = items.part AND kind = 'a') GROUP BY 1"
    ),
    "SELECT count(*) FROM items i WHERE quantity IN (SELECT parts.nation FROM parts WHERE parts.part = i.part)",
    "SELECT count(*) FROM items i WHERE quantity NOT IN (SELECT p.part FROM parts p WHERE p.kind = 'a' AND i.part > 0)",
    "SELECT count(*) FROM orders WHERE total > (SELECT 3) AND EXISTS (SELECT 1 FROM parts)",
)
"""By rows of public tables."""
CORRELATED = (
    "SELECT count(*), sum(total) FROM orders WHERE (buyer, total) IN (SELECT buyer, max(total) FROM orders GROUP BY buyer)",
    (
        "SELECT segment, count(*), count(minutes) FROM customers LEFT JOIN calls ON caller = customer "
        "WHERE customer IN (SELECT buyer FROM orders GROUP BY buyer HAVING count(*) > 1) GROUP BY 1"
    ),
    "SELECT count(*) FROM customers WHERE balance > 2 OR EXISTS (SELECT 1 FROM calls WHERE caller = customer)",
    "SELECT segment, count(*) FROM customers WHERE NOT (balance > 1 AND customer IN (SELECT buyer FROM orders)) GROUP BY 1",
    "SELECT count(*) FROM orders WHERE buyer IN (SELECT caller FROM calls GROUP BY caller HAVING count(*) > 1)",
    "SELECT count(*), sum(total) FROM orders o WHERE total >= (SELECT avg(total) FROM orders p WHERE p.buyer = o.buyer)",
    (
        "SELECT (SELECT count(*) FROM calls WHERE caller = customer AND minutes > 1) AS n, count(*) FROM customers "
        "GROUP BY 1"
    ),
)
"""By what a subquery says of the row beside it."""
ALONG_REFERENCES = (
    "SELECT count(*) FROM orders o WHERE (SELECT sum(quantity) FROM items i WHERE i.of_order = o.order_id) > 2",
    (
        "SELECT status, count(*) FROM orders "
        "WHERE order_id IN (SELECT of_order FROM items GROUP BY 1 HAVING count(*) > 1) GROUP BY 1"
    ),
    "SELECT count(*) FROM orders WHERE total > 6 OR order_id = ANY (SELECT of_order FROM items WHERE late)",
    "SELECT count(*) FROM items WHERE late OR item <> ALL (SELECT about FROM notes WHERE about IS NOT NULL)",
    (
        "SELECT n > 1 AS more, count(*) FROM orders "
        "JOIN (SELECT of_order, count(*) AS n FROM items GROUP BY 1) AS s ON s.of_order = order_id GROUP BY 1"
    ),
    (
        "SELECT n, count(m) FROM items i JOIN (SELECT of_order, count(*) AS n FROM items GROUP BY 1) AS s "
        "ON s.of_order = i.of_order LEFT JOIN (SELECT about, count(*) AS m FROM notes GROUP BY 1) AS t "
        "ON about = i.item GROUP BY 1"
    ),
    "SELECT late, count(*) FROM items i WHERE (SELECT count(*) FROM notes WHERE about = i.item) > 0 GROUP BY 1",
    (
        "SELECT status, count(*), count(*) FILTER (WHERE q > 3) FROM (SELECT order_id, status, sum(quantity) AS q "
        "FROM orders JOIN items ON of_order = order_id GROUP BY order_id, status) AS s GROUP BY 1"
    ),
    (
        "SELECT n > 1 AS more, count(*) FROM (SELECT order_id, count(item) AS n FROM orders "
        "LEFT JOIN items ON of_order = order_id GROUP BY order_id) AS s GROUP BY 1"
    ),
    "SELECT count(*) FROM notes WHERE (SELECT max(quantity) FROM items WHERE item = about) > 1",
)
"""By what a subquery says of the row that a key names, whose owner is the row's own."""
WORDED = (
    (
        "SELECT count(*), count(*) FILTER (WHERE x.n > 1) FROM customers c, "
        "LATERAL (SELECT count(*) AS n FROM calls WHERE caller = c.customer) AS x"
    ),
    (
        "SELECT segment, count(*), sum(x.total) FROM customers c CROSS JOIN LATERAL (SELECT o.total FROM orders o "
        "WHERE o.buyer = c.customer AND o.total > 1 ORDER BY o.total LIMIT 1) AS x GROUP BY 1"
    ),
    (
        "SELECT count(*), count(later) FROM orders o JOIN (SELECT order_id, lead(total) OVER (PARTITION BY buyer "
        "ORDER BY total) AS later FROM orders) AS s ON s.order_id = o.order_id"
    ),
    "SELECT count(*), sum(q.total) FROM (customers JOIN orders ON buyer = customer) AS q",
    "SELECT n.name, count(*), sum(total) FROM orders CROSS JOIN nations n WHERE total > n.nation GROUP BY 1",
    "SELECT count(*), sum(quantity) FROM parts p, items i WHERE p.part >= i.part",
)
"""In words that mean other joins: LATERAL, brackets, no condition; and by a key of rows that have a place among a unit's."""
TOGETHER = (
    "SELECT worn, count(*), sum(back) FROM returns GROUP BY worn",
    "SELECT count(*), sum(amount - back) FROM lines l JOIN returns r ON r.bill = l.bill AND r.of_line = l.place",
    (
        "SELECT worn, count(*), sum(amount) FROM lines l "
        "LEFT JOIN returns r ON r.bill = l.bill AND place = of_line AND back > 0 GROUP BY 1"
    ),
    "SELECT count(*), sum(amount) FROM returns r LEFT JOIN lines l ON l.bill = r.bill AND l.place = r.of_line WHERE back > 0",
    (
        "SELECT count(*), sum(amount) FROM lines l "
        "WHERE EXISTS (SELECT 1 FROM returns r WHERE r.bill = l.bill AND of_line = place AND back < amount)"
    ),
    (
        "SELECT count(*) FROM lines l WHERE amount > 0 "
        "AND NOT EXISTS (SELECT 1 FROM returns r WHERE r.bill = l.bill AND of_line = place)"
    ),
    "SELECT count(*) FROM returns a, returns b WHERE a.bill = b.bill AND a.of_line = b.of_line AND a.back < b.back",
    (
        "SELECT segment, count(*), sum(back) FROM customers, lines l, returns r "
        "WHERE customer = payer AND l.bill = r.bill AND place = of_line GROUP BY 1"
    ),
    (
        "SELECT n, count(*), sum(amount) FROM lines l "
        "JOIN (SELECT bill, of_line, count(*) AS n FROM returns GROUP BY 1, 2) AS r ON r.bill = l.bill AND of_line = place "
        "GROUP BY 1"
    ),
    (
        "SELECT count(*), sum(back) FROM calls, lines l, returns r "
        "WHERE l.payer = caller AND minutes = place AND l.bill = r.bill AND r.of_line = minutes"
    ),
)
"""Along a reference of two columns, to a key of two: a bill may be several units', and so may all lines of one number."""
PLACED = (
    (
        "SELECT r, count(*) FROM (SELECT rank() OVER (PARTITION BY of_order ORDER BY quantity) AS r FROM items) AS q "
        "WHERE r < 4 GROUP BY r"
    ),
    (
        "SELECT late, count(*), sum(quantity) FROM (SELECT late, quantity, row_number() OVER (PARTITION BY of_order "
        "ORDER BY quantity, item) AS r FROM items) AS q WHERE r = 1 GROUP BY late"
    ),
    (
        "SELECT count(*), sum(s - back) FROM (SELECT back, first_value(back) OVER (PARTITION BY bill, of_line ORDER BY back) "
        "AS s FROM returns WHERE back > 0) AS q"
    ),
    (
        "SELECT status, count(*), sum(l.quantity) FROM orders LEFT JOIN LATERAL (SELECT quantity FROM items "
        "WHERE of_order = order_id ORDER BY quantity DESC, item LIMIT 1) AS l ON TRUE GROUP BY 1"
    ),
    (
        "SELECT count(*), sum(l.quantity) FROM orders, LATERAL (SELECT quantity FROM items WHERE of_order = order_id "
        "AND late ORDER BY quantity, item LIMIT 2) AS l"
    ),
)
"""By a place among the rows of a row that has one owner."""
VALUES_OF_ROWS = (
    "SELECT x.k, sum(x.v) FROM orders o, LATERAL (VALUES ('total', o.total), ('code', 1)) AS x (k, v) GROUP BY x.k",
    "SELECT EXISTS (SELECT 1 FROM orders b WHERE b.buyer = a.buyer AND b.total > a.total), count(*) FROM orders a GROUP BY 1",
    "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM calls WHERE caller = buyer AND minutes <> total)) FROM orders",
    "SELECT count(u) FROM (SELECT buyer AS u FROM orders) a FULL JOIN (SELECT caller AS u FROM calls) b USING (u)",
)
"""Several values of each row below each other, and EXISTS where its truth is a value."""
ANSWERED = (
    *WORDED,
    *THROUGH,
    *JOINED,
    *OUTER,
    *PARTNERS,
    *TOLD_APART,
    *EXISTENCE,
    *PUBLIC_EXISTENCE,
    *CORRELATED,
    *ALONG_REFERENCES,
    *TOGETHER,
    *PLACED,
    *VALUES_OF_ROWS,
)
REFUSED = (
    ("SELECT count(*) FROM customers, calls", "join-on-unit"),
    ("SELECT count(*) FROM customers CROSS JOIN calls", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON code = caller", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON code = minutes", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON buyer > caller", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON buyer = caller OR total = 1", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN items ON buyer = of_order", "join-on-unit"),
    ("SELECT count(*) FROM orders a JOIN orders b ON a.total = b.total", "join-on-unit"),
    ("SELECT count(*) FROM customers LEFT JOIN calls ON minutes > 2", "join-on-unit"),
    ("SELECT count(*) FROM orders LEFT JOIN calls ON caller = buyer JOIN notes ON about = minutes", "join-on-unit"),
    (
        "SELECT count(*) FROM customers c JOIN nations n ON c.nation = n.nation, calls WHERE n.nation = caller",
        "join-on-unit",
    ),
    ("SELECT count(*) FROM customers FULL JOIN calls ON minutes > 1", "join-on-unit"),
    ("SELECT count(*) FROM customers FULL JOIN calls ON caller = customer OR minutes > 1", "join-on-unit"),
    ("SELECT count(*) FROM lines l FULL JOIN returns r ON l.bill = r.bill", "join-on-unit"),
    ("SELECT count(*) FROM customers FULL JOIN nations n ON n.nation = customers.nation", "join-inner-or-left"),
    ("SELECT count(*) FROM customers RIGHT JOIN nations n ON n.nation = customers.nation", "protected-table-left"),
    ("SELECT count(*) FROM nations n LEFT JOIN customers c ON n.nation = c.nation", "protected-table-left"),
    ("SELECT count(*) FROM orders WHERE EXISTS (SELECT 1 FROM calls WHERE minutes > total)", "join-on-unit"),
    ("SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM calls WHERE minutes = code)", "join-on-unit"),
    (
        "SELECT count(*) FROM orders WHERE EXISTS (SELECT 1 FROM calls WHERE caller = buyer OR minutes = 1)",
        "join-on-unit",
    ),
    ("SELECT count(*) FROM orders WHERE total IN (SELECT minutes FROM calls)", "join-on-unit"),
    (
        "SELECT count(*) FROM customers WHERE EXISTS (SELECT 1 FROM orders, calls WHERE buyer = customer AND code = 1)",
        "join-on-unit",
    ),
    ("SELECT count(*) FROM orders WHERE code NOT IN (SELECT caller FROM calls)", "existence-form"),
    (
        "SELECT count(*) FROM items i WHERE quantity NOT IN (SELECT parts.nation FROM parts WHERE part = i.part)",
        "existence-form",
    ),
    (
        (
            "SELECT count(*) FROM customers WHERE EXISTS (SELECT 1 FROM orders WHERE buyer = customer "
            "AND NOT EXISTS (SELECT 1 FROM items WHERE of_order = order_id))"
        ),
        "existence-form",
    ),
    ("SELECT count(*) FROM customers WHERE customer IN (SELECT buyer FROM orders LIMIT 1)", "clause-on-rows"),
    ("SELECT of_order, count(*) FROM items GROUP BY of_order", "key-is-unit"),
    (
        "SELECT count(*) FROM orders JOIN (SELECT of_order, quantity AS q FROM items GROUP BY 1, 2) AS s ON q = order_id",
        "join-on-unit",
    ),
    (
        "SELECT count(*) FROM orders JOIN (SELECT of_order AS k FROM items GROUP BY 1) AS s ON k = code",
        "join-on-unit",
    ),
    (
        (
            "SELECT count(*) FROM (SELECT buyer, of_order AS k FROM orders "
            "LEFT JOIN items ON of_order = order_id GROUP BY 1, 2) AS s JOIN orders ON k = order_id"
        ),
        "join-on-unit",
    ),
    ("SELECT order_id, count(*) FROM orders JOIN items ON of_order = order_id GROUP BY 1", "key-is-unit"),
    ("SELECT buyer, count(*) FROM orders JOIN calls ON buyer = caller GROUP BY 1", "key-is-unit"),
    ("SELECT count(*) FROM lines l JOIN returns r ON r.bill = l.bill", "join-on-unit"),
    (
        "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY bill ORDER BY back) AS r FROM returns) AS q",
        "window-by-unit",
    ),
    (
        "SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY code ORDER BY total) AS r FROM orders) AS q",
        "window-by-unit",
    ),
    ("SELECT count(*) FROM lines JOIN returns ON of_line = place", "join-on-unit"),
    ("SELECT count(*) FROM lines l JOIN returns r ON r.bill = place AND of_line = l.bill", "join-on-unit"),
    ("SELECT count(*) FROM lines l LEFT JOIN returns r ON r.bill = l.bill AND of_line <= place", "join-on-unit"),
    ("SELECT count(*) FROM lines a JOIN lines b ON a.bill = b.bill AND a.amount = b.place", "join-on-unit"),
    ("SELECT count(*) FROM lines l WHERE EXISTS (SELECT 1 FROM returns r WHERE r.bill = l.bill)", "join-on-unit"),
    (
        "SELECT count(*) FROM lines l, returns r, lines m WHERE r.bill = l.bill AND of_line = m.place AND m.bill = 1",
        "join-on-unit",
    ),
    ("SELECT avg(n) FROM (SELECT bill, count(*) AS n FROM returns GROUP BY bill) AS s", "key-without-domain"),
    ("SELECT sum(back) FROM (SELECT back FROM returns r JOIN orders ON r.bill = order_id) AS s", "join-on-unit"),
)
"""What would make one row several units', or show single ones, and the rule that it breaks."""
