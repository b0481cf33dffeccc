"""Times in time zones: a time with bounds is moved as the shadow's PostgreSQL moves it, piece by piece.

picked::timestamptz, where the session's TimeZone is Europe/Berlin
    →  CASE WHEN picked < '2019-03-31 03:00' THEN picked - 1 hour ELSE picked - 2 hours END

The value of an expression of the type `timestamptz` is what UTC's clock shows, so that it says when it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from dpsql.errors import DpsqlError, MissingBounds, Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.functions.temporal import FIELDS, before_relabel, is_midnight, moment_of
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Const, Expr, IntervalValue, TimeField, Unit
from dpsql.rewrite.ir.literal import TYPES, is_endless, parse_value
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.read.dialect import excerpt, literal_text, written_type
from dpsql.rewrite.translate.values.arithmetic import arithmetic, as_timestamp
from dpsql.rewrite.translate.values.context import IntervalTimes, Operand, Translator, unknown_construct
from dpsql.rewrite.translate.values.value_map import few_values, through_shadow

_ZONED_TYPES = ("timestamptz", "timestamp with time zone")
_TYPES = (*_ZONED_TYPES, "timestamp", "timestamp without time zone")
_OF_NUMBERS = ("to_timestamp", "make_timestamptz")
_CLOCKS = ("now", "statement_timestamp", "transaction_timestamp", *_OF_NUMBERS)
_MOST_DAYS, _MOST_MIDNIGHTS = 9_000, 73_050
_SPAN = 400 * DAY
_OF_SESSIONS: dict[tuple[str, exp.Expr, int, int], list[tuple[int, int]]] = {}
"""The pieces of midnights by sessions' clocks, by zone, move and span. A PostgreSQL says the same as long as it runs."""
_MOST_KNOWN = 256
_MOST_ZONES = 40
"""Zones that rows may name, each of which is a branch."""
_STEP = 15 * 60 * 10**6
"""Clocks are changed at quarters of an hour."""
_UTC = frozenset({"utc", "etc/utc", "etc/uct", "uct", "z", "zulu", "gmt", "etc/gmt"})
"""Names of the zone whose clock is never changed, and shows when it is."""


def is_zoned(t: Translator, node: exp.Expr) -> bool:
    """Return whether an expression has the type `timestamptz`."""
    if id(node) not in t.zoned:
        t.zoned[id(node)] = node, _is_zoned(t, node)
    return t.zoned[id(node)][1]


def _is_zoned(t: Translator, node: exp.Expr) -> bool:
    if id(node) in t.inner:
        return t.inner[id(node)].type is SqlType.TIMESTAMPTZ
    match node:
        case exp.Paren():
            return is_zoned(t, node.this)
        case exp.AtTimeZone():
            return not (is_zoned(t, node.this) or _is_day(t, node.this))
        case exp.Add():
            return is_zoned(t, node.expression) is not is_zoned(t, node.this)
        case exp.Sub():
            return _is_span(t, node.expression) and is_zoned(t, node.this)
        case exp.Case():
            results = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
            return any(is_zoned(t, result) for result in results if result is not None)
        case exp.Anonymous():
            return _is_zoned_call(t, node)
        case _:
            return _is_zoned_value(t, node)


def _is_zoned_value(t: Translator, node: exp.Expr) -> bool:
    match node:
        case exp.Cast():
            return _type(node) in _ZONED_TYPES
        case exp.Parameter():
            return t.constants.argument(node).type in _ZONED_TYPES
        case exp.Column():
            return _is_zoned_column(t, node)
        case _:
            return isinstance(node, exp.CurrentTimestamp)


def _is_day(t: Translator, node: exp.Expr) -> bool:
    """Return whether a node is a date, which beside AT TIME ZONE is a moment: its midnight by the session's clock."""
    match node:
        case exp.Paren():
            return _is_day(t, node.this)
        case exp.Cast():
            return _type(node) == "date"
        case exp.Parameter():
            return t.constants.argument(node).type == "date"
        case exp.Column():
            return _type_of_column(t, node) is SqlType.DATE
        case _:
            return isinstance(node, exp.CurrentDate)


