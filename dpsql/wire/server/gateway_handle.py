"""The gateway in force, as sessions hold it: one that began before the policy was read again asks the new gateway."""

from dpsql.gateway.request import Answers, Question, Request, Work
from dpsql.question import Asker


class GatewayHandle:
    """`Answers` of whichever gateway is there now."""

    def __init__(self, now: Answers) -> None:
        self.now = now
        """May be set at any time; what is being answered is answered by the one that began it."""

    def examine(self, text: str, asker: Asker) -> Question | None:
        """Find the question in a statement; see `Answers`."""
        return self.now.examine(text, asker)

    def answer(self, request: Request) -> str | Work[str]:
        """Answer a request, whose question an earlier gateway may have found; see `Answers`."""
        return self.now.answer(request)
