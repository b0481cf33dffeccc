"""What an operator does to a server that runs."""

import os
import select
import signal
import time
from pathlib import Path

from tests.clients.site import Site
from tests.support.processes import children


def signal_to(site: Site, number: signal.Signals) -> None:
    """Send a signal."""
    assert site.process is not None
    site.process.send_signal(number)


def line(site: Site) -> str:
    """Return the next line that the server writes, within half a minute."""
    assert site.process is not None
    assert site.process.stdout is not None
    read, number = bytearray(), site.process.stdout.fileno()
    while not read.endswith(b"\n"):  # byte by byte: what is buffered of the line after it would not be waited for
        assert select.select([number], [], [], 30)[0], "the server says nothing"
        read += os.read(number, 1)
    return read.decode()


def reload(site: Site) -> None:
    """Have the configuration read again."""
    signal_to(site, signal.SIGHUP)
    assert line(site) == "reloaded\n"


def write(config: Path, old: str, new: str) -> None:
    """Put something else into a file."""
    text = config.read_text()
    assert old in text
    config.write_text(text.replace(old, new))


def shadow_of(site: Site) -> int:
    """Return the process of the shadow."""
    assert site.process is not None
    (child,) = children(site.process.pid)
    return child


def kill_shadow(site: Site, patience: float = 60.0) -> None:
    """Kill the shadow, and wait until there is another one."""
    assert site.process is not None
    old, deadline = shadow_of(site), time.monotonic() + patience
    os.kill(old, signal.SIGKILL)
    while children(site.process.pid) in ([], [old]):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def not_reloaded(site: Site, log: Path) -> str:
    """Have the configuration read again, which fails; return what the operator is told."""
    before = log.read_text()
    signal_to(site, signal.SIGHUP)
    deadline = time.monotonic() + 60
    while not (said := log.read_text()[len(before) :]).count("not reloaded: ") or not said.endswith("\n"):
        assert time.monotonic() < deadline, said
        time.sleep(0.02)
    return said
