"""The sources that the figures are read from, each time that somebody asks."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from dpsql.accounting.ledger import Ledger
from dpsql.clock import StageTimes
from dpsql.engines.base import Engine
from dpsql.gateway.readiness import ReadyState
from dpsql.policy.config import Config
from dpsql.trail.trail import AuditTrail
from dpsql.wire.server.listener import Listener


@dataclass(frozen=True, slots=True)
class Sources:
    """A server that runs."""

    # Functions, where a reload may put something else in the place of what there was at the start.
    serving: Callable[[], tuple[Config, Engine]]
    """Returns what is served now."""
    ledger: Ledger
    trail: AuditTrail
    times: StageTimes
    listener: Listener
    ready: Callable[[], ReadyState]
    """Returns whether private questions would be answered now."""
    page_certificate: Callable[[], datetime | None]
    """Returns when the certificate of the pages ends."""
