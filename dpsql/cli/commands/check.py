"""`dpsql check`: the configuration by itself, and beside the engine's catalogue."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from dpsql import control
from dpsql.accounting.balance import Balance, PrivacyFilter
from dpsql.accounting.privacy_loss import show_down, show_up
from dpsql.accounting.sql.opening import mark_path, read_mark
from dpsql.assembly import servable
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.show import Form, print_blocks, progress
from dpsql.clock import system_clock
from dpsql.engines.connect import connect_database, connect_engine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.owner import ColumnReport, TableReport, UnitReport, report
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.snapshot.copying import require_copyable
from dpsql.engines.snapshot.open import current_snapshot, open_snapshot
from dpsql.engines.snapshot.parts import whole_because
from dpsql.engines.spark.engine import SparkEngine
from dpsql.engines.tables import Constraints, engine_labels, require_tables
from dpsql.errors import ConfigError
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.open_ledger import (
    future_lines_notice,
    open_ledger,
    place_of_ledger,
    place_of_trail,
    rehearse_ledger,
    require_fitting_budgets,
)
from dpsql.policy.config import (
    Config,
    CopiedDatabase,
    EmbeddedShadow,
    LdapDirectory,
    PostgresLedgerConfig,
    Shadow,
    SnapshotConfig,
    SqliteLedgerConfig,
)
from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.load.scalars import bound_value
from dpsql.policy.load.shapes import write_schemas
from dpsql.policy.model import Column, Period, Policy, Role, SqlType, Table
from dpsql.private_files import open_private, require_private_directory
from dpsql.shadow.server.sandbox import Sandbox
from dpsql.side_services import require_prometheus_client
from dpsql.wire.protocol.certificate import certificate_of
from dpsql.wire.server.acceptor import listen
from dpsql.wire.server.directory import Directory

# What nobody meant, and is no mistake of the files: a kind of individuals that no role protects, a data set by another name.


def unprotected(policy: Policy) -> Iterator[str]:
    """Yield the tables about which no role can ask: none protects the individuals that they name."""
    protected = {role.protects for role in policy.roles.values()}
    for table in policy.tables.values():
        kinds = sorted(table.units)
        if kinds and protected and not protected & set(kinds):
            yield (
                f"note: {table.file}: no role protects {' or '.join(kinds)}, so nobody can ask about table {table.name}; "
                f"roles protect {', '.join(sorted(protected))}"
            )


def public_individuals(policy: Policy) -> Iterator[str]:
    """Yield the public tables to which a column points that names individuals: everybody may read who they are."""
    for table in policy.tables.values():
        for kind, bound in table.units.items():
            for name in bound.columns:
                target = table.columns[name].references
                if target is not None and policy.tables[target.table].public:
                    yield (
                        f"note: {policy.tables[target.table].file}: table {target.table} is public, and {table.name}.{name}, "
                        f"which names a {kind}, refers to it: everybody may read its rows. Unless these are no secret, give "
                        f"it privacy_units: {{{kind}: {{column: {target.column}, max_rows: 1}}}} instead of public: true"
                    )


def growth_that_ends(policy: Policy, today: date) -> Iterator[str]:
    """Yield the tables that grow by a time whose bounds today is not within."""
    for table in policy.tables.values():
        column = None if table.grows is None else table.columns[table.grows.by]
        if column is None or column.bounds is None:
            continue
        if not column.bounds.low <= bound_value(column.type, today.isoformat()) <= column.bounds.high:
            yield f"note: {table.file}: table {table.name} grows, and today is {today}: {_beyond(column.name)}"


def _beyond(column: str) -> str:
    return f"times beyond the bounds of {column} read as the nearest within, and conditions on them find no row; widen them"


# A row of two individuals of a kind is protected for one of them.

_Pointing = Mapping[str, Mapping[str, tuple[str, str]]]
"""By table and column, the table and the column that it points to."""


def second_persons(policy: Policy, pointing: _Pointing) -> Iterator[str]:
    """Yield the columns of individuals' rows that are no unit's, and point to the key of individuals of the same kind."""
    keys: dict[str, set[tuple[str, str]]] = {}
    declared = declared_references(policy)
    for table in policy.tables.values():
        for of, bound in table.units.items():
            if bound.through is None:
                own = (table.name, bound.column)
                keys.setdefault(of, set()).update((own, declared[table.name].get(bound.column, own)))
    for name, columns in pointing.items():
        table = policy.tables[name]
        named = {column for bound in table.units.values() for column in bound.columns}
        for column, key in columns.items():
            if column in named:
                continue
            kind = next((kind for kind in table.units if key in keys.get(kind, ())), None)
            names, how = f"names a second {kind} of a row", "column"
            if (
                kind is None
            ):  # a row of whom another row is, or a second row of the table through which it is somebody's
                kind, how = _by_another_row(table, key[0]), "through"
                names = f"leads to a second {kind} of a row, if the rows of {key[0]} that it names are another's"
            if kind is not None:
                yield (
                    f"note: {table.file}: {name}.{column} {names}, by its reference to "
                    f"{'.'.join(key)}: only that of {', '.join(table.units[kind].columns)} is protected. Leave {column} out, "
                    f"or give it a kind of its own that roles protect: privacy_units: {{other_{kind}: {{{how}: {column}}}}}"
                )


def _by_another_row(table: Table, to: str) -> str | None:
    """Return the kind of whose rows a table has a second way to, by rows of its own or of what its unit is found through."""
    return next(
        (kind for kind, bound in table.units.items() if to in {table.name, bound.through and bound.through.table}), None
    )


def declared_references(policy: Policy) -> _Pointing:
    """Return what columns point to by their files."""
    return {
        name: {
            column.name: (column.references.table, column.references.column)
            for column in table.columns.values()
            if column.references is not None
        }
        for name, table in policy.tables.items()
    }


def other_ledgers(loaded: Config) -> Iterator[str]:
    """Yield the ledgers of other data sets beside one that is not there yet: with a new name all budgets begin anew."""
    if not isinstance(loaded.ledger, SqliteLedgerConfig) or loaded.ledger.path.exists():
        return
    path = loaded.ledger.path
    if path.parent.name != loaded.policy.dataset:  # a place that was given
        return
    others = sorted(other for other in path.parent.parent.glob("*/ledger.db") if other != path)
    if others:
        yield (
            f'note: the data set "{loaded.policy.dataset}" has no ledger yet, and all budgets are whole; there is '
            f"{', '.join(map(str, others))}: if this is that data set by another name, move its folder to {path.parent}, "
            "and run dpsql adopt"
        )


# What the engine's catalogue says, and the files do not: no record is read.


def catalogue_notes(policy: Policy, engine: DuckDb | PostgresEngine) -> Iterator[str]:
    """Yield what engines let rows have that statements leave out, or read as something else."""
    constraints = {name: engine.constraints(name) for name in policy.tables}
    names = {engine.named(name): name for name in policy.tables}
    declared = declared_references(policy)
    pointing = {
        name: {
            column: (names[to], key)
            for column, (to, key) in found.references.items()
            if to in names and column in policy.tables[name].columns and column not in declared[name]
        }
        for name, found in constraints.items()
    }
    yield from second_persons(policy, pointing)
    for table in policy.tables.values():
        yield from _further_labels(table, engine)
        if not table.public:
            yield from _missing_values(table, _optional(constraints[table.name]))
        if isinstance(engine, PostgresEngine):
            yield from _further_times(table, engine)


def _further_labels(table: Table, engine: DuckDb | PostgresEngine) -> Iterator[str]:
    kinds = engine.columns(table.name)
    for column in table.columns.values():
        labels = engine_labels(kinds[column.name]) or frozenset()
        if column.values is not None and (more := sorted(labels - frozenset(map(str, column.values)))):
            # DuckDB's may have been made of the values of records, which nobody is to see here.
            named = (
                f": {', '.join(map(repr, more))}" if isinstance(engine, PostgresEngine) else f", {len(more)} in number"
            )
            yield (
                f"note: {table.file}: {column.name} has labels in the engine that values lacks{named}; rows with one read as "
                f"NULL{'' if column.nullable else f', and are left out where {column.name} is used'}"
            )


def _optional(found: Constraints) -> frozenset[str]:
    """Return the columns that may be NULL, also by the CHECKs, as far as these say so in plain words."""
    return frozenset(
        name for name in found.optional if not any(f"{name} IS NOT NULL" in check for check in found.checks)
    )


def _missing_values(table: Table, optional: frozenset[str]) -> Iterator[str]:
    named = {column for bound in table.units.values() for column in bound.columns}
    for kind, bound in table.units.items():
        if missing := [column for column in bound.columns if column in optional]:
            yield (
                f"note: {table.file}: {', '.join(missing)} may be NULL in the engine: such rows are no {kind}'s, and "
                "never count"
            )
    columns = table.columns.values()
    left = [c.name for c in columns if c.name in optional - named and not c.nullable and c.type is not SqlType.JSON]
    if left:
        yield (
            f"note: {table.file}: {', '.join(left)} may be NULL in the engine: statements that use one leave out the rows "
            "without it, unless the file says nullable: true"
        )


def _further_times(table: Table, engine: PostgresEngine) -> Iterator[str]:
    """Yield the column that partitions have beyond its bounds."""
    beyond = [ends for ends in engine.ranges(table.name) if _is_beyond(table.columns.get(ends[0]), *ends[1:])]
    if beyond:
        (column, *_), low, end = beyond[0], min(low for _, low, _ in beyond), max(end for _, _, end in beyond)
        yield f"note: {table.file}: partitions have {column} from {low} up to {end}: {_beyond(column)}"


def _is_beyond(column: Column | None, low: str, end: str) -> bool:
    if column is None or column.bounds is None or not column.type.is_temporal:
        return False
    try:
        first, last = bound_value(column.type, low), bound_value(column.type, end) - 1
    except ValueError:  # before the year 1, or beyond 9999
        return False
    return first < column.bounds.low or last > column.bounds.high


# What `dpsql check` says of tables that grow: what keeps their questions from standing, and for how long charges count.

# As long as each can be.
_PERIOD_DAYS = {Every.DAY: 1, Every.MONTH: 31, Every.QUARTER: 92}
_TERM_DAYS = {TermLength.MONTH: 31, TermLength.QUARTER: 92, TermLength.YEAR: 366}


def growth_notes(loaded: Config) -> Iterator[str]:
    """Yield what is to be known about each table that grows: a mistake is none of it."""
    for table in loaded.policy.tables.values():
        if table.grows is not None:
            yield from _said_of_table(loaded, table, table.grows)


def _said_of_table(loaded: Config, table: Table, grows: Grows) -> Iterator[str]:
    often = loaded.refresh.days
    if often is None:
        yield (
            f"table {table.name} grows, and no copy is made by itself (refresh: never): a {grows.every} is in a copy "
            "that was made after it has closed (dpsql refresh)"
        )
    elif often > _PERIOD_DAYS[grows.every]:
        yield f"table {table.name} grows by the {grows.every}, and a copy is made each {loaded.refresh}: it is released then"
    whole = whole_because(table, loaded.policy)
    if isinstance(loaded.engine, CopiedDatabase):
        whole = "the database can't be asked for a part of it"
    if loaded.snapshot is not None and whole is not None:
        yield f"table {table.name} is copied whole at each refresh, and not by the {grows.every}: {whole}"
    for kind, unit in table.units.items():
        if unit.through is not None:
            yield (
                f"table {table.name} has no standing questions that protect a {kind}: whose a row is, another table says; "
                "copy that column into it"
            )
        else:
            if unit.up_to is not None:
                yield (
                    f"table {table.name}: max_rows is auto, so that standing questions that protect a {kind} begin once a "
                    f"whole {grows.term} within the bounds of {grows.by} has closed; a number lets them begin at once"
                )
            yield from _said_of_budgets(loaded, table, grows, kind)


def _said_of_budgets(loaded: Config, table: Table, grows: Grows, kind: str) -> Iterator[str]:
    """Yield for how long what is paid for a standing question counts, where that is longer than budgets take for granted."""
    policy, budget = loaded.policy, loaded.policy.budgets[kind]
    roles = [role for role in policy.roles.values() if role.protects == kind and role.may_use(table.name)]
    lasts = _TERM_DAYS[grows.term] + grows.after + grows.measured_within
    if roles and budget.concentrated is not None:
        yield f"table {table.name} has no standing questions that protect a {kind}: budget.{kind} adds up by zCDP"
        return
    if roles and budget.window is not None and budget.window < lasts:
        yield (
            f"budget.{kind}.window is {budget.window} days: what a standing question of table {table.name} costs counts in "
            f"it until the {grows.term} is measured, {lasts} days at most, and then as long again as the window"
        )
    if roles and budget.window is not None and whole_because(table, policy) is None:
        yield (
            f"budget.{kind}.window is {budget.window} days: what any other question of table {table.name} costs counts since "
            f"the day on which its oldest {grows.every} was copied, and is refused where the window was full once since; "
            "dpsql refresh --all copies all anew"
        )
    for role in roles:
        yield from _said_of_role(role, table, grows)


def _said_of_role(role: Role, table: Table, grows: Grows) -> Iterator[str]:
    lasts, period = _TERM_DAYS[grows.term] + grows.after + grows.measured_within, role.budget.period
    if role.budget.concentrated is not None:
        yield f"role {role.name} asks no standing questions of table {table.name}: its budget adds up by zCDP"
        return
    if role.noise is not None:
        yield (
            f"role {role.name} aims at an error: its questions of table {table.name} stand only where it says what they pay "
            "(SET dpsql.epsilon)"
        )
    if period is not Period.NEVER and (period.days or 0) < lasts:
        yield (
            f"roles.{role.name}.budget: what a standing question of table {table.name} costs counts in each {period} in "
            f"which something of it may be measured, for up to {lasts} days"
        )


# All that `serve` needs beside the engine, tried without a trace: certificates, addresses, a copy of the ledger.


def rehearse_start(config: Config) -> str:
    """Return in a sentence what is ready.

    Raises:
        ConfigError: a certificate can't be used, or the ledger.
        OSError: an address is taken, and not by the server of this configuration; or the audit trail is another account's.
    """
    addresses = [address for address in (config.listen, config.web, config.metrics) if address is not None]
    if config.metrics is not None:
        require_prometheus_client()
    for address in addresses:
        certificate_of(address.tls)
    # A server of this very configuration has its addresses itself: they are not tried then.
    served = control.is_served(config.file)
    for address in () if served else addresses:
        for opened in listen(address.host, address.port):
            opened.close()
    ahead, balances = _try_ledger(config)
    _try_trail(config)
    said = ["it is served now; " * served + "its addresses and its ledger can be used", *overspent(balances)]
    if ahead is not None:
        until, means = future_lines_notice(ahead)
        said.append(f"the ledger has lines of {until}, which is to come: {means}")
    return "\n".join(said)


def overspent(balances: Iterable[Balance]) -> Iterator[str]:
    """Yield the budgets that are less than what counts in them: they were lowered since."""
    budgets: dict[str, PrivacyFilter] = {}
    for balance in balances:
        role = balance.account.role
        budgets |= {f"roles.{role.name}.budget": balance.role_filter, f"budget.{role.protects}": balance.dataset_filter}
    for name, budget in budgets.items():
        counted, limit, spent, total = budget.charged, budget.limit, budget.spent, budget.total
        if counted.epsilon > limit.epsilon:
            yield _lowered(f"{name}.epsilon", total.epsilon, spent.epsilon)
        if counted.delta > limit.delta:
            yield _lowered(f"{name}.delta", total.delta, spent.delta)


def _lowered(name: str, given: Fraction, spent: Fraction) -> str:
    return f"note: {name} is {show_down(given)}, less than the {show_up(spent)} that is spent: nothing is left"


def _try_ledger(config: Config) -> tuple[datetime | None, tuple[Balance, ...]]:
    """Open the ledger as `serve` would, but in a copy: opening may take one over, or bring it to a newer version.

    One on a server in a transaction that is rolled back. Return until when lines of a file lie in the future, and each
    role's balance.
    """
    if isinstance(config.ledger, PostgresLedgerConfig):
        return None, rehearse_ledger(config.ledger, config)
    path = place_of_ledger(config)
    # None yet, which `serve` will make. A mark without a ledger is one that is gone, and is refused by opening it.
    if not (path.exists() or read_mark(path) is not None):
        return None, ()
    with TemporaryDirectory(prefix="dpsql-check-") as made:
        copy = Path(made) / path.name
        if path.exists():
            # Opened for what it refuses: a link, another account's file, one with a second name.
            os.close(open_private(path, os.O_RDONLY))
            _copy_of_ledger(path, copy)
        # With its mark, by which an older copy is told from the ledger itself.
        if mark_path(path).exists():
            shutil.copyfile(mark_path(path), mark_path(copy))
            mark_path(copy).chmod(0o600)
        try:
            with open_ledger(replace(config, ledger=SqliteLedgerConfig(copy))) as ledger:
                balances = require_fitting_budgets(ledger, config.policy)
                return ledger.ahead(config.asked_anew), balances
        except ConfigError as wrong:
            # The message names the copy, which nobody but us has seen.
            raise ConfigError(wrong.message.replace(str(copy), str(path)), hint=wrong.hint) from None


def _try_trail(config: Config) -> None:
    """See that what there is of the audit trail could be written."""
    place = place_of_trail(config)
    if place.exists():
        require_private_directory(place)
    if (head := place / "head").exists():
        os.close(open_private(head, os.O_RDWR))


def _copy_of_ledger(path: Path, copy: Path) -> None:
    copy.touch(0o600)
    try:
        with (
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as ledger,
            closing(sqlite3.connect(copy)) as copied,
        ):
            # SQLite's own way: the state of one transaction, with what still lies in the WAL, while a server writes.
            ledger.backup(copied)
    except sqlite3.Error as error:
        raise ConfigError(f"ledger {path} can't be read: {error}") from error


def ask_directory(config: LdapDirectory) -> str:
    """Ask the directory that knows passwords for nobody, and return the report about it.

    Raises:
        ConfigError: it can't be asked: its users could not log in.
    """

    async def wrong() -> str | None:
        return await Directory(config).wrong()

    why = asyncio.run(wrong())
    if why is not None:
        raise ConfigError(
            f"ldap: the directory {config.host} can't be asked: {why}",
            hint="dpsql serves without it, but its users can't log in.",
        )
    return f"the directory {config.host} answers, over TLS"


# The owner's report of `dpsql check --data`, as tables on a terminal.

_WARNING = (
    "PRIVATE: exact numbers about the records, for their owner only. Bounds that are chosen by them make the guarantee "
    "conditional on that choice: declare what you know about the world, and use this to find mistakes."
)


def show_report(policy: Policy, reports: Iterable[TableReport], groups: int, form: Form) -> None:
    """Print what was found; `groups` is the number of groups that a typical answer has."""
    blocks: list[RenderableType] = [Text(_WARNING, style="bold red")]
    for table in reports:
        blocks.append(_columns_table(table))
        for units in table.units:
            roles = [role for role in policy.roles.values() if role.protects == units.kind]
            blocks.append(_units_table(table.name, units, roles, groups))
    print_blocks(*blocks, form=form)


def _columns_table(report: TableReport) -> RichTable:
    """Lay out the share of rows that each column's declaration changes."""
    title = Text(f"{report.name}: {report.rows:,} rows (private)")
    table = RichTable("column", title=title, title_justify="left", header_style="bold")
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


