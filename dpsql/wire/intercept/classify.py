"""A statement's class for the wire: private, prepared or executed by name, refused or left out here, or the shadow's.

Read by PostgreSQL's own lexical rules; what is not allowed by name is refused.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from dpsql.errors import AccessDenied, DpsqlError, Refusal, SyntaxFailed, Unsupported
from dpsql.gateway.request import Question
from dpsql.lexer.reader import Reader, skip_explain_options, statement_kind, statements
from dpsql.wire.intercept.settings import own_setting, refused_setting

# The kinds of statement that may reach the shadow: those named here, and no others.
#
# The shadow's privileges take away most of the rest by themselves; here the client is told what it can do instead.

_PASSED = frozenset({
    "SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE TABLE",
    "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE",
    "RESET", "SHOW", "DISCARD", "EXECUTE", "DEALLOCATE", "DECLARE CURSOR", "FETCH", "MOVE", "CLOSE CURSOR", "UNLISTEN",
    "ANALYZE", "CREATE TABLE", "CREATE INDEX", "ALTER TABLE", "ALTER INDEX", "DROP TABLE", "DROP INDEX", "DROP VIEW",
})  # fmt: skip
_UNSUPPORTED = ("LISTEN", "NOTIFY", "LOAD", "CALL", "DO")
_INSIDE = ("PREPARE", "EXPLAIN")
_NEVER_INTO = ("insert", "update", "delete", "merge")
"""First words of statements that have no INTO but their own."""

_OWN_SCHEMA = "dpsql"
"""The schema whose tables are empty in the shadow."""
_THE_CLIENT = ("stdin", "stdout")
_COMMENTED = ("table", "column", "view")
_MOST_WORDS = 6

_NO_DUMP = "Clients need no locks, so pg_dump is not for them: \\d and dpsql.columns show the tables' definitions."


def refusal(reader: Reader) -> DpsqlError | None:
    """Return why the statement that begins at the reader's next token may not reach the shadow; None if it may.

    Raises:
        DpsqlError: where it can't be read.
    """
    first, is_temporary_view = reader.token, _is_temporary_view(reader)
    command = statement_kind(reader)
    if command is not None and command in _READ_FURTHER:
        return _READ_FURTHER[command](reader)
    match command:
        case None:
            return SyntaxFailed(f'syntax error at or near "{first.text}"', position=first.start + 1)
        case "CREATE VIEW" if is_temporary_view:
            return None
        case _ if command in _PASSED:
            return None
        case _ if command in _UNSUPPORTED:
            return Unsupported(f"{command} is not supported", because="statement-runs-code")
        case _:
            return _denied(command)


def _commented(reader: Reader) -> DpsqlError | None:
    return None if reader.skip("on") and reader.word in _COMMENTED else _denied("COMMENT")


def _copied(reader: Reader) -> DpsqlError | None:
    """Return why a COPY is refused: what it reads or writes is the server's, or a table of dpsql's that only queries show."""
    names = []
    if reader.skip_parentheses() is None:
        while (name := reader.name()) is not None:
            names.append(name)
            if not reader.skip("."):
                break
        reader.skip_parentheses()
    reads = reader.word == "to"
    if not reader.skip("to", "from"):
        return None
    if reads and names[-2:-1] == [_OWN_SCHEMA]:
        return Unsupported(
            "COPY takes a query of dpsql's tables",
            because="copy-of-accounts",
            hint=f"COPY (TABLE {'.'.join(names)}) TO STDOUT is answered.",
        )
    if reader.word in _THE_CLIENT:
        return None
    hint = "COPY (SELECT ...) TO STDOUT sends rows to the client; psql's \\copy puts them into a file."
    return AccessDenied(
        "permission denied to COPY files and programs of the server", because="clients-only-read", hint=hint
    )


def _extended(reader: Reader) -> DpsqlError | None:
    """Return why an extension may not be made: none but the one that every PostgreSQL has, which is there already."""
    named = reader.skip("if") and reader.skip("not") and reader.skip("exists") and reader.name() == "plpgsql"
    reader.skip("with")
    if reader.skip("schema"):
        named = named and reader.name() == "pg_catalog"
    return None if named and (reader.is_at_end or reader.word == ";") else _denied("CREATE EXTENSION")


def _is_temporary_view(reader: Reader) -> bool:
    """Return whether the statement makes a temporary view of a plain query; nothing is taken."""
    if reader.word != "create":
        return False
    words = [reader.ahead(place).word for place in range(_MOST_WORDS)]  # create or replace local temp view
    return any(pair in (("temp", "view"), ("temporary", "view")) for pair in itertools.pairwise(words))


def _refused_to_explain(reader: Reader) -> DpsqlError | None:
    """Return why a statement may not be explained: EXPLAIN ANALYZE runs it, and no event trigger fires for it."""
    skip_explain_options(reader)
    first = reader.word
    failed = refusal(reader)
    if failed is not None or first in _NEVER_INTO:
        return failed
    creates = first == "create"
    while not creates and not reader.is_at_end:
        creates = reader.take().word == "into"
    hint = "EXPLAIN its SELECT, without INTO."
    return (
        Unsupported("EXPLAIN of what creates or fills a table is not supported", because="explain-creates", hint=hint)
        if creates
        else None
    )


def _prepared(reader: Reader) -> DpsqlError | None:
    if reader.skip("transaction"):
        return None
    reader.name()
    reader.skip_parentheses()
    return refusal(reader) if reader.skip("as") else None


def _denied(command: str) -> AccessDenied:
    verb, _, thing = command.lower().partition(" ")
    if verb not in ("create", "alter", "drop"):
        return AccessDenied(
            f"permission denied for {command}",
            because="clients-only-read",
            hint=_NO_DUMP if command == "LOCK TABLE" else "Clients read, and keep temporary tables and views.",
        )
    article = "an" if thing[:1] in "aeio" else "a"
    hint = f"Create a temporary {'view' if thing == 'view' else 'table'}." if verb == "create" else None
    return AccessDenied(f"permission denied to {verb} {article} {thing}", because="clients-only-read", hint=hint)


_READ_FURTHER: Mapping[str, Callable[[Reader], DpsqlError | None]] = {
    "SET": refused_setting,
    "EXPLAIN": _refused_to_explain,
    "PREPARE": _prepared,
    "COPY": _copied,
    "COMMENT": _commented,
    "CREATE EXTENSION": _extended,
}
"""Kinds of which some statements are refused, and what reads on behind their first words."""


# Cursors over answers, whose rows FETCH describes by the client's own query: columns come from the tables that it reads.
#
# DECLARE c CURSOR FOR SELECT payment_type, count(*) …; FETCH 2 FROM c   →   the first comes from column 6 of trips
#
# In the shadow the cursor runs the answer, whose columns come from no table.

_ORIGIN, _FIXED = 6, 18
"""Bytes of a column's description: its table and number; all behind the name."""
_NO_ORIGIN = bytes(_ORIGIN)
_MOST_OF_CURSORS = 2**17
"""Bytes of descriptions that are kept for a session; the oldest go first."""


