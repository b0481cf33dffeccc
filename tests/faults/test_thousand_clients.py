"""A thousand clients that are logged in and ask nothing: little memory, and little in the shadow."""

import asyncio
import shutil
from pathlib import Path

import psycopg
import pytest

from dpsql.wire.protocol.messages import Limits
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving
from tests.support.processes import children, megabytes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc"),
]
USERS, CLIENTS, UNASKED = 20, 1_000, Limits().unasked
CERTIFICATES = Path(__file__).parent.parent / "wire"


def _many_users(config: Path) -> None:
    """Give ana's password to twenty more: one user has at most a hundred connections."""
    written = config.read_text()
    line = next(line for line in written.splitlines() if "ana:" in line)
    config.write_text(written + "\n".join(line.replace("ana:", f"user{n}:") for n in range(USERS)) + "\n")


@pytest.mark.parametrize(("tls", "most"), [(False, 150), (True, 400)])
def test_idle_clients_cost_little(directory: Path, tls: bool, most: int) -> None:
    """At most 150 MB in all, 400 MB with TLS; the first hundred have back-ends, and one of each kind of greeting."""
    for name in ("localhost.crt", "localhost.key"):
        shutil.copy(CERTIFICATES / name, directory)
    config = configure(directory, tls=", tls: {certificate: localhost.crt, key: localhost.key}" if tls else "")
    _many_users(config)
    with serving(config) as site:
        megabytes, backends, answer = asyncio.run(_measured(site, "require" if tls else "disable"))
    assert answer == BY_PAYMENT
    assert backends < UNASKED + USERS + 15
    assert megabytes <= most


async def _measured(site: Site, mode: str) -> tuple[int, int, object]:
    """Return the memory and the shadow's processes beside a thousand clients, and what one of them is answered."""
    assert site.process is not None
    own = site.process.pid
    where = site.dsn.replace("sslmode=disable", f"sslmode={mode}")
    clients = [
        await psycopg.AsyncConnection.connect(where.replace("ana", f"user{n % USERS}"), autocommit=True)
        for n in range(CLIENTS)
    ]
    seen = megabytes(own), len(children(children(own)[0]))
    answer = await (await clients[-1].execute(GROUPED.encode())).fetchall()
    for client in clients:
        await client.close()
    return *seen, answer
