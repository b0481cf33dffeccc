"""Which of an engine's types may stand behind a declared one.

Statements read a column through a cast to its declared type (`rewrite.stored`), so a type fits if that cast can never fail
and changes no value: else an error, or two units that look alike, would be a fact about somebody's row.
"""

import re

from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.columns import representable

LOOSE = " (nondeterministic collation)"
"""Stands behind the type of a column of PostgreSQL's whose collation takes different texts for one."""


def fits(declared: SqlType, written: str, found: str, dialect: Dialect) -> bool:
    """Return whether a column of the engine's type `found` can be read as the declared type, `written` in full."""
    plain = found.lower().removesuffix(LOOSE)
    kind = re.sub(r"^(enum|varchar|character varying|character)\(.*\)$|\(\d+\)", r"\1", plain)
    if declared.is_integer:
        return kind in _integers(declared, dialect)
    if not declared.is_number:
        return kind in dialect.stored_types.others[declared]
    if kind in _integers(
        SqlType.BIGINT, dialect
    ) | dialect.stored_types.floats | dialect.stored_types.wide or representable(kind):
        return True
    # Without a length a numeric may be beyond double precision; only a plain numeric is read with that in mind.
    return declared is SqlType.NUMERIC and kind == "numeric" and not representable(written)


def identifies(declared: SqlType, found: str, dialect: Dialect) -> bool:
    """Return whether different units have different values, and one unit one value, as the engine compares them.

    Floats round, and NaN or −0 equals what it is not. Texts are read byte by byte: of a type or collation to which "Ann" is
    "ann", one unit would be two, with twice the rows that it may have.
    """
    kind = found.lower()
    if declared is SqlType.TEXT:
        return kind != "citext" and not kind.endswith(LOOSE)
    return declared.is_integer or kind not in dialect.stored_types.floats


def _integers(widest: SqlType, dialect: Dialect) -> frozenset[str]:
    types = dialect.stored_types.integers
    order = list(types)
    return frozenset[str]().union(*(types[kind] for kind in order[: order.index(widest) + 1]))
