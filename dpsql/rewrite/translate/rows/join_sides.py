"""The side of a join whose rows stay without a partner: private rows do, of one table, and public ones never by themselves.

FROM rides LEFT JOIN zones ON …  →  Join.LEFT        FROM zones RIGHT JOIN rides ON …  →  the same from its right side
"""

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.ir.relation import Join, Relation

_EITHER = "FULL JOIN joins two protected tables on their unit. Else use LEFT JOIN with the protected table on the left."


def join_side(join: exp.Join) -> Join:
    """Return how a join is made.

    Raises:
        Unsupported: rows of the right side would stay that find none.
    """
    side, kind = (str(join.args.get(k) or "").upper() for k in ("side", "kind"))
    if kind not in {"", "INNER", "OUTER", "CROSS"} or side not in {"", "LEFT"}:
        raise Unsupported(
            f"{' '.join(filter(None, (side, kind)))} JOIN of private rows is not supported",
            because="join-inner-or-left",
            hint=_EITHER if side == "FULL" else "Use JOIN or LEFT JOIN with the protected table on the left.",
        )
    return Join.LEFT if side == "LEFT" else Join.INNER


def is_right(join: exp.Join) -> bool:
    """Return whether all rows of the right side stay."""
    return str(join.args.get("side") or "").upper() == "RIGHT"


def require_left(left: Relation, right: Relation) -> None:
    """Refuse public rows that stay without private ones."""
    if right.private and not left.private:
        raise protected_left()


def protected_left() -> Unsupported:
    """Return the error for a public table on the left."""
    return Unsupported(
        "write the protected table on the left of the join",
        because="protected-table-left",
        hint="GROUP BY columns of the public table and aggregate columns of the protected one, as in count(t.fare); "
        "or write JOIN: groups of a public key are shown even where they are empty.",
    )


def require_plain(right: Relation) -> None:
    """Refuse what can't be missing as a whole: of a row that is not there every column is NULL."""
    if len(right.sources) > 1 or not all(isinstance(e, Ref) for e in right.columns.values()):
        raise Unsupported(
            "LEFT JOIN takes a table, or some columns of one table's rows",
            because="join-plain-table",
            hint="Join each table by itself, and compute outside.",
        )
