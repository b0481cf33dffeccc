"""`dpsql ledger`, `adopt` and `unlock`: a ledger is copied, checked, put back, read, dated, handed over, and opened again."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from dpsql.accounting.ledger import Entry, Event, FailureKind, OpeningWay
from dpsql.accounting.postgres.ledger import examine_server, missing_charges
from dpsql.accounting.postgres.session import SCHEMA, shown_place
from dpsql.accounting.privacy_loss import show_down
from dpsql.accounting.sql.opening import LedgerExamination
from dpsql.accounting.sqlite.upkeep import copy_ledger, examine, missing_charges_of, put_back
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.show import Form, print_blocks, table_of, terminal_text
from dpsql.errors import ConfigError, Unsupported
from dpsql.open_ledger import open_ledger, place_of_ledger, read_ledger_lines
from dpsql.policy.config import Config, PostgresLedgerConfig
from dpsql.policy.load import load

ledger_app = typer.Typer(name="ledger", help="Keep the ledger safe, and read it.", no_args_is_help=True)
_Copy = Annotated[Path, typer.Argument(help="The copy's file.")]


@ledger_app.command(epilog="Example: dpsql ledger backup /backups/ledger.db")
@with_exit_code
def backup(copy: _Copy, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Copy the ledger, also while it is served, and verify the copy."""
    copy_ledger(_file(load(config)), copy)
    typer.echo(f"{copy}: {_whole(copy)}")


