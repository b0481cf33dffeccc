"""The queue of owed replies, fed by hand: what the client gets, in whatever pieces the shadow's bytes come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.wire.protocol.messages import error_fields, message, text, uint32
from dpsql.wire.protocol.replies import Message, MessageKind, PendingReply, Replies, with_tables

READY = message(b"Z", b"I")
ROW = message(b"D", b"\0\1", uint32(3), b"abc")
DONE = message(b"C", text("SELECT 1"))
FAILED = message(b"E", text("SERROR"), text("C42601"), text("Mno"), b"\0")


def _replies() -> tuple[Replies, list[bool]]:
    heard: list[bool] = []
    return Replies(heard.append, lambda _: False), heard


def test_simple_query_passes_as_it_is() -> None:
    """Rows and all, up to ReadyForQuery, which settles it."""
    replies, heard = _replies()
    replies.owe(PendingReply(MessageKind.QUERY))
    assert replies.sort(ROW + DONE) == ROW + DONE
    assert not replies.is_settled
    assert replies.sort(READY) == READY
    assert replies.is_settled
    assert heard == [False]


def test_replies_to_our_own_messages_are_collected() -> None:
    """The client sees those before and after."""
    replies, _ = _replies()
    collected: list[Message] = []
    replies.owe(PendingReply(MessageKind.QUERY))
    replies.owe(PendingReply(MessageKind.PARSE, collected))
    replies.owe(PendingReply(MessageKind.SYNC))
    assert replies.sort(DONE + READY + message(b"1") + READY) == DONE + READY + READY
    assert collected == [(b"1", b"")]


def test_hidden_replies_are_left_out_but_errors_are_not() -> None:
    """What the client has not asked for it does not see; what fails it hears."""
    replies, _ = _replies()
    replies.owe(PendingReply(MessageKind.PARSE, hide=b"1"))
    replies.owe(PendingReply(MessageKind.EXECUTE, hide=b"DC"))
    assert replies.sort(message(b"1") + ROW + DONE) == b""
    replies.owe(PendingReply(MessageKind.PARSE, hide=b"1E"))
    replies.owe(PendingReply(MessageKind.SYNC))
    assert replies.sort(FAILED + READY) == FAILED + READY


@pytest.mark.parametrize(("rows", "told"), [(0, b""), (1, message(b"N", b"\0"))])
def test_notice_stands_before_the_tag_where_there_was_a_row(rows: int, told: bytes) -> None:
    """Behind what came before it."""
    replies, _ = _replies()
    replies.owe(PendingReply(MessageKind.EXECUTE))
    replies.owe(PendingReply(MessageKind.EXECUTE, hide=b"D", tag=b"DONE", notice=message(b"N", b"\0")))
    assert replies.sort(ROW[:5]) + replies.sort(ROW[5:7]) == ROW[:7]
    last = ROW * rows + message(b"C", text(b"SELECT %d" % rows))
    assert replies.sort(ROW[7:] + DONE + last) == ROW[7:] + DONE + told + message(b"C", text(b"DONE"))


def test_error_drops_what_is_owed_up_to_the_sync() -> None:
    """The shadow skips to it, and answers nothing in between."""
    replies, _ = _replies()
    done: list[str] = []
    for kind in (MessageKind.PARSE, MessageKind.BIND, MessageKind.EXECUTE):
        replies.owe(PendingReply(kind, confirmed=lambda kind=kind: done.append(kind.name)))  # type: ignore[misc]  # bound here
    replies.sort(message(b"1") + FAILED)
    assert (done, replies.skipping, replies.is_settled) == (["PARSE"], True, True)
    replies.owe(PendingReply(MessageKind.SYNC))
    replies.sort(READY)
    assert not replies.skipping


def test_parameters_and_the_end_are_noted_and_notifications_dropped() -> None:
    """Settings reach the client too; words of other users do not."""
    replies, _ = _replies()
    status = message(b"S", text("TimeZone"), text("UTC"))
    assert replies.sort(status + message(b"A", uint32(1), text("x"), text("covert"))) == status
    assert replies.parameters == {"TimeZone": "UTC"}
    assert not replies.ended
    replies.sort(message(b"E", text("SFATAL"), text("VFATAL"), text("C57P01"), b"\0"))
    assert replies.ended


def test_copy_waits_for_the_client() -> None:
    """While the shadow waits for data nothing is owed by it."""
    replies, _ = _replies()
    replies.owe(PendingReply(MessageKind.QUERY))
    replies.sort(message(b"G", b"\0\0\0"))
    assert (replies.copying, replies.is_settled, replies.is_working) == (True, True, False)
    replies.copying = False
    replies.sort(DONE + READY)
    assert replies.is_settled


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(0, 3))
def test_pieces_do_not_matter(sizes: list[int], rows: int) -> None:
    """However the bytes are cut, the client gets the same, and so do we."""
    stream = message(b"1") + ROW * rows + DONE + message(b"2") + ROW * rows + DONE + READY
    replies, _ = _replies()
    collected: list[Message] = []
    replies.owe(PendingReply(MessageKind.PARSE, hide=b"1"))
    replies.owe(PendingReply(MessageKind.EXECUTE))
    replies.owe(PendingReply(MessageKind.BIND, collected))
    replies.owe(PendingReply(MessageKind.EXECUTE, collected))
    replies.owe(PendingReply(MessageKind.SYNC))
    out, at = b"", 0
    for size in (*sizes, len(stream)):
        out += replies.sort(stream[at : at + size]) if at < len(stream) else b""
        at += size
    assert out == ROW * rows + DONE + READY
    assert [kind for kind, _ in collected] == [b"2", *[b"D"] * rows, b"C"]
    assert replies.is_settled


@pytest.mark.parametrize("kind", [MessageKind.PARSE, MessageKind.EXECUTE, MessageKind.QUERY])
def test_time_and_size_start_anew_with_what_is_owed(kind: MessageKind) -> None:
    """What the watchdog looks at belongs to one message."""
    replies, _ = _replies()
    replies.passed = 100
    replies.owe(PendingReply(kind))
    assert replies.passed == 0
    assert replies.is_working


HR = {"hr.employees": "employees", "pay.employees": "employees", '"Wards"': "Wards", "trips": "trips"}


@pytest.mark.parametrize(
    ("relation", "hint"),
    [
        ("employees", "Perhaps you mean hr.employees or pay.employees."),
        ("hr.employes", "Perhaps you mean hr.employees or pay.employees."),
        ("wards", 'Perhaps you mean "Wards".'),
        ("Trip", "Perhaps you mean trips."),
        ("Wards", 'Perhaps you mean "public"."Wards".'),
        ("people", "dpsql.columns lists the tables that you may ask about."),
    ],
)
def test_a_table_that_is_not_there_is_told_with_those_that_are(relation: str, hint: str) -> None:
    """Written as a statement has to have them; PostgreSQL says it of columns alone."""
    said = text("SERROR") + text("C42P01") + text(f'Mrelation "{relation}" does not exist') + b"\0"
    told = error_fields(with_tables(said, lambda: HR))
    assert told[b"H"].decode() == hint
    assert with_tables(text("C42P01") + text("Mmissing FROM-clause entry") + b"\0", lambda: HR).count(b"\0H") == 0
