"""OVERLAPS; what it means where a time is NULL is tried by the golden statements."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

_SPAN = "(timestamp '1970-01-01', 'PT1S'::interval)"


def test_spans_whose_order_is_known_overlap_where_each_begins_before_the_other_ends(translator: Translator) -> None:
    """Or where both begin at once, for an empty span has no inside."""
    expected = "or(and(lt(picked, 1000000), lt(0, {})), eq(picked, 0))"
    moved = "shift[0, 0, 1000000](picked)"
    assert translated(translator, f"(picked, 'PT1S'::interval) OVERLAPS {_SPAN}") == expected.format(moved)


def test_spans_of_other_things_than_times_are_refused(translator: Translator) -> None:
    """A number is no time."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, f"(seats, stars) OVERLAPS {_SPAN}")
    assert refusal.value.because == "overlaps-of-times"
