"""`max_rows: auto`: how many rows of a unit count is chosen for each statement, for a part of what it pays."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import EngineFailed, Unsupported
from dpsql.policy.model import NoiseLevel, Policy, Privacy
from dpsql.question import Cancellation, Settings
from tests.gateway.engines import Watched
from tests.support.fix_policy import with_chosen_rows, with_epsilon
from tests.support.fix_world import Client, NewClient, noon, replied
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Maker, Row

RIDERS = {1: 4_000, 5: 1_000, 30: 200, 90: 30}
"""How many riders have so many rides."""
HEAVIEST = sum(RIDERS.values()) - 1
RIDES = sum(rides * riders for rides, riders in RIDERS.items())

FORMS = (
    "SELECT sum(fare), avg(fare), variance(fare), count(*) FROM rides",
    "SELECT sum(fare) FROM rides",
    "SELECT shared, median(fare), count(DISTINCT rider) FROM rides GROUP BY shared",
    "SELECT count(DISTINCT seats), min(fare), max(fare) FROM rides",
    "SELECT z.borough, count(*) FROM rides r JOIN zones z ON z.zone_id = r.from_zone GROUP BY 1",
    "SELECT count(*) FROM rides a JOIN rides b ON a.rider = b.rider",
    "SELECT late, sum(n) FROM (SELECT rider, late, count(*) AS n FROM rides GROUP BY 1, 2) AS r GROUP BY late",
    "SELECT avg(n) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS r",
    "SELECT count(*) FROM (SELECT rider, fare FROM rides UNION ALL SELECT rider, tip FROM rides) AS r",
    "SELECT count(*) FROM (SELECT *, row_number() OVER (PARTITION BY rider ORDER BY fare) AS p FROM rides) r WHERE p < 4",
    "SELECT count(*) FROM rides WHERE fare > (SELECT avg(fare) FROM rides)",
    "SELECT sum(n) FROM (SELECT paid, count(*) AS n FROM rides GROUP BY paid) AS r",
    "SELECT paid, shared, count(*) FROM rides GROUP BY CUBE (paid, shared)",
)
"""Statements with measurements of each kind, and rows of each."""


def _rides(policy: Policy) -> Sequence[Row]:
    row = Maker(7).row(policy.tables["rides"]) | {"shared": False}
    sizes = [size for size, riders in RIDERS.items() for _ in range(riders)]
    return [row | {"rider": n, "fare": 10 + place % 10} for n, size in enumerate(sizes) for place in range(size)]


def filled(policy: Policy, rows: Sequence[Row]) -> Memory:
    """Return an engine with rides."""
    engine = Memory(policy)
    engine.fill("rides", rows)
    return engine


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """17,700 rides; a few riders have many: with at most 20 of each a quarter of them would not count."""
    return filled(policy, _rides(policy))


@pytest.fixture
def auto(policy: Policy) -> Policy:
    """Give the policy without a number, and ε = 1 for a question."""
    return with_epsilon(with_chosen_rows(policy, "rides", "passenger"), Fraction(1))


@pytest.fixture
def client(rides: Memory, auto: Policy, new_client: NewClient) -> Client:
    """Give a client."""
    return new_client(rides, policy=auto)


def charges(client: Client) -> list[Fraction]:
    """Return what each measurement has cost, the last one first."""
    return [entry.cost.epsilon for entry in client.ledger.entries(None, 1_000)]


def numbers(client: Client, sql: str, settings: Settings = Settings()) -> list[float]:  # frozen
    """Return the numbers of the only row."""
    return [float(str(cell)) for cell in client.ask(sql, settings).rows[0]]


def test_a_count_is_that_of_all_rows(client: Client, rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """With a fixed bound of 20 thousands are missing."""
    (count,) = numbers(client, "SELECT count(*) FROM rides")
    assert count > RIDES - 2_000
    (cut,) = numbers(new_client(rides, policy=with_epsilon(policy, Fraction(1))), "SELECT count(*) FROM rides")
    assert RIDES - cut > 3_000


def test_what_chooses_is_a_part_of_what_is_paid(client: Client) -> None:
    """A fifth; it is a line of its own in the ledger."""
    client.ask("SELECT count(*) FROM rides")
    assert sorted(charges(client)) == [Fraction(1, 5), Fraction(4, 5)]
    notes = [entry.note for entry in client.ledger.entries(None, 10)]
    assert "rows per unit, by which C is chosen" in notes


def test_the_same_again_is_free(client: Client) -> None:
    """In every stage."""
    first = client.ask("SELECT count(*) FROM rides").rows
    assert client.ask("SELECT count(*) FROM rides").rows == first
    assert len(charges(client)) == 2


def test_other_groups_of_the_same_rows_need_no_other_choice(client: Client) -> None:
    """How many rows riders have does not depend on what they are grouped by."""
    client.ask("SELECT count(*) FROM rides")
    client.ask("SELECT shared, count(*) FROM rides GROUP BY shared")
    client.ask("SELECT paid, count(*) FROM rides GROUP BY paid")
    assert Counter(charges(client)) == {Fraction(1, 5): 1, Fraction(4, 5): 3}
    client.ask("SELECT count(*) FROM rides WHERE fare > 15")
    assert Counter(charges(client)) == {Fraction(1, 5): 2, Fraction(4, 5): 4}


def test_two_measurements_of_the_same_rows_share_it(client: Client) -> None:
    """Each pays four times what it does."""
    client.ask("SELECT count(*), median(seats) FROM rides")
    assert sorted(charges(client)) == [Fraction(1, 9), Fraction(4, 9), Fraction(4, 9)]


@pytest.mark.parametrize("sql", FORMS)
@pytest.mark.parametrize("role", ["ana", "leo"])
def test_every_form_is_answered_for_what_it_may_pay(
    sql: str, role: str, rides: Memory, auto: Policy, new_client: NewClient
) -> None:
    """ε is spent, no more, and once."""
    client = new_client(rides, policy=auto, user=role)
    client.ask(sql)
    paid = charges(client)
    assert sum(paid) == 1
    client.ask(sql)
    assert charges(client) == paid


@pytest.mark.parametrize("sql", FORMS)
def test_nothing_but_released_values_depends_on_a_unit(
    sql: str, rides: Memory, auto: Policy, new_client: NewClient, policy: Policy
) -> None:
    """With and without who has most rides: what is charged, how often the engine is asked, and what rows there are."""
    told = []
    rows = [row for row in _rides(policy) if row["rider"] != HEAVIEST]
    for engine in (rides, filled(policy, rows)):
        watched = Watched(engine)
        with quick_ledger(noon) as ledger:
            client = new_client(watched, policy=auto, ledger=ledger)
            answers = [client.ask(sql) for _ in range(2)]
            lines = [(entry.cost, entry.note) for entry in ledger.entries(None, 100)]
        told.append((watched.runs, lines, [(answer.names, answer.types, len(answer.rows)) for answer in answers]))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("sql", "fails"),
    [
        ("SELECT count(*) FROM rides", 1),
        ("SELECT count(*), avg(fare) FROM rides", 2),
        ("SELECT shared, median(fare) FROM rides GROUP BY shared", 1),
        ("SELECT shared, median(fare) FROM rides GROUP BY shared", 2),
    ],
)
def test_what_fails_is_paid_and_fails_again(
    sql: str, fails: int, rides: Memory, auto: Policy, new_client: NewClient
) -> None:
    """Be it what chooses, or what is measured then: both were charged, and whoever asks again hears the same."""

    def fail(_: Cancellation) -> None:
        if watched.runs == fails:
            raise EngineFailed

    watched = Watched(rides, before=fail)
    client = new_client(watched, policy=auto)
    for _ in range(2):
        with pytest.raises(EngineFailed):
            client.ask(sql)
    assert sum(charges(client)) == 1
    assert watched.runs == fails


def test_a_count_is_told_by_what_chooses(rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """Its rows say how many units have how many; where it was stored before, or other rows count, the engine is asked."""
    watched = Watched(rides)
    client = new_client(watched, policy=auto)
    for sql, runs in (
        ("SELECT count(*) FROM rides", 1),
        ("SELECT shared, count(*) FROM rides GROUP BY shared", 1),
        ("SELECT median(seats) FROM rides WHERE fare > 15", 2),
        ("SELECT count(*) FROM rides WHERE fare > 15", 1),
        ("SELECT count(fare) FROM rides WHERE late", 2),
        ("SELECT count(*) FROM rides WHERE fare > 16 AND NOT late", 1),
    ):
        before = watched.runs
        client.ask(sql)
        assert watched.runs - before == runs, sql


@pytest.mark.parametrize("asked", ["count(*)", "sum(fare)", "count(*), avg(fare), median(fare)"])
def test_what_is_asked_of_keys_that_are_found_out_has_a_chosen_bound(
    asked: str, rides: Memory, policy: Policy, auto: Policy, new_client: NewClient
) -> None:
    """The search has a number of keys for which its threshold is made; what follows it counts nearly all rows."""
    client = new_client(rides, policy=auto, user="eve")
    ((_, total, *_),) = client.ask(f"SELECT number, {asked} FROM rides GROUP BY number").rows
    entries = client.ledger.entries(None, 10)
    assert "rows per unit, by which C is chosen" in [entry.note for entry in entries]
    assert "keys by the number of units, groups by partition selection" in [entry.note for entry in entries]
    assert sum(entry.cost.epsilon for entry in entries) <= 1
    fares = sum(float(str(row["fare"])) for row in _rides(policy))
    assert float(str(total)) == pytest.approx(fares if asked == "sum(fare)" else RIDES, rel=0.1)


def test_a_margin_of_keys_that_are_found_out_is_of_one_of_them(
    policy: Policy, auto: Policy, new_client: NewClient
) -> None:
    """What the chosen number takes off is spread over the selected groups, as over declared ones.

    Once in some fifty epochs noise looks like units with many rows, and the number is chosen too large: so there are three.
    """
    rows = [row | {"number": int(str(row["rider"])) % 40} for row in _rides(policy)]
    client = new_client(filled(policy, rows), policy=auto, user="eve")
    sql = "SELECT number, count(*), dpsql.margin(count(*)) FROM rides GROUP BY number"
    true, widest = Counter(row["number"] for row in rows), []
    for epoch in range(3):
        client.ledger.advance(f"epoch {epoch}")
        told = client.ask(sql).rows
        assert len(told) >= 35
        covered = [abs(int(str(n)) - true[int(str(key))]) <= float(str(margin)) for key, n, margin in told]
        assert sum(covered) >= 0.8 * len(covered)
        widest.append(max(float(str(margin)) for _, _, margin in told))
    assert min(widest) < 800  # of all groups together it would be ten times as much


@pytest.mark.parametrize("level", list(NoiseLevel))
def test_a_target_chooses_once(level: NoiseLevel, rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """What chooses pays a twentieth of the most, whatever the level is; all measurements have the same C."""
    roles = {name: replace(role, noise=level) for name, role in auto.roles.items()}
    client = new_client(rides, policy=replace(auto, roles=roles))
    client.ask("SELECT count(*) FROM rides")
    paid = charges(client)
    assert paid.count(Fraction(1, 20)) == 1
    assert sum(paid) <= 1
    before = len(paid)
    client.ask("SELECT shared, count(*) FROM rides GROUP BY shared")
    assert charges(client)[: len(charges(client)) - before].count(Fraction(1, 20)) == 0


def test_an_answer_belongs_to_the_ladder_that_chose_its_bound(client: Client) -> None:
    """At the same ε of its own, a dearer ladder leads to another answer: who pays for one has not seen the other's C."""
    client.ask("SELECT count(*) FROM rides", Settings(error="2 %"))
    measured = max(set(charges(client)) - {Fraction(1, 20)})
    before = len(charges(client))
    client.ask("SELECT count(*) FROM rides", Settings(epsilon=str(float(measured * 5 / 4))))
    assert sorted(charges(client)[: len(charges(client)) - before]) == [measured / 4, measured]