class Cursors:
    """The cursors of a session that were declared over answers, by name.

    Of those that were closed some stay, until another takes the name: FETCH finds none of them in the shadow.
    """

    def __init__(self) -> None:
        self._described: dict[str, bytes] = {}

    def declare(self, text: str, described: bytes = b"") -> None:
        """Note that a statement is to run, which may declare a cursor; of ours `described` has the columns of its query."""
        name = _declared(text) if described or self._described else None
        if name is None:
            return
        self._described.pop(name, None)
        if described:
            self._described[name] = described
        while sum(map(len, self._described.values())) > _MOST_OF_CURSORS:
            del self._described[next(iter(self._described))]

    def may_have(self, name: str) -> bool:
        """Return whether a cursor of this name may be one of these."""
        return name in self._described

    def shown(self, text: str, body: bytes) -> bytes:
        """Return a statement's RowDescription; of a FETCH with its columns' origins, where they are those of the query."""
        reader = Reader(text) if self._described else None
        name = fetched_cursor(reader) if reader is not None and reader.skip("fetch") else None
        if name is None:
            return body
        ours, theirs = (tuple(_columns(description)) for description in (body, self._described.get(name, b"\0\0")))
        if [column for _, *column in ours] != [column for _, *column in theirs]:
            return body
        told = bytearray(body)
        for (at, *_), (there, *_) in zip(ours, theirs, strict=True):
            if body[at : at + _ORIGIN] == _NO_ORIGIN:
                told[at : at + _ORIGIN] = self._described[name][there : there + _ORIGIN]
        return bytes(told)


def fetched_cursor(reader: Reader) -> str | None:
    """Return the cursor that a FETCH names, which is its last word; its first is taken."""
    cursor = None
    while not reader.is_at_end:
        name = reader.name()
        if name is None:
            reader.take()
        else:
            cursor = name
    return cursor


def _declared(text: str) -> str | None:
    """Return the cursor that a statement declares; None where it declares none, or one whose rows are binary."""
    reader = Reader(text)
    while reader.skip(";"):
        pass
    name = reader.name() if reader.skip("declare") else None
    return None if reader.word == "binary" else name


