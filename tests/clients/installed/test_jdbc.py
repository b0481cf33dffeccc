"""pgjdbc, which Metabase, DBeaver and Looker use: metadata, prepared statements, fetch sizes; in all its modes."""

import subprocess
from pathlib import Path

import pytest

from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site

JAR = Path("/usr/share/java/postgresql.jar")
TOLD = ("table", "column", "key", "imported", "exported", "product")
CLIENT = Path(__file__).parent / "Client.java"


def _lines(site: Site, mode: str, *more: str) -> list[list[str]]:
    url = f"jdbc:postgresql://{site.host}:{site.port}/{site.database}?preferQueryMode={mode}&sslmode=disable"
    done = subprocess.run(  # noqa: S603
        ["java", "-cp", str(JAR), str(CLIENT), url, site.user, site.password, *more],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("mode", ["extended", "extendedForPrepared", "extendedCacheEverything", "simple"])
def test_asks_in_every_mode(here: Site, plain: Site, mode: str) -> None:
    """The metadata is a plain server's; questions are answered, rows refused, results fetched in steps."""
    lines = _lines(here, mode, "all")
    there = _lines(plain, mode)
    assert [line for line in lines if line[0] in TOLD] == [line for line in there if line[0] in TOLD]
    # Each table is a type as well, also those of the schema dpsql.
    assert all(line in lines for line in there)
    rows = [["null" if key is None else key, str(count)] for key, count in BY_PAYMENT]
    assert [line[1:] for line in lines if line[0] == "grouped"] == rows
    assert [line[1:] for line in lines if line[0] == "fetched"] == rows
    assert [line[1:] for line in lines if line[0] == "parameter"] == [[str(LONG_TRIPS)]] * 8
    assert [line[1:] for line in lines if line[0] == "refused"] == [["42501"]]
    assert lines[-1] == ["valid", "true"]
