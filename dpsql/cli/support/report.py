"""The owner's report of `dpsql check --data`, as tables on a terminal."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dpsql.cli.support.show import Form, print_blocks
from dpsql.engines.owner import ColumnReport, TableReport, UnitReport
from dpsql.policy.model import Policy, Role

_WARNING = (
    "PRIVATE: exact numbers about the records, for their owner only. Bounds that are chosen by them make the guarantee "
    "conditional on that choice: declare what you know about the world, and use this to find mistakes."
)


def show_report(policy: Policy, reports: Iterable[TableReport], groups: int, form: Form) -> None:
    """Print what was found; `groups` is the number of groups that a typical answer has."""
    blocks: list[RenderableType] = [Text(_WARNING, style="bold red")]
    for report in reports:
        blocks.append(_columns(report))
        for units in report.units:
            roles = [role for role in policy.roles.values() if role.protects == units.kind]
            blocks.append(_units(report.name, units, roles, groups))
    print_blocks(*blocks, form=form)


def _columns(report: TableReport) -> Table:
    """Lay out the share of rows that each column's declaration changes."""
    title = Text(f"{report.name}: {report.rows:,} rows (private)")
    table = Table("column", title=title, title_justify="left", header_style="bold")
    for heading in ("NULL or NaN", "below bounds", "above bounds", "not in domain"):
        table.add_column(heading, justify="right")
    for column in report.columns:
        table.add_row(Text(column.name), *(_share(number, report.rows) for number in _numbers(column)))
    return table


def _numbers(column: ColumnReport) -> tuple[int | None, ...]:
    return (column.nulls, column.below, column.above, column.outside)


def _share(number: int | None, rows: int) -> str:
    if number is None:
        return ""
    share = 100 * number / max(rows, 1)
    return ("< 0.01 %" if share < 0.01 else f"{share:.2f} %") if number else "none"


def _units(table: str, report: UnitReport, roles: Iterable[Role], groups: int) -> Table:
    """Lay out what bounds on a unit's rows would keep, and the error of a count with each role's ε."""
    units = sum(report.histogram.values())
    title = f"{table}: {units:,} units of kind {report.kind}, {report.nobodys:,} rows without one (private)"
    grid = Table(title=Text(title), title_justify="left", header_style="bold")
    grid.add_column("max_rows", justify="right")
    grid.add_column("rows kept", justify="right")
    for role in roles:
        grid.add_column(Text(f"error of a count,\n{groups:,} groups, {role.name}"), justify="right")
    for most in report.choices():
        errors = (report.error(most, role.per_query.epsilon, groups) for role in roles)
        cells = [f"{most:,}", f"{100 * report.kept(most):.1f} %", *(f"{100 * error:.2f} %" for error in errors)]
        grid.add_row(*cells, style="bold" if most == report.max_rows else None)
    return grid
