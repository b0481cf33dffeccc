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
)
"""On the unit, and along references."""
OUTER = (
    "SELECT count(*), count(minutes), sum(minutes) FROM customers LEFT JOIN calls ON caller = customer",
    "SELECT status, count(item), count(*) FROM orders LEFT JOIN items ON of_order = order_id AND quantity > 2 GROUP BY 1",
    "SELECT late, count(*) FROM orders LEFT JOIN items ON of_order = order_id GROUP BY late",
    "SELECT name, count(*) FROM nations n RIGHT JOIN customers c ON c.nation = n.nation GROUP BY 1",
    "SELECT status, count(*) FROM orders RIGHT JOIN customers ON buyer = customer GROUP BY status",
    "SELECT segment, count(*) FROM orders LEFT JOIN customers ON buyer = customer GROUP BY segment",
    (
        "SELECT count(mood), count(late), count(*) FROM orders LEFT JOIN items ON of_order = order_id "
        "LEFT JOIN notes ON about = item"
    ),
)
"""With rows that find none."""
ANSWERED = (*THROUGH, *JOINED, *OUTER)
REFUSED = (
    ("SELECT count(*) FROM customers, calls", "join-on-unit"),
    ("SELECT count(*) FROM customers CROSS JOIN calls", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON code = caller", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON code = minutes", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON buyer > caller", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN calls ON buyer = caller OR total = 1", "join-on-unit"),
    ("SELECT count(*) FROM orders JOIN items ON buyer = of_order", "join-on-unit"),
    ("SELECT count(*) FROM orders a JOIN orders b ON a.total = b.total", "join-on-unit"),
    ("SELECT count(*) FROM customers LEFT JOIN calls ON TRUE WHERE caller = customer", "join-on-unit"),
    ("SELECT count(*) FROM customers LEFT JOIN calls ON minutes > 2", "join-on-unit"),
    ("SELECT count(*) FROM orders LEFT JOIN calls ON caller = buyer JOIN notes ON about = minutes", "join-on-unit"),
    (
        "SELECT count(*) FROM customers c JOIN nations n ON c.nation = n.nation, calls WHERE n.nation = caller",
        "join-on-unit",
    ),
    ("SELECT count(*) FROM customers FULL JOIN calls ON caller = customer", "join-inner-or-left"),
    ("SELECT count(*) FROM customers RIGHT JOIN nations n ON n.nation = customers.nation", "join-inner-or-left"),
    ("SELECT count(*) FROM nations n LEFT JOIN customers c ON n.nation = c.nation", "protected-table-left"),
    ("SELECT of_order, count(*) FROM items GROUP BY of_order", "key-is-unit"),
    ("SELECT order_id, count(*) FROM orders JOIN items ON of_order = order_id GROUP BY 1", "key-is-unit"),
    ("SELECT buyer, count(*) FROM orders JOIN calls ON buyer = caller GROUP BY 1", "key-is-unit"),
)
"""What would make one row several units', or show single ones, and the rule that it breaks."""
