"""A machine that gives little: dpsql starts, or says what it lacks before it has started anything."""

from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import serving

LIMIT = "import resource; resource.setrlimit(resource.{name}, ({most}, {most}))"


@pytest.mark.parametrize(
    ("name", "most", "told"),
    [
        ("RLIMIT_NOFILE", 200, "may have 200 files and connections open, and needs 256"),
        ("RLIMIT_AS", 1900 << 20, "may have 1,900 MiB of addresses, and needs 2,048"),
        ("RLIMIT_AS", 1100 << 20, "may have 1,100 MiB of addresses, and needs 2,048"),
    ],
)
def test_too_little_is_told(config: Path, capfd: pytest.CaptureFixture[str], name: str, most: int, told: str) -> None:
    """Whoever starts dpsql hears which limit to raise."""
    before = LIMIT.format(name=name, most=most)
    with pytest.raises(AssertionError, match="did not start"), serving(config, before=before):
        pass
    assert told in capfd.readouterr().err
    assert not (config.parent / "ledger.db").exists()


def test_the_least_suffices(config: Path) -> None:
    """With so much of both a private question is answered."""
    least = {"RLIMIT_NOFILE": 256, "RLIMIT_AS": 2 << 30}
    before = "\n".join(LIMIT.format(name=name, most=most) for name, most in least.items())
    with serving(config, before=before, executed=True) as site, psycopg.connect(site.dsn) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
