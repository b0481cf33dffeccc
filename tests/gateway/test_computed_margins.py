"""`dpsql.margin` of what is computed of aggregates: quotients, differences, shares of a window's total."""

import random
from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean

import pytest

from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.model import Policy
from tests.support.fix_policy import with_chosen_rows, with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker, Row

PAID = ("card", "cash", "it's free")
LATE = "count(*) FILTER (WHERE late)"
ROUNDS, ROWS = 60, 900


def _rows(policy: Policy, *, heavy: bool = False) -> list[Row]:
    """Rows in which all goes together: late ones are dear, and paid by card; who has many rows has late ones."""
    draw, base = random.Random(5), Maker(3, dirt=0.0).row(policy.tables["rides"])  # noqa: S311
    rows: list[Row] = []
    for rider in range(ROWS):
        for _ in range(1 + (rider % 30 == 0) * 9 if heavy else 1):
            late = draw.random() < (0.8 if heavy and rider % 30 == 0 else 0.3)
            paid = draw.choice(PAID[:2] if late else PAID)
            fare = draw.uniform(30, 50) if late else draw.uniform(0, 20)
            rows.append(
                base | {"rider": rider, "late": late, "paid": paid, "fare": fare, "seats": draw.choice((1, 2, 4))}
            )
    return rows


def _told(rows: Sequence[Row]) -> list[tuple[str, dict[str, float]]]:
    """Return statements with the true values of their groups: `{}` stands for the margin of what is before it."""
    groups = {paid: [row for row in rows if row["paid"] == paid] for paid in PAID}

    def each(of: object) -> dict[str, float]:
        return {paid: of(group) for paid, group in groups.items()}  # type: ignore[operator]

    def late(group: Sequence[Row], *, not_late: bool = False) -> list[float]:
        return [float(str(row["fare"])) for row in group if row["late"] is not not_late]

    def fares(group: Sequence[Row]) -> list[float]:
        return [float(str(row["fare"])) for row in group]

    return [
        (f"100.0 * {LATE} / count(*)", each(lambda g: 100 * len(late(g)) / len(g))),
        (f"round(100.0 * {LATE} / nullif(count(*), 0), 1)", each(lambda g: 100 * len(late(g)) / len(g))),
        ("sum(fare) / count(*)", each(lambda g: fmean(fares(g)))),
        (
            "avg(fare) FILTER (WHERE seats = 1) - avg(fare) FILTER (WHERE seats > 1)",
            each(
                lambda g: (
                    fmean(fares([r for r in g if r["seats"] == 1])) - fmean(fares([r for r in g if r["seats"] != 1]))
                )
            ),
        ),
        (f"count(*) - 2 * {LATE}", each(lambda g: len(g) - 2 * len(late(g)))),
        (f"sum(fare) / {LATE}", each(lambda g: sum(fares(g)) / max(len(late(g)), 1))),
        ("100.0 * count(*) / sum(count(*)) OVER ()", each(lambda g: 100 * len(g) / len(rows))),
        ("sum(fare) / sum(sum(fare)) OVER ()", each(lambda g: sum(fares(g)) / sum(fares(rows)))),
        ("avg(fare) * count(*)", each(lambda g: sum(fares(g)))),
    ]


def _client(policy: Policy, rows: Sequence[Row], new_client: NewClient, epsilon: Fraction) -> Client:
    engine = Memory(policy)
    engine.fill("rides", rows)
    return new_client(engine, policy=with_epsilon(policy, epsilon))


def _answers(client: Client, computed: str, rounds: int) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    sql = f"SELECT paid, {computed}, dpsql.margin({computed}) FROM rides WHERE paid IS NOT NULL GROUP BY paid"
    for _ in range(rounds):
        found += client.ask(sql).rows
        client.ledger.advance("the next")
    return found


@pytest.mark.parametrize("place", range(9))
def test_margins_cover(place: int, policy: Policy, new_client: NewClient) -> None:
    """The truth in 95 of 100: of 120 answers fewer than 101 by chance in one run of 100,000, and never by far more.

    Lone free rides are few, and those of them that are late none: of a quotient by noise nothing is known.
    """
    policy = with_rows(policy, "rides", "passenger", 1)
    rows = _rows(policy)
    computed, truth = _told(rows)[place]
    answers = [
        (truth[str(paid)], float(str(value)), float(str(margin)))
        for paid, value, margin in _answers(_client(policy, rows, new_client, Fraction(1)), computed, ROUNDS)
        if paid != PAID[2] and margin is not None
    ]
    covered = sum(abs(value - true) <= margin for true, value, margin in answers)
    assert len(answers) > 110
    assert covered >= 101
    errors = sorted(abs(value - true) for true, value, _ in answers)
    usual = errors[int(len(errors) * 0.9)]
    assert max(margin for _, _, margin in answers) < 3 * usual + 1e-9 + 2 * _unit(computed)


