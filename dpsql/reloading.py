"""The files that are read again while the server runs, and the parts that count when something in them is wrong."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from dpsql.assembly import servable
from dpsql.errors import ConfigError, DpsqlError
from dpsql.policy.config import Config, Listen, User
from dpsql.policy.users_file import remaining_users
from dpsql.wire.protocol.certificate import Certificate, certificate_of

Show = Callable[[Certificate | None], None]
"""Shows a certificate to those who connect from now on."""


def reloaded(old: Config) -> Config:
    """Return what the configuration's file says now.

    Raises:
        ConfigError: it can't be served, or something changed that can't be reloaded.
    """
    new = servable(old.file, old.policy)
    kept = replace(new, policy=old.policy, users=old.users, refresh=old.refresh)
    if kept != old or new.policy.dataset != old.policy.dataset:
        raise ConfigError(f"{new.file}: only policy, roles and users can be reloaded; the rest needs a restart")
    return new


def show_certificates(addresses: Iterable[tuple[Listen | None, Show]]) -> Sequence[str]:
    """Show the certificates that are in the files now; return the mistakes of those whose place the ones before keep."""
    wrong: dict[str, None] = {}
    for listen, show in addresses:
        try:
            show(None if listen is None else certificate_of(listen.tls))
        except ConfigError as error:
            wrong[error.message] = None
    return list(wrong)


def users_left(config: Config) -> Mapping[str, User] | None:
    """Return the users whom the file still has, even if it has another mistake; None if that can't be read."""
    return remaining_users(config.file, config.users, config.policy.roles)


def not_reloaded(
    failed: DpsqlError | None, before: Mapping[str, User], left: Mapping[str, User] | None, kept: Sequence[str]
) -> ConfigError:
    """Return what the operator has to know: the mistake, and the parts that count nevertheless."""
    lines = [] if failed is None else [failed.message]
    lines += [f"{wrong}; the certificate before is shown" for wrong in kept]
    if failed is None:
        lines.append("everything else was read again")
    elif left is None:
        lines.append("users can't be read either: removed users still come in until the file is corrected")
    elif gone := sorted(set(before) - set(left)):
        lines.append(f"all else goes on as before, but these users are gone: {', '.join(gone)}")
    elif changed := sorted(name for name in left if left[name] != before[name]):
        lines.append(f"all else goes on as before, but these users have another password or role: {', '.join(changed)}")
    else:
        lines.append("everything goes on as before")
    return ConfigError("\n".join(lines), hint=None if failed is None else failed.hint)
