"""Standing questions through the gateway: over real copies, by a clock that is set by hand, with next to no noise."""

import shutil
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import duckdb
import pytest

from dpsql.engines.snapshot import accounts
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.errors import AccountClosed, ConfigError, EngineFailed, EngineNotReady, Unsupported
from dpsql.policy.config import Config
from dpsql.question import Cancellation, Settings
from dpsql.standing import measuring
from dpsql.standing.questions import StandingPart
from tests.gateway.growing_ward import CONFIG, DAILY, FIRST, FOURTH, MORE, TABLE, Ward


def _counts(told: dict[int, object]) -> dict[int, object]:
    return {day: number for day, number in told.items() if number}


def test_each_day_is_measured_when_it_has_closed(ward: Ward) -> None:
    """For one charge in the term; what was told stays, whatever becomes of the records, and in later epochs."""
    assert ward.told() == {1: 2, 2: 1}
    assert any("was paid once for 2026-03" in said for said in ward.said)
    assert any("what came before 2026-03-03" in said and "closes on 2026-03-05" in said for said in ward.said)
    ward.copy([visit for visit in MORE if visit[1] > 2], FOURTH)
    assert ward.told() == {1: 2, 2: 1, 3: 2, 4: 2}
    assert ward.told() == {1: 2, 2: 1, 3: 2, 4: 2}
    assert ward.charges == 1


def test_days_are_measured_of_their_parts(ward: Ward) -> None:
    """As they were when they were copied: what comes late, goes or moves is seen by nobody, not even a new question."""
    ward.ask()
    ward.copy([visit for visit in MORE if visit[1] > 2], FOURTH, whole=False)
    assert ward.told() == {1: 2, 2: 1, 3: 2, 4: 2}
    assert ward.told(DAILY.replace("count(*)", "sum(cost)")).keys() == {1, 2, 3, 4}
    by_ward = DAILY.replace("AS day,", "AS day, ward,").replace("BY 1 ORDER BY 1", "BY 1, 2 ORDER BY 1, 2")
    assert [row[2] for row in ward.ask(by_ward)] == [1, 1, 1, 0, 1, 1, 1, 1]
    assert ward.ask("SELECT count(*) FROM visits") == [(7,)]
    ward.copy([], FOURTH, whole=True)
    assert ward.ask("SELECT count(*) FROM visits") == [(0,)]


def test_what_is_charged_begins_with_the_oldest_part(ward: Ward) -> None:
    """An ordinary question reads who was there when it was copied, and may be there no more."""
    ward.copy(MORE, FOURTH, whole=False)
    ward.ask("SELECT count(*) FROM visits")
    ward.ask()
    explained = [str(row[0]) for row in ward.ask("EXPLAIN SELECT count(*) FROM visits")]
    assert any(line.startswith("Parts: ") and "since 2026-03-04" in line for line in explained)
    ordinary, standing = ward.ledger.entries(None, 10)[::-1]
    assert (ordinary.read.first, ordinary.read.last) == (date(2026, 3, 4), date(2026, 3, 6))
    assert (standing.read.first, standing.read.last) == (date(2026, 3, 4), date(2026, 4, 12))


def test_what_differs_in_its_days_alone_is_one_question(ward: Ward) -> None:
    """However it spells the day; what computes something else is another."""
    ward.ask()
    some = DAILY.replace("admitted_at::date", "date_trunc('day', admitted_at)").replace("2026-03-01", "2026-03-02")
    assert [row[1] for row in ward.ask(some)] == [1]
    assert [row[1] for row in ward.ask(some.replace("2026-04-01", "2026-03-03"))] == [1]
    assert [row[1] for row in ward.ask(DAILY.replace(" AND admitted_at < '2026-04-01'", ""))] == [2, 1]
    assert ward.charges == 1
    ward.ask(DAILY.replace("count(*)", "sum(cost)"))
    ward.ask(DAILY.replace("GROUP", "AND ward = 'a' GROUP"))
    ward.ask(DAILY, settings=Settings(epsilon="1000"))
    assert ward.charges == 3  # what there is has less noise
    ward.ask(DAILY, settings=Settings(epsilon="1000", reuse="off"))
    assert ward.charges == 4


