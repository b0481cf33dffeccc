"""A statement's class for the wire: private, prepared or executed by name, refused or left out here, or the shadow's alone.

Read by PostgreSQL's own lexical rules; what is not allowed by name is refused (`allowed.py`).
"""

from dataclasses import dataclass, replace

from dpsql.errors import DpsqlError, Refusal
from dpsql.gateway.request import Question
from dpsql.lexer.kinds import kind
from dpsql.lexer.reader import Reader
from dpsql.lexer.split import statements
from dpsql.wire.intercept.allowed import refusal
from dpsql.wire.intercept.cursors import fetched
from dpsql.wire.intercept.settings import own_setting

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


def read(text: str) -> Prepare | ExecuteNamed | Deallocate | Fetch | RefusedStatement | LeftOut | None:
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
            cursor = fetched(reader)
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
    reader.skip_parentheses()
    reader.skip("analyze", "analyse")
    reader.skip("verbose")
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


def tag(text: str) -> bytes | None:
    """Return the command tag for the client where the answer runs as another kind of statement; else None.

    Raises:
        DpsqlError: PostgreSQL would not read it.
    """
    return b"EXPLAIN" if "explain" in text.lower() and kind(_begun(text)) == "EXPLAIN" else None


def is_restoring(text: str) -> bool:
    """Return whether a text changes settings or ends a transaction, and does nothing else."""
    try:
        kinds = {kind(Reader(text[start:end])) for start, end in statements(text)}
    except DpsqlError:
        return False
    return kinds <= _RESTORING
