"""`dpsql budget`, `dpsql refresh` and `dpsql unlock`."""

import json
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, Failure, FailureKind
from dpsql.accounting.privacy_loss import renewal
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.cli.main import app
from dpsql.open_ledger import _dataset, open_ledger, place_of_ledger
from dpsql.policy.load import load
from dpsql.policy.model import Period, Privacy
from tests.policy.fix_config import write_files

RUN = CliRunner()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration whose only role has spent ε = 1/4; the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "120")
    path = write_files(tmp_path)
    loaded = load(path, {})
    account = Account("ana", loaded.policy.roles["owner"], loaded.policy.budgets["passenger"])
    with (
        open_ledger(loaded) as ledger,
        ledger.open_statement(account, "SELECT 1", [ChargeItem("key", Privacy(Fraction(1, 4)), "count")]) as statement,
    ):
        statement.store("key", b"release")
    return path


def test_budget_shows_what_is_spent_and_left(config: Path) -> None:
    """For the role in its period, and for its unit kind."""
    done = RUN.invoke(app, ["budget", "--config", str(config)])
    assert done.exit_code == 0
    rows = [re.split(" {2,}", line) for line in done.stdout.splitlines()]
    renews = renewal(Period.WEEK, datetime.now(UTC))
    assert rows[1::2] == [
        ["owner", "passenger", "ε 0.25", "ε 4.75, δ 1e-6", "19 at ε 0.25", str(renews), "open"],
        ["passenger", "all time", "ε 0.25", "ε 9.75, δ 1e-5"],
    ]


def test_a_ledger_that_is_ahead_is_dated_up_to_now(config: Path) -> None:
    """It is told of, and nothing happens unless somebody says that the clock is right."""
    said = RUN.invoke(app, ["ledger", "redate", "--config", str(config)])
    assert (said.exit_code, "nothing" in said.stdout) == (0, True)
    loaded = load(config, {})
    ahead = datetime.now(UTC) + timedelta(days=400)
    account = Account("ana", loaded.policy.roles["owner"], loaded.policy.budgets["passenger"])
    item = ChargeItem("ahead", Privacy(Fraction(1, 4)), "count")
    path = place_of_ledger(loaded)
    with (
        SqliteLedger(path, lambda: ahead, _dataset(loaded)) as ledger,
        ledger.open_statement(account, "SELECT 1", [item]),
    ):
        pass
    refused = RUN.invoke(app, ["ledger", "redate", "--config", str(config)], input="n\n")
    assert (refused.exit_code, f"{ahead:%Y-%m-%d}" in refused.output) == (1, True)
    done = RUN.invoke(app, ["ledger", "redate", "--yes", "--config", str(config)])
    assert done.exit_code == 0
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert f"1 charges count as made between {today} and {today}" in done.stdout
    assert "nothing" in RUN.invoke(app, ["ledger", "redate", "--config", str(config)]).stdout


def _budget(config: Path, *words: str) -> Result:
    return RUN.invoke(app, ["budget", *words, "--config", str(config)])


def test_budget_for_programs(config: Path) -> None:
    """All amounts, as decimals in texts."""
    shown = json.loads(_budget(config, "show", "--json").stdout)
    owner = shown["roles"]["owner"]
    assert (owner["spent"]["epsilon"], owner["left"]["epsilon"], owner["questions_left"]) == ("0.25", "4.75", 19)
    assert shown["unit_kinds"]["passenger"]["left"] == {"epsilon": "9.75", "delta": "1e-5"}


def test_a_grant_lets_a_role_spend_more(config: Path) -> None:
    """Until its period ends; that all roles together have less is said."""
    done = _budget(config, "grant", "owner", "--epsilon", "10", "--reason", "the yearly report")
    assert done.exit_code == 0, done.output
    renews = renewal(Period.WEEK, datetime.now(UTC))
    assert f'role "owner" may spend ε 10 more, until {renews}: it has ε 14.75, δ 1e-6 left' in done.stdout
    assert "all roles together have ε 9.75, δ 1e-5 left, and that stays so" in done.stdout
    assert json.loads(_budget(config, "show", "--json").stdout)["roles"]["owner"]["granted"]["epsilon"] == "10"