IN_SUPERSET = """
SELECT DATE_TRUNC('day', admitted_at) AS admitted_at, COUNT(*) AS "COUNT(*)" FROM public.visits
WHERE admitted_at >= TO_TIMESTAMP('2026-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
AND admitted_at < TO_TIMESTAMP('2026-04-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', admitted_at) ORDER BY "COUNT(*)" DESC LIMIT 10000
"""
IN_GRAFANA = """
SELECT date_trunc('day', admitted_at) AS "time", count(*) FROM visits
WHERE admitted_at >= '2026-03-01T00:00:00Z'::date AND admitted_at < '2026-03-31T23:59:59Z'::date + 1 GROUP BY 1 ORDER BY 1
"""


@pytest.mark.parametrize("sql", [IN_SUPERSET, IN_GRAFANA], ids=["Superset", "Grafana"])
def test_tools_ask_the_same_question(ward: Ward, sql: str) -> None:
    """What a chart of a month sends, as docs/how-to/growing.md says it, is the question in psql: one charge for both."""
    ward.ask()
    assert {row[1] for row in ward.ask(sql)} == {1, 2}
    assert ward.charges == 1


def test_keys_sums_and_work_on_answers(ward: Ward) -> None:
    """Cells are those of days and keys; what PostgreSQL computes of an answer is free."""
    by_ward = DAILY.replace("AS day,", "AS day, ward,").replace("BY 1 ORDER BY 1", "BY 1, 2 ORDER BY 1, 2")
    assert [row[1:] for row in ward.ask(by_ward)] == [("a", 1), ("b", 1), ("a", 1), ("b", 0)]
    ward.copy([("p", 1, "a", 10.0), ("q", 1, "b", 20.0), ("p", 2, "a", 20.0), ("q", 2, "a", 10.0)])
    mean = DAILY.replace("count(*)", "sum(cost), avg(cost), count(*)")
    assert [[round(float(str(cell))) for cell in row[1:]] for row in ward.ask(mean)] == [[30, 15, 2], [30, 15, 2]]
    running_total = f"SELECT day, sum(n) OVER (ORDER BY day) FROM ({mean.replace('count(*)', 'count(*) AS n')}) AS t"
    assert [row[1] for row in ward.ask(running_total)] == [2, 4]
    assert ward.charges == 2


def test_a_unit_weighs_no_more_than_c_in_a_term(ward: Ward) -> None:
    """In days that are measured together, later, and from rows that came late or moved."""
    ward.copy([("p", 1, "a", 1.0)] * 3 + [("q", 2, "a", 1.0)])
    assert ward.told() == {1: 3, 2: 1}
    ward.copy([("p", 1, "a", 1.0)] * 3 + [("p", 3, "a", 1.0)] * 4 + [("q", 3, "a", 1.0)], FOURTH)
    assert ward.told() == {1: 3, 2: 1, 3: 3, 4: 0}
    ward.copy([("p", 5, "a", 1.0)] * 9, FOURTH + timedelta(days=1))
    assert ward.told() == {1: 3, 2: 1, 3: 3, 4: 0, 5: 0}


def test_days_before_the_first_asked_use_up_nothing(ward: Ward) -> None:
    """Until somebody asks for them: then they have what is left."""
    ward.copy([("p", 1, "a", 1.0)] * 4 + [("p", 2, "a", 1.0)] * 4)
    assert ward.told(DAILY.replace("03-01", "03-02")) == {2: 4}
    assert ward.told() == {1: 1, 2: 4}


