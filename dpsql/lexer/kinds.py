"""The kind of statement that a text is, in the words of PostgreSQL's command tags."""

from dpsql.lexer.reader import Reader

_ONE_WORD = {
    "(": "SELECT", "select": "SELECT", "values": "SELECT", "table": "SELECT", "with": "WITH", "insert": "INSERT",
    "update": "UPDATE", "delete": "DELETE", "merge": "MERGE", "begin": "BEGIN", "start": "START TRANSACTION",
    "commit": "COMMIT", "end": "COMMIT", "rollback": "ROLLBACK", "abort": "ROLLBACK", "savepoint": "SAVEPOINT",
    "release": "RELEASE", "set": "SET", "reset": "RESET", "show": "SHOW", "discard": "DISCARD", "prepare": "PREPARE",
    "execute": "EXECUTE", "deallocate": "DEALLOCATE", "declare": "DECLARE CURSOR", "fetch": "FETCH", "move": "MOVE",
    "close": "CLOSE CURSOR", "copy": "COPY", "explain": "EXPLAIN", "truncate": "TRUNCATE TABLE", "listen": "LISTEN",
    "notify": "NOTIFY", "unlisten": "UNLISTEN", "lock": "LOCK TABLE", "call": "CALL", "do": "DO", "load": "LOAD",
    "checkpoint": "CHECKPOINT", "vacuum": "VACUUM", "analyze": "ANALYZE", "analyse": "ANALYZE", "cluster": "CLUSTER",
    "reindex": "REINDEX", "comment": "COMMENT", "grant": "GRANT", "revoke": "REVOKE", "security": "SECURITY LABEL",
    "import": "IMPORT FOREIGN SCHEMA", "refresh": "REFRESH MATERIALIZED VIEW", "reassign": "REASSIGN OWNED",
}  # fmt: skip
_BEFORE_KIND = (
    "or", "replace", "local", "global", "temp", "temporary", "unlogged", "recursive", "unique", "constraint", "trusted",
    "procedural", "default",
)  # fmt: skip
_SECOND = {
    "access": ("method",), "event": ("trigger",), "foreign": ("table", "data"), "materialized": ("view",),
    "text": ("search",), "user": ("mapping",), "large": ("object",), "default": ("privileges",),
}  # fmt: skip


def kind(reader: Reader) -> str | None:
    """Return the kind of the statement whose first token is next; None if none begins so. Only its first words are taken.

    Raises:
        SyntaxFailed: where PostgreSQL's lexer would stop.
    """
    word = reader.word
    if word not in ("create", "alter", "drop"):
        statement_kind = _ONE_WORD.get(word)
        if statement_kind is not None and word != "(":
            reader.take()
        return statement_kind
    reader.take()
    verb = word.upper()
    if word == "create":
        while reader.skip(*_BEFORE_KIND):
            pass
    first = reader.take().word
    if reader.word in _SECOND.get(first, ()):
        return f"{verb} {first.upper()} {reader.take().word.upper()}"
    return f"{verb} {first.upper()}".rstrip()
