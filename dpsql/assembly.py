"""The parts of a server, put together as its configuration says."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from dpsql.accounting.ledger import Ledger
from dpsql.clock import Clock, StageTimes, system_clock
from dpsql.engines.base import Engine
from dpsql.engines.snapshot.accounts import AccountStore
from dpsql.engines.snapshot.open import SnapshotEngine
from dpsql.errors import ConfigError
from dpsql.gateway.catalogue.public_tables import Public
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.gateway import Gateway
from dpsql.gateway.plans.views import with_checked_conditions, with_checked_views
from dpsql.policy.config import Config, EmbeddedShadow, PostgresServer
from dpsql.policy.load import load
from dpsql.policy.model import Policy, Table
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.question import Settings
from dpsql.rewrite.bind.bound_reader import PlanningShadow
from dpsql.rewrite.ir.literal import format_value
from dpsql.secret import read_or_make_secret, secret_file
from dpsql.shadow.contents import build
from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.questions.oracle import OracleSession, ShadowOracle
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.server.sandbox import Sandbox
from dpsql.shadow.watch.warden import LeftoverSessions, ShadowSessions
from dpsql.system_limits import Shares
from dpsql.trail.record import ChainedLine
from dpsql.trail.trail import Trail
from dpsql.trial.opening import open_trial
from dpsql.wire.protocol.certificate import certificate_of
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.server.directory import Directory
from dpsql.wire.server.listener import Listener
from dpsql.wire.server.registry import UserEntry
from dpsql.wire.server.siblings import ProcessSlot

_LOG = logging.getLogger("dpsql.server")


def servable(file: Path, served: Policy | None = None) -> Config:
    """Return the configuration in a file, which can be served as far as that can be told without the engine.

    The parts that are equal to those of a policy that is `served` are taken to be right.

    Raises:
        ConfigError: it can't be.
    """
    config = load(file)
    # What the running server's own shadow has read already needs no other shadow to be started for it.
    unchanged = served is not None and _read_by_shadows(served) == _read_by_shadows(config.policy)
    if not unchanged and (config.policy.views or any(role.where for role in config.policy.roles.values())):
        _try_in_shadow(config)
    return config


def _read_by_shadows(policy: Policy) -> object:
    """Return what only a shadow can tell whether it is right."""
    return policy.tables, policy.views, [role.where for role in policy.roles.values()]


def _try_in_shadow(config: Config) -> None:
    """See that views can be made, and asked about, and conditions, in a shadow of their own without rows."""
    with TemporaryDirectory(prefix="dpsql-check-") as made:
        Path(made).chmod(0o711)  # for the shadow's account
        where = config.shadow
        if isinstance(where, EmbeddedShadow):
            where = replace(where, directory=Path(made) / "shadow")
        shadow = start_shadow(replace(config, shadow=where), None)
        session = OracleSession(shadow.dsn(config.policy.dataset, ORACLE), LeftoverSessions())
        try:
            make_database(shadow, config.policy, {}, lambda _: (), ShadowOracle(session, Settings(), ORACLE))
        finally:
            session.close()
            shadow.stop()


def make_database(
    shadow: Postgres,
    policy: Policy,
    users: Mapping[str, str],
    rows: build.Rows,
    oracle: PlanningShadow,
    *,
    epoch: str = "",
) -> Policy:
    """See that the shadow's database is as a policy says, and return the policy with its views as the shadow has them.

    Raises:
        ConfigError: some of the views or of the roles' conditions can't be made, read or asked about.
    """
    build.ensure_shadow(shadow, policy, users, rows, epoch=epoch)
    return with_checked_conditions(with_checked_views(build.with_views(shadow, policy), oracle), oracle)


def gateway_of(
    shadow: Postgres,
    session: OracleSession,
    config: Config,
    public: Public,
    engine: Engine,
    ledger: Ledger,
    *,
    beside: tuple[Callable[[], Iterable[ChainedLine]], StageTimes],
    entropy: Entropy,
    epoch: str,
    timeout: float,
    clock: Clock = system_clock,
) -> Gateway:
    """Make the shadow's database, if it is not there, and return a gateway for it."""

    def oracle(settings: Settings, user: str) -> PlanningShadow:
        return ShadowOracle(session, settings, user)

    made = roles_of(config), rows_of(public), oracle(Settings(), ORACLE)
    policy = make_database(shadow, config.policy, *made, epoch=epoch)
    parts = (policy, engine, ledger, oracle, public.declared, public.rows, entropy)
    # Which statements have been tried outlives a restart, beside the secret: in a place that is not emptied with the shadow.
    file = secret_file(config.shadow, config.file.parent).with_name("tried")
    trial = open_trial(policy, (public.rows, public.declared), engine, shadow.dsn, config.trial, file)
    accounts = _accounts_of(config, engine)
    return Gateway(GatewayDependencies(*parts, config.asked_anew, timeout, *beside, trial, accounts, clock))


