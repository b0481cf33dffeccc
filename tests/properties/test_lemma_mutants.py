"""A test that can't fail is a defect: mistakes around the mathematics are caught by claims, orders or transcripts."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import pytest

from dpsql.errors import AccessDenied, Unsupported
from dpsql.policy.model import Privacy
from dpsql.privacy.features.lattice import MOST_POINTS
from dpsql.privacy.measurement.sums import Sums
from dpsql.question import Settings
from tests.support import lemma_mutants as mutants
from tests.support.exactness import Measured, measurements, turned_round
from tests.support.fix_wide import KEYS, LARGE, PLANS, USERS, Engines, Wide, plain
from tests.support.lemma_mutants import Break
from tests.support.records import Row
from tests.support.transcripts import Sessions, sessions
from tests.support.wide_statements import _CELLS, UNITS

_SEED = 1
"""Of a table on which each mistake is noticed by some engine."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a mistake is looked for: an engine that goes about its work in some way."""

    wide: Wide
    opened: Sessions

    def wrong(self, how: str, sql: str) -> bool:
        """Return whether something is wrong with a statement."""
        user, table = ("eve" if how.endswith("found") else "ana"), sql.split("FROM ")[1].split(maxsplit=1)[0]
        check: Callable[[str, str, str, Sequence[Row]], bool] = {
            "moves": self._moves, "order": self._order, "told": self._told, "refused": self._refused
        }[how.split(maxsplit=1)[0]]  # fmt: skip
        try:
            return check(sql, table, user, _rows(table))
        except (Unsupported, AccessDenied):
            return False

    def _measured(self, sql: str, user: str) -> Iterator[Measured]:
        for part in measurements(sql, self.wide.policy, self.wide.world, self.wide.engine, USERS[user]):
            yield Measured.of(part, self.wide.engine, self.wide.world)

    def _moves(self, sql: str, table: str, user: str, rows: Sequence[Row]) -> bool:
        """Return whether a unit moves a measurement too far, or is in too many groups."""
        for measured in self._measured(sql, user):
            if any(moved > measured.claim for moved in measured.moves(table, rows, UNITS[table])):
                return True
            part = measured.measurement
            self.wide.engine.fill(table, [row for row in rows if str(row[UNITS[table]])[0] == "2"])
            if isinstance(part, Sums) and part.delta and len(measured.exact()) > part.bound.rows:
                return True
        return False

    def _order(self, sql: str, table: str, user: str, rows: Sequence[Row]) -> bool:
        """Return whether the order of rows changes a measurement, or it or a unit the order of its groups."""
        for measured in self._measured(sql, user):
            first: Sequence[object] | None = None
            for order in (rows, rows[::-1], random.Random(1).sample(rows, len(rows))):  # noqa: S311  (an order)
                self.wide.engine.fill(table, order)
                seen = list(measured.exact().items())
                first = first or seen
                if seen != first:
                    return True
            if turned_round(measured, table, rows, UNITS[table]):
                return True
        return False

    def _told(self, sql: str, table: str, user: str, rows: Sequence[Row]) -> bool:
        """Return whether a client, the ledger or the engine can tell neighbours apart."""
        first: object = None
        for database in (rows, *([r for r in rows if r[UNITS[table]] != unit] for unit in (1, 2)), []):
            self.wide.engine.fill(table, database)
            try:
                transcript = self.opened.transcript(self.wide, sql, user, Settings())
            except AssertionError:
                return True
            told = transcript.told(fixed=user == "ana")
            first = first or told
            if told != first:
                return True
        return False

    def _refused(self, sql: str, _: str, user: str, __: Sequence[Row]) -> bool:
        try:
            list(self._measured(sql, user))
        except AccessDenied:
            return False
        return True


def _rows(table: str) -> Sequence[Row]:
    """Return units with as many rows as they may have and with many more, of every value that is like another."""
    draw = random.Random(_SEED)  # noqa: S311  (synthetic records)
    units = range(1, 7) if table == "members" else [1] * 2 + [2] * 9 + [3] * 9 + [4, 5, 6, 7]
    return [_row(table, unit, draw) for unit in units]


def _row(table: str, unit: int, draw: random.Random) -> Row:
    """Return a row; the first unit is alone with the largest value, and with one of two groups that come back as one.

    That value is one step beyond its end where the lattice is finest, which it is with so large an ε.
    """
    cells = {name: draw.choice(values) for name, values in _CELLS.items()}
    cells["txt"] = draw.choice(["a", "b", None])
    cells["dbl"] = draw.choice([0.0, -0.0, unit + 0.25, unit + 0.5])
    cells["g"] = 1 + 1 / MOST_POINTS if unit == 1 else draw.choice([-0.25, -0.0, 0.0, 0.5])
    cells["iv"] = 3 if unit == 1 else draw.choice([0, 1, 2])
    cells["big"] = draw.choice([LARGE, LARGE + 1, -LARGE - 1, -LARGE])
    cells["moment"] = draw.choice(KEYS["moment"][:3])
    cells["place"] = 2 if unit == 1 else draw.choice([1, 3, 3, 3, LARGE, LARGE + 1])
    written = Decimal(unit if unit > 2 else LARGE + 2 - unit).quantize(Decimal(1).scaleb(-draw.randrange(3)))
    return plain(UNITS[table], written if table == "payers" else unit, **cells)


