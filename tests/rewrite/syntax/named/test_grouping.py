"""GROUP BY as PostgreSQL reads it."""

import pytest
import sqlglot
from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.rewrite.syntax.named.grouping import Grouping, grouping_of
from dpsql.rewrite.syntax.read.dialect import Client, render


def grouped(by: str, outputs: str = "zone, year AS y, month") -> Grouping:
    """Return what a GROUP BY says."""
    tree = sqlglot.parse_one(f"SELECT {outputs} FROM trips GROUP BY {by}", read=Client)
    assert isinstance(tree, exp.Select)
    return grouping_of(tree)


@pytest.mark.parametrize(
    ("by", "keys", "sets"),
    [
        ("zone, month", ["zone", "month"], [(0, 1)]),
        ("1, month", ["zone", "month"], [(0, 1)]),
        ("zone, zone", ["zone"], [(0,)]),
        ("ROLLUP (zone, month)", ["zone", "month"], [(0, 1), (0,), ()]),
        ("CUBE (zone, month)", ["zone", "month"], [(0, 1), (0,), (1,), ()]),
        ("GROUPING SETS ((zone), ())", ["zone"], [(0,), ()]),
        ("zone, ROLLUP (month)", ["zone", "month"], [(0, 1), (0,)]),
    ],
)
def test_keys_and_sets(by: str, keys: list[str], sets: list[tuple[int, ...]]) -> None:
    """Places are what they stand for; elements multiply."""
    grouping = grouped(by)
    assert [render(key) for key in grouping.keys] == keys
    assert list(grouping.sets) == sets
    assert grouping.plain == (len(sets) == 1)


def test_sets_without_end_are_refused() -> None:
    """Each further column of a CUBE doubles them."""
    with pytest.raises(Unsupported, match="512 grouping sets, the limit is 256") as refused:
        grouped(f"CUBE ({', '.join(f'zone + {n}' for n in range(9))})")
    assert refused.value.because == "too-many-grouping-sets"
