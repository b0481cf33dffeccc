"""Made-up statements and tables over `rides`: hypothesis strategies of SQL text and of rows.

Expressions are typed as PostgreSQL types them, so that most of them mean something.
"""

from collections.abc import Collection, Sequence
from functools import cache

from hypothesis import strategies as st

from dpsql.policy.model import Table
from tests.support.records import Row, interesting

Text = st.SearchStrategy[str]

_INTEGERS = ("seats", "age", "stars")
_FRACTIONS = ("fare", "tip", "weight", "price", "refund")
_MOMENTS = ("picked", "dropped", "day::timestamp")
_DEEP = 3


def _one(template: str, *parts: Text) -> Text:
    return st.tuples(*parts).map(lambda texts: template.format(*texts))


def _some(parts: Text, joint: str = ", ") -> Text:
    return st.lists(parts, min_size=2, max_size=3).map(joint.join)


@cache
def integers(deep: int = _DEEP, exact: bool = False) -> Text:
    """Return whole-number expressions."""
    leaves = st.sampled_from([*_INTEGERS, "0", "1", "-2", "7", "100"])
    if not deep:
        return leaves
    x, b = integers(deep - 1, exact), booleans(deep - 1, exact)
    return st.one_of(
        leaves,
        *(_one(f"({{}} {op} {{}})", x, x) for op in "+-*/%"),
        _one("(- {})", x),
        _one("abs({})", x),
        _one("sign({})::integer", x),
        _one("mod({}, 4)", x),
        _one("greatest({})", _some(x)),
        _one("coalesce({})", _some(x)),
        _one("nullif({}, {})", x, x),
        _one("(CASE WHEN {} THEN {} ELSE {} END)", b, x, x),
        _one("({})::integer", fractions(deep - 1, exact)),
        _one("({})::int", b),
        _one("width_bucket({}, 0, 60, 6)", fractions(deep - 1, exact)),
        _one(
            "extract({} FROM {})::integer", st.sampled_from(["hour", "dow", "day", "month"]), moments(deep - 1, exact)
        ),
    )


@cache
def fractions(deep: int = _DEEP, exact: bool = False) -> Text:
    """Return expressions of type numeric or double precision; with `exact`, of double precision only."""
    doubles = ["fare", "tip", "weight", "0.5::float8", "2.25::float8", "'-1'::float8"]
    leaves = st.sampled_from(doubles if exact else [*_FRACTIONS, "0.5", "2.25", "-1.0", "1e2"])
    if not deep:
        return leaves
    x, b = fractions(deep - 1, exact), booleans(deep - 1, exact)
    numeric = (
        _one("round(({})::numeric, 1)", x),
        _one("({})::numeric", x),
        _one("extract(epoch FROM {})", moments(deep - 1)),
    )
    return st.one_of(
        leaves,
        *(() if exact else numeric),
        *(_one(f"({{}} {op} {{}})", x, y) for op in "+-*/" for y in (x, integers(deep - 1, exact))),
        _one("abs({})", x),
        _one("floor({})", x),
        _one("ceil({})", x),
        _one("trunc({})", x),
        _one("round({})", x),
        _one("sqrt(abs({}))", x),
        _one("ln(abs({}) + 1)", x),
        _one("least({})", _some(x)),
        _one("coalesce({})", _some(x)),
        _one("(CASE WHEN {} THEN {} END)", b, x),
        _one("(CASE WHEN {} THEN {} ELSE {} END)", b, x, x),
    )


@cache
def moments(deep: int = _DEEP, exact: bool = False) -> Text:
    """Return timestamps."""
    leaves = st.sampled_from([*_MOMENTS, "timestamp '2019-03-04 05:06:07.5'"])
    if not deep:
        return leaves
    x = moments(deep - 1, exact)
    unit = st.sampled_from(["minute", "hour", "day", "week", "month", "quarter", "year"])
    return st.one_of(
        leaves,
        _one("date_trunc('{}', {})", unit, x),
        _one("({} + interval '1 month -3 days 90 minutes')", x),
        _one("({} - {} * interval '15 minutes')", x, st.sampled_from(["seats", "floor(fare / 10)", "age"])),
        _one("({})::date", x),
        _one("coalesce({})", _some(x)),
    )


