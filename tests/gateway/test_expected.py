"""EXPLAIN says what share of an answer its margin is where that is known beforehand, and nowhere else."""

import re
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_policy import with_chosen_rows, with_epsilon
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker


@pytest.fixture
def client(policy: Policy, new_client: NewClient) -> Client:
    """Give a client of a table that is expected to have 5,000 rows."""
    return new_client(Memory(policy))


def _lines(client: Client, sql: str) -> list[str]:
    lines = [str(row[0]).strip() for row in client.ask(f"EXPLAIN {sql}").rows]
    return [line for line in lines if line.startswith("Output")]


def test_a_share_is_of_what_is_expected(client: Client) -> None:
    """With how many rows that are, and where their values are taken to lie."""
    count, mean = _lines(client, "SELECT paid, count(*), avg(fare) FROM rides GROUP BY paid")
    assert re.search(r"% of [0-9,]+ rows$", count)
    assert mean.endswith("rows with values in the middle of their bounds")


@pytest.mark.parametrize(
    "rest",
    [
        "FROM rides WHERE fare > 20",
        "FROM rides JOIN zones ON zone_id = from_zone WHERE borough = 'Bronx'",
        "FROM (SELECT * FROM rides WHERE late) AS r",
    ],
)
def test_nobody_says_how_many_rows_a_condition_keeps(rest: str, client: Client) -> None:
    """A count's noise is the same; an average's is for as many rows as there may be, which is said."""
    count, mean = _lines(client, f"SELECT count(*), avg(fare) {rest}")
    assert count.endswith("with 95 %")
    assert "rows match, more if fewer do" in mean
    assert "about" not in count + mean


def _margin(line: str) -> float:
    """Return the margin that a line tells."""
    found = re.search(r"±([0-9.e+-]+)", line)
    assert found is not None
    return float(found[1])


def test_a_quotient_of_a_sum_and_a_count_is_as_far_off_as_the_mean(client: Client) -> None:
    """Their noise is of the same coordinates, so that it is not that of the two by themselves."""
    *_, mean, quotient = _lines(client, "SELECT sum(fare) / count(*), avg(fare) FROM rides")
    assert quotient.startswith("Output sum(fare) / count(*): ±")
    assert _margin(quotient) == pytest.approx(_margin(mean), rel=0.01)
    assert quotient.endswith("rows with values in the middle of their bounds")


def test_a_quotient_is_told_once_and_of_sums_alone(client: Client) -> None:
    """Whichever constants are around it."""
    told = _lines(client, "SELECT 100.0 * sum(tip) / nullif(sum(fare), 0), sum(tip) / sum(fare) + 1 FROM rides")
    assert [" / sum(fare): ±" in line for line in told] == [False, False, True]
    assert len(_lines(client, "SELECT avg(fare) / count(*) FROM rides")) == 2


def test_a_quotient_of_some_rows_is_of_all_that_there_may_be(client: Client) -> None:
    """Nobody says how many a condition keeps."""
    *_, quotient = _lines(client, "SELECT count(*) FILTER (WHERE late) / count(*)::numeric FROM rides")
    assert quotient.startswith("Output count(*) / count(*): ±")
    assert "rows match, more if fewer do" in quotient


def test_a_filter_is_a_condition(client: Client) -> None:
    """Of one aggregate."""
    (line,) = _lines(client, "SELECT count(*) FILTER (WHERE late) FROM rides")
    assert line.endswith("with 95 %")


def test_a_chosen_bound_is_named(policy: Policy, new_client: NewClient) -> None:
    """An error that a C decides is told for two, as long as nothing is known: of the one that was named it was too small."""
    client = new_client(Memory(policy), policy=with_chosen_rows(policy, "rides", "passenger"))
    for line in _lines(client, "SELECT count(*), avg(fare) FROM rides"):
        assert line.endswith("for C from 2 to 256: 2 if units have a row or two each, 256 if some have a hundred")
    lines = [str(row[0]).strip() for row in client.ask("EXPLAIN SELECT count(*) FROM rides").rows]
    assert any(re.fullmatch(r"Noise: each sum is within ±[0-9.e-]+ rows times C with 95 %", line) for line in lines)


def test_a_spread_is_told_for_values_that_are_named(client: Client) -> None:
    """It has no size that is expected, and its error depends on where values lie."""
    (line,) = _lines(client, "SELECT stddev(fare) FROM rides")
    assert "rows with values in the middle of their bounds with 95 %" in line


def test_what_is_told_before_is_what_is_told_beside(policy: Policy, new_client: NewClient) -> None:
    """Once the rows of a statement were counted for another one it is known which C follows, and so the margin.

    Before, it is within what is told in four of five epochs: once in ten C follows noise that looks like heavy riders.
    """
    client = _client_of_units(4, Fraction(1), policy, new_client)
    asked = "SELECT count(*) FROM rides WHERE seats > 1"
    (before,) = _lines(client, asked)
    least, most = _range(before)
    margins = _margins(client, asked, epochs=5)
    assert sum(least <= margin <= most for margin in margins) >= 4
    (after,) = _lines(client, asked)
    assert "as released for these rows before" in after
    assert _margin(after) == pytest.approx(margins[-1], rel=0.02)


@pytest.mark.parametrize("asked", ["count(*)", "avg(fare)"])
def test_the_range_holds_what_margins_say_of_rows_that_are_not_seen(
    asked: str, policy: Policy, new_client: NewClient
) -> None:
    """Noise alone is a part of them: where units have twenty rows, some may have sixty-four, unseen."""
    client = _client_of_units(20, Fraction(10), policy, new_client)
    (before,) = _lines(client, f"SELECT {asked} FROM rides")
    _, most = _range(before)
    margins = _margins(client, f"SELECT {asked} FROM rides", epochs=20)
    assert sum(margin <= most for margin in margins) >= 16


def _client_of_units(rows: int, epsilon: Fraction, policy: Policy, new_client: NewClient) -> Client:
    """Return a client of 4,000 rows, of so many each unit, for which C is chosen."""
    engine, made = Memory(policy), Maker(3)
    engine.fill("rides", [made.row(policy.tables["rides"]) | {"rider": n // rows} for n in range(4_000)])
    return new_client(engine, policy=with_epsilon(with_chosen_rows(policy, "rides", "passenger"), epsilon))


def _range(line: str) -> tuple[float, float]:
    """Return the margin for the least that C may be, and for the most."""
    least, most = re.findall(r"±([0-9.,e+-]+)", line)
    return float(least.replace(",", "")), float(most.replace(",", ""))


def _margins(client: Client, asked: str, epochs: int) -> list[float]:
    """Return what margins are beside the answers of so many epochs."""
    told = asked.replace("SELECT ", "SELECT dpsql.margin(").replace(" FROM", ") FROM", 1)
    margins = []
    for epoch in range(epochs):
        client.ledger.advance(f"epoch {epoch}")
        ((margin,),) = client.ask(told).rows
        margins.append(float(str(margin)))
    return margins
