"""Root gives up its rights for the shadow; an ordinary user has none to give. Both serve alike."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from dpsql.shadow.server.directory import SystemAccount
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving
from tests.clients.test_psql import psql
from tests.support.ordinary import NOBODY, ordinary_python
from tests.support.processes import children

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="whoever runs the tests is the ordinary user")


def _accounts(pid: int) -> list[int]:
    """Return the users of a process's children."""
    return [Path(f"/proc/{child}").stat().st_uid for child in children(pid)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@as_root
def test_shadow_is_not_root(here: Site) -> None:
    """When root serves, PostgreSQL runs as somebody without rights, who can't read the data either."""
    account = SystemAccount.for_server()
    assert account is not None
    assert here.process is not None
    assert _accounts(here.process.pid) == [account.uid]


@as_root
def test_ordinary_user_serves() -> None:
    """The whole way, as `nobody`: start, catalogue, a question, a refusal."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-nobody-"))
    try:
        config = configure(directory)
        for path in (directory, *directory.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        with serving(config, python=ordinary_python(), uid=NOBODY) as site:
            with psycopg.connect(site.dsn) as connection:
                assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute("SELECT * FROM trips")
            assert psql(site, "\\d zones")[0] == 0
    finally:
        shutil.rmtree(directory)
