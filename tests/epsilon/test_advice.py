"""Advice: budgets that keep the wish, and errors that follow from them."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from dpsql.epsilon.advising.advice import EpsilonPlan, Holder, Size, Wish, advise, decimal, policy_lines
from dpsql.epsilon.advising.rule import Promises, stay_spending
from dpsql.epsilon.noise.outputs import OutputKind
from dpsql.epsilon.numbers import BadInput
from dpsql.policy.model import DatasetBudget, NoiseLevel, Period, Privacy, Role, RoleBudget

PROMISES = Promises(10_000, Fraction("0.33"), Fraction("0.75"), Fraction("0.9"))
SIZE = Size(people=10_000, rows=10_000, max_rows=1, groups=10)
WISH = Wish(PROMISES, SIZE, Period.NEVER, stay=None, queries_per_day=50, days=30)
DAILY = replace(WISH, period=Period.DAY, stay=30, days=1)
ROLE = Role("analyst", "person", RoleBudget(Privacy(Fraction(1)), Period.WEEK), Privacy(Fraction(1, 10)))


def test_total_is_divided_among_the_questions() -> None:
    """1,500 questions share 1.0986, rounded down, and together never cost more."""
    advice = advise(WISH)
    assert (advice.plan.total, advice.per_query) == (Fraction("1.0986"), Fraction("0.000732"))
    assert advice.per_query * 1500 <= advice.plan.total


def test_a_renewing_budget_is_divided_among_the_periods_of_a_stay() -> None:
    """30 days touch 31 calendar days, and what they all come to is within the total."""
    plan = advise(DAILY).plan
    assert (plan.periods, plan.each) == (31, Fraction("0.035438"))
    assert plan.each * 31 <= plan.total
    assert plan.keeps


def test_beliefs_stay_within_the_wish() -> None:
    """After the whole stay, all three probabilities are within what was asked for."""
    for wish in (WISH, DAILY):
        plan = advise(wish).plan
        belief = plan.after(plan.periods)
        assert belief.membership <= 0.75
        assert belief.value <= 0.9
        assert belief.singled_out <= 0.33


def test_milestones_show_the_stay_and_twice_of_it() -> None:
    """The stay's own line keeps the promise, that of twice the stay does not: 90 % of membership."""
    milestones = dict(advise(DAILY).plan.milestones())
    assert list(milestones) == [1, 2, 3, 6, 12, 31, 62]
    assert milestones[31].membership <= 0.75
    assert milestones[62].membership == pytest.approx(0.9, abs=1e-3)


def test_errors_follow_from_the_query_epsilon() -> None:
    """A count's expected error is C/ε people."""
    example = advise(replace(WISH, size=replace(SIZE, max_rows=3))).examples[0]
    assert (example.output, example.groups) == (OutputKind.COUNT, 1)
    assert example.error == pytest.approx(3 / 0.000732 / 10_000)


def test_levels_say_how_many_questions_the_budget_pays_for() -> None:
    """More noise a question, more questions; what comes after the first look is counted, and an error is the answer's."""
    affordable = advise(WISH).affordable
    assert [affordable[OutputKind.COUNT][level].questions for level in NoiseLevel] == [25, 46, 77]
    assert [affordable[OutputKind.AVG][level].questions for level in NoiseLevel] == [9, 28, 47]
    assert affordable[OutputKind.VARIANCE][NoiseLevel.LOW].questions == 3
    for output, level in product((OutputKind.COUNT, OutputKind.SUM, OutputKind.AVG), NoiseLevel):
        assert affordable[output][level].error == pytest.approx(float(level.error), rel=0.4)
    assert affordable[OutputKind.MEDIAN][NoiseLevel.HIGH].answered


def test_small_values_take_more_questions() -> None:
    """A mean at a tenth of the largest value takes many times as much as one in its middle; a count takes the same."""
    usual, low = (advise(replace(WISH, size=replace(SIZE, typical=Fraction(share)))) for share in ("1/2", "1/10"))
    counts, means = (
        [advised.affordable[output][NoiseLevel.MEDIUM].questions for advised in (usual, low)]
        for output in (OutputKind.COUNT, OutputKind.AVG)
    )
    assert counts[0] == counts[1]
    assert means[0] > 4 * means[1]
    with pytest.raises(BadInput, match="typical value"):
        advise(replace(WISH, size=replace(SIZE, typical=Fraction(2, 3))))


def test_more_rows_than_people_can_have_are_questioned() -> None:
    """And do not make errors look smaller."""
    size = replace(SIZE, rows=1_000_000)
    assert size.doubt == (
        "10,000 people with at most 1 row each have at most 10,000 rows that count, not 1,000,000: "
        "errors are reckoned with 10,000"
    )
    assert advise(replace(WISH, size=size)).examples == advise(WISH).examples
    assert SIZE.doubt is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries_per_day": 0}, "queries per day must be at least 1"),
        ({"days": 0}, "days must be at least 1"),
        ({"period": Period.WEEK, "stay": 30}, "give a number of days or a period"),
    ],
)
def test_numbers_of_a_wish_make_sense(change: dict[str, object], message: str) -> None:
    """The message names the number."""
    with pytest.raises(BadInput, match=message):
        replace(WISH, **change)  # type: ignore[arg-type]  # one field of a few types


def test_sizes_are_positive() -> None:
    """The message names the number."""
    with pytest.raises(BadInput, match="max rows"):
        replace(SIZE, max_rows=0)


def test_a_broken_promise_has_no_lines() -> None:
    """What is copied keeps them; and names are names."""
    with pytest.raises(BadInput, match=r"at most 1\.0986 fits"):
        policy_lines(EpsilonPlan.of(PROMISES, Period.NEVER, None, Fraction(2)), Holder("a", "person", Fraction(1)))
    with pytest.raises(BadInput, match="role must be a name"):
        Holder("x: {epsilon: 9}", "person", Fraction(1))


@pytest.mark.parametrize(
    ("amount", "shown"), [("1.09869", "1.09869"), ("1/3", "0.333333"), ("1/3000000", "0.000000333333")]
)
def test_amounts_are_cut_off(amount: str, shown: str) -> None:
    """Never rounded up."""
    assert decimal(Fraction(amount)) == shown


def test_a_role_of_today_is_measured_by_the_longest_stay() -> None:
    """A weekly 1 over 30 days is 6 times; the data set's own budget ends it, and a stay for good."""
    much, little = DatasetBudget(Privacy(Fraction(100))), DatasetBudget(Privacy(Fraction(4)))
    assert stay_spending(ROLE, much, 30).total == 6
    assert stay_spending(ROLE, little, 30).total == 4
    assert stay_spending(ROLE, little, 30).by_dataset
    endless = stay_spending(ROLE, much, None)
    assert (float(endless.total), endless.periods, endless.by_dataset) == (100.0, None, True)


def test_a_budget_of_a_window_is_spent_in_each_that_a_stay_touches() -> None:
    """Once by who stays as long as it, twice by who stays a day longer; who stays for good learns that nothing ends it."""
    budget = DatasetBudget(Privacy(Fraction(4)), window=30)
    assert [stay_spending(ROLE, budget, stay).total for stay in (1, 30, 31)] == [2, 4, 6]
    assert [stay_spending(ROLE, budget, stay).by_dataset for stay in (1, 30, 31)] == [False, True, False]
    assert stay_spending(ROLE, DatasetBudget(Privacy(Fraction(1)), window=30), 61).total == 3
    assert (stay_spending(ROLE, budget, None).total > 1000, stay_spending(ROLE, budget, None).by_dataset) == (
        True,
        False,
    )
