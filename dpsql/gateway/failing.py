"""How a measurement has failed: what is stored of it, and never a word of the engine's."""

import logging
import traceback
from pathlib import Path

from dpsql.accounting.ledger import Failing, Failure
from dpsql.errors import EngineFailed, QueryCanceled
from dpsql.question import Cancellation

_LOG = logging.getLogger("dpsql.gateway")
_OURS = Path(__file__).parent.parent


def failure_of(error: Exception, cancellation: Cancellation) -> Failure | None:
    """Return how a measurement failed; None if somebody has stopped it."""
    match error:
        case QueryCanceled():
            return None if cancellation.requested else Failure(Failing.LATE, "the time limit was met")
        case EngineFailed():
            return Failure(Failing.ENGINE, "the engine could not run the statement")
        case _:
            _LOG.exception("a measurement failed after the engine was asked")
            frames = [f for f in traceback.extract_tb(error.__traceback__) if _OURS in Path(f.filename).parents]
            where = Path(frames[-1].filename).relative_to(_OURS)
            return Failure(Failing.BROKEN, f"{type(error).__name__} in {where}, line {frames[-1].lineno}")
