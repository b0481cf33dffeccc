"""A disk that takes no more bytes: statements are refused uncharged, and a load balancer hears so before it sends any."""

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psycopg
import pytest

from dpsql.errors import AuditFailed, LedgerFailed
from tests.clients.asked import GROUPED
from tests.clients.site import Site, configure, serving

NEW = "SELECT count(*) FROM trips WHERE fare > 20"


def test_a_server_whose_disk_takes_no_more_is_not_ready(directory: Path) -> None:
    """As long as statements are refused, and no longer; it runs all the while, and is not to be restarted."""
    config = configure(directory)
    config.write_text(config.read_text() + "web: {host: 127.0.0.1, port: 0}\n")
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        assert site.process is not None
        connection.execute(GROUPED.encode())
        assert _heard(site, "ready") == (200, "ready\n")
        limits = resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        with pytest.raises(psycopg.OperationalError) as refused:
            connection.execute(NEW.encode())
        assert refused.value.sqlstate == "58030"
        _until(lambda: _heard(site, "ready")[0] == 503)
        assert _heard(site, "ready")[1] in {f"{AuditFailed.text}\n", f"{LedgerFailed.text}\n"}
        assert _heard(site, "healthz") == (200, "ok\n")
        resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, limits)
        _until(lambda: _heard(site, "ready") == (200, "ready\n"))
        _until(lambda: _is_answered(connection))


def _heard(site: Site, page: str) -> tuple[int, str]:
    try:
        with urlopen(f"{site.pages}{page}") as said:  # noqa: S310
            return said.status, said.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def _is_answered(connection: psycopg.Connection) -> bool:
    with suppress(psycopg.OperationalError):
        return bool(connection.execute(NEW.encode()).fetchall())
    return False


def _until(holds: Callable[[], bool]) -> None:
    """Wait for it, a minute at most."""
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)