def test_another_role_pays_its_own_account(ward: Ward) -> None:
    """And sees the same numbers; days that it is the first to ask for are measured for both."""
    ward.ask(DAILY.replace("03-01", "03-02"))
    assert ward.told(user="bob") == {1: 2, 2: 1}
    assert ward.told() == {1: 2, 2: 1}
    assert [entry.measured for entry in ward.ledger.entries(None, 10)] == [False, True]


def test_nothing_is_paid_for_what_has_not_closed(ward: Ward) -> None:
    """An answer without rows says until when to wait."""
    assert ward.ask(DAILY.replace("2026-03-01", "2026-03-03")) == []
    assert any("closes on 2026-03-05" in said for said in ward.said)
    assert ward.charges == 0


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(*) FROM visits", "not grouped by the day"),
        (DAILY.replace("admitted_at::date", "date_trunc('month', admitted_at)"), "not grouped by the day"),
        (DAILY.replace("count(*)", "count(DISTINCT patient)"), "distinct counts"),
        (DAILY.replace("count(*)", "max(cost)"), "quantiles, extremes"),
        (DAILY.replace("count(*)", "count(*) FILTER (WHERE admitted_at > '2026-03-02')"), "what it computes reads"),
        (DAILY.replace("'2026-03-01'", "'2026-03-01 12:00'"), "do not begin and end with a day"),
        (DAILY.replace("'2026-03-01'", "'2026-02-01'"), "more than one month"),
        (DAILY.replace("'2026-03-01'", "'2026-02-01'").replace("04-01", "03-01"), "has ended before"),
        (DAILY.replace(">= '2026-03-01' AND", "<> '2026-03-01' AND"), "a condition reads"),
        (DAILY.replace("admitted_at >= '2026-03-01' AND", ""), "from when on"),
        (DAILY.replace("2026-03-01", "2026-05-01").replace("04-01", "05-03"), "has not begun"),
        (
            f"SELECT a.day, b.m FROM ({DAILY}) AS a, (SELECT max(cost) AS m FROM visits) AS b",
            "quantiles, extremes",
        ),
    ],
)
def test_what_is_no_standing_question_is_an_ordinary_one(ward: Ward, sql: str, why: str) -> None:
    """As without `grows`, and a notice says why."""
    ward.ask(sql)
    assert any(said.startswith("this is no standing question") and why in said for said in ward.said), ward.said
    assert all(not entry.key.startswith("standing") for entry in ward.ledger.entries(None, 10))
    explained = [str(row[0]) for row in ward.ask(f"EXPLAIN {sql}")]
    assert any(line.startswith("Standing: no, ") and why in line for line in explained)


def test_a_role_with_a_target_pays_an_amount(ward: Ward) -> None:
    """Which it sets; no error is aimed at."""
    ward.ask(user="lea")
    assert any("SET dpsql.epsilon" in said for said in ward.said)
    assert ward.ask(user="lea", settings=Settings(epsilon="1000000")) != []
    assert any("was paid once" in said for said in ward.said)


def test_explain_says_how_far_it_is(ward: Ward) -> None:
    """Before it is paid for, and after."""
    before = [str(row[0]) for row in ward.ask(f"EXPLAIN {DAILY}")]
    assert (
        "Standing: would be paid once, for 2026-03; nothing is released yet; the next day closes on 2026-03-05"
        in before
    )
    ward.ask()
    after = [str(row[0]) for row in ward.ask(f"EXPLAIN {DAILY}")]
    assert "Standing: paid for 2026-03; released to 2026-03-02; the next day closes on 2026-03-05" in after
    assert ward.charges == 1


