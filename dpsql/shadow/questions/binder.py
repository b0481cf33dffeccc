"""Has PostgreSQL bind a query, and say it in its own words: as the body of a function that is never called.

    BEGIN; CREATE FUNCTION pg_temp.dpsql_query (integer) … BEGIN ATOMIC SELECT … $1 … ; END
    SELECT pg_get_function_sqlbody(…); ROLLBACK

This is the one place where a client's own text reaches planning. It is analyzed and never run: of all that it says only
the input functions of types are called, for literals. It goes by the extended protocol, so it is one statement; the session
has no rights but to make what is temporary, and is rolled back. A client's temporary tables are there as empty ones.
"""

from collections.abc import Sequence

import psycopg
from psycopg import pq

from dpsql.errors import DpsqlError, InternalError, SyntaxFailed, TooComplex, Unsupported
from dpsql.lexer.literals import name
from dpsql.lexer.tokens import tokens
from dpsql.question import ColumnDescription, Settings
from dpsql.rewrite.ir.spelled import literal, quoted_name
from dpsql.shadow.questions.oracle_session import OracleConnection

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
    _begin(connection, settings, again=again)
    head = f"CREATE FUNCTION {_NAME} ({', '.join(types)}) RETURNS void LANGUAGE sql {_BEGIN} "
    _one(connection, head + query + f"\n; {_END}")
    plain = [] if again else [_set(key, value) for key, value in _PLAIN.items()]
    result = _ours(connection, [*plain, f"SELECT pg_get_function_sqlbody('{_NAME}'::regproc)"])
    _ours(connection, ["ROLLBACK"])
    text = result.get_value(0, 0)
    return _inside(None if text is None else text.decode())


def described_columns(
    queries: Sequence[str], types: Sequence[str], settings: Settings, connection: OracleConnection
) -> tuple[tuple[ColumnDescription, ...], ...]:
    """Return the columns of queries in PostgreSQL's words; see `Binder`."""
    server = connection.pgconn
    _begin(connection, settings, again=True)
    given = [_ours(connection, [f"SELECT {literal(type_)}::regtype::oid::text"]).get_value(0, 0) for type_ in types]
    oids = [int(oid or 0) for oid in given]
    described = []
    for query in queries:
        _seen(connection, server.prepare(b"", query.encode(), oids))
        result = _seen(connection, server.describe_prepared(b""))
        described.append([(result.fname(i), result.ftype(i), result.fmod(i)) for i in range(result.nfields)])
    names = _names(connection, {(type_, modifier) for columns in described for _, type_, modifier in columns})
    _ours(connection, ["ROLLBACK"])
    return tuple(
        tuple(
            ColumnDescription((column or b"").decode(), type_, modifier, names[type_, modifier])
            for column, type_, modifier in columns
        )
        for columns in described
    )


def _begin(connection: OracleConnection, settings: Settings, *, again: bool) -> None:
    """Make a session one in which a query is bound: as the client has it, or as PostgreSQL is to write."""
    set_ = [_set(key, value) for key, value in _PLAIN.items()]
    if not again:
        # An empty path is "", which is no name.
        path = (
            ()
            if settings.search_path == '""'
            else (name(token) for token in tokens(settings.search_path) if token.word != ",")
        )
        names = [quoted_name(schema) for schema in path if schema]
        style = f"{settings.date_style}, {settings.date_order}"
        set_ = [f"SET LOCAL search_path = {', '.join(names) or 'pg_catalog'}", _set("DateStyle", style)]
    _ours(connection, ["BEGIN", *set_, _set("TimeZone", settings.time_zone)])
    for table in settings.temporary:
        parts = [f"{quoted_name(column)} {type_}" for column, type_ in table.columns]
        if table.key:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted_name, table.key))})")
        _one(connection, f"CREATE TEMP TABLE {quoted_name(table.name)} ({', '.join(parts)})")


def _set(key: str, value: str) -> str:
    return f"SET LOCAL {key} = {literal(value)}"


def _ours(connection: OracleConnection, statements: Sequence[str]) -> pq.abc.PGresult:
    """Return the result of the last of some statements, which are ours: they go as one text, in one round trip."""
    return _seen(connection, connection.pgconn.exec_("; ".join(statements).encode()))


def _one(connection: OracleConnection, statement: str) -> None:
    """Run one statement, for any text: by the extended protocol."""
    _seen(connection, connection.pgconn.exec_params(statement.encode(), None))


def _seen(connection: OracleConnection, result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        if result.error_field(pq.DiagnosticField.SQLSTATE) is None:  # no word of PostgreSQL's: the connection is lost
            connection.close()
            raise psycopg.OperationalError
        raise psycopg.errors.error_from_result(result)
    return result


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


def _names(connection: OracleConnection, types: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Return the names of types as PostgreSQL spells them."""
    names = {pair: _NAMED[pair] for pair in types if pair in _NAMED}
    missing = [pair for pair in types if pair not in names]
    if missing:
        asked = ", ".join(f"format_type({type_}, {modifier})" for type_, modifier in missing)
        row = _ours(connection, [f"SELECT {asked}"])
        names |= {pair: (row.get_value(0, place) or b"").decode() for place, pair in enumerate(missing)}
        _NAMED.update({pair: spelled for pair, spelled in names.items() if pair[0] < _FIRST_OF_OTHERS})
    return names


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
