"""`dpsql audit`: who asked what, and whether all that was written down is as it was written."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated

import typer

from dpsql.accounting.sql.lines import CORRECTION
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.show import Form, print_blocks, table_of, terminal_text
from dpsql.errors import ConfigError
from dpsql.open_ledger import place_of_ledger, place_of_trail, read_ledger_lines
from dpsql.policy.config import Config, PostgresLedgerConfig, SqliteLedgerConfig
from dpsql.policy.load import load
from dpsql.trail.folder import TrailExamination, examine_trail, files_of, newest_first
from dpsql.trail.record import RELEASE_DIGITS, ChainedLine

_USUAL = 50
_COLUMNS = ("time", "user", "role", "address", "event", "verdict", "code", "epsilon", "statement")
_NAMES = ("time (UTC)", "user", "role", "address", "event", "verdict", "code", "ε", "statement")


@with_exit_code
def audit(
    config: ConfigFile = DEFAULT_CONFIG,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Of this user only.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--since", formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"], help="From then on (UTC)."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help=f"The last ones; {_USUAL} unless --since is given.")
    ] = None,
    directory: Annotated[Path | None, typer.Option("--directory", help="A copy of the trail's directory.")] = None,
    *,
    verify: Annotated[
        bool, typer.Option("--verify", help="See that no line was changed and none is gone, instead of printing any.")
    ] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print the audit trail, a line for each statement and log-in, or verify it."""
    form, loaded = Form.of(as_json, as_csv), load(config)
    place = directory or place_of_trail(loaded)
    if not files_of(place):
        raise ConfigError(f"there is no audit trail in {place}", hint="It begins when dpsql serve is started.")
    if verify:
        _verify(loaded, place, copied=directory is not None)
        return
    most = limit or (None if since else _USUAL)
    # Read from the end, so that a long trail costs no more than a short one, and printed in the order of time.
    rows = [dict(line.fields) for line in reversed(tuple(islice(_wanted(place, user, since), most)))]
    if form is Form.JSON:
        for fields in rows:
            typer.echo(json.dumps(fields))
    else:
        shown = [tuple(_cell(fields, name) for name in _COLUMNS) for fields in rows]
        print_blocks(table_of(_NAMES, shown), form=form)


def _wanted(place: Path, user: str | None, since: datetime | None) -> Iterator[ChainedLine]:
    lines = newest_first(place)
    if since is not None:
        first = since.replace(tzinfo=UTC)
        # Lines lie in the order in which they were written: the first that is too old ends the search.
        lines = takewhile(lambda line: datetime.fromisoformat(str(line.fields["time"])) >= first, lines)
    return (line for line in lines if user is None or line.fields.get("user") == user)


def _cell(fields: Mapping[str, object], name: str) -> str:
    """Return what a table has of a field."""
    text = str(fields.get(name, fields.get("about", "") if name == "statement" else ""))
    if name == "time":
        text = text[:19].replace("T", " ")
    return terminal_text(text)


def _verify(loaded: Config, place: Path, *, copied: bool) -> None:
    """Say that the trail is whole.

    Raises:
        ConfigError: it is not.
    """
    examination = examine_trail(place)
    if examination.wrong or examination.first is None:
        told = "\n".join(f"{place}: {line}" for line in examination.wrong or ("no line is as it was written",))
        raise ConfigError(told, hint="Compare it with a copy that was made before: dpsql audit --verify --directory …")
    begins = "" if examination.first.link.number == 1 else f" from line {examination.first.link.number:,} on"
    typer.echo(f"{place}: whole, {examination.lines:,} lines{begins}")
    typer.echo(f"the last is line {examination.last.number:,} with the hash {examination.last.hash}")
    if not copied and (missing := _without_a_line(loaded, examination, str(examination.first.fields["time"]))):
        typer.echo(f"{missing:,} charges of the ledger since then have no line{_why(loaded)}")


def _why(loaded: Config) -> str:
    others = " here: other servers have made them, or" if isinstance(loaded.ledger, PostgresLedgerConfig) else ":"
    return f"{others} a kill came before their answers went out"


def _without_a_line(loaded: Config, examination: TrailExamination, since: str) -> int:
    """Return how many charges since the trail began no line names."""
    if isinstance(loaded.ledger, SqliteLedgerConfig) and not place_of_ledger(loaded).exists():
        return 0
    first = datetime.fromisoformat(since)
    # A correction answers no statement, and so has no line. 2**62 is all there are, and still a number to the store.
    return sum(
        entry.time >= first and entry.note != CORRECTION and entry.key[:RELEASE_DIGITS] not in examination.releases
        for entry in read_ledger_lines(loaded, None, 2**62)
    )