def _columns(body: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield of each column where its origin stands, its name and its type."""
    at = 2
    while at < len(body):
        end = body.index(b"\0", at) + 1
        yield end, body[at:end], body[end + _ORIGIN : end + _ORIGIN + 4]
        at = end + _FIXED


# The classes, and how a statement comes to its own.

_RESTORING = frozenset({"SET", "RESET", "DISCARD", "SHOW", "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK"})


@dataclass(frozen=True, slots=True)
class Prepare:
    """`PREPARE name AS inner`."""

    name: str
    inner: str


@dataclass(frozen=True, slots=True)
class ExecuteNamed:
    """`EXECUTE name (arguments)`."""

    text: str
    name: str
    arguments: str
    explain: str = ""
    """The words before it: `EXPLAIN`, with its options."""


@dataclass(frozen=True, slots=True)
class Deallocate:
    """`DEALLOCATE name`, or of all: also `DISCARD ALL`."""

    name: str | None


@dataclass(frozen=True, slots=True)
class RefusedStatement:
    """A statement that fails when it is run."""

    refusal: Refusal


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A statement that is taken and not run: `ANALYZE`, which would show everybody how many rows a temporary table has.

    So is the making of an extension that is there, of which the client gets a notice.
    """

    tag: bytes
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Fetch:
    """`FETCH … FROM cursor`."""

    cursor: str


ClassifiedStatement = Question | Prepare | ExecuteNamed | Deallocate | Fetch | RefusedStatement | LeftOut


def classify_statement(text: str) -> Prepare | ExecuteNamed | Deallocate | Fetch | RefusedStatement | LeftOut | None:
    """Return what a statement is by its first words; None if it is for the gateway or the shadow to tell."""
    try:
        reader = _begun(text)
        if reader.is_at_end:
            return None
        error = refusal(reader)
        if error is not None:
            return RefusedStatement(Refusal.of(error))
        reader = _begun(text)
        if reader.skip("prepare") and reader.word != "transaction":
            return _prepare(text, reader)
        if reader.skip("execute"):
            return _execute(text, reader)
        if reader.skip("explain"):
            return _explained(text, reader)
        if reader.skip("analyze", "analyse"):
            return LeftOut(b"ANALYZE")
        if reader.skip("create") and reader.skip("extension"):
            return LeftOut(b"CREATE EXTENSION", 'extension "plpgsql" already exists, skipping')
        if reader.skip("fetch"):
            cursor = fetched_cursor(reader)
            return None if cursor is None else Fetch(cursor)
        if reader.skip("discard"):
            return Deallocate(None) if reader.skip("all") else None
        return _deallocate(reader) if reader.skip("deallocate") else None
    except DpsqlError as failed:
        return RefusedStatement(Refusal.of(failed))


def _begun(text: str) -> Reader:
    """Return a reader behind any semicolons at the start: statements may be empty."""
    reader = Reader(text)
    while reader.skip(";"):
        pass
    return reader


def set_by(text: str) -> tuple[str, str] | None:
    """Return the setting of dpsql's own that a statement sets, and its value; None if it sets none.

    Raises:
        DpsqlError: where it can't be read.
    """
    return own_setting(_begun(text))


def _prepare(text: str, reader: Reader) -> Prepare | None:
    name = reader.name()
    reader.skip_parentheses()
    at = reader.token.end
    return Prepare(name, text[at:]) if name is not None and reader.skip("as") else None


def _execute(text: str, reader: Reader) -> ExecuteNamed | None:
    name = reader.name()
    start, end = reader.skip_parentheses() or (0, 0)
    return None if name is None else ExecuteNamed(text, name, text[start:end].strip())


def _explained(text: str, reader: Reader) -> ExecuteNamed | None:
    skip_explain_options(reader)
    at = reader.token.start
    executed = _execute(text, reader) if reader.skip("execute") else None
    return None if executed is None else replace(executed, text=text[at:], explain=text[:at])


def _deallocate(reader: Reader) -> Deallocate | None:
    if reader.word == "prepare" and reader.ahead(1).text not in ("", ";"):
        reader.take()
    if reader.skip("all"):
        return Deallocate(None)
    name = reader.name()
    return None if name is None else Deallocate(name)


def command_tag(text: str) -> bytes | None:
    """Return the command tag for the client where the answer runs as another kind of statement; else None.

    Raises:
        DpsqlError: PostgreSQL would not read it.
    """
    return b"EXPLAIN" if "explain" in text.lower() and statement_kind(_begun(text)) == "EXPLAIN" else None


def is_restoring(text: str) -> bool:
    """Return whether a text changes settings or ends a transaction, and does nothing else."""
    try:
        kinds = {statement_kind(Reader(text[start:end])) for start, end in statements(text)}
    except DpsqlError:
        return False
    return kinds <= _RESTORING
