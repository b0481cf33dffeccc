"""`dpsql user`: who may log in, written into the configuration where it stands."""

import json
import os
import secrets
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile, RoleName
from dpsql.cli.support.show import Form, print_blocks, table_of
from dpsql.errors import ConfigError
from dpsql.open_ledger import place_of_trail
from dpsql.policy.load import load
from dpsql.policy.load.scalars import identifier
from dpsql.policy.model import yaml_name
from dpsql.policy.users_file import amount, users_in, with_key, with_user
from dpsql.trail.folder import newest_first
from dpsql.wire.protocol.scram import Verifier

user_app = typer.Typer(name="user", help="Say who may log in.", no_args_is_help=True)
_NEXT = "next: dpsql reload"
_LEAST = 12
"""Characters of a password."""
_LOOKED_AT = 200_000
"""Lines of the audit trail in which last log-ins are looked for."""
_Name = Annotated[str, typer.Argument(help="The name to log in with.")]
_Generate = Annotated[bool, typer.Option("--generate", help="Make a password up, and print it, once.")]


@user_app.command(epilog="Example: dpsql user add ana --role analyst --generate")
@with_exit_code
def add(
    name: _Name,
    role: RoleName,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", help="The most of the role's ε that this user may spend.")
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    generate: _Generate = False,
    ldap: Annotated[bool, typer.Option("--ldap", help="The directory knows the password: none is asked for.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the line, and change no file.")] = False,
) -> None:
    """Add a user; the password is asked for, and kept nowhere."""
    _require_name(name)
    share = None if epsilon is None else f"{float(amount(epsilon)):.12g}"
    if only_print:
        typer.echo(f"  {_line(name, _said(name, role, share, ldap=ldap, generate=generate))}")
        return
    text, roles = config.read_text(encoding="utf-8"), load(config).policy.roles
    if role not in roles:
        raise ConfigError(f'there is no role "{role}"', hint=f"Roles: {', '.join(roles)}")
    # Before a password is asked for: nobody types one twice for a name that is taken.
    if name in users_in(text):
        raise ConfigError(f'there is a user "{name}" already', hint="dpsql user rotate gives another password.")
    said = _said(name, role, share, ldap=ldap, generate=generate)
    _write(config, with_user(text, name, _line(name, said), said))
    typer.echo(f'user "{name}" may log in, for role "{role}"; {_NEXT}')


@user_app.command(epilog="Example: dpsql user rotate ana --generate")
@with_exit_code
def rotate(name: _Name, config: ConfigFile = DEFAULT_CONFIG, *, generate: _Generate = False) -> None:
    """Give a user another password: sessions of the old one end with the reload."""
    text = config.read_text(encoding="utf-8")
    user = users_in(text).get(name)
    if user is not None and "${" in user.password:
        raise ConfigError(f"users.{name}.password comes from {user.password}", hint="Change it there.")
    if user is not None and user.ldap:
        raise ConfigError(f'the directory knows the password of "{name}"', hint="Change it there.")
    if user is None:
        with_key(text, name, "password", "", "")  # which tells who there is
    verifier = str(Verifier.of(_password(name, generate=generate)))
    _write(config, with_key(text, name, "password", verifier, f'"{verifier}"'))
    typer.echo(f'user "{name}" has another password; {_NEXT}')


