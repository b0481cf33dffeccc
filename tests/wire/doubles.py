"""What doubles of the gateway have in common: they take what names trips, any setting, and remember nothing."""

from collections.abc import Mapping

from dpsql.gateway.request import Question, Reply, Request
from dpsql.question import Asker, Cancellation
from dpsql.rewrite.syntax.whole.analyze import asked_statement


class AsksOfTrips:
    """All of `Answers` but the answer."""

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Return the question that there is."""
        asked = asked_statement(text) if "trips" in text else None
        return (None if asked is None else Question(text, asked),)

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:
        """Return the same."""
        _ = asker, cancellation
        kept = self.recall(text)
        return None if kept is None else kept[0]

    def check_setting(self, name: str, value: str, asker: Asker) -> None:
        """Take any."""

    def tables(self, asker: Asker) -> Mapping[str, str]:
        """Name that of trips."""
        _ = asker
        return {"trips": "trips"}

    def recalled(self, request: Request) -> Reply | None:
        """Remember nothing."""
        _ = request
        return None
