"""Errors of the command line: two lines and an exit code; only a bug of dpsql shows its traceback."""

import functools
import re
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer

from dpsql.errors import DpsqlError

_P = ParamSpec("_P")
_R = TypeVar("_R")
_RULE = re.compile("rule: [a-z-]+")
EXIT_REFUSED = 1
"""The exit code of every error of dpsql; a wrong use of the command line ends with 2."""


def with_exit_code(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a command end with `ERROR: message`, the rule and the hint on stderr."""

    @functools.wraps(command)
    def wrapped(*args: _P.args, **options: _P.kwargs) -> _R:
        try:
            return command(*args, **options)
        except DpsqlError as error:
            _tell(error.message, error.detail, error.hint)
        except OSError as error:
            _tell(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "), None, None)
        except Exception as error:
            # Its import takes longer than most commands' help; whoever has raised one of its errors has paid for it.
            # What is neither ours nor psycopg's is a bug, and has to show its traceback.
            psycopg = sys.modules.get("psycopg")
            if psycopg is None or not isinstance(error, psycopg.Error):
                raise
            primary = error.diag.message_primary or str(error).strip() or type(error).__name__
            _tell(primary, _rule(error.diag.message_detail), error.diag.message_hint)

    return wrapped


def _rule(detail: str | None) -> str | None:
    """Return the DETAIL of one of dpsql's own errors; another server's may contain values of a row."""
    return detail if detail is not None and _RULE.fullmatch(detail) else None


def _tell(message: str, detail: str | None, hint: str | None) -> NoReturn:
    """Write an error; a configuration's mistakes get a line each."""
    sys.stderr.write(f"ERROR:\n{message}\n" if "\n" in message else f"ERROR: {message}\n")
    if detail:
        sys.stderr.write(f"DETAIL: {detail}\n")
    if hint:
        sys.stderr.write(f"HINT: {hint}\n")
    raise typer.Exit(EXIT_REFUSED)
