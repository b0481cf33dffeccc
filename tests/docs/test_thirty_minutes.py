"""docs/thirty-minutes.md, followed command by command on a real PostgreSQL with a hospital's records."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from tests.docs.hospital import DDL, PATIENTS, rows
from tests.docs.pages import ROOT, Block, _blocks, statements
from tests.support import clusters

_PAGE = ROOT / "docs" / "thirty-minutes.md"
_DPSQL = [sys.executable, "-c", "from dpsql.cli.main import app; app()"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page is followed; the shadow's account can enter it."""
    made = tmp_path_factory.mktemp("thirty")
    for one in (made, *made.parents[:2]):
        one.chmod(0o711)
    return made


@pytest.fixture(scope="module")
def database(place: Path) -> Iterator[Postgres]:
    """A server with the hospital's database."""
    server = clusters.start(place / "server")
    try:
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE hospital")
        with psycopg.connect(server.dsn("hospital"), autocommit=True) as connection:
            connection.execute(f"{DDL}{rows(PATIENTS)}".encode())
        yield server
    finally:
        server.stop()


def _steps(*info: str) -> list[Block]:
    return [block for block in _blocks(_PAGE) if block.info[: len(info)] == info]


def _environment(database: Postgres) -> Mapping[str, str]:
    address = database.address
    dsn = f"host={address.directory} port={address.port} dbname=hospital user=dpsql_reader password='choose another'"
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOSPITAL": dsn}


def test_the_page_leads_to_answers(database: Postgres, place: Path) -> None:
    """Each step does what it says, in its order; the answers are near the truth."""
    home, environment = place / "home", _environment(database)
    home.mkdir(mode=0o711)
    said = ""
    for block in _blocks(_PAGE):
        match block.info:
            case ("sql", "step"):
                with psycopg.connect(database.dsn("hospital"), autocommit=True) as owner:
                    owner.execute(block.text.encode())
            case ("yaml", "step", file):
                text = block.text.replace("port: 5439", "port: 0")
                (home / file).write_text(text)
            case ("sh", "step"):
                for line in block.text.splitlines():
                    words = [environment[w[1:]] if w.startswith("$") else w for w in shlex.split(line)]
                    assert words[0] == "dpsql"
                    done = subprocess.run(  # noqa: S603
                        [*_DPSQL, *words[1:]], cwd=home, env=environment, capture_output=True, text=True, check=False
                    )
                    assert done.returncode == 0, done.stderr
                    said += done.stdout
    password = re.search(r"^password: (\S+)$", said, re.MULTILINE)
    assert password
    # Of 20,000 patients, in a table with a row for each and in others that lead to them.
    assert "share of values" in " ".join(said.split())
    assert "patients: left out, since dpsql has no such type: photo (bytea)" in said
    _serve_and_ask(home, environment, password[1])


def _serve_and_ask(home: Path, environment: Mapping[str, str], password: str) -> None:
    (serve,) = _steps("sh", "serve")
    assert serve.text == "dpsql serve\n"
    with subprocess.Popen(  # noqa: S603
        [*_DPSQL, "serve"], cwd=home, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            port = re.match(r"serving hospital on 127\.0\.0\.1:(\d+)", server.stdout.readline())
            assert port, "the server did not start"
            (asked,) = _steps("sql", "ask")
            dsn = f"host=127.0.0.1 port={port[1]} dbname=hospital user=ana password={password} sslmode=disable"
            with psycopg.connect(dsn, autocommit=True) as connection:
                answers = [connection.execute(text.encode()).fetchall() for text in statements(asked)]
                with pytest.raises(psycopg.Error, match="rows of patients are protected"):
                    connection.execute("SELECT * FROM patients")
        finally:
            server.terminate()
            server.wait(30)
    by_department, by_quarter, by_region, left = answers
    assert [name for name, *_ in by_department if name in ("Surgery", "Oncology")]
    assert sum(number for _, number, *_ in by_department) == pytest.approx(2 * PATIENTS, rel=0.1)
    days = sum(number * float(mean) for _, number, mean, _ in by_department)
    assert days / sum(number for _, number, *_ in by_department) == pytest.approx(10.5, abs=4)
    assert len(by_quarter) == 3 * 8
    assert len(by_region) == 4 * 4
    assert left[0][1] == 16  # of 20 questions three are paid, and the profile costs as much as one


def test_each_table_of_the_page_is_one_that_init_writes(database: Postgres, place: Path) -> None:
    """Names, types and references are as `dpsql init` has them: only what the owner declares was added."""
    environment = _environment(database)
    files = {block.info[2] for block in _steps("yaml", "step") if block.info[2].startswith("schemas/")}
    done = subprocess.run(  # noqa: S603
        [*_DPSQL, "init", database.dsn("hospital"), "--unit", "patient=patients.patient_id", "-d", str(place / "new")],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {f"schemas/{path.name}" for path in (place / "new").iterdir()} == files, done.stderr
    for block in _steps("yaml", "step"):
        if block.info[2] not in files:
            continue
        drafted = (place / "new" / Path(block.info[2]).name).read_text()
        for name, kind in re.findall(r"^  (\w+): \{type: (\"[^\"]+\"|[\w ()]+)", block.text, re.MULTILINE):
            assert f"  {name}: {{type: {kind}" in drafted
