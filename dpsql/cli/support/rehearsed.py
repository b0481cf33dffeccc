"""All that `serve` needs beside the engine, tried without a trace: certificates, addresses, a copy of the ledger."""

import asyncio
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from dpsql import control
from dpsql.accounting.sql.opening import mark_path, read_mark
from dpsql.errors import ConfigError
from dpsql.open_ledger import (
    open_ledger,
    place_of_ledger,
    place_of_trail,
    rehearse_ledger,
    see_that_budgets_fit,
    told_ahead,
)
from dpsql.policy.config import Config, LdapDirectory, PostgresLedgerConfig, SqliteLedgerConfig
from dpsql.private_files import open_private, see_directory
from dpsql.served_metrics import see_that_there_is_a_client
from dpsql.wire.protocol.certificate import certificate_of
from dpsql.wire.server.acceptor import listen
from dpsql.wire.server.directory import Directory


def see_that_serve_would_start(config: Config) -> str:
    """Return in a sentence what is ready.

    Raises:
        ConfigError: a certificate can't be used, or the ledger.
        OSError: an address is taken, and not by the server of this configuration; or the audit trail is another account's.
    """
    addresses = [address for address in (config.listen, config.web, config.metrics) if address is not None]
    if config.metrics is not None:
        see_that_there_is_a_client()
    for address in addresses:
        certificate_of(address.tls)
    served = control.is_served(config.file)
    for address in () if served else addresses:
        for opened in listen(address.host, address.port):
            opened.close()
    ahead = _try_ledger(config)
    _try_trail(config)
    said = "it is served now; " * served + "its addresses and its ledger can be used"
    if ahead is None:
        return said
    until, means = told_ahead(ahead)
    return f"{said}\nthe ledger has lines of {until}, which is to come: {means}"


def _try_ledger(config: Config) -> datetime | None:
    """Open the ledger as `serve` would, but in a copy: opening may take one over, or bring it to a newer version.

    One on a server in a transaction that is rolled back. Return until when lines of a file lie in the future.
    """
    if isinstance(config.ledger, PostgresLedgerConfig):
        rehearse_ledger(config.ledger, config)
        return None
    path = place_of_ledger(config)
    if not (path.exists() or read_mark(path) is not None):
        return None
    with TemporaryDirectory(prefix="dpsql-check-") as made:
        copy = Path(made) / path.name
        if path.exists():
            os.close(open_private(path, os.O_RDONLY))
            _copy(path, copy)
        if mark_path(path).exists():
            shutil.copyfile(mark_path(path), mark_path(copy))
            mark_path(copy).chmod(0o600)
        try:
            with open_ledger(replace(config, ledger=SqliteLedgerConfig(copy))) as ledger:
                see_that_budgets_fit(ledger, config.policy)
                return ledger.ahead(config.asked_anew)
        except ConfigError as wrong:
            raise ConfigError(wrong.message.replace(str(copy), str(path)), hint=wrong.hint) from None


def _try_trail(config: Config) -> None:
    """See that what there is of the audit trail could be written."""
    place = place_of_trail(config)
    if place.exists():
        see_directory(place)
    if (head := place / "head").exists():
        os.close(open_private(head, os.O_RDWR))


def _copy(path: Path, copy: Path) -> None:
    copy.touch(0o600)
    try:
        with (
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as ledger,
            closing(sqlite3.connect(copy)) as copied,
        ):
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
