"""Every function over private rows is total: no value makes an engine fail, and both engines compute the same."""

from collections.abc import Sequence
from fractions import Fraction

import psycopg
import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.emit.binning import bucket, lattice_step
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.functions.table import TABLE
from dpsql.rewrite.functions.temporal import AGE_FIELDS, FIELDS, LONGEST_BIN
from dpsql.rewrite.ir.calendar import MOMENTS, UNITS
from dpsql.rewrite.ir.expr import (
    TRUE,
    Apply,
    Bins,
    Buckets,
    Const,
    Digits,
    Expr,
    IntervalValue,
    Option,
    Results,
    TimeField,
    Unit,
)
from dpsql.shadow.server.postgres import Postgres
from tests.engines.nasty import DECLARED, REF, Engines, alike, check
from tests.support.dialects import DIALECTS, DUCKDB, POSTGRES

BOOL, DOUBLE, BIGINT, NUMERIC = SqlType.BOOLEAN, SqlType.DOUBLE, SqlType.BIGINT, SqlType.NUMERIC
Pair = tuple[Expr, Expr]
NUMBERS = [REF[name] for name in ("x", "xn", "wide", "xv", "r", "i", "iv", "ivn", "b", "c", "n", "m")]
WHOLE = [REF[name] for name in ("i", "iv", "ivn")]
DOUBLES = [ref for ref in NUMBERS if not ref.type.is_integer]
SMALL = [REF[name] for name in ("x", "xn", "xv", "r", "i", "iv", "ivn", "n", "m")]
TEXTS = [REF[name] for name in ("s", "sv", "sw")]
TIMES = [REF["t"], REF["tn"]]
DATES = [REF["d"], REF["dv"]]
SPANS = [
    IntervalValue(1, 0, 0),
    IntervalValue(-13, 5, -1),
    IntervalValue(0, -400, 0),
    IntervalValue(0, 0, 900_000_000),
    IntervalValue(0, 0, -1_500_000),
]

BINS = [Bins(1, 0), Bins(900_000_000, 978_307_200_000_000), Bins(LONGEST_BIN, -1)]


def _number(value: int | str) -> Const:
    return Const(value, BIGINT) if isinstance(value, int) else Const(Fraction(value), NUMERIC)


BY: list[Expr] = [*WHOLE, _number(12), _number(0)]


def _wide(a: Expr, b: Expr) -> SqlType:
    if a.type.is_float or b.type.is_float:
        return DOUBLE
    return NUMERIC if NUMERIC in (a.type, b.type) else BIGINT


def _arithmetic(op: str) -> list[Expr]:
    consts: list[Expr] = [_number(3), _number(-2), _number("0.1"), _number("1e-60"), _number("1e60"), _number(0)]
    pairs: list[Pair] = [(a, b) for a in SMALL for b in [*consts, *SMALL]]
    pairs += [(c, a) for a in SMALL for c in consts]
    pairs += [(a, _number(2)) for a in NUMBERS] if op != "mul" else []
    return [Apply(op, (a, b), _wide(a, b)) for a, b in pairs]


def _compared(op: str) -> list[Expr]:
    limits = (_number(0), _number(7), _number("0.5"), REF["xn"])
    numbers: list[Pair] = [(a, b) for a in (*NUMBERS, REF["free"]) for b in limits]
    edges = [(REF["x"], _number(100)), (REF["x"], _number(-1)), (REF["i"], _number(-7)), (REF["b"], _number(2**60))]
    texts: list[Pair] = [(a, Const(text, SqlType.TEXT)) for a in TEXTS for text in ("a", "é", "")]
    texts = [*texts, (REF["s"], REF["sv"])] if op in {"eq", "ne", "same"} else []
    days = [(a, Const(17956, SqlType.DATE)) for a in DATES]
    moments = [(a, Const(17956 * 86_400_000_000, SqlType.TIMESTAMP)) for a in TIMES]
    return [Apply(op, pair, BOOL) for pair in (*numbers, *edges, *texts, *days, *moments)]


def _conditions() -> list[Expr]:
    return [REF["z"], REF["y"], Apply("gt", (REF["xn"], _number(1)), BOOL), Const(None, BOOL), TRUE]


def _cases() -> list[Expr]:
    exprs: list[Expr] = []
    for condition in _conditions():
        exprs += [
            Apply("case", (condition, REF["x"], REF["xn"]), DOUBLE),
            Apply("case", (condition, REF["iv"], Const(None, BIGINT)), BIGINT),
            Apply("case", (condition, Const("a", SqlType.TEXT), REF["sv"]), SqlType.TEXT),
            Apply("case", (condition, REF["t"], REF["tn"]), SqlType.TIMESTAMP),
            # What is calculated with must be in bounds in every branch.
            Apply("mul", (Apply("case", (condition, REF["iv"], REF["ivn"]), BIGINT), _number(10**15)), BIGINT),
        ]
    return exprs


