"""How the descriptors of a process are divided."""

import pytest

from dpsql.errors import ConfigError
from dpsql.system_limits import Shares


@pytest.mark.parametrize("descriptors", [256, 500, 1024, 4096, 20_000, 1_048_576])
def test_shares_are_within_what_there_is(descriptors: int) -> None:
    """Also when everybody has a session in the shadow, of which there are 300 at the most."""
    shares = Shares.of(descriptors)
    assert shares.unauthenticated + shares.pages + shares.connections + min(shares.connections, 300) + 64 <= descriptors
    assert min(shares.unauthenticated, shares.pages, shares.connections) >= 32


def test_too_few_are_refused() -> None:
    """Better at the start than in the middle of something."""
    with pytest.raises(ConfigError, match="may have 255 files and connections open, and needs 256"):
        Shares.of(255)
