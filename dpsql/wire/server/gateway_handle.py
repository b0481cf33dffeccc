"""The current gateway, as sessions hold it: those that began before a reload ask the new one too."""

from dpsql.gateway.request import Answers, Question, Reply, Request, Unpaid
from dpsql.question import Asker, Cancellation


class GatewayHandle:
    """`Answers` of the current gateway."""

    def __init__(self, now: Answers) -> None:
        self.now = now
        """May be set at any time; an answer that has begun is finished by the gateway that began it."""

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Find the question in a statement that was read before; see `Answers`."""
        return self.now.recall(text)

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:
        """Find the question in a statement; see `Answers`."""
        return self.now.examine(text, asker, cancellation)

    def check_setting(self, name: str, value: str, asker: Asker) -> None:
        """Check a setting of dpsql's own; see `Answers`."""
        self.now.check_setting(name, value, asker)

    def answer(self, request: Request) -> Reply | Unpaid:
        """Answer a request, whose question an earlier gateway may have found; see `Answers`."""
        return self.now.answer(request)