def test_explain_says_what_chooses_and_what_it_pays(client: Client) -> None:
    """And for which number what follows is told."""
    lines = [str(row[0]) for row in client.ask("EXPLAIN SELECT count(*) FROM rides").rows]
    (line,) = (line for line in lines if "chosen" in line)
    assert "up to 1,048,576" in line
    assert "ε = 0.2" in line
    assert "at most C rows each; C is chosen privately, up to " in line


@pytest.mark.parametrize(
    ("sql", "second"),
    [
        ("SELECT count(*) FROM rides", "Engine, where C is known before"),
        ("SELECT count(*), avg(fare) FROM rides", "Engine"),
    ],
)
def test_explain_verbose_has_both_statements(sql: str, second: str, client: Client) -> None:
    """For C, and with what C is taken for until then; of a lone count it says when the second one is asked at all."""
    lines = [str(row[0]).strip() for row in client.ask(f"EXPLAIN (VERBOSE) {sql}").rows]
    assert [line.split(":")[0] for line in lines if line.startswith("Engine")] == ["Engine, for C", second]


@pytest.mark.parametrize(
    "options", ["(VERBOSE off)", "(verbose 0, costs)", "(VERBOSE false)", "(COSTS /* VERBOSE */ on)", ""]
)
def test_explain_has_no_statements_where_verbose_is_off(options: str, client: Client) -> None:
    """As PostgreSQL reads its options."""
    lines = [str(row[0]).strip() for row in client.ask(f"EXPLAIN {options} SELECT count(*) FROM rides").rows]
    assert lines
    assert not [line for line in lines if line.startswith("Engine")]