BIG, NUM = "FROM visits v JOIN by_big p ON p.key = place", "FROM members m JOIN by_num p ON p.key = place"
CAST = "FROM members m JOIN by_big p ON p.key = fav::double precision"
PEOPLE = "FROM visits v JOIN people p USING (person)"
COPIES = "CASE WHEN p.key < 3 THEN 0.1 WHEN p.key = 3 THEN 0.1000000000000000000001 ELSE 0.10000000000000000000002 END"
LEFT = "count(*), count(DISTINCT person) FILTER (WHERE iv > 2)"
TWO_PAYERS = "SELECT count(*) FROM payers v WHERE v.payer IN (SELECT w.payer FROM payers w WHERE w.iv = 3)"
MUTANTS: Sequence[tuple[Break, str, str]] = (
    (mutants.listed_by_exact_value, "moves", f"SELECT {COPIES}, count(*) {BIG} GROUP BY 1"),
    (mutants.listed_by_exact_value, "moves", f"SELECT p.num, sum(iv) {BIG} GROUP BY 1"),
    (mutants.listed_by_exact_value, "told", f"SELECT p.num, median(iv) {BIG} GROUP BY 1"),
    (mutants.a_lookup_that_may_miss, "told found", f"SELECT txt, {LEFT} FROM visits GROUP BY 1"),
    (mutants.keys_of_its_own, "told found", f"SELECT txt, {LEFT} FROM visits GROUP BY 1"),
    (mutants.any_comparison_matches_once, "moves", f"SELECT count(*) {NUM}"),
    (mutants.any_comparison_matches_once, "moves", f"SELECT median(iv) {CAST}"),
    (mutants.any_column_is_a_key, "moves", "SELECT count(*) FROM members m JOIN by_big p ON p.label = m.txt"),
    (mutants.every_column_is_unique, "moves", f"SELECT count(*) {BIG}"),
    (mutants.a_threshold_only_for_groups, "told found", "SELECT txt, count(*) FROM visits GROUP BY 1"),
    (mutants.a_threshold_only_for_groups, "told found", "SELECT DISTINCT txt, big FROM visits"),
    (mutants.ordered_as_floats, "order found", "SELECT big, count(*) FROM visits GROUP BY 1"),
    (mutants.ordered_by_the_engine, "order found", "SELECT big, count(*) FROM visits GROUP BY 1"),
    (mutants.two_zeros, "order", "SELECT count(DISTINCT dbl) FROM visits"),
    (mutants.two_zeros, "order found", "SELECT DISTINCT txt, ceil(g) FROM visits"),
    (mutants.a_unit_of_many_texts, "order", "SELECT count(DISTINCT dbl) FROM payers"),
    (mutants.decimals_in_double_precision, "moves", TWO_PAYERS),
    (mutants.one_step_too_far, "moves", "SELECT avg(g) FROM visits WHERE g IS NOT NULL"),
    (mutants.one_row_hides_another, "moves", f"SELECT p.moment, count(*) {BIG} GROUP BY 1"),
    (mutants.the_first_row_wins, "moves", f"SELECT p.moment, count(*) {BIG} GROUP BY 1"),
    (mutants.no_rows_are_an_error, "told", "SELECT sum(iv), count(*) FROM visits"),
    (mutants.a_bucket_too_few, "told", "SELECT median(iv) FROM visits"),
    (
        mutants.only_units_of_the_table,
        "refused",
        f"SELECT p.name, count(*) {PEOPLE} GROUP BY 1",
    ),
    (mutants.empty_answers_are_not_kept, "told", "SELECT iv, count(*) FROM visits GROUP BY 1"),
    (mutants.empty_answers_are_failures, "told", "SELECT iv, count(*) FROM visits GROUP BY 1"),
    (mutants.an_extra_statement, "told", "SELECT iv, count(*) FROM visits GROUP BY 1"),
    (mutants.the_ledger_counts_groups, "told", "SELECT iv, count(*) FROM visits GROUP BY 1"),
    (mutants.in_the_order_of_their_counts, "order found", "SELECT big, count(*) FROM visits GROUP BY 1"),
    (mutants.nothing_found_costs_nothing, "told", "SELECT iv, count(*) FROM visits GROUP BY 1"),
    (mutants.a_unit_in_one_group, "moves", "SELECT iv, count(DISTINCT person) FROM visits GROUP BY 1"),
    (mutants.not_ranked, "order", "SELECT count(DISTINCT dbl), count(DISTINCT big) FROM visits"),
    (mutants.ranked_within_groups, "moves found", "SELECT big, count(*) FROM visits GROUP BY 1"),
)


@pytest.fixture(scope="module")
def benches(plans: Engines) -> Iterator[Sequence[Bench]]:
    """Give a bench for each engine; ε is so large that groups which are found out are shown."""
    policy = plans["duckdb"].policy
    roles = {n: replace(r, per_query=Privacy(Fraction(10**6), r.per_query.delta)) for n, r in policy.roles.items()}
    with sessions(plans["duckdb"]) as opened:
        worlds = [
            replace(plans[name], world=replace(plans[name].world, policy=replace(policy, roles=roles)))
            for name in PLANS
        ]
        yield [Bench(world, opened) for world in worlds]


RIGHT = {f"{how} {sql}": (how, sql) for _, how, sql in MUTANTS}


@pytest.mark.parametrize("plan", range(len(PLANS)), ids=PLANS)
@pytest.mark.parametrize(("how", "sql"), RIGHT.values(), ids=list(RIGHT))
def test_what_is_right_passes(how: str, sql: str, plan: int, benches: Sequence[Bench]) -> None:
    """Without a mistake nothing is caught, on any engine."""
    assert not benches[plan].wrong(how, sql)


@pytest.mark.parametrize(("mutant", "how", "sql"), MUTANTS, ids=lambda case: getattr(case, "__name__", "case"))
def test_what_is_wrong_is_caught(
    mutant: Break, how: str, sql: str, benches: Sequence[Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake is caught on its statement, by some engine; PostgreSQL is asked first, since it is the quicker."""
    mutant(monkeypatch)
    assert any(bench.wrong(how, sql) for bench in (*benches[2:], *benches[:2]))
