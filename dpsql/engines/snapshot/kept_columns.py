"""Columns that a copy keeps beside the declared ones, and how its tables are filled from the rows as they came.

Heavy units' rows are marked, and lie together, so that a scan of them skips the others: of several units of a table
those of the first, and within these those of the next. The expressions that statements most often compute of a row are
there already: their text is the statements', so that the value is, too. All of it is a function of the rows, total
like everything that statements say: no value of a row makes a copy fail. The choice of heavy units changes the order
of rows and the time that statements take, and no answer.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

import duckdb

from dpsql.policy.model import Column, Policy, Table
from dpsql.privacy.features.feature import ScaledExpr
from dpsql.privacy.measurement.contribution import USUAL_ROWS, least_points
from dpsql.privacy.measurement.histogram import BUCKETS, usual_counts
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.keys import key_of
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.binning import Grid, bucket, lattice_step
from dpsql.rewrite.emit.emitter import Emitter, identity, quote_name
from dpsql.rewrite.emit.kept_columns import HeavyMark, KeptColumns
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.ir.relation import ref

_MOST_STEPS = 2**31
"""Of how many steps of its own a column is kept: statements round to no more."""
_LATTICES = 3
"""Of how many lattices a copy keeps each column's values: those of most roles."""
_TOGETHER = 3
"""Of how many unit columns the heavy units' rows lie together: each makes twice as many parts of a table."""


def to_keep(table: Table, policy: Policy) -> KeptColumns:
    """Return what a copy of a table keeps."""
    names = _names(table)
    most: dict[str, int] = {}
    for bound in table.units.values():
        if bound.through is None:
            most[bound.column] = min(bound.max_rows, most.get(bound.column, bound.max_rows))
    heavy = {column: HeavyMark(next(names), rows) for column, rows in most.items()}
    read = (*table.columns.values(), *table.paths)
    texts = dict.fromkeys(text for column in read for text in _texts(table, column, policy))
    numbers = {column: next(names) for column in most if _told_apart(table.columns[column])}
    return KeptColumns(heavy, {text: next(names) for text in texts}, numbers)


def _told_apart(column: Column) -> bool:
    """Return whether units are numbered: texts and whole numbers are joined by what they are grouped by, for sure."""
    return column.type.is_text or column.type.is_integer


def _names(table: Table) -> Iterator[str]:
    """Yield names that no column of the table has."""
    taken = {name.lower() for name in table.columns}
    return (name for name in (f"dpsql {number}" for number in itertools.count(1)) if name not in taken)


def _texts(table: Table, column: Column, policy: Policy) -> Iterator[str]:
    """Yield what statements compute of a text with values, and of a number with bounds: of whole ones what they group by."""
    if table.public or column.references is not None:
        return
    emitter, read = Emitter(DUCKDB, DeclaredFacts({})), ref(0, table, column.name)
    if column.type.is_text and column.values is not None:
        yield from _of_values(emitter, read)
    if not column.type.is_number or column.bounds is None:
        return
    if column.type.is_integer:
        # What is kept has to be the statements' very text: `Emitter` looks it up by that, and writes the column in its
        # place.
        yield emitter.narrowed(read, int(column.bounds.low), int(column.bounds.high))
        return
    if not column.nullable:
        yield emitter.present(read)
    for number in usual_counts(ScaledExpr(read, column.bounds), table.expected_rows or USUAL_ROWS):
        grid = Grid.of(column.bounds, number)
        if grid.parts > 1:
            yield bucket(emitter, read, column.bounds, grid.fine, single=False)
        if grid.parts == 1 or number == BUCKETS:
            yield bucket(emitter, read, column.bounds, number, single=False)
    own = int(column.bounds.width / column.step) if column.step else _MOST_STEPS + 1
    # Of cents up to a million there are 10⁸, which statements count in. More than 2³¹ are rounded, as where there are none.
    for steps in (own,) if own <= _MOST_STEPS else _steps(table, policy):
        yield lattice_step(emitter, read, column.bounds, steps)


def _of_values(emitter: Emitter, read: Ref) -> Iterator[str]:
    """Yield whether a text is one of those declared, and which: what statements group by, where they are few."""
    if not read.column.nullable:
        yield emitter.present(read)
    env = emitter.declared.env([read])
    key = key_of(read, env, len(env[read].values or ()) + 1)
    if key.grouped != read:
        yield emitter.sql(key.grouped)


