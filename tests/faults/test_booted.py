"""The unit of the operations page, to the letter, in a systemd: a late database, reloads, a killed server, the end."""

import os
import shutil
from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, free_port
from tests.docs.test_unit import UNIT
from tests.faults.controls import write
from tests.faults.engine_server import engine_server, of, use
from tests.faults.systemd import ACCOUNT, FILES, booted
from tests.support import clusters

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="only root may boot a systemd")]
_PORT = free_port()
_SITE = Site(_PORT)


@pytest.fixture
def files(directory: Path) -> Path:
    """Give a directory with what is to be installed, for a database that is not there yet."""
    with engine_server(directory) as server:
        engine = of(server).replace(str(directory), FILES)
    config, home = use(configure(directory), engine), directory / "etc" / "dpsql"
    shutil.copytree(directory / "declared", home / "schemas")
    text = config.read_text().replace(str(directory / "declared"), "schemas").replace("port: 0", f"port: {_PORT}")
    for elsewhere in ("shadow: {directory: shadow}\n", "ledger: sqlite:///ledger.db\n"):
        assert elsewhere in text
        text = text.replace(elsewhere, "")
    (home / "config.yaml").write_text(f"state: /var/lib/dpsql\n{text}")
    (directory / "dpsql.service").write_text(UNIT)
    (directory / "lib").mkdir()
    return directory


def _answers() -> list[tuple[object, ...]]:
    with psycopg.connect(_SITE.dsn) as client:
        assert client.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        return client.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()


def test_the_unit(files: Path) -> None:
    """It waits for its database, serves, reloads or says why not, comes back when it is killed, and ends."""
    with booted(files) as machine:
        assert machine.systemctl("start", "--no-block", "dpsql.service").returncode == 0
        machine.says("the engine is waited for")
        assert machine.property("ActiveState") == "activating"
        database = clusters.start(files / "source")
        for closed in (files / "source" / "sockets", *(files / "source" / "sockets").glob(".s.PGSQL.*[0-9]")):
            closed.chmod(0o777)
        machine.comes_to("active")
        assert f"127.0.0.1:{_PORT}" in machine.property("StatusText")
        spent = _answers()

        config = Path(f"/proc/{machine.init}/root/etc/dpsql/config.yaml")
        write(config, "role: analyst", "role: analist")
        assert machine.systemctl("reload", "dpsql.service").returncode == 1
        machine.says('did you mean "analyst"?')
        assert _answers() == spent
        write(config, "role: analist", "role: analyst")
        assert machine.systemctl("reload", "dpsql.service").returncode == 0

        machine.systemctl("kill", "--kill-who=main", "--signal=KILL", "dpsql.service")
        machine.comes_to("activating")
        machine.comes_to("active")
        assert machine.property("NRestarts") == "1"
        assert _answers() == spent
        database.stop()
        assert _answers() == spent

        assert machine.systemctl("stop", "dpsql.service").returncode == 0
        assert (machine.property("ActiveState"), machine.property("Result")) == ("inactive", "success")
    written = list((files / "lib" / "dpsql").rglob("*"))
    assert {path.stat().st_uid for path in written} == {ACCOUNT}
    assert "tried" in {path.name for path in written}
    assert any(path.name.startswith("ledger") for path in written), written