def test_what_stands_is_listed(ward: Ward) -> None:
    """With what it has cost, and how far it is: a role's own, or for an owner every role's."""
    listed = (
        "SELECT role_name, table_name, term, state, epsilon::int, periods, last_period, next_closes, measured_until"
    )
    listed += " FROM dpsql.standing ORDER BY began, role_name"
    assert ward.ask(listed) == []
    ward.ask()
    end = datetime(2026, 4, 12, tzinfo=UTC)
    third = date(2026, 3, 2), datetime(2026, 3, 5, tzinfo=UTC)
    mine = ("owner", "visits", "2026-03", "stands", 1_000_000, 2, *third, end)
    assert ward.ask(listed) == [mine]
    assert ward.ask(listed, "bob") == []
    ward.ask(DAILY, "bob")
    assert ward.ask(listed, "bob") == [("other", *mine[1:])]
    ward.declare(TABLE)
    ward.config = replace_owner(ward.config)
    assert sorted(map(str, ward.ask(listed))) == sorted(map(str, [mine, ("other", *mine[1:])]))
    ward.copy(MORE, datetime(2026, 4, 2, tzinfo=UTC))
    ward.ask(DAILY, "bob")
    assert [row[-3:] for row in ward.ask(listed, "bob")] == [(date(2026, 3, 31), None, end)]
    ward.now = end
    assert [row[3] for row in ward.ask(listed, "bob")] == ["over"]
    ward.declare(TABLE.replace("max_rows: 5", "max_rows: 6"))
    assert [row[3] for row in ward.ask(listed, "bob")] == ["ended"]


def replace_owner(config: Config) -> Config:
    """Let the role of ana see what all roles do."""
    roles = {**config.policy.roles, "owner": replace(config.policy.roles["owner"], owner=True)}
    return replace(config, policy=replace(config.policy, roles=roles))


def test_in_the_grace_only_what_was_begun_goes_on(ward: Ward) -> None:
    """Until the last moment of measuring; then what was told stays."""
    ward.ask()
    ward.copy(MORE, datetime(2026, 4, 8, tzinfo=UTC))
    begun = ward.told()
    assert _counts(begun) == {1: 2, 2: 1, 3: 2, 4: 2}
    assert len(begun) == 31
    ward.ask(DAILY.replace("count(*)", "sum(cost)"))
    assert any("has ended before anybody" in said for said in ward.said)
    some = DAILY.replace("03-01", "03-02")
    ward.ask(some, "bob")
    assert any("has ended before anybody" in said for said in ward.said)
    ward.copy(MORE, datetime(2026, 5, 1, tzinfo=UTC))
    assert ward.told() == begun


def test_after_the_last_moment_nothing_is_measured(ward: Ward) -> None:
    """What was not measured by then never is."""
    ward.ask()
    ward.copy(MORE, datetime(2026, 4, 12, tzinfo=UTC))
    assert ward.told() == {1: 2, 2: 1}


@pytest.mark.parametrize(
    "change",
    [
        ("max_rows: 5", "max_rows: 6"),
        ("[a, b]", "[a, b, c]"),
        ("after: 1 day", "after: 2 days"),
        ("term: month", "term: year"),
    ],
)
def test_a_changed_declaration_is_paid_again_only_on_request(ward: Ward, change: tuple[str, str]) -> None:
    """What was spent stays spent, and is told no more."""
    ward.ask()
    ward.declare(TABLE.replace(*change))
    ward.copy(MORE, datetime(2026, 3, 9, tzinfo=UTC))
    with pytest.raises(Unsupported) as caught:
        ward.ask()
    assert "dpsql.renew" in (caught.value.hint or "")
    assert ward.charges == 1
    assert ward.ask(settings=Settings(renew="on")) != []
    assert ward.charges == 2
    assert _counts(ward.told()) == {1: 2, 2: 1, 3: 2, 4: 2}


def test_a_table_that_grows_no_more_ends_its_questions(ward: Ward) -> None:
    """Its statement is an ordinary one, whose price is another, and paid only on request; what is spent stays so."""
    ward.ask()
    ward.declare("".join(line for line in TABLE.splitlines(keepends=True) if not line.startswith("grows")))
    ward.copy(MORE, FOURTH)
    with pytest.raises(Unsupported, match="have ended within 2026-03") as caught:
        ward.ask()
    assert "as for any other question" in (caught.value.hint or "")
    assert [row[3] for row in ward.ask("SELECT * FROM dpsql.standing")] == ["ended"]
    assert ward.ask(user="bob") != []  # who had not paid for it
    assert ward.charges == 2
    again = ward.ask(settings=Settings(renew="on"))
    assert [number for _, number in again if number] == [2, 1, 2, 2]
    ward.declare(TABLE)
    ward.copy(MORE, FOURTH + timedelta(days=1))
    assert ward.told() == {1: 2, 2: 1, 3: 2, 4: 2, 5: 0}  # it goes on, where it was