def _units_table(table: str, report: UnitReport, roles: Iterable[Role], groups: int) -> RichTable:
    """Lay out what bounds on a unit's rows would keep, and the error of a count with each role's ε."""
    units = sum(report.histogram.values())
    title = f"{table}: {units:,} units of kind {report.kind}, {report.nobodys:,} rows without one (private)"
    grid = RichTable(title=Text(title), title_justify="left", header_style="bold")
    grid.add_column("max_rows", justify="right")
    grid.add_column("rows kept", justify="right")
    for role in roles:
        grid.add_column(Text(f"error of a count,\n{groups:,} groups, {role.name}"), justify="right")
    for most in report.choices():
        errors = (report.error(most, role.per_query.epsilon, groups) for role in roles)
        cells = [f"{most:,}", f"{100 * report.kept(most):.1f} %", *(f"{100 * error:.2f} %" for error in errors)]
        grid.add_row(*cells, style="bold" if most == report.max_rows else None)
    return grid


# The command.

_Schemas = Annotated[
    Path | None, typer.Option("--json-schema", help="Write the JSON Schemas for editors into this folder instead.")
]


_Data = Annotated[bool, typer.Option("--data", help="Also read the records and print a private report, for owners.")]
_FilesOnly = Annotated[bool, typer.Option("--files-only", help="Check the files alone, without the engine.")]
_Groups = Annotated[int, typer.Option("--groups", help="With --data: how many groups a typical answer has.", min=1)]


