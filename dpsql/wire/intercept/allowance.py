"""How many bytes sessions keep here between their messages: what each, each user, and all together may have."""

from collections import Counter

from dpsql.errors import LimitExceeded
from dpsql.wire.protocol.messages import Limits

_MIB = 2**20


class Kept:
    """What all sessions keep."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.size = 0
        """The bytes of all."""
        self._of_users: Counter[str] = Counter()

    def take(self, user: str, session: int, size: int) -> None:
        """Count `size` more bytes of a session that has `session`.

        Raises:
            LimitExceeded: somebody would have too much; nothing is counted.
        """
        for whose, kept, most in (
            ("this session", session, self._limits.kept_by_session),
            (f'all sessions of user "{user}"', self._of_users[user], self._limits.kept_by_user),
            ("all sessions", self.size, self._limits.kept_by_all),
        ):
            if kept + size > most:
                raise LimitExceeded(
                    f"prepared statements, bound parameters and messages of {whose} take more than {most // _MIB} MiB",
                    hint="Close what is not needed any more, or end the transaction.",
                )
        self.size += size
        self._of_users[user] += size

    def give(self, user: str, size: int) -> None:
        """Count bytes no more."""
        self.size -= size
        self._of_users[user] -= size
        self._of_users += Counter()  # forget who has nothing


class Allowance:
    """What one session keeps."""

    def __init__(self, kept: Kept, user: str) -> None:
        self._kept = kept
        self._user = user
        self.size = 0
        """Its bytes."""

    def take(self, size: int) -> None:
        """Keep `size` more bytes.

        Raises:
            LimitExceeded: that is too much.
        """
        self._kept.take(self._user, self.size, size)
        self.size += size

    def give(self, size: int) -> None:
        """Keep so many less."""
        self._kept.give(self._user, size)
        self.size -= size

    def close(self) -> None:
        """Keep nothing any more."""
        self.give(self.size)
