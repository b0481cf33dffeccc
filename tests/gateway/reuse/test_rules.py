# ruff: noqa: E501  (a rule a line)
"""When what was released answers another question: whose it is, since when, for how much ε, and what the session wants."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from threading import Barrier
from typing import Any

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import EngineFailed, LedgerFull, QueryCanceled
from dpsql.gateway.measuring import read_question, written_question
from dpsql.gateway.request import Reply
from dpsql.gateway.reuse import reading_off
from dpsql.policy.model import Policy, Reuse
from dpsql.privacy.reuse.lens import lens
from dpsql.question import Argument, Settings
from tests.gateway.engines import Watched, fail
from tests.support.fix_policy import with_chosen_rows, with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory

GROUPED = "SELECT payment_type, count(*), avg(fare) FROM trips GROUP BY 1"
SOME = "SELECT payment_type, count(*) FROM trips WHERE payment_type = 'cash' GROUP BY 1"
WHOLE = "SELECT count(*) FROM trips"
PARAMETER = "SELECT payment_type, count(*) FROM trips WHERE fare > $1 GROUP BY 1"


def _charged(client: Client, sql: str, settings: Settings = Settings(), *arguments: Argument) -> int:
    before = client.charges
    client.ask(sql, settings, arguments)
    return client.charges - before


@pytest.mark.parametrize(("reuse", "some", "whole"), [("off", 1, 1), ("exact", 0, 1), ("all", 0, 0), (" ALL ", 0, 0)])
def test_what_the_session_sets(reuse: str, some: int, whole: int, engine: Memory, new_client: NewClient) -> None:
    """Nothing, what stands in an answer, or what follows from it."""
    client = new_client(engine)
    client.ask(GROUPED)
    assert _charged(client, SOME, Settings(reuse=reuse)) == some
    assert _charged(client, WHOLE, Settings(reuse=reuse)) == whole


def test_what_the_role_does(engine: Memory, policy: Policy, new_client: NewClient) -> None:
    """Where the session says nothing."""
    roles = {name: replace(role, reuse=Reuse.OFF) for name, role in policy.roles.items()}
    client = new_client(engine, policy=replace(policy, roles=roles))
    client.ask(GROUPED)
    assert _charged(client, SOME) == 1
    assert _charged(client, WHOLE, Settings(reuse="all")) == 0


def test_who_looks_keeps_nobody_else_from_looking(
    engine: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of one role ask the ledger at the same time: where it is away, they do not wait one after the other."""
    client, both = new_client(engine), Barrier(2)
    client.ask(GROUPED)
    question = client.gateway.examine(WHOLE, client.asker)
    assert question is not None
    request, ledger = client.request(question, Settings(), ()), type(client.ledger)
    right = ledger.told

    def told(*arguments: Any) -> object:
        both.wait(10)
        return right(*arguments)

    monkeypatch.setattr(ledger, "told", told)
    epoch = client.gateway._measuring.epoch(request)
    with ThreadPoolExecutor(2) as pool:
        looks = [pool.submit(client.gateway._told.of, request, epoch) for _ in range(2)]
        assert [len(look.result()) for look in looks] == [1, 1]