def _mapped() -> list[Expr]:
    texts = tuple(Const(text, SqlType.TEXT) for text in ("a", "A"))
    return [
        Apply("map", (REF["sv"], *texts), SqlType.TEXT, Results(("x", None))),
        Apply("map", (REF["sw"], texts[0], Const("b", SqlType.TEXT)), NUMERIC, Results((Fraction(1, 3), 2))),
        Apply("map", (REF["ivn"], *map(_number, range(4))), BIGINT, Results((10**12, -1, None, 0))),
    ]


def _pairs_of_times() -> list[tuple[Expr, Expr]]:
    fixed: list[Expr] = [Const(micros, SqlType.TIMESTAMP) for micros in (*MOMENTS, 0, 951_782_400_000_000)]
    times: list[Expr] = [*TIMES, *(Apply("date_to_timestamp", (ref,), SqlType.TIMESTAMP) for ref in DATES)]
    every = [*times, *fixed]
    return [(a, b) for a in every for b in every if not (isinstance(a, Const) and isinstance(b, Const))]


def _of(
    op: str, refs: Sequence[Expr], type_: SqlType | None = None, options: Sequence[Option | None] = (None,)
) -> list[Expr]:
    return [Apply(op, (ref,), type_ or ref.type, option) for ref in refs for option in options]


def _buckets() -> list[Expr]:
    ends = [(_number(0), _number(100)), (_number("0.1"), _number("0.7")), (_number(-5), _number("1e30"))]
    return [
        Apply("width_bucket", (a, *pair), SqlType.INTEGER, Buckets(n)) for a in NUMBERS for pair in ends for n in (1, 7)
    ]


