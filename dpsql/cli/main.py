"""The command `dpsql`, whose commands are each imported when they are asked for: all of them take as long as a second."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.logs import log_to_standard_error
from dpsql.libpq import forget_sent_settings
from dpsql.system_limits import import_without_collecting


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """What `dpsql --help` and completion say of a command, before it is imported."""

    place: str
    """Its module below `dpsql.cli.commands`, and its function there, or its commands."""
    help: str
    """The first sentence of the command's own help."""
    example: str


COMMANDS: Mapping[str, Mapping[str, CommandEntry]] = {
    "Try it": {
        "demo": CommandEntry(
            "demo:demo",
            "Serve synthetic taxi trips on this machine, with fresh passwords and a fresh ledger, until interrupted.",
            "dpsql demo",
        ),
        "explore": CommandEntry(
            "explore:explore",
            "Show what ε does, in five steps: synthetic and public rows in one HTML file, which needs no network.",
            "dpsql explore --output explore.html",
        ),
        "plot": CommandEntry(
            "plot:plot",
            "Draw an answer with its margins, and say under it what it is; columns that are not named are guessed.",
            'dpsql plot --role analyst "SELECT ward, count(*) FROM admissions GROUP BY 1" --output wards.html',
        ),
    },
    "Set up": {
        "init": CommandEntry(
            "init:init",
            "Write a schema file for each table of a database; only its catalogue is read, never its records.",
            'dpsql init "$HOSPITAL" --unit patient=patients.patient_id --directory schemas',
        ),
        "epsilon": CommandEntry(
            "epsilon:with_planner",
            "Choose ε, and see what it does.",
            "dpsql epsilon advise --people 5000 --max-posterior '1 %' --queries-per-day 20 --days 365",
        ),
        "user": CommandEntry("user:user_app", "Say who may log in.", "dpsql user add ana --role analyst --generate"),
        "check": CommandEntry(
            "check:check_config",
            "Check the configuration, and compare it with the engine's tables: where `serve` would not start, this fails.",
            "dpsql check --config config.yaml",
        ),
        "profile": CommandEntry(
            "profile:profile",
            "Take the profile of whole tables, once an epoch: each role that protects the unit kind pays, and the data set.",
            "dpsql profile --unit patient",
        ),
    },
    "Ask": {
        "query": CommandEntry(
            "query:query",
            "Ask a statement as a role; the role's budget pays.",
            'dpsql query --role analyst "SELECT count(*) FROM admissions"',
        ),
        "explain": CommandEntry(
            "query:explain_statement",
            "Print how a statement would be answered; free.",
            'dpsql explain --role analyst "SELECT count(*) FROM admissions"',
        ),
        "mcp": CommandEntry(
            "mcp:mcp",
            "Serve agents, by the Model Context Protocol: over standard input and output, or HTTP.",
            "dpsql mcp 'host=localhost port=5439 dbname=hospital user=agent'",
        ),
    },
    "Serve": {
        "serve": CommandEntry(
            "serve:serve", "Serve the data set to PostgreSQL clients.", "dpsql serve --config config.yaml"
        ),
        "reload": CommandEntry(
            "reload:reload",
            "Have the server of a configuration read it and its certificates again; fail with the reason if it does not.",
            "dpsql reload --config config.yaml",
        ),
        "refresh": CommandEntry(
            "refresh:refresh", "Start a new epoch: stored answers expire and cost ε again.", "dpsql refresh"
        ),
    },
    "Watch over it": {
        "budget": CommandEntry(
            "budget:budget_app",
            "See what was spent, and amend it.",
            "dpsql budget grant analyst --epsilon 1 --reason 'the yearly report'",
        ),
        "ledger": CommandEntry(
            "ledger:ledger_app", "Keep the ledger safe, and read it.", "dpsql ledger show --limit 50"
        ),
        "audit": CommandEntry(
            "audit:audit",
            "Print the audit trail, a line for each statement and log-in, or verify it.",
            "dpsql audit --user ana --since 2026-01-01",
        ),
        "audit-privacy": CommandEntry(
            "audit_privacy:audit_privacy",
            "Attack by membership inference on synthetic people, and say which ε it proves, beside the ε that was paid.",
            "dpsql audit-privacy --minutes 10",
        ),
        "unlock": CommandEntry(
            "ledger:unlock",
            "Show why a role's account was closed, or a form of statement refused, and open it; "
            "the ledger keeps that it was.",
            "dpsql unlock analyst",
        ),
        "forget": CommandEntry(
            "forget:forget",
            "Remove the accounts of somebody whose records were erased; what was released stays.",
            "dpsql forget patient 4711",
        ),
        "adopt": CommandEntry(
            "ledger:adopt",
            "Let the ledger belong to the data set and the engine that the configuration names; "
            "what was charged stays charged.",
            "dpsql adopt --config config.yaml",
        ),
    },
}
"""By groups, as people look for them."""
_ENTRIES = {name: (group, entry) for group, entries in COMMANDS.items() for name, entry in entries.items()}
_WORDS = {
    "str": "TEXT",
    "int": "NUMBER",
    "float": "NUMBER",
    "Path": "FILE",
    "Fraction": "NUMBER",
    "datetime": "TIME",
    "bool": "",
}
"""What help calls the types of values."""


class _Commands(Mapping[str, Any]):
    """All commands by their names, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        entry = _ENTRIES[name][1]
        command = _imported(*entry.place.split(":"))
        alone = typer.Typer(add_completion=False)
        # An application of one command is that command itself to typer; with a callback it stays a group, which the command
        # is taken from.
        alone.callback()(lambda: None)
        if isinstance(command, typer.Typer):
            alone.add_typer(command, name=name, epilog=f"Example: {entry.example}")
        else:
            alone.command(name, epilog=f"Example: {entry.example}")(command)
        group: Any = typer.main.get_command(alone)
        return _worded(group.commands[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_ENTRIES)

    def __len__(self) -> int:
        return len(_ENTRIES)


@with_exit_code
def _imported(module: str, function: str) -> Any:
    """Return a command's function: where dpsql can't work with what is installed, its import says so."""
    return getattr(import_without_collecting(f"dpsql.cli.commands.{module}"), function)


def _worded(command: Any) -> Any:
    """Return a command whose help has words for types that a person knows."""
    for parameter in command.params:
        # By names that are typer's own affair: where one is gone, help has typer's words again, and nothing else changes.
        kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        several = getattr(kind, "__args__", None)
        word = _WORDS.get(getattr(several[0] if several else kind, "__name__", ""))
        if word is not None:
            parameter.display_type = lambda _, word=word: word or None
    for inner in getattr(command, "commands", {}).values():
        _worded(inner)
    return command


class _Group(TyperGroup):
    """The group of all commands."""

    _listing = False
    """Whether names and first sentences are wanted, and not commands."""

    def __init__(self, **settings: Any) -> None:
        """Make a group as typer does, which has these commands."""
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to them

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, and import nothing."""
        _ = ctx
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; for a list of them what is said of it there."""
        if self._listing and cmd_name in _ENTRIES:
            group, entry = _ENTRIES[cmd_name]
            return TyperCommand(cmd_name, help=entry.help, rich_help_panel=group)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the names that complete a word."""
        self._listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._listing = False


app = typer.Typer(
    name="dpsql",
    help="A SQL proxy with differential privacy that PostgreSQL clients connect to unchanged.",
    epilog="Example: dpsql demo",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpsql {version('dpsql')}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Run one of the commands below."""
    # Before any command connects: libpq would send PGTZ and others to dpsql's own servers, too.
    forget_sent_settings()
    log_to_standard_error()
