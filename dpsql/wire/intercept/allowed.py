"""The kinds of statement that may reach the shadow: those named here, and no others.

The shadow's privileges take away most of the rest by themselves; here the client is told what it can do instead.
"""

import itertools
from collections.abc import Callable, Mapping

from dpsql.errors import AccessDenied, DpsqlError, SyntaxFailed, Unsupported
from dpsql.lexer.kinds import kind
from dpsql.lexer.reader import Reader
from dpsql.wire.intercept.settings import refused_setting

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
_EXPLAINED = ("analyze", "analyse", "verbose")

_OWN = "dpsql"
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
    command = kind(reader)
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
    if reads and names[-2:-1] == [_OWN]:
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


def _explained(reader: Reader) -> DpsqlError | None:
    """Return why a statement may not be explained: EXPLAIN ANALYZE runs it, and no event trigger fires for it."""
    reader.skip_parentheses()
    while reader.skip(*_EXPLAINED):
        pass
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
    "EXPLAIN": _explained,
    "PREPARE": _prepared,
    "COPY": _copied,
    "COMMENT": _commented,
    "CREATE EXTENSION": _extended,
}
"""Kinds of which some statements are refused, and what reads on behind their first words."""
