"""Has PostgreSQL bind a query, and say it in its own words: as the body of a function that is never called.

    BEGIN; CREATE FUNCTION pg_temp.dpsql_query (integer) … BEGIN ATOMIC SELECT … $1 … ; END
    SELECT pg_get_function_sqlbody(…); ROLLBACK

This is the one place where a client's own text reaches planning. It is analyzed and never run: of all that it says only
the input functions of types are called, for literals. It goes by the extended protocol, so it is one statement; the session
has no rights but to make what is temporary, and is rolled back. A client's temporary tables are there as empty ones.
"""

from collections.abc import Sequence

import psycopg
from psycopg import pq, sql

from dpsql.errors import DpsqlError, InternalError, SyntaxFailed, TooComplex, Unsupported
from dpsql.lexer.literals import name
from dpsql.lexer.tokens import tokens
from dpsql.question import ColumnDescription, Settings
from dpsql.rewrite.ir.spelled import quoted_name
from dpsql.shadow.oracle_session import OracleConnection

_LONGEST = 200_000
"""Characters of a query in PostgreSQL's words: `*` may stand for many columns."""
_PLAIN = {"search_path": "pg_catalog", "DateStyle": "ISO", "IntervalStyle": "iso_8601"}
"""How PostgreSQL is to write: so that no setting changes what is meant."""
_NAME = "pg_temp.dpsql_query"
_BEGIN, _END = "BEGIN ATOMIC", "END"
_FIRST_OF_OTHERS = 16_384
"""The first number of a type that is not PostgreSQL's own."""
_NAMED: dict[tuple[int, int], str] = {}
"""The names of PostgreSQL's own types."""


def canonical_text(
    query: str, types: Sequence[str], settings: Settings, connection: OracleConnection, *, again: bool
) -> str:
    """Return a query in PostgreSQL's words; see `Binder`."""
    with connection.pipeline():
        _begin(connection, settings, again=again)
        _bind(connection, query, types)
        if not again:
            for key, value in _PLAIN.items():
                _set(connection, key, value)
        answer = connection.execute(f"SELECT pg_get_function_sqlbody('{_NAME}'::regproc)".encode())
        connection.execute("ROLLBACK")
    ((text,),) = answer.fetchall()
    return _inside(text)


def described_columns(
    queries: Sequence[str], types: Sequence[str], settings: Settings, connection: OracleConnection
) -> tuple[tuple[ColumnDescription, ...], ...]:
    """Return the columns of queries in PostgreSQL's words; see `Binder`."""
    server = connection.pgconn
    with connection.pipeline():
        _begin(connection, settings, again=True)
        given = [connection.execute(sql.SQL("SELECT {}::regtype::oid::text").format(type_)) for type_ in types]
    oids = [int(oid or 0) for one in given for (oid,) in one.fetchall()]
    found = []
    for query in queries:
        _see(server.prepare(b"", query.encode(), oids))
        result = server.describe_prepared(b"")
        _see(result)
        found.append([(result.fname(i), result.ftype(i), result.fmod(i)) for i in range(result.nfields)])
    names = _names(connection, {(type_, modifier) for one in found for _, type_, modifier in one})
    connection.execute("ROLLBACK")
    return tuple(
        tuple(
            ColumnDescription((column or b"").decode(), type_, modifier, names[type_, modifier])
            for column, type_, modifier in one
        )
        for one in found
    )


def _begin(connection: OracleConnection, settings: Settings, *, again: bool) -> None:
    connection.execute("BEGIN")
    if again:
        for key, value in _PLAIN.items():
            _set(connection, key, value)
    else:
        # An empty path is "", which is no name.
        path = (
            ()
            if settings.search_path == '""'
            else (name(token) for token in tokens(settings.search_path) if token.word != ",")
        )
        names = [quoted_name(schema) for schema in path if schema]
        connection.execute(f"SET LOCAL search_path = {', '.join(names) or 'pg_catalog'}".encode())
        _set(connection, "DateStyle", f"{settings.date_style}, {settings.date_order}")
    _set(connection, "TimeZone", settings.time_zone)
    for table in settings.temporary:
        columns = ", ".join(f"{quoted_name(column)} {type_}" for column, type_ in table.columns)
        connection.execute(f"CREATE TEMP TABLE {quoted_name(table.name)} ({columns})".encode())


def _set(connection: OracleConnection, key: str, value: str) -> None:
    connection.execute(sql.SQL("SET LOCAL {} = {}").format(sql.SQL(key), value))


def _bind(connection: OracleConnection, query: str, types: Sequence[str]) -> None:
    head = f"CREATE FUNCTION {_NAME} ({', '.join(types)}) RETURNS void LANGUAGE sql {_BEGIN} "
    connection.execute((head + query + f"\n; {_END}").encode())


def _inside(text: str | None) -> str:
    if text is None or not text.startswith(_BEGIN) or not text.endswith(_END):
        raise InternalError
    inside = text[len(_BEGIN) : -len(_END)].strip().removesuffix(";")
    if len(inside) > _LONGEST:
        raise TooComplex(
            f"this statement has {len(inside):,} characters when it is written out, the limit is {_LONGEST:,}",
            because="written-out-too-long",
            hint="Name the columns that you need instead of *.",
        )
    return inside


def _see(result: pq.abc.PGresult) -> None:
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(result)


def _names(connection: OracleConnection, types: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Return the names of types as PostgreSQL spells them."""
    found = {one: _NAMED[one] for one in types if one in _NAMED}
    missing = [one for one in types if one not in found]
    if missing:
        asked = sql.SQL(", ").join(sql.SQL("format_type({}, {})").format(*one) for one in missing)
        (row,) = connection.execute(sql.SQL("SELECT {}").format(asked)).fetchall()
        found |= {one: str(spelled) for one, spelled in zip(missing, row, strict=True)}
        _NAMED.update({one: spelled for one, spelled in found.items() if one[0] < _FIRST_OF_OTHERS})
    return found


def not_bound(failed: DpsqlError) -> DpsqlError:
    """Return the error for a query that PostgreSQL does not bind, which it has taken from the client."""
    if not isinstance(failed, SyntaxFailed):
        return TooComplex(
            "this statement takes too long to bind",
            because="binding-too-long",
            hint="Shorten it: fewer operations in each other, fewer subqueries.",
        )
    return Unsupported(
        f"this statement over a protected table can't be bound: {failed.message}",
        because="statement-not-bound",
        hint="docs/sql.md says which SQL is answered.",
    )
