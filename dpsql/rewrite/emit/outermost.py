"""The rows with the largest values or the smallest: all beyond some value, which is found in a few of the rows.

Claim: of rows that have a unit `u`, a bucket `b` and a value `x`, of which b is a function that never falls, those
that are returned have for every bucket as many units with a row above it as all rows have, both cut off at `most`.
Proof, for the largest: `s` are any of the rows. If fewer than `most` units have one in it there is no `c`, and all
rows are returned. Else c is a value that `most` of them reach, and what is returned are the rows with x > c, and those
of `s`. Let a row be above a bucket i. If i is at least c's bucket the row's x is above c, for b never falls: all such
rows are returned. If i is less, `most` units have rows in `s` that are above it, for these reach c: both numbers are
cut off. Of what all units are, i is below all buckets. So it makes no difference which rows are in `s`: an engine may
take those that it comes upon first. A unit adds 0 or 1 to such a number, cut off or not, for all other units,
and for any c with it and without it.

Where `s` may be computed anew wherever it is read, rows that are equal to c come from all rows as well.

SELECT … AS u, … AS b, fare AS x FROM trips  →  … WHERE x > (SELECT x FROM c) UNION ALL SELECT u, b FROM s WHERE x <= …
"""

from dpsql.rewrite.dialects.base import Dialect

_ONCE = " MATERIALIZED "
"""It says that a member of WITH is computed once."""


def outermost(rows: str, dialect: Dialect, *, largest: bool, most: int, some: int) -> str:
    """Return the SELECT of `u` and `b` of the outermost among rows `u`, `b`, `x`, none twice; `some` rows are in `s`."""
    best, beyond, within, order = ("max", ">", "<=", "DESC") if largest else ("min", "<", ">=", "ASC")
    every, first = f"SELECT u, b FROM ({rows}) AS a", f"FROM ({rows}) AS a WHERE b IS NOT NULL LIMIT {some}"
    kept = dialect.common_table("s", f"SELECT u, b, x {first}")
    if _ONCE not in kept:
        return f"{every} WHERE (x {beyond}= ({_reached(f'(SELECT u, x {first})', best, order, most)})) IS NOT FALSE"
    cut = dialect.common_table("c", _reached("s", best, order, most))
    parts = (
        f"{every} WHERE x {beyond} (SELECT x FROM c)",
        f"SELECT u, b FROM s WHERE x {within} (SELECT x FROM c)",
        f"({every} LIMIT (SELECT CASE WHEN count(*) > 0 THEN 0 END FROM c))",  # NULL is no limit
    )
    return f"WITH {kept}, {cut} {' UNION ALL '.join(parts)}"


def _reached(rows: str, best: str, order: str, most: int) -> str:
    """Return the SELECT of the value that `most` units have a row at or beyond; of nothing where they are fewer."""
    units = f"SELECT {best}(x) AS x FROM {rows} AS s GROUP BY u"
    return f"SELECT x FROM ({units}) AS e ORDER BY x {order} LIMIT 1 OFFSET {most - 1}"