def _accounts_of(config: Config, engine: Engine) -> AccountStore | None:
    """Return where the accounts of standing questions are, if a table grows."""
    if config.snapshot is None or not isinstance(engine, SnapshotEngine):
        return None
    if all(table.grows is None for table in config.policy.tables.values()):
        return None
    secret = read_or_make_secret(secret_file(config.shadow, config.file.parent))
    return AccountStore(config.snapshot.accounts, engine.file, config.snapshot.resources, secret, engine.beside)


def contents_of(epoch: int, public: Public) -> str:
    """Return what the shadow's tables depend on beside the policy: the epoch, and a hash of the public rows."""
    # `build` compares it with what the shadow's tables were made of: where it is another text, public rows are written anew.
    return f"{epoch} {hashlib.sha256(repr(public.rows).encode()).hexdigest()}"


def roles_of(config: Config) -> Mapping[str, str]:
    """Return each user's role."""
    return {user.name: user.role for user in config.users.values()}


def entries_of(config: Config) -> Mapping[str, UserEntry]:
    """Return what the log-in has to know of each user."""
    return {user.name: UserEntry(user.role, user.verifier) for user in config.users.values()}


def start_shadow(config: Config, post: ProcessSlot | None) -> Postgres:
    """Start the shadow's server; each of several processes has one of its own, beside that of the first.

    Raises:
        ConfigError: it can't be.
    """
    match config.shadow:
        case EmbeddedShadow(directory=directory, account=account, sandbox=need):
            sandbox = Sandbox.as_needed(need)
            if not sandbox.is_whole:
                _LOG.warning("the sandbox is not whole: %s", sandbox)
            # `shadow`, `shadow-2`, `shadow-3`: two PostgreSQLs can't run in one directory.
            if post is not None and post.number:
                directory = directory.with_name(f"{directory.name}-{post.number + 1}")
            return Postgres.start(directory, account=account, sandbox=sandbox)
        case PostgresServer():
            raise ConfigError("a shadow on another server is not supported yet; use shadow: {directory: …}")


def listener_of(
    config: Config,
    gateway: Gateway,
    shadow: Postgres,
    watched: tuple[ShadowSessions, Trail],
    shares: Shares,
    processes: int,
) -> Listener:
    """Return what clients connect to; what is kept for them has as much room in several `processes` as in one."""
    return Listener(
        gateway,
        shadow.address,
        entries_of(config),
        config.policy.dataset,
        config.listen.host,
        config.listen.port,
        watched=watched[0],
        trail=watched[1],
        secret=read_or_make_secret(secret_file(config.shadow, config.file.parent)),
        tls=certificate_of(config.listen.tls),
        directory=None if config.ldap is None else Directory(config.ldap),
        limits=Limits(
            unauthenticated=shares.unauthenticated,
            connections=shares.connections,
            # Each process counts for itself, so each may keep its part of what one alone would.
            kept_by_all=Limits().kept_by_all // processes,
        ),
    )


def drop_roles(shadow: Postgres, config: Config) -> None:
    """Drop the roles of users who were removed; they can't log in even if that fails, and the next reload tries again."""
    try:
        build.drop_departed_users(shadow, config.policy, roles_of(config))
    except psycopg.Error as failed:
        _LOG.warning("the shadow still has roles of users that are no more, until the next reload: %s", failed)


def rows_of(public: Public) -> build.Rows:
    """Return what gives the rows of a public table as PostgreSQL reads them."""

    def rows(table: Table) -> Iterable[tuple[str | None, ...]]:
        columns: Mapping[str, Iterable[str | None]] = {
            name: [None if v is None else format_value(v, table.columns[name].type) for v in values]
            for name, values in public.rows[table.name].items()
        }
        return zip(*columns.values(), strict=True)

    return rows
