"""How many bytes are kept between messages: limits for a session, for all sessions of a user, and for all users."""

from collections import Counter

from dpsql.errors import LimitExceeded
from dpsql.wire.protocol.messages import Limits

_MIB = 2**20


class Kept:
    """The bytes that all sessions keep."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.size = 0
        """Bytes of all sessions together."""
        self._of_users: Counter[str] = Counter()

    def take(self, user: str, session: int, size: int) -> None:
        """Count `size` more bytes for a session that keeps `session` bytes already.

        Raises:
            LimitExceeded: one of the limits would be passed; nothing is counted.
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
        """Stop counting so many bytes of a user."""
        self.size -= size
        self._of_users[user] -= size
        if self._of_users[user] <= 0:
            del self._of_users[user]


class Allowance:
    """The bytes that one session keeps."""

    def __init__(self, kept: Kept, user: str) -> None:
        self._kept = kept
        self._user = user
        self.size = 0
        """Bytes that are kept now."""

    def take(self, size: int) -> None:
        """Count `size` more bytes.

        Raises:
            LimitExceeded: that would pass a limit.
        """
        self._kept.take(self._user, self.size, size)
        self.size += size

    def give(self, size: int) -> None:
        """Stop counting so many bytes."""
        self._kept.give(self._user, size)
        self.size -= size

    def close(self) -> None:
        """Stop counting all bytes of the session."""
        self.give(self.size)
