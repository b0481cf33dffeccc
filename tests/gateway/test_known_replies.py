"""A reply that is remembered is the one that would be written again: of the same plan, price, role and releases."""

import pytest

from dpsql.accounting.sqlite.ledger import SqliteFile, SqliteLedger
from dpsql.gateway import planned_questions
from dpsql.gateway.gateway import Gateway
from dpsql.gateway.measuring import account
from dpsql.gateway.request import Reply
from dpsql.policy.model import Policy
from dpsql.question import Argument, Settings
from tests.support.fix_world import Client, NewClient, noon
from tests.support.memory import Memory

GROUPED = "SELECT pickup_zone, count(*), avg(fare) FROM trips GROUP BY 1 ORDER BY 1"
WRITTEN = "dpsql.gateway.gateway.splice"


@pytest.fixture
def client(new_client: NewClient, policy: Policy) -> Client:
    """Give a client of a gateway of its own."""
    return new_client(Memory(policy))


def _remembered(client: Client) -> int:
    return len(client.gateway._known.replies._entries)


def _again(client: Client, sql: str, settings: Settings = Settings(), arguments: tuple[Argument, ...] = ()) -> Reply:
    """Return what is answered where everything is paid for."""
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    reply = client.gateway.answer(client.request(question, settings, arguments))
    assert isinstance(reply, Reply)
    return reply


def test_a_repeated_reply_is_written_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes are those that would be written; afterwards nothing is."""
    client.ask(GROUPED)
    written = _again(client, GROUPED)
    client.gateway._known.replies.clear()
    assert _again(client, GROUPED) == written
    monkeypatch.setattr(Gateway, "_reply", None)
    assert _again(client, GROUPED) == written


def _recalled(client: Client, sql: str, settings: Settings = Settings()) -> Reply | None:
    """Return what takes no time."""
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    request = client.request(question, settings)
    told = client.gateway.recalled(request)
    assert bool(request.receipt.releases) == (told is not None)
    return told


def test_what_was_told_is_recalled_without_a_transaction(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything planned, looked up or written; the receipt names the releases."""
    assert _recalled(client, GROUPED) is None
    client.ask(GROUPED)
    assert _recalled(client, GROUPED) is None
    told = _again(client, GROUPED)
    with monkeypatch.context() as patched:
        for name in ("answer", "priced", "_found"):
            patched.setattr(Gateway, name, None)
        patched.setattr(SqliteFile, "read", None)
        assert _recalled(client, GROUPED) == told
    assert _recalled(client, f"{GROUPED} LIMIT 5") is None
    assert _recalled(client, GROUPED, Settings(reuse="off")) is None
    assert isinstance(client.ledger, SqliteLedger)
    with SqliteLedger(client.ledger._file._path, noon) as other:  # as another process would
        other.advance("new records")
    assert _recalled(client, GROUPED) is None


def test_what_is_read_off_others_is_not_recalled(client: Client) -> None:
    """Nor what aims at an error: other releases may tell it, and there are looks at more of the ledger."""
    client.ask(GROUPED)
    for sql, settings in (
        ("SELECT pickup_zone, sum(fare) FROM trips GROUP BY 1", Settings()),
        (GROUPED, Settings(error="90 %")),
    ):
        client.ask(sql, settings)
        told = _again(client, sql, settings)
        assert settings.error or "computed from" in "".join(told.notices)
        assert _recalled(client, sql, settings) is None


def test_an_answer_that_another_process_has_read_off_is_looked_at(client: Client) -> None:
    """It is told as it was told first."""
    client.ask(GROUPED)
    _again(client, GROUPED)
    (kept,) = [reply for reply, _ in client.gateway._known.replies._entries.values()]
    assert kept.names
    payer = account(client.gateway._deps.policy, client.asker)
    client.ledger.keep_readings(payer, {kept.names[0]: [*kept.shown]})
    assert _recalled(client, GROUPED) is None


@pytest.mark.parametrize(
    "settings",
    [
        Settings(epsilon="0.5", reuse="off"),
        Settings(empty_groups="hide"),
        Settings(error="90 %"),
        Settings(time_zone="Asia/Tokyo"),
    ],
    ids=["epsilon", "empty groups", "error", "time zone"],
)
def test_other_settings_have_replies_of_their_own(client: Client, settings: Settings) -> None:
    """None is what another setting was told."""
    for given in (Settings(), settings):
        client.ask(GROUPED, given)
        _again(client, GROUPED, given)
    assert _remembered(client) == 2


def test_a_short_statement_is_examined_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long one is not, until it was; nor is one over which dpsql stumbles, which is told where it is examined."""
    gateway, long = client.gateway, f"{GROUPED} -- {'x' * 500}"
    assert gateway.recall("SELECT 1") == (None,)
    assert gateway.recall(GROUPED) == (gateway.examine(GROUPED, client.asker),)
    assert gateway.recall(long) is None
    question = gateway.examine(long, client.asker)
    assert gateway.recall(long) == (question,)
    monkeypatch.setattr(Gateway, "_question", None)
    assert gateway.recall(f"{GROUPED} LIMIT 7") is None


def test_other_arguments_have_replies_of_their_own(client: Client) -> None:
    """The text alone does not tell what was asked."""
    sql = "SELECT count(*) FROM trips WHERE fare > $1"
    asked = [(Argument(value, "numeric"),) for value in ("10", "20")]
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    for arguments in asked:
        client.text(question, Settings(), arguments)
        _again(client, sql, Settings(), arguments)
    assert _remembered(client) == 2


def test_a_new_epoch_has_new_replies(client: Client) -> None:
    """What was remembered belongs to releases that answer nothing any more: it is measured, and charged, again."""
    client.ask(GROUPED)
    _again(client, GROUPED)
    charges = client.charges
    client.ledger.advance("new records")
    client.ask(GROUPED)
    _again(client, GROUPED)
    assert client.charges > charges
    assert _remembered(client) == 1


def test_who_has_not_paid_is_not_told(new_client: NewClient, policy: Policy) -> None:
    """Another role pays for itself, however often others were told."""
    engine = Memory(policy)
    eve = new_client(engine, "eve")
    eve.ask(GROUPED)
    _again(eve, GROUPED)
    other = Client(eve.gateway, eve.ledger, eve.connection, eve.owner, new_client(engine, "leo").asker)
    question = other.gateway.examine(GROUPED, other.asker)
    assert question is not None
    assert not isinstance(other.gateway.answer(other.request(question)), Reply)
    assert _recalled(other, GROUPED) is None
    assert _recalled(eve, GROUPED) is not None


def test_what_changes_by_itself_is_not_remembered(client: Client) -> None:
    """Nor is what the shadow has computed from inner answers."""
    for sql in (
        "SELECT count(*), now() FROM trips WHERE pickup_ts < now()",
        "SELECT count(*) FROM trips WHERE fare > (SELECT avg(fare) FROM trips)",
    ):
        client.ask(sql)
        client.ask(sql)
    assert _remembered(client) == 0


def test_replies_take_no_more_than_they_may(
    new_client: NewClient, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long statement counts in what a reply is found by."""
    monkeypatch.setattr(planned_questions, "_MOST_REPLIES", 4_500)
    client = new_client(Memory(policy))
    client.ask(GROUPED)
    _again(client, GROUPED)
    assert _remembered(client) == 1
    long = f"{GROUPED} -- {'x' * 3_000}"
    client.ask(long)
    _again(client, long)
    assert _remembered(client) <= 1
    assert client.gateway._known.replies.size <= 4_500
