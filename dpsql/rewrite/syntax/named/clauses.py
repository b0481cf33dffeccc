"""Clauses that can't stand on private rows, each with what is answered instead.

SELECT count(*) FROM trips TABLESAMPLE SYSTEM (1)  →  "TABLESAMPLE on private rows is not supported", and: leave it out
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.errors import AccessDenied, Unsupported

ROW_CLAUSES = (
    "limit", "offset", "distinct", "windows", "locks", "having", "qualify", "into", "laterals", "sample", "connect", "match",
)  # fmt: skip
UNIT_CLAUSES = tuple(clause for clause in ROW_CLAUSES if clause not in {"distinct", "having"})
SCOPE_CLAUSES = (
    "locks", "qualify", "laterals", "sample", "connect", "match", "hint", "exclude", "operation_modifiers",
)  # fmt: skip
TABLE_CLAUSES = (
    "sample", "pivots", "laterals", "version", "hints", "ordinality", "when", "partition", "changes", "rows_from",
)  # fmt: skip

_NAMES: Mapping[str, str] = {
    "sample": "TABLESAMPLE", "pivots": "PIVOT", "locks": "FOR UPDATE or FOR SHARE", "laterals": "LATERAL",
    "windows": "WINDOW", "order": "ORDER BY",
}  # fmt: skip
_ON_AN_ANSWER = "It may stand on an answer: SELECT … FROM (SELECT x, count(*) … GROUP BY x) AS a ORDER BY … LIMIT 10."
_INSTEAD: Mapping[str, str] = {
    "limit": f"Choose rows by a condition, such as WHERE t >= '2019-03-08'. {_ON_AN_ANSWER}",
    "offset": f"Choose rows by a condition, such as WHERE t >= '2019-03-08'. {_ON_AN_ANSWER}",
    "sample": "Leave it out: all rows are counted with no more noise than a part of them.",
    "pivots": "Ask for each column by itself: count(*) FILTER (WHERE x = 'a'), count(*) FILTER (WHERE x = 'b').",
    "locks": "Leave it out: an answer locks nothing.",
    "qualify": "Write it around the answer: SELECT * FROM (SELECT …, rank() OVER (…) AS r … GROUP BY …) AS a WHERE r <= 3.",
    "laterals": "Write what it computes in a subquery: SELECT … FROM (SELECT fare * 2 AS d FROM trips) AS t.",
    "order": _ON_AN_ANSWER,
}
_ERRORS: Mapping[str, type[Unsupported | AccessDenied]] = {"limit": AccessDenied, "offset": AccessDenied}


def refuse_clauses(node: exp.Expr, clauses: tuple[str, ...]) -> None:
    """Refuse a query, or an element of FROM, of private rows that has one of these.

    Raises:
        AccessDenied: it would choose rows one by one.
        Unsupported: it has another.
    """
    for clause in clauses:
        if node.args.get(clause):
            raise _ERRORS.get(clause, Unsupported)(
                f"{_NAMES.get(clause, clause.rstrip('_').upper())} on private rows is not supported",
                because="clause-on-rows",
                hint=_INSTEAD.get(clause, "Aggregate first: count, sum, avg … with GROUP BY."),
            )