@ledger_app.command(epilog="Example: dpsql ledger verify /backups/ledger.db")
@with_exit_code
def verify(
    copy: Annotated[Path | None, typer.Argument(help="A copy; the ledger itself if none is given.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """See that a ledger, or a copy, is whole, and how many charges it lacks; nothing is changed."""
    loaded = load(config)
    if copy is None and isinstance(loaded.ledger, PostgresLedgerConfig):
        _verify_server(loaded.ledger)
        return
    path = _file(loaded)
    file = copy or path
    said = _whole(file)
    missing = missing_charges_of(path, examine(file))
    if missing is None:
        raise ConfigError(f"{file} is not of the ledger that belongs at {path}", hint="The mark beside it says so.")
    # A copy is older than the ledger as soon as something is charged; the ledger itself may lack nothing.
    if missing and copy is None:
        raise ConfigError(f"{file} lacks {missing:,} charges", hint="It is an older copy: dpsql ledger restore.")
    typer.echo(f"{file}: {said}" + (f"; it lacks the last {missing:,} charges" if missing else ""))


@ledger_app.command(epilog="Example: dpsql ledger restore /backups/ledger.db")
@with_exit_code
def restore(
    copy: _Copy,
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Though charges are missing: what they paid for counts no more.")
    ] = False,
) -> None:
    """Put a copy in the ledger's place while nobody serves it; what was there is kept beside it."""
    loaded = load(config)
    path = _file(loaded)
    said = _whole(copy)
    missing = _behind(path, examine(copy))
    if missing != 0 and not accept_loss:
        what = "is not of the ledger that was here" if missing is None else f"lacks the last {missing:,} charges"
        raise ConfigError(
            f"{copy} {what}: what was released since would not be counted",
            hint="Is there a newer copy? If not, lower the budgets by what may be missing, and say --accept-loss.",
        )
    moved = put_back(copy, path, f".before-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    # Opened once for the mark, which says how many charges there are. ANEW accepts that they are fewer than before, and the
    # ledger keeps that somebody said so.
    open_ledger(loaded, OpeningWay.AS_IT_IS if missing == 0 else OpeningWay.ANEW).close()
    typer.echo(f"{path}: {said}")
    for file in moved:
        typer.echo(f"what was there is {file}")


@ledger_app.command(epilog="Example: dpsql ledger show --role analyst --csv > charges.csv")
@with_exit_code
def show(
    config: ConfigFile = DEFAULT_CONFIG,
    role: Annotated[str | None, typer.Option("--role", "-r", help="Of this role only.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many lines, the newest first.", min=1)] = 20,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print the newest charges: when, who, for which role, how much, and for what."""
    form = Form.of(as_json, as_csv)
    entries = read_ledger_lines(load(config), role, limit)
    if form is Form.JSON:
        for entry in entries:
            typer.echo(json.dumps(_object(entry), ensure_ascii=False))
        return
    names = ("time (UTC)", "user", "role", "protects", "ε", "δ", "what", "statement")
    rows = [tuple(terminal_text(str(_object(entry)[key])) for key in _LINE_COLUMNS) for entry in entries]
    print_blocks(table_of(names, rows), form=form)


@ledger_app.command(epilog="Example: dpsql ledger redate")
@with_exit_code
def redate(
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="The clock is right now; don't ask.")] = False,
) -> None:
    """Where the clock was ahead once: let what lies in the future count as of today, and no more until that day comes."""
    loaded = load(config)
    with open_ledger(loaded) as ledger:
        ahead = ledger.ahead(loaded.asked_anew)
        if ahead is None:
            typer.echo("nothing in the ledger lies in the future")
            return
        now = datetime.now(UTC)
        typer.echo(
            f"the ledger has lines of {ahead:%Y-%m-%d %H:%M} (UTC), and now it is {now:%Y-%m-%d %H:%M}", err=True
        )
        if not yes and not typer.confirm("Is the clock right now?", err=True):
            raise typer.Exit(1)
        redating = ledger.redate(loaded.asked_anew)
    if redating is not None:
        since = "an unknown day" if redating.begin == date.min else str(redating.begin)
        typer.echo(f"{redating.lines:,} charges count as made between {since} and {redating.day}")


_LINE_COLUMNS = ("time", "user", "role", "protects", "epsilon", "delta", "note", "statement")


def _object(entry: Entry) -> dict[str, object]:
    """Return what a line says; no control character of somebody's statement may reach the terminal."""
    return {
        "time": f"{entry.time.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        "user": entry.user,
        "role": entry.role,
        "protects": entry.kind,
        "epsilon": show_down(entry.cost.epsilon),
        "delta": show_down(entry.cost.delta),
        "note": entry.note,
        "measured": entry.measured,
        "statement": "".join(letter if letter.isprintable() else " " for letter in entry.statement),
    }


def _behind(path: Path, examination: LedgerExamination) -> int | None:
    """Return `missing_charges_of`, by the mark alone where the ledger itself can't be read any more."""
    try:
        return missing_charges_of(path, examination)
    except ConfigError:
        return missing_charges_of(path, examination, looking=False)


def _file(loaded: Config) -> Path:
    """Return where the ledger's file is.

    Raises:
        ConfigError: it is on a server.
    """
    if isinstance(loaded.ledger, PostgresLedgerConfig):
        raise ConfigError(
            f"ledger {shown_place(loaded.ledger.dsn)} is on a server, whose tools copy it",
            hint=f"pg_dump --schema={SCHEMA} --format=custom copies it while dpsql runs. To put it back stop every dpsql, "
            f"drop the schema, and run pg_restore; dpsql ledger verify says what it lacks.",
        )
    return place_of_ledger(loaded)


def _verify_server(ledger: PostgresLedgerConfig) -> None:
    place, examination = shown_place(ledger.dsn), examine_server(ledger.dsn)
    said, missing = _told(place, examination), missing_charges(examination, ledger.beside)
    if missing is None:
        raise ConfigError(f"{place} is not the ledger that was here", hint=f"The mark beside {ledger.beside} says so.")
    if missing:
        raise ConfigError(f"{place} lacks {missing:,} charges", hint="It is an older copy: bring the newest one back.")
    typer.echo(f"{place}: {said}")


def _whole(path: Path) -> str:
    """Return what a whole ledger in a file has; see `_told`."""
    return _told(path, examine(path))


def _told(place: object, ledger: LedgerExamination) -> str:
    """Return what a whole ledger has.

    Raises:
        ConfigError: it is not whole.
    """
    if ledger.wrong:
        told = "\n".join(f"{place}: {line}" for line in ledger.wrong)
        raise ConfigError(told, hint="Bring back the newest copy that is whole: dpsql ledger restore.")
    return f'whole, with {ledger.charges:,} charges for {ledger.statements:,} statements of "{ledger.dataset.name}"'


# `dpsql adopt`: a ledger of another data set, or of one that was elsewhere, becomes this one's.


@with_exit_code
def adopt(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Let the ledger belong to the data set and the engine that the configuration names; what was charged stays charged."""
    loaded = load(config)
    with open_ledger(loaded, OpeningWay.ADOPTED) as ledger:
        before = ledger.adopted
    if before is None:
        raise Unsupported(
            f'the ledger is that of the data set "{loaded.policy.dataset}" already', because="ledger-adopted-already"
        )
    typer.echo(f'the ledger was that of the data set "{before.name}" in {before.source}')
    typer.echo(f'it is now that of "{loaded.policy.dataset}"; stored answers are forgotten, charges are not')


# `dpsql unlock`: what has closed a role's account, or refused it a form of statement, and opening it again.

_MEANING = {
    "engine": "a measurement failed",
    "late": "a measurement failed",
    "broken": "a measurement failed by a bug of dpsql",
    "closed": "the account was closed",
}


@with_exit_code
def unlock(
    role: Annotated[
        str, typer.Argument(help="The role whose account is closed, or that is refused a form of statement.")
    ],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Show why a role's account was closed, or a form of statement refused, and open it; the ledger keeps that it was."""
    loaded = load(config)
    with open_ledger(loaded) as ledger:
        closed, incidents = ledger.is_closed(role), ledger.incidents(role)
        # A role that the configuration has no more may be closed, and is opened as well.
        if not closed and role not in loaded.policy.roles:
            raise ConfigError(f'there is no role "{role}"', hint=f"Roles: {', '.join(loaded.policy.roles)}")
        if not closed and not any(incident.what == FailureKind.BROKEN for incident in incidents):
            raise Unsupported(f'the account of role "{role}" is open', because="account-open-already")
        for incident in incidents:
            typer.echo(_line(incident))
        ledger.unlock(role)
    typer.echo(f'the account of role "{role}" is open again; the log of dpsql serve says more about what failed')


def _line(event: Event) -> str:
    # Another user's text: no control character of it may reach the terminal.
    statement = "".join(c if c.isprintable() else " " for c in event.statement)
    return f"{event.time:%Y-%m-%d %H:%M:%S} UTC: {_MEANING[event.what]}: {event.cause}; {event.user} asked: {statement}"