def _unit(computed: str) -> float:
    return 0.1 if computed.startswith("round") else 1.0 if computed.startswith("count") else 0.0


@pytest.mark.parametrize("place", [0, 2, 3, 6])
def test_margins_cover_what_a_chosen_bound_cuts(place: int, policy: Policy, new_client: NewClient) -> None:
    """Where who has more rows has other ones, and dear ones: of 80 answers fewer than 65 by chance in one run of 10,000."""
    policy = with_chosen_rows(policy, "rides", "passenger")
    rows = _rows(policy, heavy=True)
    computed, truth = _told(rows)[place]
    answers = _answers(_client(policy, rows, new_client, Fraction(1)), computed, ROUNDS * 2 // 3)
    found = [
        (truth[str(paid)], float(str(v)), float(str(m))) for paid, v, m in answers if m is not None and paid != PAID[2]
    ]
    assert len(found) > 70
    assert sum(abs(value - true) <= margin for true, value, margin in found) >= 65


def test_a_share_of_a_part_of_the_groups(policy: Policy, new_client: NewClient) -> None:
    """A window's partition has the groups of one key; noise of the others does not matter to it."""
    policy = with_rows(policy, "rides", "passenger", 1)
    client = _client(policy, _rows(policy), new_client, Fraction(1))
    of = "100.0 * count(*) / sum(count(*)) OVER ({})"
    parts, whole = ((of.format(over)) for over in ("PARTITION BY paid", ""))
    where = "FROM rides WHERE paid IN ('card', 'cash') AND late IS NOT NULL GROUP BY paid, late ORDER BY 1, 2"
    answer = client.ask(
        f"SELECT paid, late, {parts}, dpsql.margin({parts}), {whole}, dpsql.margin({whole}), "
        f"dpsql.margin({parts} - {whole}) {where}"
    )
    assert len(answer.rows) == 4
    for _, _, of_part, margin, of_whole, other, both in answer.rows:
        assert 1.5 < float(str(of_part)) / float(str(of_whole)) < 2.6
        assert float(str(margin)) > float(str(other)) > 0
        assert float(str(margin)) - float(str(other)) < float(str(both)) < float(str(margin)) + float(str(other))


def test_constants_scale_margins(policy: Policy, new_client: NewClient) -> None:
    """What is added changes nothing, what is multiplied the margin; a whole quotient may be one off."""
    policy = with_rows(policy, "rides", "passenger", 1)
    client = _client(policy, _rows(policy), new_client, Fraction(1))
    ((one, more, tenfold, minus, twice, whole),) = client.ask(
        "SELECT dpsql.margin(count(*)), dpsql.margin(count(*) + 5), dpsql.margin(count(*) * 10.0), dpsql.margin(-count(*)), "
        "dpsql.margin(count(*) + count(*)), dpsql.margin(count(*) / 100) FROM rides"
    ).rows
    widths = [float(str(width)) for width in (one, more, tenfold, minus, twice, whole)]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)
    assert widths[2] == pytest.approx(10 * widths[0], rel=0.05)
    assert widths[3] == pytest.approx(widths[0], rel=0.05)
    assert widths[4] == pytest.approx(2 * widths[0], rel=0.05)
    assert 1 < widths[5] < 1 + widths[0] / 100 + 0.1


def _fresh(client: Client, sql: str, rounds: int) -> list[list[float | None]]:
    """Return so many answers of one row."""
    answers = []
    for _ in range(rounds):
        answers.append([None if cell is None else float(str(cell)) for cell in client.ask(sql).rows[0]])
        client.ledger.advance("the next")
    return answers


@pytest.mark.parametrize(
    "computed", ["stddev(fare) / avg(fare)", "variance(fare) / avg(fare) - 1", "stddev(fare) * avg(fare)"]
)
def test_a_part_that_noise_made_0_keeps_its_margin(computed: str, policy: Policy, new_client: NewClient) -> None:
    """A quotient or a product that is 0 for its part's noise is not exact."""
    policy = with_rows(policy, "rides", "passenger", 1)
    client = _client(policy, _rows(policy), new_client, Fraction(1, 10))
    sql = f"SELECT {computed.split(maxsplit=1)[0]}, dpsql.margin({computed}) FROM rides"
    hidden = [margin for part, margin in _fresh(client, sql, 60) if part == 0 and margin is not None]
    assert hidden
    assert min(hidden) > 0.05


def test_a_divisor_that_may_be_large_by_noise_has_no_margin(policy: Policy, new_client: NewClient) -> None:
    """A quotient has a margin from twice the noise of its divisor on: below, those that have one are chosen by noise."""
    policy = with_rows(policy, "rides", "passenger", 1)
    rows = [row | {"late": i < 15} for i, row in enumerate(_rows(policy))]
    of_divisor = f"{LATE}, dpsql.margin({LATE})"
    client = _client(policy, rows, new_client, Fraction(3, 10))
    sql = f"SELECT {of_divisor}, dpsql.margin(count(*) / ({LATE} + 0.0)) FROM rides"
    given = [(late or 0, off or 0) for late, off, margin in _fresh(client, sql, 100) if margin is not None]
    assert given
    assert min(late / off for late, off in given) > 1.9