def test_other_words_are_told_apart_in_no_time(
    engine: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the releases of a day only those are looked at whose rows may have the wanted ones among them."""
    client, looked = new_client(engine), list[object]()
    right = lens

    def look(*arguments: Any) -> object:
        looked.append(arguments)
        return right(*arguments)

    monkeypatch.setattr("dpsql.gateway.reuse.reading_off.lens", look)
    for number in range(20):
        client.ask(f"SELECT count(*) FROM trips WHERE fare > 10.{number}", Settings(reuse="all"))
    assert looked == []
    client.ask("SELECT count(*) FROM trips WHERE 10.7 < fare AND payment_type = 'cash'", Settings(reuse="all"))
    assert len(looked) == 1


def test_another_role_pays(engine: Memory, new_client: NewClient) -> None:
    """What one role was told is not read off for another, though it protects the same; what it buys itself is."""
    client = new_client(engine)
    client.ask(GROUPED)
    other = new_client(engine, "nell", ledger=client.ledger)
    of_view = "SELECT count(*) FROM card_rides"
    assert _charged(other, of_view) == 1
    third = new_client(engine, "leo", ledger=client.ledger)
    assert _charged(third, WHOLE) == 1


def test_another_epoch_pays(engine: Memory, new_client: NewClient) -> None:
    """What was released of earlier records says nothing of these."""
    client = new_client(engine)
    client.ask(GROUPED)
    assert isinstance(client.ledger.advance("new records"), int)
    assert _charged(client, SOME) == 1


def test_another_bound_pays(engine: Memory, policy: Policy, new_client: NewClient) -> None:
    """Under another policy a release is none."""
    client = new_client(engine)
    client.ask(GROUPED)
    other = new_client(engine, policy=with_rows(policy, "trips", "passenger", 7), ledger=client.ledger)
    assert _charged(other, SOME) == 1


def test_who_sets_a_larger_epsilon_pays(engine: Memory, new_client: NewClient) -> None:
    """A better answer is wanted than there is; with as much, or less, what there is does."""
    client = new_client(engine)
    client.ask(GROUPED, Settings(epsilon="1"))
    assert _charged(client, SOME, Settings(epsilon="2")) == 1
    assert _charged(client, WHOLE, Settings(epsilon="1")) == 0
    assert _charged(client, WHOLE, Settings(epsilon="0.5")) == 0


def test_what_is_stored_itself_comes_first(engine: Memory, new_client: NewClient) -> None:
    """An answer stays what it was when another says the same."""
    client = new_client(engine)
    first = client.ask(WHOLE, Settings(epsilon="1"))
    client.ask(GROUPED, Settings(epsilon="1"))
    assert client.ask(WHOLE, Settings(epsilon="1")) == first


MARGIN = "SELECT count(*), dpsql.margin(count(*)) FROM trips"


def test_an_answer_stays_what_it_is(engine: Memory, new_client: NewClient) -> None:
    """Whatever is asked later, by whom and how well: what it was read off is stored, and for how long is the epoch's."""
    client = new_client(engine)
    client.ask(GROUPED, Settings(epsilon="1"))
    first = client.ask(MARGIN, Settings(epsilon="1"))
    charged = client.charges
    client.ask("SELECT passenger_count > 2, count(*) FROM trips GROUP BY 1", Settings(epsilon="2"))
    client.ask(WHOLE, Settings(epsilon="3", reuse="off"))
    measured = client.ask(MARGIN, Settings(epsilon="1", reuse="off"))
    assert client.charges == charged + 3
    assert measured != first
    assert client.ask(MARGIN, Settings(epsilon="1")) == first
    assert new_client(engine, ledger=client.ledger).ask(MARGIN, Settings(epsilon="1")) == first
    assert client.ask(MARGIN, Settings(epsilon="1", reuse="off")) == measured
    client.ledger.advance("new records")
    client.ask(WHOLE, Settings(epsilon="3"))
    assert client.ask(MARGIN, Settings(epsilon="1")) != first


def test_two_at_once_get_one_answer(engine: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is slower is told what the other was: what is read off what is stored before it is said."""
    client = new_client(engine)
    client.ask(GROUPED, Settings(epsilon="1"))
    right, told = type(client.ledger).keep_readings, list[object]()

    def slower(ledger: SqliteLedger, *arguments: Any) -> object:
        monkeypatch.setattr(type(client.ledger), "keep_readings", right)
        client.ask("SELECT passenger_count > 2, count(*) FROM trips GROUP BY 1", Settings(epsilon="2", reuse="off"))
        told.append(client.ask(WHOLE, Settings(epsilon="1")))
        return right(ledger, *arguments)

    monkeypatch.setattr(type(client.ledger), "keep_readings", slower)
    assert [client.ask(WHOLE, Settings(epsilon="1"))] == told


def test_an_answer_that_aimed_at_an_error_stays(engine: Memory, new_client: NewClient) -> None:
    """Who aims better later pays the difference, and reads all there is; who aimed worse before sees what was seen."""
    client = new_client(engine, policy=with_epsilon(engine._policy, Fraction(1)))
    rough, fine = Settings(error="20 %"), Settings(error="0.5 %")
    first = client.ask(MARGIN, rough)
    charged = client.charges
    better = client.ask(MARGIN, fine)
    assert client.charges > charged
    assert better != first
    charged = client.charges
    assert client.ask(MARGIN, rough) == first
    assert client.ask(MARGIN, fine) == better
    assert new_client(engine, policy=client.gateway._deps.policy, ledger=client.ledger).ask(MARGIN, rough) == first
    assert client.charges == charged


def test_a_ledger_that_takes_no_reading_answers_nevertheless(
    engine: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is full, say: nothing is charged for what is free, and the operator's log says what is lost."""
    client = new_client(engine)
    client.ask(GROUPED)

    def full(*_: object) -> object:
        raise LedgerFull

    monkeypatch.setattr(type(client.ledger), "keep_readings", full)
    assert _charged(client, WHOLE) == 0


def test_another_process_knows(engine: Memory, new_client: NewClient) -> None:
    """By the ledger's file alone: the question is planned again, with its parameters and settings."""
    client = new_client(engine)
    client.ask(PARAMETER, Settings(time_zone="Asia/Tokyo"), (Argument("5", "double precision"),))
    other = new_client(engine, ledger=client.ledger)
    assert _charged(other, "SELECT count(*) FROM trips WHERE fare > 5") == 0
    assert _charged(other, "SELECT count(*) FROM trips WHERE fare > 6") == 1


def test_a_chosen_bound_is_read_as_it_was_chosen(engine: Memory, policy: Policy, new_client: NewClient) -> None:
    """Under `max_rows: auto` a release answers at the C that it found, and no other choice is paid for."""
    client = new_client(engine, policy=with_chosen_rows(policy, "trips", "passenger"))
    grouped = client.ask(
        "SELECT payment_type, count(*), dpsql.cut(count(*)) FROM trips GROUP BY 1", Settings(epsilon="1")
    )
    before = client.charges
    ((whole, cut),) = client.ask("SELECT count(*), dpsql.cut(count(*)) FROM trips", Settings(epsilon="1")).rows
    assert client.charges == before
    assert abs(int(whole) - sum(int(row[1]) for row in grouped.rows)) <= len(grouped.rows)  # type: ignore[call-overload]
    assert cut == grouped.rows[0][2]


def test_averages_of_sums_and_counts(engine: Memory, policy: Policy, new_client: NewClient) -> None:
    """Where a C was chosen, which takes little off either; a declared one may take more off the count, and it is measured."""
    both, mean = "SELECT count(*), sum(fare) FROM trips", "SELECT avg(fare) FROM trips"
    chosen = new_client(engine, policy=with_chosen_rows(policy, "trips", "passenger"))
    ((count, whole),) = chosen.ask(both, Settings(epsilon="1")).rows
    before = chosen.charges
    ((quotient,),) = chosen.ask(mean, Settings(epsilon="1")).rows
    assert chosen.charges == before
    assert float(str(quotient)) == pytest.approx(float(str(whole)) / float(str(count)), rel=1e-3)
    declared = new_client(engine)
    declared.ask(both)
    assert _charged(declared, mean) == 1


@pytest.mark.parametrize(
    ("told", "wanted", "read"),
    [
        ("SELECT payment_type, avg(tip), count(*) FROM trips GROUP BY 1 ORDER BY 1", "SELECT payment_type, avg(tip) FROM trips GROUP BY 1 ORDER BY 1", lambda rows: [row[1] for row in rows]),
        ("SELECT payment_type, sum(tip) FROM trips GROUP BY 1 ORDER BY 1", "SELECT sum(tip) FROM trips WHERE payment_type IS NOT NULL", lambda rows: [rows[0][1] + rows[1][1]]),
        ("SELECT date_trunc('day', pickup_ts), sum(tip) FROM trips GROUP BY 1", "SELECT sum(tip) FROM trips", lambda rows: [sum(row[1] for row in rows)]),
        ("SELECT pickup_zone, sum(tip) FROM trips GROUP BY 1 ORDER BY 1", "SELECT sum(tip) FROM trips JOIN zones ON pickup_zone = zone_id WHERE borough = 'Queens'", lambda rows: [rows[0][1] + rows[2][1]]),
        ("SELECT payment_type, median(fare), avg(fare) FROM trips GROUP BY 1 ORDER BY 1", "SELECT median(fare), avg(fare) FROM trips WHERE payment_type = 'cash'", lambda rows: [rows[0][1], rows[0][2]]),
        ("SELECT count(*) FILTER (WHERE passenger_count > 2), count(*) FILTER (WHERE passenger_count <= 2) FROM trips", "SELECT count(*) FROM trips WHERE passenger_count > 2", lambda rows: [rows[0][0]]),
    ],
    ids=["fewer columns", "some groups", "days", "a borough", "one group", "a filter"],
)  # fmt: skip
def test_what_is_read_is_what_was_released(
    told: str,
    wanted: str,
    read: Callable[[Sequence[tuple[float, ...]]], list[float]],
    engine: Memory,
    new_client: NewClient,
) -> None:
    """To the digit: with noise, no other number has the same."""
    client, some = new_client(engine), Settings(epsilon="0.1", digits="all")
    rows = [tuple(row) for row in client.ask(told, some).rows]
    before = client.charges
    answer = client.ask(wanted, some).rows
    assert client.charges == before
    flat = [cell for row in answer for cell in row if not isinstance(cell, str) and cell is not None]
    expected = [value for value in read(rows) if value is not None]  # type: ignore[arg-type]
    assert [float(str(cell)) for cell in flat] == pytest.approx([float(value) for value in expected], rel=1e-9)


def test_a_target_takes_what_errs_as_little(engine: Memory, new_client: NewClient) -> None:
    """And pays where what there is errs by more."""
    client = new_client(engine)
    client.ask(GROUPED, Settings(epsilon="1"))
    assert _charged(client, WHOLE, Settings(error="20 %")) == 0
    assert _charged(client, WHOLE, Settings(error="0.1 %")) > 0


def test_only_what_is_missing_is_paid(engine: Memory, new_client: NewClient) -> None:
    """Of several measurements those that no release says."""
    client = new_client(engine)
    client.ask(GROUPED, Settings(epsilon="1"))
    assert _charged(client, "SELECT count(*), median(fare) FROM trips", Settings(epsilon="1")) == 1


def test_a_client_is_told(engine: Memory, new_client: NewClient) -> None:
    """What its answer was read off, and how to have one of its own; the receipt names the release."""
    client = new_client(engine)
    client.ask(GROUPED)
    question = client.gateway.examine(WHOLE, client.asker)
    assert question is not None
    request = client.request(question)
    for _ in range(2):  # once it is remembered, too
        reply = client.gateway.answer(request)
        assert isinstance(reply, Reply)
        assert reply.notices == (
            f"free: computed from the earlier answer to {GROUPED}; SET dpsql.reuse = 'off' asks afresh",
        )
    assert len(request.receipt.releases) == 1


def test_nothing_is_called_free_of_which_a_part_is_paid(engine: Memory, new_client: NewClient) -> None:
    """The count is read off an answer; the median is measured."""
    client = new_client(engine)
    client.ask(GROUPED, Settings(epsilon="1"))
    question = client.gateway.examine("SELECT count(*), median(fare) FROM trips", client.asker)
    assert question is not None
    reply = replied(client.gateway, client.request(question, Settings(epsilon="1")))
    assert [said.partition(":")[0] for said in reply.notices if "computed from" in said] == ["a part is free"]


def test_what_a_role_was_told_is_listed(engine: Memory, new_client: NewClient) -> None:
    """Its own alone, with what was measured."""
    client = new_client(engine)
    client.ask(GROUPED, Settings(epsilon="1"))
    other = new_client(engine, "leo", ledger=client.ledger)
    other.ask(WHOLE)
    listed = client.ask("SELECT epoch, statement, measured, groups, epsilon FROM dpsql.releases").rows
    assert listed == [(1, GROUPED, "2 sums, 3 groups", 3, 1)]


def test_the_newest_are_looked_at_that_there_is_room_for(
    engine: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known of releases takes memory, by their groups."""
    monkeypatch.setattr(reading_off, "_MOST_GROUPS", 5)
    client = new_client(engine)
    client.ask(GROUPED)
    assert _charged(client, SOME) == 0
    client.ask("SELECT passenger_count > 2, passenger_count > 3, count(*) FROM trips GROUP BY 1, 2")
    assert _charged(client, "SELECT count(*) FROM trips WHERE passenger_count > 2") == 0
    assert _charged(client, "SELECT count(*) FROM trips WHERE payment_type = 'cash'") == 1
    assert _charged(client, SOME) == 0  # which was read off it before, and stays what it is


def test_another_plans_again_what_may_tell_it_something(
    engine: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To plan every question of every other process again took as long as to ask it; what has no words of it is enough."""
    planned, asked = list[str](), reading_off.ToldReleases._asked

    def seen(releases: reading_off.ToldReleases, question: str, *rest: Any) -> Mapping[str, reading_off.Told]:
        planned.append(json.loads(question)[0])
        return asked(releases, question, *rest)

    monkeypatch.setattr(reading_off.ToldReleases, "_asked", seen)
    client = new_client(engine)
    for fare in (5, 6, 7):
        client.ask(f"SELECT payment_type, count(*) FROM trips WHERE fare > {fare} GROUP BY 1")
    planned.clear()
    other = new_client(engine, ledger=client.ledger)
    assert _charged(other, "SELECT count(*) FROM trips WHERE fare > 8") == 1
    assert planned == []
    assert _charged(other, "SELECT count(*) FROM trips WHERE 6 < fare") == 0
    assert [statement for statement in planned if "> 6 " in statement] == planned != []


def test_who_cancels_takes_no_answer_from_others(
    engine: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not planned again to the end is planned for the next who asks."""
    client = new_client(engine)
    client.ask(GROUPED)
    other = new_client(engine, ledger=client.ledger)

    def cancelled(*_: object) -> None:
        raise QueryCanceled

    with monkeypatch.context() as patch:
        patch.setattr(other.gateway._told, "_planned", cancelled)
        with pytest.raises(QueryCanceled):
            other.ask(WHOLE)
    assert _charged(other, WHOLE) == 0


@pytest.mark.parametrize("number", [10, 10_000])
def test_a_question_with_many_words_is_kept(number: int, engine: Memory, new_client: NewClient) -> None:
    """A list of constants has hashes that are longer than it is: a long one is kept without them, and planned again."""
    client = new_client(engine)
    question = client.gateway.examine(f"{WHOLE} WHERE fare > 5", client.asker)
    assert question is not None
    text = written_question(client.request(question, Settings(), ()), [range(number)])
    assert text is not None
    read = read_question(text)
    assert read is not None
    assert (read.statement, read.words is None) == (question.text, number == 10_000)


@pytest.mark.parametrize("beside", [[], [[0, [["0123456789ab"]]]]])
def test_words_of_another_edition_are_not_looked_at(beside: list[object]) -> None:
    """Such a question is planned again, whatever is asked."""
    read = read_question(json.dumps(["SELECT 1", [], {}, *beside]))
    assert read is not None
    assert read.words is None


def test_explain_explains_what_has_failed(engine: Memory, new_client: NewClient) -> None:
    """Nothing is asked, and nothing fails: what would be read off others is told."""
    client = new_client(Watched(engine, before=fail))
    for _ in range(2):
        with pytest.raises(EngineFailed):
            client.ask(WHOLE)
    assert client.ask(f"EXPLAIN {WHOLE}").rows


def test_explain_says_what_is_free(engine: Memory, new_client: NewClient) -> None:
    """Which output is read off what, what is left to pay, and which coarser question is free."""
    client = new_client(engine)
    client.ask("SELECT date_trunc('week', pickup_ts), count(*) FROM trips GROUP BY 1", Settings(epsilon="1"))

    def lines(sql: str) -> list[str]:
        return [str(line) for (line,) in client.ask(f"EXPLAIN {sql}", Settings(epsilon="1")).rows]

    whole = lines("SELECT count(*), median(fare) FROM trips")
    assert [
        line for line in whole if line.startswith("Free: output 1 is computed from the answer to SELECT date_trunc")
    ]
    assert "Left to pay: ε = 0.5" in whole
    by_day = lines("SELECT date_trunc('day', pickup_ts), count(*) FROM trips GROUP BY 1")
    assert [line for line in by_day if line.startswith("Free instead, by fewer groups: SELECT date_trunc('week'")]
    assert client.charges == 1


def test_explain_says_what_is_free_to_programs(engine: Memory, new_client: NewClient) -> None:
    """As values of FORMAT JSON: the outputs by number, the statement of the answer, and what would be free instead."""
    client = new_client(engine)
    week = "SELECT date_trunc('week', pickup_ts), count(*) FROM trips GROUP BY 1"
    client.ask(week, Settings(epsilon="1"))

    def plan(sql: str) -> dict[str, object]:
        ((value,),) = client.ask(f"EXPLAIN (FORMAT JSON) {sql}", Settings(epsilon="1")).rows
        assert isinstance(value, list)
        return dict(value[0]["Plan"])

    whole = plan("SELECT count(*), median(fare) FROM trips")
    assert (whole["Read Off"], whole["Left To Pay"]) == ([{"Outputs": [1], "Answer": week}], "0.5")
    assert "Free Instead" not in whole
    by_day = plan("SELECT date_trunc('day', pickup_ts), count(*) FROM trips GROUP BY 1")
    assert "Read Off" not in by_day
    assert str(by_day["Free Instead"]).startswith("[\"SELECT date_trunc('week'")
