"""Digits that mean something: real numbers are shown to a tenth of their noise's scale, margins are rounded up to it."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import pytest

from dpsql.errors import InvalidSetting
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_policy import with_chosen_rows, with_epsilon
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

ALL = Settings(digits="all")
ASKED = [
    "avg(fare)", "sum(fare)", "sum(price)", "stddev(fare)", "var_pop(fare)", "corr(fare, tip)", "regr_slope(fare, tip)",
    "covar_pop(fare, tip)", "avg(fare) FILTER (WHERE shared)", "avg(age)", "sum(DISTINCT stars)", "avg(seats)",
]  # fmt: skip
WHOLE = ["count(*)", "sum(age)", "count(DISTINCT rider)", "count(tip)", "sum(seats)"]


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Some thousand rides."""
    engine, maker = Memory(policy), Maker(5)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n // 5} for n in range(3_000)])
    return engine


@pytest.fixture(params=[False, True], ids=["declared", "auto"])
def client(request: pytest.FixtureRequest, rides: Memory, policy: Policy, new_client: NewClient) -> Client:
    """Give a client whose questions have noise."""
    chosen = with_chosen_rows(policy, "rides", "passenger") if request.param else policy
    return new_client(rides, policy=with_epsilon(chosen, Fraction(1)))


def _both(client: Client, sql: str) -> tuple[Sequence[tuple[object, ...]], Sequence[tuple[object, ...]]]:
    """Return an answer as it is shown, and with all digits: it is the same release."""
    shown, before = client.ask(sql).rows, client.charges
    whole = client.ask(sql, ALL).rows
    assert client.charges == before
    return shown, whole


def _digits(number: object) -> int:
    """Return how many digits a number has, without zeros at its ends."""
    return len(Decimal(str(number)).normalize().as_tuple().digits)


def _is_declared(client: Client) -> bool:
    return client.gateway._deps.policy.tables["rides"].units["passenger"].up_to is None


def _places(number: object) -> int:
    """Return how many places behind the point a number has."""
    return -int(Decimal(str(number)).normalize().as_tuple().exponent)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("by", ["", "late, "])
def test_real_numbers_have_no_more_digits_than_noise_lets_mean_something(by: str, asked: str, client: Client) -> None:
    """A tenth of the noise's scale, to the next lower power of ten; a margin is rounded up, and covers the rounding."""
    group = " GROUP BY 1" if by else ""
    shown, whole = _both(client, f"SELECT {by}{asked}, dpsql.margin({asked}) FROM rides{group}")
    for (*_, value, margin), (*_, exact, width) in zip(shown, whole, strict=True):
        if value is None or margin is None:
            assert (value is None, margin is None) == (exact is None, width is None)
            continue
        off, wide = abs(float(str(value)) - float(str(exact))), float(str(width))
        assert off + wide <= float(str(margin)) <= 1.3 * wide
        further = 0 if _is_declared(client) else 2  # a margin is more than that of noise, where a C takes rows off
        assert max(_places(value), _places(margin)) <= 2 + further - math.floor(math.log10(wide))
        assert _digits(margin) <= 3 + further


@pytest.mark.parametrize("asked", WHOLE)
def test_whole_numbers_stay_whole(asked: str, client: Client) -> None:
    """To one, whatever their noise; their margins are rounded up."""
    ((value, margin),), ((exact, width),) = _both(client, f"SELECT {asked}, dpsql.margin({asked}) FROM rides")
    assert value == exact
    assert isinstance(value, int)
    assert width <= margin <= 1.2 * width  # type: ignore[operator]
    assert _digits(margin) <= (3 if _is_declared(client) else 5)


def test_what_is_shown_is_what_is_compared(client: Client) -> None:
    """HAVING, ORDER BY and what is computed see no further digit."""
    sql = "SELECT paid, avg(fare) FROM rides GROUP BY 1"
    rows = client.ask(sql).rows
    for paid, mean in rows:
        kept = client.ask(f"{sql} HAVING avg(fare) = {mean!r}").rows
        assert (paid, mean) in kept
    assert client.ask(f"{sql} HAVING avg(fare) <> round(avg(fare)::numeric, 9)").rows == []


def test_totals_have_the_digits_of_their_own_noise(client: Client) -> None:
    """Of groups that are put together it is larger."""
    shown, whole = _both(client, "SELECT day, avg(fare), sum(fare) FROM rides GROUP BY ROLLUP (day)")
    for (*_, mean, total), (*_, exact_mean, exact_total) in zip(shown, whole, strict=True):
        assert mean is None or _digits(mean) <= 5
        assert abs(float(str(total)) - float(str(exact_total))) > 0 or exact_total == 0
        assert mean is None or abs(float(str(mean)) - float(str(exact_mean))) < 1


def test_what_is_read_off_another_has_its_own_digits(client: Client) -> None:
    """Nothing that was stored is rounded."""
    client.ask("SELECT late, sum(tip) FROM rides GROUP BY 1")
    before = client.charges
    shown, whole = _both(client, "SELECT sum(tip) FROM rides WHERE late IS NOT NULL")
    assert client.charges == before
    assert shown != whole


def test_inner_answers_keep_all_digits(client: Client) -> None:
    """They enter the engine, and what is measured with them is one release, whatever a session shows."""
    sql = "SELECT count(*) FROM rides WHERE fare > (SELECT avg(fare) FROM rides)"
    shown, whole = _both(client, sql)
    assert shown == whole


@pytest.mark.parametrize("asked", ["median(fare)", "max(fare)", "percentile_disc(0.3) WITHIN GROUP (ORDER BY age)"])
def test_choices_are_not_rounded(asked: str, client: Client) -> None:
    """What has no released scale is shown as it was chosen; a median's margin, if it is asked, has few digits."""
    shown, whole = _both(client, f"SELECT {asked} FROM rides")
    assert shown == whole
    ((_, margin),), ((_, width),) = _both(client, f"SELECT {asked}, dpsql.margin({asked}) FROM rides")
    assert float(str(width)) <= float(str(margin)) <= 1.5 * float(str(width)) + 0.01
    assert _digits(margin) <= 3


def test_another_word_is_refused(client: Client) -> None:
    """With those that there are."""
    with pytest.raises(InvalidSetting) as refused:
        client.ask("SELECT avg(fare) FROM rides", Settings(digits="17"))
    assert "'all'" in (refused.value.hint or "")
    assert client.charges == 0