@user_app.command(epilog="Example: dpsql user disable ana")
@with_exit_code
def disable(name: _Name, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Let a user log in no more; the line stays in the configuration, and sessions end with the reload."""
    _write(config, with_key(config.read_text(encoding="utf-8"), name, "disabled", "true", "true"), whatever_else=True)
    typer.echo(f'user "{name}" may not log in; {_NEXT}')


@user_app.command(epilog="Example: dpsql user enable ana")
@with_exit_code
def enable(name: _Name, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Let a user log in again."""
    _write(config, with_key(config.read_text(encoding="utf-8"), name, "disabled", "false", "false"))
    typer.echo(f'user "{name}" may log in again; {_NEXT}')


@user_app.command("list", epilog="Example: dpsql user list")
@with_exit_code
def list_users(
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print who may log in, for which role, and when they did last."""
    form = Form.of(as_json, as_csv)
    loaded, users = load(config), users_in(config.read_text(encoding="utf-8"))
    last = _last_log_ins(place_of_trail(loaded))
    rows = [
        (name, user.role, "disabled" if user.disabled else "active", user.epsilon, last.get(name))
        for name, user in sorted(users.items())
    ]
    names = ("user", "role", "state", "epsilon", "last_log_in")
    if form is Form.JSON:
        typer.echo(json.dumps({row[0]: dict(zip(names[1:], row[1:], strict=True)) for row in rows}, indent=2))
    else:
        shown = [tuple("" if cell is None else cell for cell in row) for row in rows]
        print_blocks(table_of(("user", "role", "state", "most ε", "last log-in (UTC)"), shown), form=form)


def _last_log_ins(trail: Path) -> Mapping[str, str]:
    """Return when users have logged in last, as far as the audit trail is looked at."""
    last_times: dict[str, str] = {}
    for line in islice(newest_first(trail), _LOOKED_AT):
        if line.fields.get("event") == "log-in" and line.fields.get("verdict") == "accepted":
            # From the newest line on: the first of a name is the last time.
            last_times.setdefault(str(line.fields.get("user")), str(line.fields.get("time"))[:19].replace("T", " "))
    return last_times


def _require_name(name: str) -> None:
    try:
        identifier(name)
    except ValueError as failure:
        raise ConfigError(f'"{name}" {failure}') from None


def _said(name: str, role: str, share: str | None, *, ldap: bool, generate: bool) -> Mapping[str, str]:
    """Return what the configuration says of a user, whose password is asked for unless the directory knows it."""
    secret = {"ldap": "true"} if ldap else {"password": str(Verifier.of(_password(name, generate=generate)))}
    return {"role": role, **secret} | ({} if share is None else {"epsilon": share})


def _line(name: str, said: Mapping[str, str]) -> str:
    written = {"role": yaml_name, "password": '"{}"'.format}
    values = ", ".join(f"{key}: {written.get(key, str)(value)}" for key, value in said.items())
    return f"{yaml_name(name)}: {{{values}}}"


def _password(name: str, *, generate: bool) -> str:
    """Make one up, ask at a terminal, twice, or read one line; and see that it is not guessed at once."""
    if generate:
        made = secrets.token_urlsafe(18)
        typer.echo(f"password: {made}")
        return made
    if sys.stdin.isatty():
        password = str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if len(password) < _LEAST or len(set(password)) < _LEAST // 2 or name.lower() in password.lower():
        raise ConfigError(
            f"the password has less than {_LEAST} characters, repeats too few characters, or has the user's name in it",
            hint="Give another, on one line of standard input or at the terminal, or have one made up: --generate",
        )
    return password


def _write(config: Path, text: str, *, whatever_else: bool = False) -> None:
    """Put the new text in the file's place, which keeps its owner and mode; unless it can't be loaded, `whatever_else`."""
    # Where a link leads to: the link itself stays one.
    real = config.resolve()
    there, new = real.stat(), real.with_name(f".{real.name}.new")
    new.unlink(missing_ok=True)
    # A new file of ours, which nobody can have opened before there are passwords' verifiers in it.
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(stream.fileno(), there.st_mode & 0o7777)
            if (there.st_uid, there.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(stream.fileno(), there.st_uid, there.st_gid)
            # Before it takes the other's place: a power cut leaves the old file or the new one, and no empty one.
            os.fsync(stream.fileno())
        if not whatever_else:  # a mistake elsewhere keeps nobody in
            # In the same folder, to which the paths in it are relative.
            load(new)
        new.replace(real)
    finally:
        new.unlink(missing_ok=True)
