"""Apache Superset in an environment of its own, on a fresh database, beside a dpsql with a million synthetic trips."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpsql.demo.trips import generate
from tests.clients.site import Site, configure, serving
from tests.superset.api import Superset

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent
PROGRAM = Path(os.environ.get("SUPERSET", ".venv/superset")).absolute() / "bin" / "superset"
"""Where `make test-superset` installs it."""
_THERE = PROGRAM.exists() and shutil.which("chromium") and find_spec("playwright")
collect_ignore_glob = [] if _THERE else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let only `make test-superset` run them."""
    for item in items:
        if "tests/superset/" in item.nodeid:
            item.add_marker(pytest.mark.superset)


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """Give a directory that the shadow's account can enter."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-superset-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def here(place: Path) -> Iterator[Site]:
    """Give dpsql, at an ε that somebody would really pay."""
    config = configure(place)
    (place / "taxi.duckdb").unlink()
    generate(place / "taxi.duckdb")
    config.write_text(config.read_text().replace("per_query: {epsilon: 1000}", "per_query: {epsilon: 1}"))
    with serving(config) as site:
        yield site


@pytest.fixture(scope="session")
def superset(place: Path) -> Iterator[Superset]:
    """Give a Superset with an administrator, who is logged in."""
    home = place / "superset"
    home.mkdir(mode=0o700)
    environment = {
        **os.environ,
        "SUPERSET_HOME": str(home),
        "SUPERSET_CONFIG_PATH": str(HERE / "superset_config.py"),
        "FLASK_APP": "superset.app:create_app()",
    }
    administrator = "--username admin --password admin --firstname A --lastname B --email a@example.org".split()
    for command in (["db", "upgrade"], ["fab", "create-admin", *administrator], ["init"]):
        subprocess.run([PROGRAM, *command], env=environment, check=True, capture_output=True)  # noqa: S603
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(PROGRAM), "run", "--with-threads", "--port", str(port)]
    served = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
    assert served.stdout is not None
    try:
        next(line for line in served.stdout if b"Running on" in line)
        rest = threading.Thread(target=served.stdout.read)  # nobody else empties the pipe
        rest.start()
        running = Superset(f"http://127.0.0.1:{port}")
        running.log_in("admin", "admin")
        yield running
    finally:
        served.terminate()
        served.wait(30)
        rest.join()
        served.stdout.close()


@pytest.fixture
def page(superset: Superset) -> "Iterator[Page]":
    """Give a browser in which the administrator has logged in."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (only `make test-superset` installs it)

    with sync_playwright() as playwright:
        # The sandbox of the browser refuses to run as root; the pages are our own.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1400, "height": 1100})
        opened.goto(f"{superset.url}/login/")
        opened.fill("input[name=username], #username", "admin")
        opened.fill("input[name=password], #password", "admin")
        opened.click("button[type=submit], input[type=submit]")
        opened.wait_for_url("**/superset/welcome/**")
        yield opened
        browser.close()
