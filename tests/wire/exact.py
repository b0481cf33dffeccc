"""A gateway without noise: it asks a plain PostgreSQL that holds rows, and writes the answer as a statement."""

import re
import threading
from collections import Counter
from collections.abc import Mapping

import psycopg
from psycopg import RawCursor

from dpsql.errors import AccessDenied, BudgetExhausted, QueryCanceled
from dpsql.gateway.request import Question, Reply, Request
from dpsql.gateway.session_settings import check_setting
from dpsql.question import Argument, Asker, Cancellation, ColumnDescription, Settings
from dpsql.rewrite.syntax.whole.analyze import AskedStatement
from tests.support.fix_shadow import ANALYST
from tests.support.fix_world import fields

_PREFIX = re.compile(
    r"""\s*(?:DECLARE\s+\S+\s+(?:\w+\s+)*?CURSOR\s+(?:WITH(?:OUT)?\s+HOLD\s+)?FOR\s+|COPY\s*\(
    |CREATE\s+TEMP(?:ORARY)?\s+TABLE\s+\S+\s+AS\s+)?""",
    re.IGNORECASE | re.VERBOSE,
)
_AGGREGATE = re.compile(r"\b(count|sum|avg|min|max|array_agg|group\s+by)\b", re.IGNORECASE)

_SPENT = BudgetExhausted("the budget is spent", because="some-rule", hint="It renews on Monday.", position=8)
"""One exception that is raised again and again: the wire must not change it."""


class Exact:
    """Answers as `Answers`, counts the calls, and blocks on statements that say `slow`."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.calls: Counter[str] = Counter()
        self.settings: list[Settings] = []
        self.arguments: list[tuple[Argument, ...]] = []
        self.working = threading.Event()

    def recall(self, text: str) -> tuple[Question | None] | None:  # noqa: ARG002
        """Remember nothing."""
        return None

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:  # noqa: ARG002
        """Take what names trips and has an aggregate; `broken` raises."""
        if "broken examination" in text:
            raise ValueError(text)
        if not re.search(r"\btrips\b", text, re.IGNORECASE) or not _AGGREGATE.search(text):
            return None
        _, inner, _ = _parts(text)
        if not inner.lstrip().lower().startswith(("select", "with", "table")):
            return None
        return Question(text, AskedStatement(text, (inner.rstrip().removesuffix(";"),)))

    def check_setting(self, name: str, value: str, asker: Asker) -> None:
        """Check it as the gateway does, for a role that pays at most 1."""
        assert asker.role == "analyst"
        check_setting(name, value, ANALYST)

    def tables(self, asker: Asker) -> Mapping[str, str]:  # noqa: ARG002
        """Name that of trips."""
        return {"trips": "trips"}

    def recalled(self, request: Request) -> Reply | None:
        """Remember nothing."""
        _ = request
        return None

    def answer(self, request: Request) -> Reply:
        """Run the select where the rows are, and spell its result."""
        question = request.question
        self.calls[question.text] += 1
        self.settings.append(request.settings)
        self.arguments.append(request.arguments)
        self._trouble(question.text, request.cancellation)
        fields = self._fields(question.probes[0])
        values = tuple(argument.text for argument in request.arguments)
        try:
            rows = self._rows(question.probes[0], values, request.settings)
        except psycopg.errors.DivisionByZero:
            columns = (f'(1/(n-n))::{field.type} AS "{field.name}"' for field in fields)
            return Reply(f"SELECT {', '.join(columns)} FROM generate_series(1, 1) AS n")
        names = ", ".join('"' + field.name.replace('"', '""') + '"' for field in fields)
        lines = [", ".join(_literal(v, f.type) for v, f in zip(row, fields, strict=True)) for row in rows]
        if "wrong columns" in question.text:
            lines = [line.replace("::bigint", "::integer") for line in lines]
        prefix, _, suffix = _parts(question.text)
        empty = f"SELECT {', '.join(f'NULL::{field.type}' for field in fields)} WHERE false"
        body = f"VALUES {', '.join(f'({line})' for line in lines)}" if lines else empty
        return Reply(f"{prefix}SELECT * FROM ({body}) AS answer({names}){suffix}")

    def _fields(self, select: str) -> tuple[ColumnDescription, ...]:
        with psycopg.connect(self._dsn, autocommit=True) as plain:
            return tuple(fields(plain, plain, select))

    def _rows(self, select: str, values: tuple[str | None, ...], settings: Settings) -> list[list[bytes | None]]:
        with psycopg.connect(self._dsn, cursor_factory=RawCursor, autocommit=True) as plain:
            plain.execute("SELECT set_config('TimeZone', $1, false)", (settings.time_zone,))
            result = plain.execute(select, values).pgresult
        assert result is not None
        return [[result.get_value(row, col) for col in range(result.nfields)] for row in range(result.ntuples)]

    def _trouble(self, text: str, cancellation: Cancellation) -> None:
        if "slow" in text:
            stopped = threading.Event()
            cancellation.on_cancel(stopped.set)
            self.working.set()
            assert stopped.wait(30)
            raise QueryCanceled
        if "no budget" in text:
            raise _SPENT
        if "forbidden" in text:
            raise AccessDenied("rows are not shown", because="some-rule")
        if "broken answer" in text:
            raise ValueError("a secret of the gateway")


def _parts(text: str) -> tuple[str, str, str]:
    """Return what stands before a query, the query, and what stands behind it."""
    match = _PREFIX.match(text)
    prefix = match[0] if match else ""
    inner, suffix = text[len(prefix) :], ""
    if prefix.upper().startswith("COPY"):
        end = inner.rindex(")", 0, inner.lower().rindex("to stdout"))
        inner, suffix = inner[:end], inner[end:]
    return prefix, inner, suffix


def _literal(value: bytes | None, kind: str) -> str:
    if value is None:
        return f"NULL::{kind}"
    text = value.decode().replace("\\", "\\\\").replace("'", "''")
    return f"E'{text}'::{kind}"
