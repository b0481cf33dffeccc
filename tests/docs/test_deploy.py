"""What docs/deploy.md promises: locks with hashes, a wheel that installs by itself, an example that holds together."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
import ruamel.yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.engines.connect import is_admitted
from dpsql.policy.load import load
from dpsql.shadow.server.postgres import Postgres
from tests.clients.site import configure, serving
from tests.docs.hospital import DDL, rows
from tests.docs.pages import ROOT, _blocks
from tests.support import clusters

_DEPLOY = ROOT / "deploy"
_DOCKERFILE = (_DEPLOY / "Dockerfile").read_text(encoding="utf-8")
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_EXTRAS = ("mcp", "metrics", "plots")


def _yaml(path: Path) -> list[Any]:
    return list(ruamel.yaml.YAML(typ="safe").load_all(path.read_text(encoding="utf-8")))


def _locked(name: str) -> Mapping[str, tuple[Requirement, int]]:
    """Return what a lock file names, with how many hashes it has."""
    text = (ROOT / name).read_text(encoding="utf-8")
    locked: dict[str, tuple[Requirement, int]] = {}
    for entry in re.split(r"\n(?=[a-zA-Z0-9])", text.strip()):
        requirement = Requirement(entry.split(" \\\n")[0])
        locked[canonicalize_name(requirement.name)] = requirement, str(entry).count("--hash=sha256:")
    return locked


@pytest.mark.parametrize(("file", "extras"), [("requirements.lock", ()), ("requirements-all.lock", _EXTRAS)])
def test_the_locks_have_all_that_is_needed(file: str, extras: tuple[str, ...]) -> None:
    """Each in one version, which the project takes, with hashes; and no index is named."""
    locked = _locked(file)
    needed = [
        *_PROJECT["dependencies"],
        *(need for extra in extras for need in _PROJECT["optional-dependencies"][extra]),
    ]
    for requirement in map(Requirement, needed):
        (pinned, _) = locked[canonicalize_name(requirement.name)]
        (version,) = pinned.specifier
        assert (version.operator, requirement.specifier.contains(version.version)) == ("==", True), requirement
    assert [name for name, (_, hashes) in locked.items() if not hashes] == []
    assert "://" not in (ROOT / file).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built and installed where nothing of the checkout is."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    ignored = shutil.ignore_patterns(".git", ".venv", ".dpsql", "tests", "benchmarks", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, source, ignore=ignored)
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(built, cwd=source, check=True)  # noqa: S603
    (wheel,) = place.glob("dpsql-*.whl")
    assert wheel.name == f"dpsql-{_PROJECT['version']}-py3-none-any.whl"
    target = place / "installed"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(command, check=True)  # noqa: S603
    return target


def _of_the_wheel(installed: Path) -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}


def test_the_wheel_is_whole(installed: Path) -> None:
    """Its command runs, from its own files: templates, the demo, what agents read."""
    where = "import dpsql; print(dpsql.__file__)"
    run = [sys.executable, "-c", where]
    done = subprocess.run(run, cwd="/", env=_of_the_wheel(installed), capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith(str(installed))
    run = [sys.executable, str(installed / "bin" / "dpsql"), "--version"]
    said = subprocess.run(run, cwd="/", env=_of_the_wheel(installed), capture_output=True, text=True, check=True)  # noqa: S603
    assert said.stdout == f"dpsql {_PROJECT['version']}\n"
    for file in (
        "demo/config.yaml",
        "demo/schemas/trips.yaml",
        "agents/what-is-answered.md",
        "agents/sql.md",
        "agents/sql/tables.md",
        "web/templates/login.html",
        "py.typed",
    ):
        assert (installed / "dpsql" / file).is_file()


def test_the_wheel_has_the_demo_inside(installed: Path, tmp_path: Path) -> None:
    """It answers a first question."""
    run = [sys.executable, str(installed / "bin" / "dpsql"), "demo", "--port", "0"]
    environment = _of_the_wheel(installed)
    with subprocess.Popen(run, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as demo:  # noqa: S603
        assert demo.stdout is not None
        lines = []
        for line in demo.stdout:
            lines.append(line)
            if line.startswith("connect: ") and sum(other.startswith("connect: ") for other in lines) == 3:
                break
        demo.send_signal(signal.SIGINT)
        demo.stdout.read()
    assert any("credit card" in line for line in lines), lines
    assert sum(line.startswith("connect: postgresql://") for line in lines) == 3


def test_the_dockerfile_is_right() -> None:
    """Hadolint has nothing to say; what it copies is there, and it ends as an ordinary user."""
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, _DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (0, "")
    copied = re.findall(r"^COPY (?!--from)(\S+) ", _DOCKERFILE, re.MULTILINE)
    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert re.findall(r"^USER (\S+)$", _DOCKERFILE, re.MULTILINE) == ["10001"]


def test_its_sign_of_life_is_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The very program, asked of a server that runs and of a port where none does."""
    place = tmp_path_factory.mktemp("healthy")
    for parent in (place, *place.parents[:2]):
        parent.chmod(0o711)
    code = re.search(r'"-c", "(.*)"\]', _DOCKERFILE)
    assert code
    config = configure(place)
    config.write_text("web: {port: 0}\n" + config.read_text())
    with serving(config) as site:
        port = site.pages.rstrip("/").rpartition(":")[2]
        for asked, exit_code in ((port, 0), ("1", 1)):
            program = code[1].replace(":8439/", f":{asked}/")
            run = [sys.executable, "-c", program]
            assert subprocess.run(run, capture_output=True, check=False).returncode == exit_code  # noqa: S603


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A server with what compose.yaml's has after its first start."""
    place = tmp_path_factory.mktemp("database")
    for parent in (place, *place.parents[:2]):
        parent.chmod(0o711)
    server = clusters.start(place / "server")
    try:
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE hospital")
        with psycopg.connect(server.dsn("hospital"), autocommit=True) as connection:
            connection.execute(f"{DDL}{rows(200)}".encode())
            connection.execute((_DEPLOY / "example" / "reader.sql").read_bytes())
        yield server
    finally:
        server.stop()


