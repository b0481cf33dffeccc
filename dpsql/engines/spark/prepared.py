"""Measurements that a Spark server has accepted, and how they are stopped."""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.spark.causes import safe_cause
from dpsql.engines.spark.client import SparkConnection, client, is_gone
from dpsql.engines.spark.deadline import answered_within
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import EngineFailed, EngineLost, QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation

_LOG = logging.getLogger("dpsql.engine")
_GRACE = 10.0
"""Seconds that a server may take to stop what it runs, before it is not waited for any more."""


@dataclass(frozen=True, slots=True)
class SparkPrepared:
    """See `Prepared`."""

    connection: SparkConnection
    frames: Mapping[str, Any]
    """The statements that the server has bound, by their text."""
    changed: Callable[[], str | None]
    """Returns a table of theirs that is not what it was when it was opened."""
    timeout: float
    cancellation: Cancellation
    tag: str = field(default_factory=lambda: f"dpsql-{uuid.uuid4()}")

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        _ = charge
        return self.rows(sql)

    def rows(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a statement, for any payer."""
        with stopping_when_cancelled(self.stop, self.timeout, self.cancellation) as stopped:
            try:
                with answered_within(self.timeout + _GRACE):
                    rows = self._fetched(sql)
                    changed = self.changed()
            except Exception as error:  # noqa: BLE001  (whatever it is, its text is not for the client)
                if stopped.is_set():
                    raise QueryCanceled from None
                _LOG.error("the engine failed: %s; statement: %s", safe_cause(error), sql)
                raise (EngineLost if is_gone(error) else EngineFailed) from None
        if changed is not None:
            # One scan may have seen what was there before, and another what is there now.
            _LOG.error("%s changed while it was read; send SIGHUP to serve it as it is now", changed)
            raise EngineFailed
        return rows

    def stop(self) -> None:
        """Ask the server to stop what we run."""
        try:
            with answered_within(_GRACE):
                self.connection.session.interruptTag(self.tag)
        except client().error as error:
            _LOG.warning("a cancel did not reach the engine: %s", safe_cause(error))

    def _fetched(self, sql: str) -> Sequence[EngineRow]:
        """Return all rows; every column is a whole number or a text."""
        session = self.connection.session
        session.addTag(self.tag)
        try:
            frame = self.frames[sql] if sql in self.frames else self.connection.asked(sql)
            columns = [column.to_pylist() for column in frame.toArrow().columns]
        finally:
            session.removeTag(self.tag)
        return list(zip(*columns, strict=True))
