"""The page Explore: the story of what ε does, told with built-in samples, and questions about the visitor's own data."""

import asyncio
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from fractions import Fraction
from functools import cache

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.accounting.balance import Account
from dpsql.accounting.privacy_loss import compose, remaining, show_down
from dpsql.epsilon.numbers import BadInput
from dpsql.gateway.explaining.explained import Explained
from dpsql.plots.density import SMOOTHING
from dpsql.plots.samples import SAMPLE_BUCKETS, SIZE, samples
from dpsql.policy.model import NoiseLevel, Policy, Privacy
from dpsql.web.inputs import Json, brief, fraction, noise_facts, one_of
from dpsql.web.page_context import HERE, PageContext, template_of
from dpsql.web.sessions import Visitor
from dpsql.web.site import Cells, RowsClient, Site

# The explorer's question about a real column: one GROUP BY through the server, paid for like any other.

_BUCKETS = 100
_WHOLE = frozenset({"smallint", "integer", "bigint"})
_NUMBERS = re.compile(r"(smallint|integer|bigint|real|double precision|numeric)\b")
# A table as SQL finds it, whatever the visitor's search_path is: `public.` stands before a bare name that leads elsewhere.
# Each part is quoted by itself: med.Visits → med."Visits". It is the shadow that quotes, by its own rules.
_QUOTED = (
    "CASE WHEN strpos(table_name, '.') = 0 AND to_regclass(quote_ident(table_name)) IS DISTINCT FROM "
    "to_regclass(concat('public.', quote_ident(table_name))) THEN 'public.' ELSE '' END || "
    "array_to_string(ARRAY(SELECT quote_ident(part) FROM unnest(string_to_array(table_name, '.')) WITH ORDINALITY "
    "AS u (part, place) ORDER BY place), '.')"
)
_DECLARED = (
    f"SELECT table_name, column_name, {_QUOTED}, quote_ident(column_name), type, lower_bound, upper_bound, "  # noqa: S608
    "coalesce(description, '') FROM dpsql.columns WHERE lower_bound IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class BoundedColumn:
    """A number column of a protected table with equal buckets over its declared range."""

    table: str
    column: str
    quoted: tuple[str, str]
    """The names as SQL spells them: table and column."""
    low: Fraction
    high: Fraction
    buckets: int
    description: str

    @property
    def name(self) -> str:
        """Return `table.column`."""
        return f"{self.table}.{self.column}"

    @property
    def statement(self) -> str:
        """Return the question, as anybody could type it."""
        table, column = self.quoted
        bucket = f"width_bucket({column}, {_decimal(self.low)}, {_decimal(self.high)}, {self.buckets})"
        # Names are quoted by the shadow and numbers are numbers: nothing here is a visitor's text.
        return f"SELECT {bucket} AS bucket, COUNT(*) FROM {table} GROUP BY 1 ORDER BY 1"  # noqa: S608

    def counts(self, rows: Iterable[Cells]) -> list[int]:
        """Return the noisy count of each bucket; values at the upper end or beyond it belong to the last."""
        counts = [0] * self.buckets
        for bucket, count in rows:
            # Bucket 0 is below the bounds, NULL nowhere; the one after the last is what lies at the upper end.
            if isinstance(bucket, int) and isinstance(count, int) and bucket > 0:
                counts[min(bucket, self.buckets) - 1] += count
        return counts


async def bounded_columns(client: RowsClient, policy: Policy) -> tuple[BoundedColumn, ...]:
    """Return the columns that the visitor may ask about, read from `dpsql.columns` over their own connection."""
    rows = [tuple(map(str, row)) for row in await client.rows(_DECLARED)]
    tables = {name for name, table in policy.tables.items() if not table.public}
    paths = {(name, path.name) for name in tables for path in policy.tables[name].paths}
    numbers = (row for row in rows if _NUMBERS.match(row[4]) and row[0] in tables)
    return tuple(_bounded(row, is_path=(row[0], row[1]) in paths) for row in numbers)


def _bounded(row: Sequence[str], *, is_path: bool) -> BoundedColumn:
    """Return a column, or a path in one of JSON, whose name is SQL already."""
    table, column, table_sql, column_sql, kind, low, high, description = row
    column_sql = f"({column})::{kind}" if is_path else column_sql
    first, last, buckets = Fraction(low), Fraction(high), _BUCKETS
    if kind in _WHOLE:
        # Whole numbers stand in the middle of their buckets.
        # 1 … 6 are six buckets of 0.5 … 6.5.
        buckets = min(buckets, int(last - first) + 1)
        first, last = first - Fraction(1, 2), last + Fraction(1, 2)
    return BoundedColumn(table, column, (table_sql, column_sql), first, last, buckets, description)


def _decimal(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.15g}"


# The data of the story on the page Explore: built-in samples, whose raw counts may be shown, and public numbers.

LEAST_SAMPLE_EPSILON, MOST_SAMPLE_EPSILON = Fraction(1, 100), Fraction(10)
"""The ends of the slider."""
FIRST_EPSILON = Fraction(1, 10)
"""Where the slider stands at first: the noise is seen, and so is the data behind it."""
SMOOTHINGS = {"none": 0.0, "light": SMOOTHING, "strong": 0.05}
"""The widths of the kernel that a visitor may choose, as shares of the range; both lines of a picture have the same."""
ROLES = {NoiseLevel.LOW: "owner", NoiseLevel.MEDIUM: "collaborator", NoiseLevel.HIGH: "third party"}
"""The usual role of each level of noise."""


@dataclass(frozen=True, slots=True)
class SampleUnit:
    """The privacy unit of a sample's rows, and the most rows that count for one."""

    name: str
    rows: int

    @property
    def plain(self) -> str:
        """Return its name for samples that are no trips."""
        return "1 row" if self.rows == 1 else f"{self.rows} rows"


SAMPLE_UNITS = (SampleUnit("row", 1), SampleUnit("passenger", 5), SampleUnit("driver", 40), SampleUnit("medallion", 80))


@cache
def story_data() -> Json:
    """Return all that the browser draws the story from; the noise it draws itself, since the records are nobody's secret."""
    return {
        "buckets": SAMPLE_BUCKETS,
        "size": SIZE,
        "samples": [
            {
                "name": sample.name,
                "title": sample.title,
                "axis": sample.unit,
                "low": sample.low,
                "high": sample.high,
                "group": sample.group,
                "sizes": list(sample.by_size),
                "counts": [list(counts) for counts in sample.by_size.values()],
            }
            for sample in samples().values()
        ],
        "units": [{"name": unit.name, "plain": unit.plain, "rows": unit.rows} for unit in SAMPLE_UNITS],
        "roles": [{"name": ROLES[level], "level": level, "target": float(level.error)} for level in NoiseLevel],
        "smoothings": SMOOTHINGS,
        "epsilon": {
            "low": float(LEAST_SAMPLE_EPSILON),
            "high": float(MOST_SAMPLE_EPSILON),
            "first": float(FIRST_EPSILON),
        },
    }


# The page.

_RECENT = 1_000
_WITHIN = math.log(20)
"""Of Laplace noise 95 % is within so many times its scale."""


def story_page() -> Json:
    """Return what the template of the story needs, for any reader."""
    samples = story_data()["samples"]
    assert isinstance(samples, list)
    groups = dict.fromkeys(sample["group"] for sample in samples)
    return {
        "groups": {group: [sample for sample in samples if sample["group"] == group] for group in groups},
        "units": SAMPLE_UNITS,
        "smoothings": SMOOTHINGS,
    }


async def explore_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page."""
    policy, role = context.site.policy, visitor.role
    columns = await bounded_columns(visitor.client, policy)
    return context.page(
        request,
        "explore.html",
        visitor,
        story=story_page(),
        columns=columns,
        protects=role.protects,
        cap=min(role.per_query.epsilon, MOST_SAMPLE_EPSILON),
    )


async def story(_: Request, __: PageContext, ___: Visitor) -> Response:
    """Return what the story is told with: public and made-up rows."""
    return JSONResponse(await asyncio.to_thread(story_data))


async def explore_price(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what asking about a real column would cost; nothing is asked."""
    column, epsilon = await _chosen(request, context, visitor)
    left = await asyncio.to_thread(_left, context.site, visitor)
    paid = await asyncio.to_thread(_when_paid, context.site, visitor, column.statement, epsilon)
    return JSONResponse(
        {
            "left": brief(left.epsilon),
            "enough": epsilon <= left.epsilon,
            "paid": paid,
            **await _facts(column, epsilon, context.site, visitor),
        }
    )


async def ask(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Ask about a real column through the server, and return the private curve and what was charged."""
    column, epsilon = await _chosen(request, context, visitor)
    # What was charged is what the ledger has more than before, and not the price that was shown: in between somebody of the
    # role may have asked the same, and it was free.
    before = await asyncio.to_thread(_paid, context.site, visitor, column.statement)
    rows = await visitor.client.rows(column.statement, str(float(epsilon)))
    after = await asyncio.to_thread(_paid, context.site, visitor, column.statement)
    left = await asyncio.to_thread(_left, context.site, visitor)
    return JSONResponse(
        {
            "counts": column.counts(rows),
            "charged": show_down(remaining(after, before).epsilon),
            "left": brief(left.epsilon),
            **await _facts(column, epsilon, context.site, visitor),
        }
    )


async def _chosen(request: Request, context: PageContext, visitor: Visitor) -> tuple[BoundedColumn, Fraction]:
    """Return the column, which must be one that the visitor's own connection shows, and the ε within the role's limit."""
    given = request.query_params if request.method == "GET" else await context.form(request)
    columns = {column.name: column for column in await bounded_columns(visitor.client, context.site.policy)}
    if not columns:
        raise BadInput("your role has no table with a bounded number column")
    cap = min(visitor.role.per_query.epsilon, MOST_SAMPLE_EPSILON)
    return columns[one_of(given, "column", tuple(columns))], fraction(
        given, "epsilon", min(LEAST_SAMPLE_EPSILON, cap), cap
    )


async def _facts(column: BoundedColumn, epsilon: Fraction, site: Site, visitor: Visitor) -> Json:
    """Return what is known of a question before it is asked: how far its counts err is what EXPLAIN says to this visitor."""
    rows = [site.policy.tables[column.table].units[visitor.role.protects].max_rows]
    ((plan,),) = await visitor.client.rows(f"EXPLAIN (FORMAT JSON) {column.statement}", str(float(epsilon)))
    (output,) = Explained.of(plan[0]["Plan"]).outputs
    if output.given:  # as many rows of each person as have these margins by noise alone
        # Their margin is ln(20)·C/ε, solved for C.
        rows = [*dict.fromkeys(max(1, round(margin * float(epsilon) / _WITHIN)) for margin in output.margins)]
    return {
        "title": column.description or column.name,
        "axis": column.name,
        "low": float(column.low),
        "high": float(column.high),
        "statement": column.statement,
        "role": visitor.role.name,
        "given": output.given or None,
        "rows": rows,
        **noise_facts(rows[-1], epsilon),
    }


def _paid(site: Site, visitor: Visitor, statement: str) -> Privacy:
    """Return what this visitor has paid for a statement lately."""
    lines = site.ledger.entries(visitor.role.name, _RECENT)
    return compose(line.cost for line in lines if (line.user, line.statement) == (visitor.user, statement))


def _when_paid(site: Site, visitor: Visitor, statement: str, epsilon: Fraction) -> str | None:
    """Return when the role last paid this much for a statement, as people read it: in the same epoch it is free."""
    lines = [line for line in site.ledger.entries(visitor.role.name, _RECENT) if line.statement == statement]
    # One statement may be charged in several lines: what chooses how many rows of a unit count is one of its own.
    for time in dict.fromkeys(line.time for line in lines):
        if compose(line.cost for line in lines if line.time == time).epsilon == epsilon:
            return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return None


def _left(site: Site, visitor: Visitor) -> Privacy:
    account = Account(visitor.user, visitor.role, site.policy.budgets[visitor.role.protects])
    balance = site.ledger.balance(account, read=site.read())
    # A question is charged to both: the smaller one ends first.
    return min(balance.role_left, balance.dataset_left, key=lambda left: left.epsilon)


# The story of the page Explore as one file that a browser opens without any server: made-up and public rows only.

_SCRIPTS = ("dom", "chart", "noise", "picture", "story", "yours", "explore")
"""In the order in which they need each other."""
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""A content security policy under which a browser fetches and sends nothing."""
_IMPORT, _EXPORT = re.compile(r"^import .*?;\n", re.MULTILINE), re.compile(r"^export ", re.MULTILINE)


def story_file() -> str:
    """Return the page, with its scripts, its style and its data inside."""
    inside: Json = {
        "policy": _POLICY,
        "style": Markup((HERE / "static" / "style.css").read_text(encoding="utf-8")),  # noqa: S704  a file of ours
        "script": Markup(_joined()),  # noqa: S704  files of ours
        "story": story_data(),
    }
    return template_of("explore.html").render(inside=inside, visitor=None, dataset="synthetic data", story=story_page())


def _joined() -> str:
    """Return the modules as one: what they share by name they see, once their imports and exports are taken out."""
    # One script and no modules: a browser loads none of those from a file, whose origin is nobody's. So no two of our files
    # may have the same name at their top.
    texts = ((HERE / "static" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)
