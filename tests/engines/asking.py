"""Run one statement on an engine, as the gateway would: ready, then run."""

import re
from collections.abc import Sequence

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import Engine
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation


def run(
    engine: Engine, sql: str, charge: Charge, *, timeout: float = 30.0, cancellation: Cancellation | None = None
) -> Sequence[EngineRow]:
    """Return the rows of a statement."""
    with engine.ready([sql], timeout=timeout, cancellation=cancellation or Cancellation()) as prepared:
        return prepared.run(sql, charge)


def asked(
    engine: Engine, sql: str, charge: Charge, *, timeout: float = 30.0, cancellation: Cancellation | None = None
) -> Sequence[EngineRow]:
    """Return the rows of a statement in which `{t}` stands for the table t."""
    text = re.sub(r"\{(\w+)\}", lambda match: engine.named(match[1]), sql)
    return run(engine, text, charge, timeout=timeout, cancellation=cancellation)
