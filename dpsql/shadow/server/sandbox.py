"""How far the kernel shuts the shadow's server in."""

from dataclasses import dataclass
from typing import assert_never

from dpsql.errors import ConfigError
from dpsql.policy.config import SandboxNeed
from dpsql.shadow.server import landlock, seccomp


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The kernel's means that are used: both, where it has them."""

    landlock: int
    """The version of Landlock's interface; 0: none."""
    filtered: bool
    """Whether system calls are filtered."""

    @classmethod
    def of_kernel(cls) -> "Sandbox":
        """Return the most that this kernel can do."""
        return cls(landlock.version(), seccomp.available())

    @classmethod
    def as_needed(cls, need: SandboxNeed) -> "Sandbox":
        """Return the most that this kernel can do, if that is enough.

        Raises:
            ConfigError: the sandbox is required, and not whole.
        """
        sandbox = cls.of_kernel()
        match need:
            case SandboxNeed.AVAILABLE:
                return sandbox
            case SandboxNeed.REQUIRED:
                if sandbox.is_whole:
                    return sandbox
                raise ConfigError(
                    f"the configuration requires a sandbox: {sandbox}",
                    hint="Linux 5.13 or later has one if Landlock is enabled (lsm=…), on x86_64 and aarch64.",
                )
            case _:
                assert_never(need)

    @classmethod
    def none(cls) -> "Sandbox":
        """Return what shuts nothing in."""
        return cls(0, filtered=False)

    @property
    def is_whole(self) -> bool:
        """Return whether files, programs, processes and the network are all out of the server's reach."""
        return self.landlock > 0 and self.filtered

    def __str__(self) -> str:
        """Say what there is, or what is lacking and what that means; one line."""
        if self.is_whole:
            return f"the shadow runs in a sandbox of the kernel (Landlock {self.landlock}, filtered system calls)"
        if self.landlock:
            return (
                "the shadow's sandbox lacks a filter of system calls on this machine: foreign code in it could reach"
                " sockets and the network"
            )
        return (
            "the shadow runs without a sandbox, because this kernel has no Landlock: a superuser of it"
            " reads and writes all that its account may"
        )