def _steps(table: Table, policy: Policy) -> list[int]:
    """Return into how many steps roles' statements divide the bounds of a column without steps of its own."""
    counts = Counter(
        least_points(table.expected_rows, bound.max_rows, role.per_query.epsilon)
        for role in policy.roles.values()
        for kind, bound in table.units.items()
        if role.protects == kind and (role.tables is None or table.name in role.tables)
    )
    usual = [points for points, _ in counts.most_common(_LATTICES)]
    return list(dict.fromkeys(steps for points in usual for steps in (points, 2 * points)))


def fill(connection: duckdb.DuckDBPyConnection, table: Table, kept: KeptColumns, rows: str, into: str) -> None:
    """Make the table `into` of `rows`, a table of the same columns: theirs in their order, with what is kept beside them."""
    joins = [_number_units(connection, table, *heavy, rows, place) for place, heavy in enumerate(kept.heavy.items())]
    columns = _of_rows(table, kept)
    for place, (unit, mark) in enumerate(kept.heavy.items()):
        columns.append(f"h{place}.heavy AS {quote_name(mark.column)}")
        columns += [f"h{place}.n AS {quote_name(kept.units[unit])}"] if unit in kept.units else []
    select = f"SELECT {', '.join(columns)} FROM {' '.join([f'{rows} AS s0', *joins])}"  # noqa: S608
    # Empty first, for the types. Then the rows of units that are heavy in all respects, and so on: what is inserted
    # together lies together, so that a scan for heavy units can leave out whole row groups.
    connection.execute(f"CREATE TABLE {into} AS {select} LIMIT 0")
    for part in itertools.product(("IS NOT NULL", "IS NULL"), repeat=min(len(joins), _TOGETHER)):
        conditions = [f"h{place}.heavy {test}" for place, test in enumerate(part)]
        connection.execute(f"INSERT INTO {into} {select} WHERE {' AND '.join(['TRUE', *conditions])}")
    for place, _ in enumerate(joins):
        connection.execute(f"DROP TABLE temp.units{place}")


def of_rows(table: Table, kept: KeptColumns, rows: str) -> str:
    """Return the SELECT of `rows` with what is kept beside their columns, of a table of which nothing is that spans it."""
    return f"SELECT {', '.join(_of_rows(table, kept))} FROM {rows} AS s0"  # noqa: S608


def _of_rows(table: Table, kept: KeptColumns) -> list[str]:
    columns = [f"s0.{quote_name(name)}" for name in table.columns]
    return columns + [f"{text} AS {quote_name(name)}" for text, name in kept.texts.items()]


def _number_units(
    connection: duckdb.DuckDBPyConnection, table: Table, unit: str, mark: HeavyMark, rows: str, place: int
) -> str:
    """Number the units, the heavy ones first; return the join that finds a row's number, and the same where it is heavy.

    Units are told apart by the very text that tells them apart in statements; none is listed twice, so no row is doubled.
    """
    name = identity(ref(0, table, unit), DUCKDB)
    counted = (
        f"SELECT {name} AS u, count(*) > {mark.rows} AS many FROM {rows} AS s0 WHERE {name} IS NOT NULL GROUP BY 1"  # noqa: S608
    )
    # rider  rows        u      many   n    heavy
    # ann    3       →   bob    true   1    1
    # bob    900         ann    false  2    NULL
    numbered = f"SELECT u, many, CAST(row_number() OVER (ORDER BY many DESC) AS BIGINT) AS n FROM ({counted}) AS g"  # noqa: S608
    heavy = f"SELECT u, n, CASE WHEN many THEN n END AS heavy FROM ({numbered}) AS g"  # noqa: S608
    connection.execute(f"CREATE TEMP TABLE units{place} AS {heavy}")
    return f"LEFT JOIN temp.units{place} AS h{place} ON {name} = h{place}.u"


def from_mapping(mapping: Mapping[str, Mapping[str, Mapping[str, object]]]) -> Mapping[str, KeptColumns]:
    """Read what tables keep, as `dataclasses.asdict` writes it.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is not so.
    """
    return {str(table): _of_mapping(kept["heavy"], kept["texts"], kept["units"]) for table, kept in mapping.items()}


def _of_mapping(heavy: Mapping[str, object], texts: Mapping[str, object], units: Mapping[str, object]) -> KeptColumns:
    marks = {str(unit): HeavyMark(**mark) for unit, mark in heavy.items() if isinstance(mark, dict)}
    named, numbers = ({str(of): str(name) for of, name in names.items()} for names in (texts, units))
    return KeptColumns(marks, named, numbers)