def test_the_example_can_be_served(database: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`dpsql check` finds no mistake in it, on a database that its own files made."""
    shutil.copytree(_DEPLOY / "example", tmp_path / "example")
    config = tmp_path / "example" / "config.yaml"
    text = re.sub(r"port: \d+", "port: 0", config.read_text()).replace("/var/lib/dpsql", str(tmp_path / "state"))
    config.write_text(text)
    compose = _yaml(_DEPLOY / "compose.yaml")[0]["services"]["dpsql"]["environment"]["HOSPITAL"]
    address = database.address
    dsn = compose.replace("host=database", f"host={address.directory} port={address.port}")
    monkeypatch.setenv("HOSPITAL", dsn)
    assert set(load(config, {"HOSPITAL": dsn}).policy.tables) == {"admissions", "departments", "labs", "patients"}
    done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 0, done.output


def test_the_example_is_that_of_the_page() -> None:
    """Schema files and the reader's role stand in docs/thirty-minutes.md, too."""
    page = {block.info: block.text for block in _blocks(ROOT / "docs" / "thirty-minutes.md")}
    for file in (_DEPLOY / "example" / "schemas").iterdir():
        assert page["yaml", "step", f"schemas/{file.name}"] == file.read_text()
    assert page["sql", "step"] == (_DEPLOY / "example" / "reader.sql").read_text()


def test_the_services_hold_together() -> None:
    """What is mounted is there; who has records is reached by dpsql alone; nothing has more rights than it needs."""
    (compose,) = _yaml(_DEPLOY / "compose.yaml")
    services = compose["services"]
    for service in services.values():
        assert "privileged" not in service
        mounted = [volume.split(":")[0] for volume in service.get("volumes", ())]
        assert [path for path in mounted if path not in compose["volumes"] and not (_DEPLOY / path).exists()] == []
        assert set(service["networks"]) <= set(compose["networks"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert (_DEPLOY / services["dpsql"]["build"]["context"] / services["dpsql"]["build"]["dockerfile"]).is_file()
    assert set(services["database"]["networks"]).isdisjoint(services["superset"]["networks"])
    assert services["dpsql"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert services["dpsql"]["cap_drop"] == ["ALL"]
    assert is_admitted(("PostgreSQL", services["database"]["image"].partition(":")[2]))


def test_kubernetes_probes_what_the_pages_have() -> None:
    """One pod, whose probes ask for addresses that there are."""
    *_, pods = _yaml(_DEPLOY / "kubernetes.yaml")
    assert (pods["kind"], pods["spec"]["replicas"]) == ("StatefulSet", 1)
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    served = (ROOT / "dpsql" / "web" / "app.py").read_text(encoding="utf-8")
    for probe in ("livenessProbe", "readinessProbe"):
        assert f'"{container[probe]["httpGet"]["path"]}"' in served
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
