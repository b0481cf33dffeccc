"""What an operator does to a server that runs."""

import select
import signal
from pathlib import Path

from tests.clients.site import Site


def signal_to(site: Site, number: signal.Signals) -> None:
    """Send a signal."""
    assert site.process is not None
    site.process.send_signal(number)


def line(site: Site) -> str:
    """Return the next line that the server writes, within half a minute."""
    assert site.process is not None
    assert site.process.stdout is not None
    assert select.select([site.process.stdout], [], [], 30)[0], "the server says nothing"
    return site.process.stdout.readline()


def reload(site: Site) -> None:
    """Have the configuration read again."""
    signal_to(site, signal.SIGHUP)
    assert line(site) == "reloaded\n"


def write(config: Path, old: str, new: str) -> None:
    """Put something else into a file."""
    text = config.read_text()
    assert old in text
    config.write_text(text.replace(old, new))