@cache
def texts() -> Text:
    """Return texts whose possible values are few."""
    leaves = st.sampled_from(["paid", "'card'"])
    calls = st.sampled_from(
        ["upper({})", "{} || '!'", "coalesce({}, 'none')", "substr({}, 1, 2)", "left({}, -1)", "nullif({}, 'cash')"]
    )
    return st.one_of(leaves, st.tuples(calls, leaves).map(lambda pair: pair[0].format(pair[1])))


@cache
def booleans(deep: int = _DEEP, exact: bool = False) -> Text:
    """Return conditions."""
    leaves = st.sampled_from(
        ["shared", "late", "paid = 'cash'", "paid IS NULL", "fare > 20", "tip <= 0", "seats IN (1, 2, 9)", "late IS TRUE",
         "age BETWEEN 18 AND 65", "day >= '2019-03-05'", "picked < '2019-03-04 12:00'", "note LIKE 'a%'", "TRUE"]
    )  # fmt: skip
    if not deep:
        return leaves
    b = booleans(deep - 1, exact)
    operator = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
    typed = (integers(deep - 1, exact), fractions(deep - 1, exact), moments(deep - 1, exact))
    return st.one_of(
        leaves,
        *(_one("({} {} {})", x, operator, x) for x in typed),
        *(_one("({} IS NOT NULL)", x) for x in typed),
        _one("({})", _some(b, " AND ")),
        _one("({})", _some(b, " OR ")),
        _one("(NOT {})", b),
        _one("(({}) IS NOT TRUE)", b),
        _one("({} = {})", texts(), texts()),
        _one("({} LIKE '%a%')", texts()),
    )


@cache
def keys() -> Text:
    """Return group keys whose values are public."""
    return st.one_of(
        st.sampled_from(["paid", "shared", "late", "stars", "seats", "age", "day", "from_zone", "to_zone"]),
        booleans(1),
        texts(),
        integers(1),
        _one("floor({} / 10)", st.sampled_from(_FRACTIONS)),
        _one("round(({})::numeric, {})", st.sampled_from(["weight", "tip"]), st.sampled_from(["0", "1"])),
        _one("date_trunc('{}', {})", st.sampled_from(["day", "week", "month", "hour"]), moments(0)),
        _one("(CASE WHEN {} THEN {} WHEN {} THEN {} ELSE 0.75 END)", booleans(1), _NUMBER, booleans(1), _NUMBER),
    )


_NUMBER = st.sampled_from(["1", "1.2", "-1", "0.75", "NULL"])


@cache
def aggregates() -> Text:
    """Return aggregate calls that are read off sums."""
    x = st.one_of(integers(), fractions())
    call = st.one_of(
        st.just("count(*)"),
        _one("count({})", st.one_of(x, moments(1), texts())),
        _one("sum({})", x),
        _one("avg({})", x),
        _one("{}({})", st.sampled_from(["var_pop", "stddev_samp", "variance"]), x),
        _one("{}({}, {})", st.sampled_from(["covar_pop", "corr"]), _DOUBLE, _DOUBLE),
    )
    return st.one_of(call, _one("{} FILTER (WHERE {})", call, booleans(1)))


_DOUBLE = st.sampled_from(["fare", "tip", "weight", "fare - tip"])


@st.composite
def counts(draw: st.DrawFn) -> str:
    """Return SELECTs that count; over whole numbers and doubles only, which every engine computes alike."""
    by = draw(
        st.lists(st.one_of(booleans(1, exact=True), texts(), st.sampled_from(["paid", "stars", "to_zone"])), max_size=1)
    )
    outputs = [*by, f"count(*) FILTER (WHERE {draw(booleans(2, exact=True))})"]
    outputs.append(
        f"count({draw(st.one_of(integers(2, exact=True), fractions(2, exact=True), moments(2, exact=True), texts()))})"
    )
    where = draw(booleans(2, exact=True))
    return f"SELECT {', '.join(outputs)} FROM rides WHERE {where}{' GROUP BY 1' if by else ''}"