CASES: dict[str, list[Expr]] = {
    **{op: _compared(op) for op in ("eq", "ne", "lt", "le", "gt", "ge", "same")},
    **{op: _arithmetic(op) for op in ("add", "sub", "mul", "div", "mod")},
    "and": [Apply("and", (a, b), BOOL) for a in _conditions() for b in _conditions()],
    "or": [Apply("or", (a, b), BOOL) for a in _conditions() for b in _conditions()],
    "not": [Apply("not", (a,), BOOL) for a in _conditions()],
    **{op: [Apply(op, (a,), BOOL) for a in _conditions()] for op in ("is_true", "is_false")},
    "is_null": [Apply("is_null", (ref,), BOOL) for ref in REF.values()],
    "in": [
        *(Apply("in", (a, _number(1), _number("0.5"), Const(None, NUMERIC)), BOOL) for a in NUMBERS),
        *(Apply("in", (a, Const("a", SqlType.TEXT), Const("%", SqlType.TEXT)), BOOL) for a in TEXTS),
    ],
    "like": [
        Apply("like", (a, Const(p, SqlType.TEXT)), BOOL) for a in TEXTS for p in ("a%", "_", "\\%", "%\\_%", "", "%é%", "__")
    ],
    **{op: _of(op, TEXTS, SqlType.TEXT) for op in ("lowered", "uppered", "folded")},
    "length": _of("length", TEXTS, SqlType.INTEGER, [None, Digits(2)]),
    "case": _cases(),
    "map": _mapped(),
    "as_text": _of("as_text", [REF["ch"], REF["u"]], SqlType.TEXT),
    "in_utc": [
        *_of("in_utc", TIMES, SqlType.TIMESTAMPTZ),
        *_of("in_utc", [REF["tz"]], SqlType.TIMESTAMP),
    ],
    "micros": _of("micros", [REF["tod"], REF["span"]], BIGINT),
    "cut": _of("cut", TEXTS, SqlType.TEXT, [Digits(n) for n in (1, 2, 20)]),
    "unpadded": _of("unpadded", _of("cut", TEXTS, SqlType.TEXT, [Digits(3)]), SqlType.TEXT),
    "coalesce": [
        Apply("coalesce", (REF["xn"], REF["x"], _number("0.5")), DOUBLE),
        Apply("coalesce", (REF["sv"], Const("?", SqlType.TEXT)), SqlType.TEXT),
        Apply("coalesce", (REF["tn"], REF["t"]), SqlType.TIMESTAMP),
    ],
    "nullif": [Apply("nullif", (REF["xn"], REF["x"]), DOUBLE), Apply("nullif", (REF["ivn"], _number(1)), BIGINT)],
    **{op: [Apply(op, (a, b), BIGINT) for a in WHOLE for b in BY] for op in ("gcd", "lcm")},
    **{op: [Apply(op, (a, b), BIGINT) for a in WHOLE for b in BY] for op in ("bit_and", "bit_or", "bit_xor")},
    "bit_not": _of("bit_not", WHOLE, BIGINT),
    "shift_left": [Apply("shift_left", (a, _number(n)), BIGINT) for a in WHOLE for n in (0, 1, 20)],
    "shift_right": [Apply("shift_right", (a, b), BIGINT) for a in WHOLE for b in (_number(0), _number(3), REF["iv"])],
    "neg": _of("neg", NUMBERS),
    "abs": _of("abs", NUMBERS),
    "sign": _of("sign", NUMBERS),
    "floor": _of("floor", DOUBLES),
    "ceil": _of("ceil", DOUBLES),
    "trunc": _of("trunc", DOUBLES),
    "round": [
        *_of("round", DOUBLES),
        *_of("round", [REF["n"], REF["m"]], options=[Digits(n) for n in (1, 2, 15, -1, -3)]),
        *_of("round", _of("to_double", DOUBLES, NUMERIC), options=[Digits(n) for n in (15, -1, -15)]),
    ],
    "sqrt": _of("sqrt", DOUBLES, DOUBLE),
    "ln": _of("ln", DOUBLES, DOUBLE),
    "log10": _of("log10", DOUBLES, DOUBLE),
    "exp": _of("exp", [REF["x"], REF["xn"], REF["xv"], REF["r"], REF["m"]], DOUBLE),
    "power": [Apply("power", (a, _number(n)), DOUBLE) for a in (REF["x"], REF["xn"], REF["r"], REF["m"]) for n in range(17)],
    "greatest": [Apply("greatest", (a, b, _number("0.5")), DOUBLE) for a in DOUBLES for b in DOUBLES],
    "least": [Apply("least", (a, b, _number("0.5")), DOUBLE) for a in DOUBLES for b in DOUBLES],
    "width_bucket": _buckets(),
    "to_integer": _of("to_integer", [ref for ref in DOUBLES if ref.name != "wide"], BIGINT),
    "to_double": _of("to_double", NUMBERS, DOUBLE),
    "to_single": _of("to_single", NUMBERS, SqlType.REAL),
    "to_decimal": _of("to_decimal", [REF["r"], *_of("to_single", SMALL, SqlType.REAL)], NUMERIC, [Digits(6)]),
    "date_trunc": _of("date_trunc", TIMES, SqlType.TIMESTAMP, [Unit(name) for name in UNITS]),
    "extract": _of("extract", TIMES, NUMERIC, [TimeField(name) for name in sorted(FIELDS)]),
    "shift": _of("shift", TIMES, SqlType.TIMESTAMP, tuple(SPANS)),
    "shift_by": [
        Apply("shift_by", (a, n), SqlType.TIMESTAMP, IntervalValue(0, 2, -900_000_000))
        for a in TIMES
        for n in (REF["iv"], REF["ivn"], REF["i"], Apply("floor", (REF["x"],), DOUBLE))
    ],
    "date_to_timestamp": _of("date_to_timestamp", DATES, SqlType.TIMESTAMP),
    "timestamp_to_date": _of("timestamp_to_date", TIMES, SqlType.DATE),
    "time_of_day": _of("time_of_day", TIMES, SqlType.TIME),
    "date_add": [Apply("date_add", (a, n), SqlType.DATE) for a in DATES for n in (REF["iv"], REF["i"], _number(-1))],
    "date_diff": [Apply("date_diff", (a, b), SqlType.INTEGER) for a in DATES for b in DATES],
    "elapsed": [Apply("elapsed", pair, BIGINT) for pair in _pairs_of_times()],
    "age": [Apply("age", pair, NUMERIC, TimeField(field)) for pair in _pairs_of_times() for field in sorted(AGE_FIELDS)],
    "date_bin": _of("date_bin", TIMES, SqlType.TIMESTAMP, BINS),
}  # fmt: skip


def test_every_function_is_here() -> None:
    """A new function has to be tried on the nasty values too."""
    assert sorted(CASES) == sorted(TABLE)


@pytest.mark.parametrize("op", CASES)
def test_no_value_makes_a_function_fail(engines: Engines, op: str) -> None:
    """On NULL, NaN, infinities, denormals, far dates and values out of bounds both engines give one value, as claimed."""
    check(engines, CASES[op])


