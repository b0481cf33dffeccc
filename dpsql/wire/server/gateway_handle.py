"""The gateway in force, as sessions hold it: one that began before the policy was read again asks the new gateway."""

from dpsql.question import Answers, Argument, Asker, Cancellation, Field, Question, Settings, Work


class GatewayHandle:
    """`Answers` of whichever gateway is there now."""

    def __init__(self, now: Answers) -> None:
        self.now = now
        """May be set at any time; what is being answered is answered by the one that began it."""

    def examine(self, text: str, asker: Asker) -> Question | None:
        """Find the question in a statement; see `Answers`."""
        return self.now.examine(text, asker)

    def begin(
        self,
        question: Question,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
        cancellation: Cancellation,
    ) -> str | Work[str]:
        """Begin to answer a question, which an earlier gateway may have found; see `Answers`."""
        return self.now.begin(question, described, arguments, settings, asker, cancellation)