def test_rows_of_days_to_come_wait(ward: Ward) -> None:
    """Where the source's clock is ahead: they count when their day has closed by ours, and use up nothing before."""
    ward.copy([*FIRST, *[("p", 9, "a", 1.0)] * 3, ("p", 400, "a", 1.0)])
    assert ward.told() == {1: 2, 2: 1}
    assert any("what came before 2026-03-03" in said for said in ward.said)
    ward.copy([*FIRST, *[("p", 9, "a", 1.0)] * 3], datetime(2026, 3, 11, 12, tzinfo=UTC), whole=False)
    assert _counts(ward.told()) == {1: 2, 2: 1, 3: 1, 9: 3}
    assert ward.charges == 1


def test_a_column_that_is_a_time_no_more_is_not_copied(ward: Ward) -> None:
    """What was copied and told before is told still; what the new copy lacks is said."""
    ward.ask()
    with duckdb.connect(ward.directory / "records.duckdb") as connection:
        connection.execute("ALTER TABLE visits ALTER admitted_at TYPE VARCHAR")
    with pytest.raises(ConfigError) as caught:
        write_snapshot(ward.config, lambda _: None, Cancellation(), lambda: FOURTH)
    assert (
        'column "admitted_at" of table "visits" is declared timestamp, the engine has VARCHAR' in caught.value.message
    )
    assert ward.told() == {1: 2, 2: 1}
    assert ward.charges == 1