def test_a_divisor_that_may_be_nothing_has_no_margin(policy: Policy, new_client: NewClient) -> None:
    """A share may then be anything that is possible; of another quotient nothing is known."""
    policy = with_rows(policy, "rides", "passenger", 1)
    client = _client(policy, _rows(policy)[:200], new_client, Fraction(1, 100))
    ((share, other),) = client.ask(
        f"SELECT dpsql.margin(100.0 * {LATE} / count(*)), dpsql.margin(sum(fare - tip) / {LATE}) FROM rides WHERE seats = 4"
    ).rows
    assert 50 <= float(str(share)) <= 101
    assert other is None


def test_margins_cost_nothing_and_change_nothing(policy: Policy, new_client: NewClient) -> None:
    """What is measured is the same; margins of the same answer are read off it."""
    policy = with_rows(policy, "rides", "passenger", 1)
    client = _client(policy, _rows(policy), new_client, Fraction(1))
    of = f"{LATE} * 1.0 / count(*)"
    before = client.ask(f"SELECT paid, {of} FROM rides GROUP BY paid")
    paid = client.charges
    after = client.ask(f"SELECT paid, {of}, dpsql.margin({of}) FROM rides GROUP BY paid")
    assert client.charges == paid
    assert [row[:2] for row in after.rows] == before.rows


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT dpsql.margin(median(fare) / 2) FROM rides",
        "SELECT dpsql.margin(sqrt(count(*))) FROM rides",
        "SELECT dpsql.margin(count(*) / max(fare)) FROM rides",
        "SELECT dpsql.margin(count(*) || 'x') FROM rides",
        "SELECT paid, dpsql.margin(count(*) / lag(count(*)) OVER (ORDER BY paid)) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.margin(count(*) / sum(count(*)) OVER (ORDER BY paid)) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.margin(count(*) / sum(avg(fare)) OVER ()) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.margin(count(*) / sum(count(*)) OVER ()) FROM rides GROUP BY paid HAVING count(*) > 3",
        f"SELECT dpsql.margin(count(*) * 1{'0' * 200}) FROM rides",
        f"SELECT dpsql.margin({' + '.join(['count(*)'] * 250)}) FROM rides",
        f"SELECT dpsql.margin({'abs(' * 250}count(*){')' * 250}) FROM rides",
    ],
)
def test_other_margins_are_refused(sql: str, policy: Policy, new_client: NewClient) -> None:
    """With the next step in the message."""
    client = _client(policy, [], new_client, Fraction(1))
    with pytest.raises(DpsqlError) as refused:
        client.ask(sql)
    assert isinstance(refused.value, Unsupported)
    assert refused.value.hint


def test_margins_beyond_double_precision_are_none(policy: Policy, new_client: NewClient) -> None:
    """After the engine was asked nothing may fail, whatever was released."""
    policy = with_rows(policy, "rides", "passenger", 1)
    client = _client(policy, _rows(policy), new_client, Fraction(1))
    huge = f"1{'0' * 149}.0"
    product = " * ".join(["sum(fare)", "count(*)", *[huge] * 3])
    answer = client.ask(
        f"SELECT dpsql.margin({product}), dpsql.margin({product} / ({product})), dpsql.margin(1 / ({product} - {product})), "
        f"dpsql.margin(count(*) / {huge} / {huge} / {huge}), dpsql.margin(count(*)) FROM rides"
    )
    ((*_, margin),) = answer.rows
    assert float(str(margin)) > 0


def test_answers_that_others_follow_from_have_margins(policy: Policy, new_client: NewClient) -> None:
    """Of unions of groups, whose noise is that of several: coarser ones, and the share of a part of the total."""
    policy = with_rows(policy, "rides", "passenger", 1)
    client = _client(policy, _rows(policy), new_client, Fraction(1))
    client.ask("SELECT paid, seats, count(*), count(*) FILTER (WHERE late) FROM rides GROUP BY paid, seats")
    paid = client.charges
    of = f"100.0 * {LATE} / count(*)"
    rows = client.ask(f"SELECT seats, {of}, dpsql.margin({of}) FROM rides GROUP BY seats HAVING count(*) > 100").rows
    assert client.charges == paid
    assert len(rows) == 3
    assert all(0.5 < float(str(margin)) < 30 for _, _, margin in rows)


def test_where_no_row_can_be_it_is_certain(policy: Policy, new_client: NewClient) -> None:
    """As the margin of a count of none is."""
    client = _client(policy, [], new_client, Fraction(1))
    assert client.ask("SELECT dpsql.margin(count(*) - sum(seats)) FROM rides WHERE seats > 7").rows == [(0.0,)]