@with_exit_code
def check_config(
    config: ConfigFile = DEFAULT_CONFIG,
    json_schema: _Schemas = None,
    files_only: _FilesOnly = False,
    data: _Data = False,
    groups: _Groups = 100,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Check the configuration, and compare it with the engine's tables: where `serve` would not start, this fails.

    Only with --data are records read; the rows of public tables always are. The ledger is opened in a copy. --json and --csv
    are for the report of --data.
    """
    if json_schema is not None:
        if not json_schema.is_dir():
            raise typer.BadParameter(f"{json_schema}: there is no such folder; make it first")
        for file in write_schemas(json_schema):
            typer.echo(f"wrote {file}")
        return
    loaded = servable(config)
    policy = loaded.policy
    views = f", {len(policy.views)} views" if policy.views else ""
    counts = f"{len(policy.tables)} tables{views}, {len(policy.roles)} roles, {len(loaded.users)} users"
    typer.echo(f"{config}: {counts}")
    for note in loaded.notes:
        typer.echo(f"note: {note}")
    _tell_sandbox(loaded.shadow)
    for line in () if loaded.snapshot is None else _old_copies(loaded, loaded.snapshot):
        typer.echo(line)
    for line in (
        *growth_notes(loaded),
        *growth_that_ends(policy, system_clock().date()),
        *unprotected(policy),
        *public_individuals(policy),
        *second_persons(policy, declared_references(policy)),
        *other_ledgers(loaded),
    ):
        typer.echo(line)
    if files_only:
        typer.echo("no mistake in the files")
        return
    if loaded.ldap is not None:
        typer.echo(ask_directory(loaded.ldap))
    if isinstance(loaded.engine, CopiedDatabase):
        _check_database(loaded, data=data, groups=groups, form=Form.of(as_json, as_csv))
        return
    with closing(connect_engine(loaded)) as engine:
        require_tables(policy, engine)
        typer.echo("the engine has every declared table and column")
        for note in () if isinstance(engine, SparkEngine) else catalogue_notes(policy, engine):
            typer.echo(note)
        if loaded.snapshot is not None:
            require_copyable(policy, engine)
            typer.echo("every declared column can be copied into a snapshot")
        # Also where no report is wanted: `serve` reads public tables at its start, and this is to fail where that would.
        public = read_public(policy, engine)
        typer.echo(rehearse_start(loaded))
        typer.echo("no mistake")
        if data:
            with progress("reading the records for the private report"):
                reports = tuple(report(policy, engine, public.declared))
            show_report(policy, reports, groups, Form.of(as_json, as_csv))


def _check_database(loaded: Config, *, data: bool, groups: int, form: Form) -> None:
    """Compare the declarations with a database that is copied; records are read from the copy, if there is one.

    Raises:
        ConfigError: `serve` would not start, or there is no copy to read.
    """
    with closing(connect_database(loaded)) as source:
        for note in source.notes():
            typer.echo(note)
        source.check_tables()
        typer.echo("the database has every declared table and column, and each can be copied")
        public = read_public(loaded.policy, source)
    typer.echo(rehearse_start(loaded))
    typer.echo("no mistake")
    if not data:
        return
    if current_snapshot(loaded) is None:
        raise ConfigError("--data reads the copy of the records, and there is none yet", hint="dpsql refresh makes it.")
    with closing(open_snapshot(loaded)) as engine, progress("reading the copy for the private report"):
        reports = tuple(report(loaded.policy, engine, public.declared))
    show_report(loaded.policy, reports, groups, form)


def _old_copies(loaded: Config, snapshot: SnapshotConfig) -> Iterator[str]:
    """Yield what it means that a copy answers for longer than a window is, or for how long at all."""
    often = loaded.refresh.days
    until = f"until the next {loaded.refresh}" if often else "until somebody makes another (dpsql refresh)"
    if snapshot.oldest is None:
        yield f"a copy of the records answers {until}, however old it is: engine.oldest sets an end"
    for kind, budget in loaded.policy.budgets.items():
        if budget.window is not None and (often is None or often > budget.window):
            yield (
                f"budget.{kind}.window is {budget.window} days, and a copy answers {until}: all that is asked of one copy "
                "counts for the days on which it was made, and nothing becomes free before there is another"
            )


def _tell_sandbox(shadow: Shadow) -> None:
    """Tell how far this machine's kernel would shut the shadow in; refuse, if the configuration wants more."""
    if isinstance(shadow, EmbeddedShadow):
        typer.echo(str(Sandbox.as_needed(shadow.sandbox)))