_DOUBLE_KEYS = st.sampled_from(["fare", "tip", "weight"])


@cache
def exact_keys() -> Text:
    """Return group keys that every engine computes alike."""
    return st.one_of(
        st.sampled_from(["paid", "shared", "late", "stars", "seats", "age", "day", "from_zone", "to_zone"]),
        booleans(1, exact=True),
        texts(),
        integers(1, exact=True),
        _one("floor({} / 10)", _DOUBLE_KEYS),
        _one("date_trunc('{}', {})", st.sampled_from(["day", "week", "month"]), moments(0)),
        _one("(CASE WHEN {} THEN {} ELSE 0.75 END)", booleans(1, exact=True), _NUMBER),
    )


@st.composite
def exact_aggregates(draw: st.DrawFn) -> list[str]:
    """Return an aggregate whose conditions every engine computes alike, and the number of rows that it is about.

    What is summed may differ by a rounding.
    """
    x = draw(st.one_of(integers(2, exact=True), fractions(2, exact=True)))
    calls = st.one_of(
        st.sampled_from([[f"{name}({x})", f"count({x})"] for name in ("sum", "avg", "var_pop", "stddev_pop")]),
        st.sampled_from([["covar_pop(fare, tip)", "count(tip)"], ["covar_pop(weight, fare)", "count(weight)"]]),
        st.sampled_from([[f"count(DISTINCT {name})"] for name in ("rider", "late", "stars", "day", "paid")]),
        st.one_of(moments(1, exact=True), texts()).map(lambda text: [f"count({text})"]),
    )
    filter_ = draw(st.one_of(st.just(""), booleans(1, exact=True).map(" FILTER (WHERE {})".format)))
    return [call + filter_ for call in draw(calls)]


@st.composite
def computable(draw: st.DrawFn) -> str:
    """Return whole statements that PostgreSQL can be compared with, up to the rounding of what is summed."""
    by = list(dict.fromkeys(draw(st.lists(exact_keys(), max_size=2))))
    asked = [text for texts in draw(st.lists(exact_aggregates(), min_size=1, max_size=2)) for text in texts]
    outputs = [*by, *dict.fromkeys([*asked, "count(*)"])]
    where = draw(st.one_of(st.just(""), booleans(2, exact=True).map(" WHERE {}".format)))
    grouping = f" GROUP BY {', '.join(str(i + 1) for i in range(len(by)))}" if by else ""
    return f"SELECT {', '.join(outputs)} FROM rides{where}{grouping}"


@st.composite
def statements(draw: st.DrawFn) -> str:
    """Return SELECTs over `rides`, perhaps with keys and a condition."""
    by = draw(st.lists(keys(), max_size=2))
    outputs = [*by, *draw(st.lists(aggregates(), min_size=1, max_size=3))]
    where = draw(st.one_of(st.just(""), booleans(2).map(" WHERE {}".format)))
    grouping = f" GROUP BY {', '.join(str(i + 1) for i in range(len(by)))}" if by else ""
    return f"SELECT {', '.join(outputs)} FROM rides{where}{grouping}"


def tables(
    table: Table, columns: Collection[str], units: Sequence[int | None] = (1, 2, None)
) -> st.SearchStrategy[list[Row]]:
    """Return small tables of a few units' rows and of nobody's; columns that are not named hold the same everywhere."""
    cells = {name: interesting(column) for name, column in table.columns.items()}
    drawn = {name: st.sampled_from(cells[name]) for name in table.columns if name in columns}
    rest = {name: st.just(cells[name][0]) for name in table.columns if name not in columns}
    return st.lists(st.fixed_dictionaries({**rest, **drawn, "rider": st.sampled_from(units)}), max_size=8)
