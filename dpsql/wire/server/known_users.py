"""The users who may log in, and how each is asked for the password: an unknown name is asked as a known one would be."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from dpsql.wire.protocol.scram import Verifier


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A user of the server: the role in the policy, and the verifier of the password."""

    role: str
    verifier: str = field(repr=False)
    """As PostgreSQL spells it: `SCRAM-SHA-256$4096:…`; empty where a directory knows the password."""


class KnownUsers:
    """The users of a server, as they are now."""

    def __init__(self, entries: Mapping[str, UserEntry], secret: bytes, *, has_directory: bool) -> None:
        """`secret` makes what unknown names are asked; were it another after a restart, they could be told from users.

        Raises:
            ValueError: when a verifier is none.
        """
        self.entries = entries
        self._secret, self._has_directory = secret, has_directory
        self._verifiers = {name: Verifier.parse(entry.verifier) for name, entry in entries.items() if entry.verifier}

    def verifier(self, user: str) -> Verifier:
        """Return the verifier of the user's password; for an unknown name one that no password passes."""
        return self._verifiers.get(user) or Verifier.of_nobody(user, self._secret, self._verifiers.values())

    def is_of_directory(self, user: str) -> bool:
        """Return whether the directory is asked about a user; of unknown names about as many as of users."""
        if not self._has_directory:
            return False
        if user in self.entries:
            return user not in self._verifiers
        of_directory = len(self.entries) - len(self._verifiers)
        drawn = int.from_bytes(hmac.digest(self._secret, b"directory:" + user.encode(), "sha256")[:8])
        return drawn * len(self.entries) < of_directory << 64
