"""The oracle that planning asks for constants and public values, which was spelled by us (`Spelled`), and to bind queries."""

from collections.abc import Iterable, Sequence
from functools import partial

from psycopg import adapters, sql

from dpsql.errors import InternalError, SyntaxFailed, Unsupported
from dpsql.policy.model import SqlType, Value
from dpsql.question import USUAL_STYLE, ColumnDescription, Settings
from dpsql.rewrite.ir.evaluator import PublicAnswer
from dpsql.rewrite.ir.literal import format_value
from dpsql.rewrite.ir.spelled import Spelled
from dpsql.shadow.questions import binder
from dpsql.shadow.questions.oracle_session import ConstantQuestion, OracleSession

_MOST_VALUES = 10_000
_LONGEST = 1_000_000
"""Characters of one constant; `lpad` alone could write a thousand times as many."""
_LONGEST_OF_MANY = 10_000
"""Characters of a function's result for one of many values."""

_DATES = ("date", "timestamp", "range")
_INTERVALS = ("interval",)
"""Parts of the names of types whose values are written in the style of dates, or of intervals."""

ConstantRows = list[tuple[str | None, ...]]


class ShadowOracle:
    """An `ConstantEvaluator` for one statement of one client's session."""

    def __init__(self, session: OracleSession, settings: Settings, user: str) -> None:
        self._session, self._settings, self._user = session, settings, user
        self.volatile = False

    @property
    def time_zone(self) -> str:
        """Return the session's TimeZone."""
        return self._settings.time_zone

    @property
    def dates_in_iso(self) -> bool:
        """Return whether the session writes dates as 2019-03-01."""
        return self._settings.date_style == USUAL_STYLE

    def _asked(self, question: ConstantQuestion) -> ConstantRows:
        """Return values with their types: times in ISO 8601, and all else as in the session, where texts may be of times."""
        rows = self._session.described(self._user, self._settings, question).fetchall()
        if not self._has_own_style(type_ or "" for _, type_ in rows):
            return rows
        return self._session.described(self._user, self._settings, question, in_iso=True).fetchall()

    def _has_own_style(self, types: Iterable[str]) -> bool:
        """Return whether the session writes values of one of these types in another style than planning reads."""
        words = _DATES * (not self.dates_in_iso) + _INTERVALS * (self._settings.interval_style != "iso_8601")
        return any(word in type_ for type_ in types for word in words)

    def constant(self, expression: Spelled) -> tuple[str | None, str]:
        """Return the value and the type of a constant expression."""
        self.volatile = self.volatile or expression.volatile
        question = sql.SQL("SELECT left(v::text, {}), pg_typeof(v)::text FROM (SELECT {}) AS c (v)").format(
            _LONGEST + 1, _text(expression)
        )
        ((value, type_),) = self._asked(question)
        if type_ is None:
            raise InternalError
        return _not_too_long(value, _LONGEST), type_

    def column(self, query: Spelled) -> tuple[tuple[str | None, ...], str]:
        """Return the distinct values and the type of a query's one column.

        Raises:
            Unsupported: there are too many.
        """
        self.volatile = self.volatile or query.volatile
        question = sql.SQL(
            "SELECT DISTINCT left(v::text, {}), pg_typeof(v)::text FROM ({}) AS q (v) ORDER BY 1 LIMIT {}"
        ).format(_LONGEST_OF_MANY + 1, _text(query), _MOST_VALUES + 1)
        rows = self._asked(question)
        if len(rows) > _MOST_VALUES:
            raise _too_many()
        return tuple(_not_too_long(value, _LONGEST_OF_MANY) for value, _ in rows), str(rows[0][1]) if rows else "text"

    def rows(self, query: Spelled) -> PublicAnswer:
        """Return the rows of a query, as PostgreSQL writes them.

        Raises:
            Unsupported: there are too many.
        """
        self.volatile = self.volatile or query.volatile
        question = sql.SQL("SELECT * FROM ({}) AS q LIMIT {}").format(_text(query), _MOST_VALUES + 1)
        shown = self._described(question, in_iso=False)
        if not self._has_own_style(shown.types):
            return shown
        answer = self._described(question, in_iso=True)
        _require_same(answer, shown)
        return answer

    def _described(self, question: ConstantQuestion, *, in_iso: bool) -> PublicAnswer:
        answer = self._session.described(self._user, self._settings, question, in_iso=in_iso)
        columns, result = answer.description or (), answer.pgresult
        if result is None:
            raise InternalError
        if result.ntuples > _MOST_VALUES:
            raise _too_many()
        types = (adapters.types.get(column.type_code) for column in columns)
        return PublicAnswer(
            tuple(column.name for column in columns),
            tuple("?" if type_ is None else type_.name for type_ in types),
            tuple(
                tuple(_cell(result.get_value(row, place)) for place, _ in enumerate(columns))
                for row in range(result.ntuples)
            ),
        )

    def over(
        self, expression: Spelled, values: Sequence[Value | None], type_: SqlType
    ) -> tuple[tuple[str | None, ...], str]:
        """Return the values and the type of an expression in `x` over public values."""
        self.volatile = self.volatile or expression.volatile
        given = [None if v is None else format_value(v, type_) for v in values]
        question = sql.SQL(
            "SELECT left(v::text, {}), pg_typeof(v)::text "
            "FROM (SELECT n, {} FROM unnest({}::{}[]) WITH ORDINALITY AS u (x, n)) AS c (n, v) ORDER BY n"
        ).format(_LONGEST_OF_MANY + 1, _text(expression), given, sql.SQL(type_.spelled))
        rows = self._asked(question)
        types = {t for _, t in rows}
        if len(types) > 1:
            raise InternalError
        return tuple(_not_too_long(value, _LONGEST_OF_MANY) for value, _ in rows), str(types.pop()) if types else "text"

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        """Return a query as PostgreSQL writes it; see `Binder`."""
        try:
            return self._session.asked(
                self._user, partial(binder.canonical_text, query, types, self._settings, again=again)
            )
        except (SyntaxFailed, Unsupported) as failed:
            raise binder.not_bound(failed) from None

    def described(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Return the columns of queries in such words; see `Binder`."""
        try:
            return self._session.asked(self._user, partial(binder.described_columns, queries, types, self._settings))
        except (SyntaxFailed, Unsupported) as failed:
            raise binder.not_bound(failed) from None


def _is_of_times(type_: str) -> bool:
    """Return whether values of a type are written in the style of dates or of intervals."""
    return any(word in type_ for word in _DATES + _INTERVALS)


def _require_same(answer: PublicAnswer, shown: PublicAnswer) -> None:
    """Refuse texts of dates beside dates, and of intervals beside intervals, which are read in one style.

    Raises:
        Unsupported: a value that is no time has another text in the session's style.
    """
    others = [place for place, type_ in enumerate(answer.types) if not _is_of_times(type_)]
    texts, written = ([[row[place] for place in others] for row in each.rows] for each in (answer, shown))
    if texts != written:
        raise Unsupported(
            "texts of dates or intervals beside such are read in ISO style only",
            because="texts-beside-dates",
            hint="SET datestyle = 'ISO'; SET intervalstyle = 'iso_8601'",
        )


def _too_many() -> Unsupported:
    return Unsupported(
        f"a list has more than {_MOST_VALUES:,} values, which is the limit",
        because="list-too-long",
        hint="Ask for a part of it at a time.",
    )


def _cell(value: bytes | None) -> str | None:
    return _not_too_long(None if value is None else value.decode(), _LONGEST_OF_MANY)


def _not_too_long(value: str | None, most: int) -> str | None:
    if value is not None and len(value) > most:
        raise Unsupported(
            f"a constant of this statement is longer than {most:,} characters",
            because="constant-too-long",
            hint="Compare with something shorter.",
        )
    return value


def _text(expression: Spelled) -> sql.SQL:
    return sql.SQL(expression.text)