@pytest.mark.parametrize(
    "options", ["VERBOSE", "(VERBOSE)", "(verbose on, costs off)", "(COSTS, VERBOSE 1)", "(FORMAT text, VERBOSE)"]
)
def test_explain_has_statements_where_verbose_is_on(options: str, client: Client) -> None:
    """In each spelling."""
    lines = [str(row[0]).strip() for row in client.ask(f"EXPLAIN {options} SELECT count(*) FROM rides").rows]
    assert [line for line in lines if line.startswith("Engine")]


@pytest.mark.parametrize("spelled", ["json", "'JSON'", '"json"'])
def test_explain_has_the_format_that_is_named(spelled: str, client: Client) -> None:
    """One value of that type, however the name is written."""
    ((told,),) = client.ask(f"EXPLAIN (VERBOSE off, FORMAT {spelled}) SELECT count(*) FROM rides").rows
    assert "Private Answer" in str(told)


def test_too_little_is_refused_before_anything_is_paid(rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """With the ε that it takes: five times the least, as the choice is to pay that."""
    roles = {
        name: replace(role, per_query=Privacy(Fraction(1)), least=Fraction(1, 10)) for name, role in auto.roles.items()
    }
    client = new_client(rides, policy=replace(auto, roles=roles))
    with pytest.raises(Unsupported, match="too little") as refused:
        client.ask("SELECT count(*) FROM rides", Settings(epsilon="0.3"))
    assert "0.5" in (refused.value.hint or "")
    assert not charges(client)


def test_a_number_stays_what_it_was(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """No part of ε is taken."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1)))
    client.ask("SELECT count(*) FROM rides")
    assert charges(client) == [Fraction(1)]


_OF_EACH = (
    "(SELECT rider, count(*) AS n, sum(fare) AS s, max(fare) AS m, bool_or(late) AS late FROM rides GROUP BY 1) AS t"
)


def _riders(client: Client, asked: str, epochs: int = 3) -> list[list[float]]:
    """Return what is said of all riders, in each of some epochs."""
    told = []
    for epoch in range(epochs):
        client.ledger.advance(f"epoch {epoch}")
        told.append(numbers(client, f"SELECT {asked} FROM {_OF_EACH}"))
    return told


@pytest.mark.parametrize(("value", "true"), [("avg(n)", RIDES / 5_230), ("sum(n)", RIDES), ("avg(s)", 43.24)])
def test_a_number_of_each_rider_reaches_as_far_as_riders_do(value: str, true: float, client: Client) -> None:
    """Clamped to 20 rows an average is 2.6 rides instead of 3.4; margins cover what the chosen end takes off."""
    told = _riders(client, f"{value}, dpsql.margin({value})")
    assert sum(abs(number - true) <= margin for number, margin in told) >= 2
    assert min(margin for _, margin in told) < true / 3


def test_a_count_beside_a_number_is_no_less_exact(client: Client) -> None:
    """Noise of how many riders there are is that of one row each."""
    assert all(abs(count - 5_230) < 40 for count, _ in _riders(client, "count(*), avg(n)"))


def test_what_is_cut_off_a_number_is_told(client: Client) -> None:
    """As a share of the sum; nothing is cut off how many riders there are."""
    told = _riders(client, "dpsql.cut(sum(n)), dpsql.margin(count(*))")
    assert min(share for share, _ in told) < 0.2
    assert all(share >= 0 and margin < 20 for share, margin in told)


def test_what_is_told_of_no_rider_is_within_the_bounds_that_were_chosen(client: Client) -> None:
    """Nobody was late, and of them noise tells no average of a million rides: once in fifty epochs it is chosen too large."""
    widest = []
    for epoch in range(3):
        client.ledger.advance(f"epoch {epoch}")
        rows = client.ask(f"SELECT late, avg(n), dpsql.margin(avg(n)) FROM {_OF_EACH} GROUP BY late").rows
        widest.append(max(float(str(number)) for _, *told in rows for number in told if number is not None))
    assert min(widest) <= 2_000


def test_the_choice_of_an_end_is_a_part_of_what_is_paid(client: Client) -> None:
    """It is shared by all statistics of the number, and told by EXPLAIN; a second time all is free."""
    sql = f"SELECT avg(n), stddev(n) FROM {_OF_EACH}"
    (line,) = (str(row[0]) for row in client.ask(f"EXPLAIN {sql}").rows if "chosen" in str(row[0]))
    assert "Clamp: count to what C rows come to; C is chosen privately, up to 1,048,576, for ε = 0.2" in line
    for _ in range(2):
        client.ask(sql)
        assert sorted(charges(client)) == [Fraction(1, 5), Fraction(4, 5)]


def test_what_follows_from_an_average_of_numbers_is_free(client: Client) -> None:
    """Their sum and their number are read off it, with the end that was chosen for it."""
    (average, count) = numbers(client, f"SELECT avg(n), count(*) FROM {_OF_EACH}")
    paid = len(charges(client))
    (total,) = numbers(client, f"SELECT sum(n) FROM {_OF_EACH}")
    assert len(charges(client)) == paid
    assert total == pytest.approx(average * count, rel=0.01)


def test_a_target_is_nearly_met_for_a_number_of_each_rider(rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """What chooses pays a twentieth of the most, once, by which thirty riders of 90 rides are hardly seen."""
    client = new_client(rides, policy=auto)
    for epoch in range(6):
        client.ledger.advance(f"epoch {epoch}")
        (told,) = numbers(client, f"SELECT avg(n) FROM {_OF_EACH}", Settings(error="5 %"))
        assert told == pytest.approx(RIDES / 5_230, rel=0.5)
    assert charges(client).count(Fraction(1, 20)) == 6


@pytest.mark.parametrize(
    ("sql", "true"),
    [
        (f"SELECT count(*) FILTER (WHERE n > 30), count(*) FILTER (WHERE n > 100) FROM {_OF_EACH}", [30, 0]),
        (f"SELECT count(*) FROM {_OF_EACH} WHERE n > 25 AND s > 500", [30]),
        ("SELECT count(*) FROM (SELECT rider FROM rides GROUP BY rider HAVING count(*) > 50) AS t", [30]),
        (f"SELECT percentile_disc(0.97) WITHIN GROUP (ORDER BY n) FROM {_OF_EACH}", [30]),
        (f"SELECT n, count(*) FROM {_OF_EACH} WHERE n BETWEEN 29 AND 31 GROUP BY n", [29, 0, 30, 200, 31, 0]),
        (f"SELECT least(n, 40), count(*) FROM {_OF_EACH} WHERE n > 38 GROUP BY 1", [39, 0, 40, 30]),
        (f"SELECT n > 20, count(*) FROM {_OF_EACH} GROUP BY 1", [0, 5_000, 1, 230]),
        (f"SELECT sum(n) / count(*) FROM {_OF_EACH} WHERE n > 20", [37.8]),
    ],
)
def test_conditions_keys_and_ranks_are_of_any_number(sql: str, true: list[float], client: Client) -> None:
    """Noise is that of riders, however many rides they have; where nothing else is chosen there is no NOTICE."""
    told = [float(str(int(cell) if isinstance(cell, bool) else cell)) for row in client.ask(sql).rows for cell in row]
    assert told == pytest.approx(true, abs=30)
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    assert not any("own rows" in notice for notice in replied(client.gateway, client.request(question)).notices)


@pytest.mark.parametrize(
    "asked", ["max(n + s)", "avg(n), avg(s)", "sum(n * 2)", "n, count(*)", "median(s)", "sum(DISTINCT n)"]
)
def test_other_numbers_of_a_unit_say_how_many_rows_count(
    asked: str, rides: Memory, auto: Policy, new_client: NewClient
) -> None:
    """Where there are many groups of one, or buckets would be too wide, or two are averaged, they are clamped beforehand."""
    client = new_client(rides, policy=auto)
    sql = f"SELECT {asked} FROM {_OF_EACH}{' GROUP BY n' if asked.startswith('n,') else ''}"
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    notices = replied(client.gateway, client.request(question)).notices
    assert any("own numbers and sums are capped at 20 rows" in notice for notice in notices)


@pytest.mark.parametrize(
    ("sql", "true", "off"),
    [
        (f"SELECT max(n) FROM {_OF_EACH}", 90, 45),
        (f"SELECT min(n) FROM {_OF_EACH}", 1, 3),
        (
            "SELECT paid, avg(n) FROM (SELECT rider, paid, count(*) AS n FROM rides GROUP BY 1, 2) AS t GROUP BY 1",
            3.38,
            0.6,
        ),
        (
            "SELECT late, max(n) FROM (SELECT rider, late, count(*) AS n FROM rides GROUP BY 1, 2) AS t GROUP BY 1",
            90,
            45,
        ),
    ],
)
def test_extremes_and_numbers_by_a_key_are_of_any_number(sql: str, true: float, off: float, client: Client) -> None:
    """Wherever a unit has few rows at most, one for each value of a key, the end of its numbers is chosen: 20 was told."""
    told = [float(str(row[-1])) for row in client.ask(sql).rows if row[-1] is not None]
    assert min(abs(value - true) for value in told) <= off
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    assert not any("own rows" in notice for notice in replied(client.gateway, client.request(question)).notices)


def test_no_margin_stands_beside_a_loss(client: Client) -> None:
    """Where numbers count up to 20 for want of a better one nobody knows how far they are off: the margin was 0.1."""
    by_fare = "(SELECT rider, fare, count(*) AS n FROM rides GROUP BY 1, 2) AS t"
    ((told, margin),) = client.ask(f"SELECT avg(n * 2), dpsql.margin(avg(n * 2)) FROM {by_fare}").rows
    assert told is not None
    assert margin is None


_SO_MANY = 30
"""How many riders have so many rides; noise is mostly less."""
_PLACES = "(SELECT rider, fare, seats, row_number() OVER (PARTITION BY rider ORDER BY fare) AS p FROM rides) AS t"
_BY_PAID = "FROM rides GROUP BY rider, paid"


def test_numbers_of_a_unit_say_how_many_rows_count(rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """They are clamped to what `auto` stands for; where none is read, or its end is chosen, nothing is said."""
    client = new_client(rides, policy=auto)

    def said(sql: str) -> bool:
        question = client.gateway.examine(sql, client.asker)
        assert question is not None
        notices = replied(client.gateway, client.request(question)).notices
        return any("own numbers and sums are capped at 20 rows" in notice for notice in notices)

    assert not said(f"SELECT avg(n) FROM {_OF_EACH}")
    assert not said(f"SELECT max(n) FROM {_OF_EACH}")
    assert said(f"SELECT max(n * 2) FROM {_OF_EACH}")
    assert said(f"SELECT avg(n) FROM (SELECT rider, max(n) AS n FROM {_OF_EACH} GROUP BY rider) AS u")
    assert said(f"SELECT max(p) FROM {_PLACES}")
    assert said("SELECT avg(n) FROM (SELECT count(*) OVER (PARTITION BY rider) AS n FROM rides) AS t")
    assert said(f"SELECT avg(m) FROM (SELECT sum(count(*)) OVER (PARTITION BY rider) AS m {_BY_PAID}) AS t")
    assert not said(f"SELECT count(*), avg(m) FROM {_OF_EACH}")
    assert not said(f"SELECT count(*) FROM {_OF_EACH} WHERE n <= 15")
    assert not said(f"SELECT sum(fare) FROM {_PLACES} WHERE p = 1")
    assert not said(f"SELECT count(*) FROM {_JOINED.format('')} ON u.rider = r.rider WHERE n >= 20")
    assert not said(
        f"SELECT count(*) FILTER (WHERE n > 7), count(*) FROM {_JOINED.format('')} ON u.rider = r.rider WHERE n <> 3"
    )
    assert said(f"SELECT sum(r.fare) FROM rides r WHERE fare > (SELECT avg(n * 2) FROM {_OF_EACH})")


_EACH = "(SELECT DISTINCT rider FROM rides) AS u"
_HAVING = "(SELECT rider FROM rides GROUP BY rider HAVING {})"
_JOINED = "rides r {} JOIN (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS u"


@pytest.mark.parametrize(
    "asked",
    [
        f"FROM rides WHERE rider IN {_HAVING.format('count(*) < 25')}",
        f"FROM rides WHERE rider NOT IN {_HAVING.format('count(*) = 20')}",
        f"FROM rides r WHERE EXISTS (SELECT 1 FROM {_HAVING.format('count(*) < 25')} AS u WHERE u.rider = r.rider)",
        f"FROM rides WHERE rider IN {_HAVING.format('count(*) FILTER (WHERE shared) * 2 > count(*)')}",
        f"FROM {_JOINED.format('')} ON u.rider = r.rider AND n < 25",
        f"FROM {_JOINED.format('LEFT')} ON u.rider = r.rider AND n * 2 > 30 WHERE u.rider IS NULL",
        f"FROM {_EACH}, LATERAL (SELECT * FROM rides r WHERE r.rider = u.rider ORDER BY fare LIMIT 25) t",
        f"FROM {_PLACES} WHERE p <= 40",
    ],
)
def test_what_a_capped_number_decides_has_no_margin(
    asked: str, rides: Memory, auto: Policy, new_client: NewClient
) -> None:
    """Wherever the number stands that says which rows there are: twice as many were told ± 2 %, without a word."""
    client, sql = new_client(rides, policy=auto), f"SELECT count(*), dpsql.margin(count(*)) {asked}"
    assert client.ask(sql).rows[0][1] is None
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    notices = replied(client.gateway, client.request(question)).notices
    assert sum("own numbers and sums are capped at 20 rows" in notice for notice in notices) == 1


@pytest.mark.parametrize(
    ("asked", "true"),
    [
        (f"count(*) {{}} FROM {_JOINED.format('')} ON u.rider = r.rider WHERE n >= 20", 200 * 30 + 30 * 90),
        (f"count(*) {{}} FROM rides WHERE rider NOT IN {_HAVING.format('count(*) > 15')}", 4_000 + 5 * 1_000),
        (f"n > 7, count(*) {{}} FROM {_JOINED.format('')} ON u.rider = r.rider GROUP BY 1", 200 * 30 + 30 * 90),
    ],
)
def test_what_is_decided_below_the_cap_has_one(
    asked: str, true: int, rides: Memory, auto: Policy, new_client: NewClient
) -> None:
    """It does not matter then how many more rows a unit has."""
    *_, told = new_client(rides, policy=auto).ask(f"SELECT {asked.format(', dpsql.margin(count(*))')}").rows
    assert told[-1] is not None
    assert abs(int(str(told[-2])) - true) < 10 * float(str(told[-1]))


@pytest.mark.parametrize(
    "asked",
    [
        f"sum(n * 2), count(*) FROM {_OF_EACH} WHERE n > 30",
        f"sum(n * 2), count(*) FILTER (WHERE n > 30) FROM {_OF_EACH}",
        f"sum(n * 2), sum(CASE WHEN n > 30 THEN 1 ELSE 0 END) FROM {_OF_EACH}",
        f"count(*) FROM {_PLACES} WHERE p > 30",
        f"count(*) FROM {_PLACES} WHERE p * 2 BETWEEN 50 AND 60 AND fare > 5",
        "count(*) FROM (SELECT count(*) OVER (PARTITION BY rider) AS n FROM rides) AS t WHERE n > 30",
        f"sum(s) FROM (SELECT rider, sum(seats) AS s FROM (SELECT * FROM {_PLACES} WHERE p > 30) AS q GROUP BY rider) AS u",
    ],
)
def test_that_nobody_has_so_many_rows_is_not_said(
    asked: str, rides: Memory, policy: Policy, auto: Policy, new_client: NewClient
) -> None:
    """Thirty riders have: the bound is nobody's declaration. Where somebody has declared it, it is."""
    sql, up_to = f"SELECT {asked}", with_chosen_rows(auto, "rides", "passenger", 20)
    with pytest.raises(Unsupported) as refused:
        new_client(rides, policy=auto).ask(sql)
    assert refused.value.because == "number-beyond-auto"
    for declared in (policy, up_to):
        assert abs(int(str(new_client(rides, policy=declared).ask(sql).rows[0][-1] or 0))) < _SO_MANY


@pytest.mark.parametrize(
    "asked",
    [
        f"count(*) FROM rides WHERE rider IN {_HAVING.format('count(*) > 30')}",
        f"count(*) FROM rides WHERE rider NOT IN {_HAVING.format('count(*) > 30')}",
        f"count(*) FROM rides WHERE rider IN {_HAVING.format('sum(seats) > 125')}",
        f"rider IN {_HAVING.format('count(*) > 30')}, count(*) FROM rides GROUP BY 1",
        f"count(*) FROM rides r WHERE EXISTS (SELECT 1 FROM {_HAVING.format('count(*) > 30')} AS u WHERE u.rider = r.rider)",
        f"count(*) FROM {_JOINED.format('LEFT')} ON u.rider = r.rider AND n > 30 WHERE u.rider IS NULL",
        f"n > 30, count(*) FROM {_JOINED.format('')} ON u.rider = r.rider GROUP BY 1",
    ],
)
def test_nor_that_there_are_none_to_be_found(asked: str, rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """Who has so many is looked for in a join: all rows stayed, or none, at the full price."""
    with pytest.raises(Unsupported) as refused:
        new_client(rides, policy=auto).ask(f"SELECT {asked}")
    assert refused.value.because == "number-beyond-auto"


@pytest.mark.parametrize("asked", [f"{_OF_EACH} WHERE n > 2 AND m > 200", f"{_PLACES} WHERE p = 1 AND fare > 200"])
def test_what_is_impossible_anyway_is_answered(asked: str, rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """Fares are declared to be less, however many rows count."""
    assert new_client(rides, policy=auto).ask(f"SELECT count(*) FROM {asked}").rows == [(0,)]