def test_a_statement_is_not_paid_twice_in_silence(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has made it another question: the type of a stored column, or how it is measured best."""
    ward.ask()
    identity = StandingPart.identity
    monkeypatch.setattr(StandingPart, "identity", lambda part, *whose: identity(part, "other", *whose))
    with pytest.raises(Unsupported, match="have ended within 2026-03"):
        ward.ask()
    assert ward.told(DAILY.replace("03-01", "03-02")) == {2: 1}
    assert ward.charges == 2
    ward.ask(DAILY.replace("count(*)", "sum(cost)"))
    assert ward.ask(settings=Settings(renew="on")) != []
    assert ward.charges == 3


@pytest.mark.parametrize(
    "what", ["count(*), sum(cost)", "variance(cost), sum(cost)", "count(*) FILTER (WHERE ward = 'a'), sum(cost)"]
)
@pytest.mark.parametrize("rows", [3_000, 10_000, 100_000])
def test_how_many_days_are_asked_for_decides_nothing_else(ward: Ward, what: str, rows: int) -> None:
    """However many rows the owner expects, by which designs are chosen: a chart of the last days is one question."""
    (ward.directory / "config.yaml").write_text(CONFIG.replace("per_query: {epsilon: 1e6}", "per_query: {epsilon: 1}"))
    ward.declare(TABLE.replace("table: visits", f"table: visits\nexpected_rows: {rows}"))
    ward.copy(FIRST)
    for days in (1, 2, 5, 31):
        end = f"{date(2026, 3, 1) + timedelta(days)}"
        ward.ask(DAILY.replace("count(*)", what).replace("2026-04-01", end))
    assert ward.charges == 1


def test_other_bounds_of_the_time_are_no_other_question(ward: Ward) -> None:
    """They are moved on by owners as the years go by."""
    ward.ask()
    ward.declare(TABLE.replace("2040-01-01", "2045-01-01"))
    ward.copy(MORE, FOURTH)
    assert ward.told() == {1: 2, 2: 1, 3: 2, 4: 2}
    assert ward.charges == 1


def _begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process have begun just now."""
    monkeypatch.setattr(measuring, "_LINEAGES", measuring._Lineages())


def test_a_store_that_was_put_back_measures_nothing(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was told is told on; a new question begins in it."""
    ward.ask()
    shutil.copytree(ward.place, ward.directory / "backup")
    ward.copy(MORE, FOURTH)
    assert len(ward.told()) == 4
    shutil.rmtree(ward.place)
    shutil.move(ward.directory / "backup", ward.place)
    ward.copy(MORE, FOURTH + timedelta(days=1))
    _begin_anew(monkeypatch)
    assert len(ward.told()) == 4
    assert any("nothing more of it is measured now" in said for said in ward.said)
    assert ward.told(DAILY.replace("count(*)", "sum(cost)"))


def test_a_lost_store_ends_the_question(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts that begin at nothing are not those that the ledger means."""
    ward.ask()
    shutil.rmtree(ward.place)
    _begin_anew(monkeypatch)
    ward.copy(MORE, FOURTH)
    assert ward.told() == {1: 2, 2: 1}


def test_a_second_server_takes_over(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """It measures from then on; the first one tells what is stored."""
    ward.ask()
    first = measuring._LINEAGES
    _begin_anew(monkeypatch)
    ward.copy(MORE, FOURTH)
    assert len(ward.told()) == 4
    monkeypatch.setattr(measuring, "_LINEAGES", first)
    ward.copy(MORE, FOURTH + timedelta(days=1))
    assert len(ward.told()) == 4
    with pytest.raises(EngineNotReady):
        ward.ask(DAILY.replace("count(*)", "sum(cost)"))
    assert ward.charges == 1


def test_a_failure_locks_the_question(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the account is opened; then the same days are measured, since no account was written."""

    def fails(*_: object) -> None:
        raise duckdb.Error

    with monkeypatch.context() as patched:
        patched.setattr(accounts.HeldAccounts, "_add", fails)
        with pytest.raises(EngineFailed):
            ward.ask()
    with pytest.raises(AccountClosed, match="locked"):
        ward.ask()
    ward.ledger.unlock("owner")
    assert ward.told() == {1: 2, 2: 1}
    assert ward.charges == 1


@pytest.mark.parametrize("where", ["exact_sums", "_kept"])
def test_a_kill_after_the_accounts_loses_its_days(ward: Ward, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """They are never measured again; once it is unlocked later days are."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        target: object = measuring if where == "exact_sums" else measuring.StandingMeasuring
        patched.setattr(target, where, killed)
        with pytest.raises(KeyboardInterrupt):
            ward.ask()
    _begin_anew(monkeypatch)
    with pytest.raises(AccountClosed, match="locked"):
        ward.ask()
    ward.ledger.unlock("owner")
    ward.copy(MORE, FOURTH)
    assert ward.told() == {3: 2, 4: 2}
    assert any("2026-03-01, 2026-03-02: a measurement failed" in said for said in ward.said)
    assert ward.charges == 1


def test_a_kill_before_the_accounts_loses_nothing(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim is given again to who stands before it."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(accounts.HeldAccounts, "_add", killed)
        with pytest.raises(KeyboardInterrupt):
            ward.ask()
    _begin_anew(monkeypatch)
    assert ward.told() == {1: 2, 2: 1}
    assert ward.charges == 1


def test_without_grows_nothing_is_otherwise(ward: Ward) -> None:
    """The same statement is measured anew on each copy."""
    ward.declare("".join(line for line in TABLE.splitlines(keepends=True) if not line.startswith("grows")))
    ward.copy(FIRST)
    assert _counts(ward.told()) == {1: 2, 2: 1, 3: 1}
    ward.copy(MORE, FOURTH)
    assert _counts(ward.told()) == {1: 2, 2: 1, 3: 2, 4: 2}
    assert ward.charges == 2
    assert not ward.place.exists()