def test_a_grant_says_what_is_left_for_the_copy_that_answers(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a window: what was read on the days of the copy stays in it, as `dpsql budget show` has it."""
    config.write_text(config.read_text(encoding="utf-8").replace("delta: 1e-5", "delta: 1e-5, window: 10 days", 1))
    loaded, day = load(config, {}), datetime.now(UTC) - timedelta(days=20)
    account = Account("ana", loaded.policy.roles["owner"], loaded.policy.budgets["passenger"])
    item = ChargeItem("of a copy", Privacy(Fraction(3)), "count", read=ReadDays.of_now(day))
    with open_ledger(loaded) as ledger, ledger.open_statement(account, "SELECT 2", [item]) as statement:
        statement.store("of a copy", b"release")
    monkeypatch.setattr("dpsql.cli.commands.budget.days_of_copy", lambda _: ReadDays.of_now(day))
    done = _budget(config, "grant", "owner", "--epsilon", "10", "--reason", "the yearly report")
    assert "all roles together have ε 7, δ 1e-5 left" in done.stdout
    assert json.loads(_budget(config, "show", "--json").stdout)["unit_kinds"]["passenger"]["left"]["epsilon"] == "7"


def test_a_correction_is_charged(config: Path) -> None:
    """To a role and to the data set, or to this alone."""
    done = _budget(config, "correct", "owner", "--epsilon", "1", "--reason", "a table\nwas published")
    assert (done.exit_code, done.stdout) == (
        0,
        'role "owner" and unit kind "passenger" are charged ε 1: a table was published\n',
    )
    done = _budget(config, "correct", "--unit", "passenger", "--epsilon", "1/2", "--delta", "1e-6", "--reason", "lost")
    assert (done.exit_code, done.stdout) == (0, 'unit kind "passenger" is charged ε 0.5, δ 1e-6: lost\n')
    shown = json.loads(_budget(config, "show", "--json").stdout)
    assert shown["roles"]["owner"]["left"]["epsilon"] == "3.75"
    assert shown["unit_kinds"]["passenger"]["left"] == {"epsilon": "8.25", "delta": "9e-6"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("grant", "nobody", "--epsilon", "1", "--reason", "r"), 'there is no role "nobody"\nHINT: Roles: owner'),
        (("grant", "owner", "--epsilon", "-1", "--reason", "r"), "--epsilon -1 --delta 0 is no amount to add"),
        (("grant", "owner", "--epsilon", "1e400", "--reason", "r"), "--epsilon 1e400 --delta 0 is no amount to add"),
        (("grant", "owner", "--epsilon", "much", "--reason", "r"), "is no amount to add\nHINT: ε is more than 0"),
        (("grant", "owner", "--epsilon", "1", "--delta", "1", "--reason", "r"), "is no amount to add"),
        (("correct", "owner", "--epsilon", "0", "--reason", "r"), "No charge is taken back"),
        (("correct", "owner", "--epsilon", "1", "--reason", " \x1b "), "--reason says nothing"),
        (("correct", "--epsilon", "1", "--reason", "r"), "a correction is for a role, or with --unit for a unit kind"),
        (("correct", "--unit", "driver", "--epsilon", "1", "--reason", "r"), "HINT: Units: passenger"),
    ],
)
def test_what_is_no_amendment_is_refused(config: Path, words: tuple[str, ...], said: str) -> None:
    """With a sentence, exit 1, and nothing written."""
    before = _budget(config, "show", "--json").stdout
    done = _budget(config, *words)
    assert (done.exit_code, said in done.stderr) == (1, True), done.output
    assert _budget(config, "show", "--json").stdout == before


def test_refresh_begins_the_next_epoch(config: Path) -> None:
    """Each call counts one further."""
    first, second = (RUN.invoke(app, ["refresh", "--config", str(config)]).stdout for _ in range(2))
    numbers = [int(line.split()[1]) for line in (first, second)]
    assert numbers[1] == numbers[0] + 1


def test_unlock_tells_what_failed_and_opens_the_account(config: Path) -> None:
    """What somebody else has asked can't speak to the terminal; a second time there is nothing to do."""
    loaded = load(config, {})
    account = Account("ana", loaded.policy.roles["owner"], loaded.policy.budgets["passenger"])
    with open_ledger(loaded) as ledger:
        for key in ("other", "another"):
            item = ChargeItem(key, Privacy(Fraction(1, 4)), "count", partial(str, key))
            with ledger.open_statement(account, "SELECT '\x1b[2J'", [item]) as statement:
                statement.fail(key, Failure(FailureKind.BROKEN, "IndexError in privacy/exact.py, line 9"))
        assert ledger.is_closed("owner")
    assert "closed" in RUN.invoke(app, ["budget", "--config", str(config)]).stdout
    done = RUN.invoke(app, ["unlock", "owner", "--config", str(config)])
    assert (done.exit_code, "\x1b" in done.stdout) == (0, False)
    first, _, second, last = done.stdout.splitlines()
    assert "failed by a bug of dpsql: IndexError in privacy/exact.py, line 9; ana asked: SELECT ' [2J'" in first
    assert "the account was closed" in second
    assert last.startswith('the account of role "owner" is open again')
    again = RUN.invoke(app, ["unlock", "owner", "--config", str(config)])
    assert (again.exit_code, again.stderr) == (
        1,
        'ERROR: the account of role "owner" is open\nDETAIL: rule: account-open-already\n',
    )


def test_unlock_of_a_role_that_there_is_not(config: Path) -> None:
    """The roles that there are are named."""
    done = RUN.invoke(app, ["unlock", "nobody", "--config", str(config)])
    assert (done.exit_code, done.stderr) == (1, 'ERROR: there is no role "nobody"\nHINT: Roles: owner\n')


def test_budgets_with_zcdp_show_both(config: Path) -> None:
    """What was charged, and what it comes to."""
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("delta: 1e-6, period: week}", "delta: 1e-6, accounting: zcdp}"), encoding="utf-8")
    owner = json.loads(_budget(config, "show", "--json").stdout)["roles"]["owner"]
    assert (owner["accounting"], owner["spent"]["epsilon"]) == ("zcdp", "0.25")
    assert 1 < float(owner["composed"]["epsilon"]) < 2
    assert "ε 0.25; with zCDP ε" in _budget(config).stdout
