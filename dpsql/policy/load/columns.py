"""The bounds and the domain of a column, read by the column's type."""

from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.load import scalars
from dpsql.policy.load.mistakes import Mistakes, Path, Positioned
from dpsql.policy.model import SqlType, Value


def bounds_of(
    kind: SqlType, texts: Sequence[str] | None, path: Path, document: Positioned, mistakes: Mistakes
) -> Interval | None:
    """Read `bounds`; note what is wrong and return None."""
    if texts is None:
        return Interval.of(0, scalars.MICROS_OF_DAY - 1) if kind is SqlType.TIME else None
    if not (kind.is_number or kind.is_temporal or kind.is_span):
        mistakes.add(document, path, f'can\'t be given for a column of type {kind}; declare its "values"')
        return None
    ends: list[Fraction] = []
    for at, text in enumerate(texts):
        try:
            ends.append(scalars.bound(kind, text))
        except ValueError as failure:
            mistakes.add(document, (*path, at), f'is "{text}"; it {failure}')
    if len(ends) < 2:
        return None
    try:
        return scalars.interval(kind, ends[0], ends[1])
    except ValueError as failure:
        mistakes.add(document, path, f"are [{texts[0]}, {texts[1]}]; {failure}")
    return None


def declared_values(
    kind: SqlType,
    declared: str,
    texts: Sequence[str] | None,
    path: Path,
    document: Positioned,
    mistakes: Mistakes,
) -> tuple[Value, ...] | None:
    """Read `values`; note what is wrong and return None."""
    if texts is None:
        return None
    found: dict[Value, str] = {}
    for at, text in enumerate(texts):
        try:
            value = scalars.domain_value(kind, declared, text)
        except ValueError as failure:
            mistakes.add(document, (*path, at), f'is "{text}"; it {failure}')
            continue
        if value in found:
            mistakes.add(document, (*path, at), f'is "{text}", a value that is already there')
        found[value] = text
    return tuple(found)
