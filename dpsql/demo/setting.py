"""One run of the demo: the packaged configuration with fresh passwords, a fresh ledger and synthetic data."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import duckdb

from dpsql.demo.trips import generate
from dpsql.policy.config import Config, DuckDbFile, EmbeddedShadow, SqliteLedgerConfig, User
from dpsql.policy.load import load
from dpsql.wire.protocol.scram import Verifier

USERS: Mapping[str, str] = {"olga": "owner", "ana": "collaborator", "tess": "third_party"}
"""The demo's users and their roles."""
_LAST_PORT = 65_500


def new_passwords() -> dict[str, str]:
    """Draw a password for each user; they are printed and kept nowhere."""
    return {name: secrets.token_urlsafe(12) for name in USERS}


def demo_config(run: Path, passwords: Mapping[str, str], port: int) -> Config:
    """Return the configuration of a run whose ledger and shadow live in the directory `run`, with the pages beside `port`."""
    config = load(packaged_config())
    web = config.web and replace(config.web, port=_beside(port, config.web.port - config.listen.port))
    users = {name: User(name, role, str(Verifier.of(passwords[name]))) for name, role in USERS.items()}
    # `run` may be passed through by the shadow's account; records and ledger lie in here, where it can't look.
    (run / "private").mkdir(mode=0o700, exist_ok=True)
    return replace(
        config,
        engine=DuckDbFile(_data(run)),
        listen=replace(config.listen, port=port),
        web=web,
        shadow=EmbeddedShadow(run / "shadow"),
        ledger=SqliteLedgerConfig(run / "private" / "ledger.db"),
        users=users,
        play=True,
    )


def _beside(port: int, by: int) -> int:
    """Return the pages' port: as far from the other as usual, any free one where that is."""
    if port == 0:
        return 0
    return port + by if port + by <= _LAST_PORT else port - by


def packaged_config() -> Path:
    """Return the demo's config.yaml: inside an installed package, or at the top of a source tree."""
    here = Path(__file__).resolve().parent
    installed = here / "config.yaml"
    return installed if installed.is_file() else here.parent.parent / "config.yaml"


def _data(run: Path) -> Path:
    """Return the DuckDB file, made if there is none; kept from run to run where one may write."""
    # A file of an earlier run has the same trips.
    kept = Path(".dpsql/demo/taxi.duckdb").absolute()
    if os.access(kept, os.R_OK):
        return kept
    try:
        generate(kept)
    except (OSError, duckdb.IOException):
        # Somebody else's directory, or one that is read-only.
        kept = run / "private" / kept.name
        generate(kept)
    return kept