def _is_span(t: Translator, node: exp.Expr) -> bool:
    """Return whether what is subtracted is an interval, and no time."""
    if isinstance(node, exp.Parameter):
        return t.constants.argument(node).type == "interval"
    return any(map(_is_cast_to_interval, node.walk()))


def _is_cast_to_interval(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and _type(node) == "interval"


def _is_zoned_column(t: Translator, node: exp.Column) -> bool:
    return _type_of_column(t, node) is SqlType.TIMESTAMPTZ


def _type_of_column(t: Translator, node: exp.Column) -> SqlType | None:
    try:
        return t.names.find(node).type
    except DpsqlError:
        return None


def _is_zoned_call(t: Translator, node: exp.Anonymous) -> bool:
    name, args = function_name(node), node.expressions
    match name:
        case "timezone":
            return len(args) == 2 and not (is_zoned(t, args[1]) or _is_day(t, args[1]))
        case "date_trunc" | "date_bin":
            return (len(args) == 3 and name == "date_trunc") or (len(args) > 1 and is_zoned(t, args[1]))
        case "coalesce" | "greatest" | "least" | "nullif":
            return any(is_zoned(t, arg) for arg in args)
        case _:
            return name in _CLOCKS


def in_utc(t: Translator, node: exp.Expr) -> exp.Expr:
    """Return a time as UTC's clock shows it; one without a zone is the session's."""
    zoned = node.copy() if is_zoned(t, node) else exp.cast(node.copy(), "timestamptz", dialect="postgres")
    return exp.AtTimeZone(this=exp.Paren(this=zoned), zone=exp.Literal.string("UTC"))


def at_time_zone(t: Translator, node: exp.Expr) -> Expr:
    """Translate AT TIME ZONE, `timezone('…', t)`, and casts between times with and without a zone.

    Raises:
        MissingBounds: the time has none.
        Unsupported: the zone is neither constant nor one of few.
    """
    zone = next((zone for part in _chain(node) if (zone := _zone(part)) is not None and zone.find(exp.Column)), None)
    if zone is not None:
        return _zone_by_zone(t, node, zone)
    chain = [node]
    while (inner := _inner(chain[-1])) is not None:
        chain.append(inner)
    base = chain.pop()
    first = next((outer for outer in reversed(chain) if not isinstance(outer, exp.Paren)), None)
    if first is not None and not isinstance(first, exp.Cast) and _is_day(t, base):
        # PostgreSQL makes a moment of it first: day AT TIME ZONE 'Asia/Tokyo' → day::timestamptz AT TIME ZONE 'Asia/Tokyo'
        moment = exp.cast(base.copy(), "timestamptz", dialect="postgres")
        return at_time_zone(t, _with_base(node, base, moment))
    x = None if function_name(base) in _OF_NUMBERS else as_timestamp(t.expression(base))
    if x is None or not x.type.is_moment:
        return through_shadow(t, node)
    if all(_is_still(t, outer) for outer in chain):
        return relabel_time(x, SqlType.TIMESTAMPTZ if is_zoned(t, node) else SqlType.TIMESTAMP)
    casts = sum(isinstance(outer, exp.Cast) for outer in chain)
    if all(isinstance(outer, (exp.Paren, exp.Cast)) for outer in chain) and (casts == 1 or is_midnight(x)):
        for outer in reversed(chain):
            x = instant(t, x, node) if is_zoned(t, outer) else on_session_clock(t, x, node)
        return x
    moved: exp.Expr = exp.column("x")
    for outer in reversed(chain):
        moved = _around(outer, moved)
    return ZonedMove(t, x, moved, node).expression()


def _zone_by_zone(t: Translator, node: exp.Expr, zone: exp.Expr) -> Expr:
    """Return a time moved to the zone that a row names.

    at AT TIME ZONE home  →  CASE home WHEN 'UTC' THEN at AT TIME ZONE 'UTC' WHEN 'Asia/Tokyo' THEN … END
    """
    named = t.expression(zone)
    names = few_values(t, named) if named.type is SqlType.TEXT else None
    if names is None or len(names) > _MOST_ZONES:
        raise Unsupported(
            f"AT TIME ZONE {excerpt(zone)} takes one of a few declared zones, {_MOST_ZONES} at most",
            because="zone-of-rows",
            hint="Write a constant zone; or the owner of the data can declare `values: [UTC, …]` for the column.",
        )
    literals = [exp.Literal.string(str(name)) for name in names]
    branches = [exp.If(this=name, true=node.transform(_replaced, zone, name)) for name in literals]
    return t.expression(exp.Case(this=zone.copy(), ifs=branches))


def _replaced(part: exp.Expr, before: exp.Expr, after: exp.Expr) -> exp.Expr:
    return after.copy() if part == before else part


def _chain(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the steps by which a time is moved, the last first."""
    inner: exp.Expr | None = node
    while inner is not None:
        yield inner
        inner = _inner(inner)


def _zone(outer: exp.Expr) -> exp.Expr | None:
    """Return the zone to which a step moves a time; None of a step that names none."""
    if isinstance(outer, exp.AtTimeZone):
        return outer.args["zone"]  # type: ignore[no-any-return]  # sqlglot's arguments are of any type
    return outer.expressions[0] if isinstance(outer, exp.Anonymous) and _inner(outer) is not None else None


def on_session_clock(t: Translator, x: Expr, node: exp.Expr) -> Expr:
    """Return what the session's clock shows at a time with a zone; any other value unchanged."""
    return _cast(t, x, SqlType.TIMESTAMP, node) if x.type is SqlType.TIMESTAMPTZ else x


def instant(t: Translator, x: Expr, node: exp.Expr) -> Expr:
    """Return when it is that the session's clock shows a time without a zone; any other value unchanged."""
    x = as_timestamp(x)
    return _cast(t, x, SqlType.TIMESTAMPTZ, node) if x.type is SqlType.TIMESTAMP else x


def _cast(t: Translator, x: Expr, target: SqlType, node: exp.Expr) -> Expr:
    if shows_utc(t) or (isinstance(x, Const) and (x.value is None or is_endless(x.value))):
        return relabel_time(x, target)
    if target is SqlType.TIMESTAMP and x in t.on_clock:
        return t.on_clock[x]
    moving = ZonedMove(t, x, exp.cast(exp.column("x"), target.value, dialect="postgres"), node)
    if isinstance(x, Const):
        assert isinstance(x.value, int)
        (at,) = moving.asked([x.value])
        return Const(at, target)
    moved = moving.expression()
    if target is SqlType.TIMESTAMPTZ and is_midnight(x) and moving.comes_back():
        t.on_clock[moved] = x
    return moved


def relabel_time(x: Expr, type_: SqlType) -> Expr:
    """Return the same value as one of the other type of times: as UTC's clock shows it."""
    if x.type is type_:
        return x
    before = before_relabel(x)
    if before is not None and before.type is type_:
        return before
    return Const(x.value, type_) if isinstance(x, Const) else Apply("in_utc", (x,), type_)


def shows_utc(t: Translator) -> bool:
    """Return whether the session's clock is UTC's."""
    return t.constants.evaluator.time_zone.lower() in _UTC


def _is_still(t: Translator, outer: exp.Expr) -> bool:
    """Return whether a step between times with and without a zone moves nothing."""
    match outer:
        case exp.Paren():
            return True
        case exp.Cast():
            alike = is_zoned(t, outer) is is_zoned(t, outer.this)
            return alike or shows_utc(t)
        case exp.AtTimeZone():
            zone = outer.args["zone"]
        case _:
            zone = outer.expressions[0]
    return (literal_text(zone) or "").lower() in _UTC


def _type(node: exp.Cast) -> str:
    return written_type(node.to)


def _inner(node: exp.Expr) -> exp.Expr | None:
    """Return the time that is moved to another zone; None if it is a time itself."""
    inner: object = None
    if isinstance(node, (exp.Paren, exp.AtTimeZone)) or (isinstance(node, exp.Cast) and _type(node) in _TYPES):
        inner = node.this
    elif isinstance(node, exp.Anonymous) and function_name(node) == "timezone" and len(node.expressions) == 2:
        inner = node.expressions[1]
    return inner if isinstance(inner, exp.Expr) else None


def _with_base(node: exp.Expr, base: exp.Expr, moment: exp.Expr) -> exp.Expr:
    """Return a chain of steps between times with another time at its beginning."""
    inner = _inner(node)
    return moment if node is base or inner is None else _around(node, _with_base(inner, base, moment))


def _around(outer: exp.Expr, inner: exp.Expr) -> exp.Expr:
    """Return `outer` with another time in it."""
    copy = outer.copy()
    if isinstance(copy, exp.Anonymous):
        copy.set("expressions", [copy.expressions[0], inner])
    else:
        copy.set("this", exp.Paren(this=inner))
    return copy


@dataclass(frozen=True, slots=True)
class ZonedMove:
    """A time `x` with bounds, and what the shadow makes of it."""

    t: Translator
    x: Expr
    moved: exp.Expr
    """In terms of a column `x`."""
    node: exp.Expr

    def expression(self) -> Expr:
        """Return `x` moved.

        CASE WHEN x < change THEN x + shift … ELSE x + shift END
        """
        pieces = self.pieces()
        _, type_ = self._answer([pieces[0][0]])
        args: list[Expr] = []
        for (_, shift), (change, _) in pairwise(pieces):
            before = Apply("lt", (self.x, Const(change, self.x.type)), SqlType.BOOLEAN)
            args += [before, _shifted(self.x, shift, type_)]
        last = _shifted(self.x, pieces[-1][1], type_)
        return Apply("case", (*args, last), type_) if args else last

    def pieces(self) -> list[tuple[int, int]]:
        """Return from which moments on `x` is moved by how many microseconds."""
        interval = self.t.facts_of(self.x).interval
        if interval is None:
            raise MissingBounds(
                f"{excerpt(self.node)} needs a time with declared bounds",
                because="zone-without-bounds",
                hint="The owner of the data can declare `bounds` for it.",
            )
        low, high = int(interval.low), int(interval.high)
        if is_midnight(self.x):  # nothing is between two of them
            return self._pieces_of_days(low, high)
        if (high - low) // DAY > _MOST_DAYS:
            raise _too_wide("24 years")
        # How far the zone's clock is off is asked once a day; where two days differ, at each quarter of an hour between them.
        days = [low, *range(low - low % DAY + DAY, high, DAY), high]
        shifts = self._shifts(days)
        steps = [at for (a, x), (b, y) in pairwise(zip(days, shifts, strict=True)) if x != y for at in _steps(a, b)]
        pieces = [(low, shifts[0])]
        for at, shift in zip(steps, self._shifts(steps), strict=True):
            if shift != pieces[-1][1]:
                pieces.append((at, shift))
        # Right before each change the clock has to be what it was: else it was changed between two quarters.
        before = self._shifts([at - 1 for at, _ in pieces[1:]])
        if before != [shift for _, shift in pieces[:-1]]:
            raise Unsupported(
                "this zone's clock is changed otherwise than at a quarter of an hour",
                because="zone-odd-change",
                hint="Write AT TIME ZONE 'UTC'.",
            )
        return pieces

    def _pieces_of_days(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the pieces of midnights, for which each of them is asked once."""
        if (high - low) // DAY > _MOST_MIDNIGHTS:
            raise _too_wide("200 years")
        first, last = low - low % _SPAN, high - high % _SPAN + _SPAN  # so that few spans are asked for
        key = (self.t.constants.evaluator.time_zone, self.moved, first, last)
        pieces = _OF_SESSIONS.get(key) if (known := _is_of_session(self.moved)) else None
        if pieces is None:
            days = range(first, last, DAY)
            shifts = [None, *self._shifts(days)]
            pieces = [
                (at, shift)
                for at, (before, shift) in zip(days, pairwise(shifts), strict=True)
                if shift is not None and shift != before
            ]
            if known:
                if len(_OF_SESSIONS) >= _MOST_KNOWN:
                    _OF_SESSIONS.clear()
                _OF_SESSIONS[key] = pieces
        earlier = [piece for piece in pieces if piece[0] <= low]
        return [(low, earlier[-1][1]), *(piece for piece in pieces if low < piece[0] <= high)]

    def comes_back(self) -> bool:
        """Return whether each day is moved to a moment at which the session's clock shows its beginning.

        Where the clock is put forward at midnight that day begins at one o'clock.
        """
        there = exp.Paren(this=self.moved)
        back = ZonedMove(self.t, self.x, exp.cast(there, "timestamp", dialect="postgres"), self.node)
        return [shift for _, shift in back.pieces()] == [0]

    def asked(self, moments: Sequence[int]) -> list[int]:
        """Return what the shadow makes of some moments."""
        return self._answer(moments)[0]

    def _shifts(self, moments: Sequence[int]) -> list[int]:
        return [to - at for at, to in zip(moments, self.asked(moments), strict=True)] if moments else []

    def _answer(self, moments: Sequence[int]) -> tuple[list[int], SqlType]:
        texts, name = self.t.constants.evaluator.over(self.t.constants.spelled(self.moved), moments, self.x.type)
        type_ = TYPES[name]
        return [int(parse_value(text or "", type_)) for text in texts], type_


def _is_of_session(moved: exp.Expr) -> bool:
    """Return whether a move depends on nothing but the session's zone: it has casts alone."""
    return all(
        isinstance(node, (exp.Cast, exp.Paren, exp.Column, exp.Identifier, exp.DataType)) for node in moved.walk()
    )


def _too_wide(most: str) -> Unsupported:
    return Unsupported(
        f"a time in another zone needs bounds of at most {most}",
        because="zone-bounds-too-wide",
        hint="The owner of the data can declare nearer `bounds`; or write AT TIME ZONE 'UTC', which needs none.",
    )


def _steps(after: int, until: int) -> list[int]:
    return [*range(after - after % _STEP + _STEP, until, _STEP), until]


def _shifted(x: Expr, micros: int, type_: SqlType) -> Expr:
    return Apply("shift", (x,), type_, IntervalValue(0, 0, micros)) if micros else relabel_time(x, type_)


# The time of the day of private times: a value of its own, whose number counts the microseconds since midnight.
#
# picked::time >= '08:00'  →  micros(time_of_day(picked)) >= 28800000000

TIME_TYPES = frozenset({"time", "time without time zone"})
_MICROS = 10**6


def time_of_day(t: Translator, node: exp.Cast) -> Expr:
    """Translate `t::time` of a timestamp, with a zone as the session's clock shows it."""
    arg = on_session_clock(t, t.expression(node.this), node)
    if arg.type is SqlType.TIME:
        return arg
    if arg.type is not SqlType.TIMESTAMP:
        raise unknown_construct(node, because="cast-to-time")
    return Apply("time_of_day", (arg,), SqlType.TIME)


def is_time(node: exp.Expr) -> bool:
    """Return whether a node is the time of the day of something in the rows."""
    node = node.unnest()
    named = isinstance(node, exp.Cast) and written_type(node.to) in TIME_TYPES
    return named and node.find(exp.Column) is not None


def is_time_column(t: Translator, node: exp.Expr) -> bool:
    """Return whether a node is a column of times of the day."""
    node = node.unnest()
    if not isinstance(node, exp.Column):
        return False
    try:
        return t.names.find(node).type is SqlType.TIME
    except DpsqlError:
        return False


def since_midnight(t: Translator, node: exp.Expr) -> Expr:
    """Return a time of the day, or a constant that is one, in microseconds since midnight."""
    if is_time_column(t, node) or is_time(node):
        return Apply("micros", (t.expression(node),), SqlType.BIGINT)
    if node.find(exp.Column) is not None:
        raise unknown_construct(node, because="compared-with-time")
    time = exp.cast(exp.Paren(this=node.copy()), "time", dialect="postgres")
    seconds = t.constants.of(exp.Extract(this=exp.Var(this="epoch"), expression=time))
    if not isinstance(seconds, Const) or isinstance(seconds.value, str):
        raise unknown_construct(node, because="compared-with-time")
    return Const(None if seconds.value is None else int(seconds.value * _MICROS), SqlType.BIGINT)


def part_of_day(time: Expr, field: str) -> Expr | None:
    """Return EXTRACT(field FROM t::time), which is that of t but for the epoch; None of other times.

    PostgreSQL refuses the fields that a time of the day has not.
    """
    moment = moment_of(time)
    if moment is None or field == "epoch" or field not in FIELDS:
        return None
    return Apply("extract", (moment,), SqlType.NUMERIC, TimeField(field))


# Computations on times with a zone: on the clock of the session, or of a zone that is named.
#
# date_trunc('day', made)     →  made moved to the session's clock, truncated, and moved back
# made + interval '1 month'   →  the same day of the next month by that clock

_SIZES = {"hour": 3600 * 10**6, "minute": 60 * 10**6, "second": 10**6, "milliseconds": 1000, "microseconds": 1}
"""Units of time that begin wherever clocks are changed by whole ones of them."""


def truncated_in(t: Translator, unit: str, moment: exp.Expr, zone: exp.Expr | None, node: exp.Expr) -> Expr:
    """Return `date_trunc(unit, t)` of a time with a zone, as the session's clock shows it or that of a zone."""
    zoned = moment.copy() if is_zoned(t, moment) else exp.cast(moment.copy(), "timestamptz", dialect="postgres")
    x = t.expression(zoned)
    local = on_session_clock(t, x, node) if zone is None else at_time_zone(t, _at(zoned, zone))
    begun = Apply("date_trunc", (local,), SqlType.TIMESTAMP, Unit(unit))
    if unit in _SIZES and not (zone is None and shows_utc(t)):
        by = exp.cast(exp.column("x"), "timestamp", dialect="postgres") if zone is None else _at(exp.column("x"), zone)
        pieces = ZonedMove(t, x, by, node).pieces()
        if all(shift % _SIZES[unit] == 0 for _, shift in pieces):
            return Apply("date_trunc", (x,), SqlType.TIMESTAMPTZ, Unit(unit))
        if len(pieces) > 1:
            raise _changes(node)
    return (
        instant(t, begun, node) if zone is None else ZonedMove(t, begun, _at(exp.column("x"), zone), node).expression()
    )


def _at(time: exp.Expr, zone: exp.Expr) -> exp.Expr:
    return exp.AtTimeZone(this=exp.Paren(this=time.copy()), zone=zone.copy())


def by_clock(t: Translator, node: exp.Expr) -> Operand:
    """Translate `a + b` and `a - b`: with a time with a zone, by the session's clock."""
    sides = (node.this, node.expression)
    zoned = [is_zoned(t, side) for side in sides]
    if not any(zoned):
        return arithmetic(t, node)
    other = t.operand(sides[zoned.index(True) ^ 1])
    if not isinstance(other, (IntervalValue, IntervalTimes)):
        return arithmetic(t, exp.Sub(this=in_utc(t, sides[0]), expression=in_utc(t, sides[1])))
    x = t.expression(sides[zoned.index(True)])
    sign = 1 if isinstance(node, exp.Add) else -1
    if isinstance(other, IntervalTimes):
        return _moved_often(t, x, other, node, sign)
    return _moved(t, x, other.times(sign), node)


def _moved(t: Translator, x: Expr, span: IntervalValue, node: exp.Expr) -> Expr:
    """Return a time moved: by months and days as the session's clock shows it, then by what is shorter."""
    if span.months or span.days:
        local = on_session_clock(t, x, node)
        days = Apply("shift", (local,), SqlType.TIMESTAMP, IntervalValue(span.months, span.days, 0))
        if span.months and span.days:
            _require_still_clock(t, x, node)
        x = instant(t, days, node)
    return Apply("shift", (x,), SqlType.TIMESTAMPTZ, IntervalValue(0, 0, span.micros)) if span.micros else x


def _moved_often(t: Translator, x: Expr, times: IntervalTimes, node: exp.Expr, sign: int) -> Expr:
    """Return a time moved by a number of steps; days are 24 hours where the clock is not changed."""
    if times.span.days:
        _require_still_clock(t, x, node)
    micros = sign * (times.span.days * DAY + times.span.micros)
    return Apply("shift_by", (x, times.number), SqlType.TIMESTAMPTZ, IntervalValue(0, 0, micros))


def _require_still_clock(t: Translator, x: Expr, node: exp.Expr) -> None:
    """Check that the session's clock is not changed where a time is."""
    if shows_utc(t):
        return
    if len(ZonedMove(t, x, exp.cast(exp.column("x"), "timestamp", dialect="postgres"), node).pieces()) > 1:
        raise _changes(node)


def _changes(node: exp.Expr) -> Unsupported:
    return Unsupported(
        f"{excerpt(node)} is not exact where the session's TimeZone changes its clock",
        because="session-clock-changes",
        hint="SET TimeZone = 'UTC', or compute with t AT TIME ZONE 'UTC'.",
    )
