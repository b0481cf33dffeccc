"""Node's drivers: pg, which is unnamed and named extended statements, and postgres, which prepares everything."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site

CLIENT = Path(__file__).parent / "client.mjs"
CLIENTS = Path(os.environ.get("CLIENTS", ".venv/clients")).absolute()
"""Where `make test-clients` puts what npm installs."""


def _lines(site: Site, driver: str, *more: str) -> list[list[object]]:
    done = subprocess.run(  # noqa: S603
        ["node", str(CLIENT), driver, f"{site.url()}?sslmode=disable", *more],  # noqa: S607
        env={**os.environ, "CLIENTS": str(CLIENTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("driver", ["pg", "postgres"])
def test_asks(here: Site, plain: Site, driver: str) -> None:
    """The catalogue is a plain server's; questions are answered, rows refused, results fetched in steps."""
    lines = _lines(here, driver, "all")
    assert [line for line in lines if line[0] in ("table", "column")] == _lines(plain, driver)
    rows = [[key, str(count)] for key, count in BY_PAYMENT]
    assert [line[1:] for line in lines if line[0] == "grouped"] == rows
    assert [line[1:] for line in lines if line[0] == "fetched"] == rows
    assert [line[1:] for line in lines if line[0] == "parameter"] == [[str(LONG_TRIPS)]] * 4
    assert [line[1:] for line in lines if line[0] == "refused"] == [["42501"]]
