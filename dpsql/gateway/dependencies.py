"""The parts that the gateway works with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dpsql.accounting.ledger import Ledger
from dpsql.clock import Clock, StageTimes, system_clock
from dpsql.engines.base import Engine
from dpsql.engines.snapshot.accounts import AccountStore
from dpsql.policy.model import Period, Policy
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.question import Settings
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts, PublicRows
from dpsql.rewrite.bind.bound_reader import PlanningShadow
from dpsql.trail.record import ChainedLine
from dpsql.trial.trial import StatementTrial


@dataclass(frozen=True, slots=True)
class GatewayDependencies:
    """The parts that the gateway works with; handed in by the server."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    evaluator: Callable[[Settings, str], PlanningShadow]
    """For the settings of a session, and its user."""
    declared: DeclaredFacts
    rows: PublicRows
    entropy: Entropy
    refresh: Period
    timeout: float
    """Seconds a measurement may take: the same for every statement, so that it says nothing about data."""
    trail: Callable[[], Iterable[ChainedLine]]
    """Returns the audit trail's lines, the newest first."""
    times: StageTimes
    trial: StatementTrial | None = None
    """On what statements are tried before they run on records; None: on nothing."""
    accounts: AccountStore | None = None
    """Where the accounts of standing questions are, beside a copy of the records."""
    clock: Clock = system_clock
    """Tells which term it is, and whether that is over."""