_LOW = -1 + Fraction(1, 10**15)
_HALF = Fraction(1, 2**47)
"""Half of the way from 100 to the next 64-bit float."""
GRIDS: list[tuple[Expr, Interval | None]] = [
    *((ref, Interval.of(-1, 1)) for ref in (REF["x"], REF["xn"], REF["r"], REF["m"])),
    *((ref, DECLARED.facts_of(ref).interval) for ref in NUMBERS),
    (REF["x"], Interval.of(0, "1e-300")),
    (REF["x"], Interval.of("99.99999999999997", "99.99999999999999")),
    (REF["wide"], Interval.of("4503599627370497", "4503599627370498")),
    (Apply("mul", (REF["x"], _number("1e-15")), DOUBLE), Interval.of(0, "1e-13")),
    (Apply("sub", (Apply("mul", (REF["x"], _number("1e-17")), DOUBLE), _number(1)), DOUBLE), Interval.of(-1, _LOW)),
    # As 64-bit floats these ends are 1.24 times as far from values between them as from each other.
    (REF["xn"], Interval(-16 - Fraction(51, 100 * 2**48), -16 + Fraction(6, 10 * 2**49))),
    # And these are two neighbours, though the ends are nearer to each other than any two: 10¹² steps from one to the other.
    (REF["x"], Interval(100 + _HALF - _HALF / 10**12, 100 + _HALF + _HALF / 10**12)),
    (REF["b"], Interval.of(2**60, 2**60 + 199)),
    (REF["b"], Interval.of(-1, 2**63 - 1)),
    (REF["i"], Interval.of("0.9", "2.1")),
    (Apply("add", (REF["i"], _number(2**60)), BIGINT), Interval.of(2**60 - 7, 2**60 + 100)),
]  # fmt: skip


@pytest.mark.parametrize("own", [None, 2, 128])
@pytest.mark.parametrize("size", [1024, 16384, 2**21, 2**30])
def test_lattice_points_stay_in_their_range(engines: Engines, size: int, own: int | None) -> None:
    """Whatever is stored, the value that is summed is within 2·size steps, or the sensitivity would be wrong.

    So it is where values are rounded to steps of their own.
    """
    columns_of = {}
    for dialect in DIALECTS:
        emitter = Emitter(dialect, DECLARED)
        columns_of[dialect] = engines.ask(
            dialect, [lattice_step(emitter, e, i, 2 * size, own=own) for e, i in GRIDS if i]
        )
    for (expr, interval), duck, pg in zip(GRIDS, columns_of[DUCKDB], columns_of[POSTGRES], strict=True):
        assert duck == pg, (expr, interval)
        assert all(isinstance(value, int) and 0 <= value <= 2 * size for value in duck if value is not None), expr
        assert any(value is not None for value in duck)


@pytest.mark.parametrize("number", [2, 24, 1024])
def test_buckets_stay_in_their_range(engines: Engines, number: int) -> None:
    """So do the buckets of a histogram, from 0 to the number less 1; dates and timestamps have them too."""
    moments = [(ref, DECLARED.facts_of(ref).interval) for ref in (*DATES, *TIMES)]
    grids = [(expr, interval) for expr, interval in (*GRIDS, *moments) if interval is not None]
    columns_of = {}
    for dialect in DIALECTS:
        emitter = Emitter(dialect, DECLARED)
        texts = [bucket(emitter, e, i, number, single=_single(e, i, number)) for e, i in grids]
        columns_of[dialect] = engines.ask(dialect, texts)
    for (expr, interval), duck, pg in zip(grids, columns_of[DUCKDB], columns_of[POSTGRES], strict=True):
        assert duck == pg, (expr, interval)
        assert all(0 <= value < number for value in duck if value is not None), (expr, interval)


def _single(expr: Expr, interval: Interval, number: int) -> bool:
    return (expr.type.is_integer or expr.type.is_temporal) and interval.width + 1 == number


def test_a_numeric_beyond_double_precision_is_read(server: Postgres) -> None:
    """PostgreSQL's own cast would fail, and tell that there is such a row."""
    values = ("NaN", "1e400", "-1e400", "1e-400", "-1e-320", "Infinity", "5.5")
    with psycopg.connect(server.dsn("postgres")) as pg:
        pg.execute("CREATE TEMP TABLE s0 (m numeric)")
        pg.cursor().executemany("INSERT INTO s0 VALUES (%s::numeric)", [(value,) for value in values])
        text = Emitter(POSTGRES, DECLARED).raw(REF["m"])
        cells = [row[0] for row in pg.execute(f"SELECT {text} FROM s0".encode()).fetchall()]
    inf = float("inf")
    assert all(alike(a, b) for a, b in zip(cells, (float("nan"), inf, -inf, 0.0, 0.0, inf, 5.5), strict=True))
