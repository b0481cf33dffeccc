"""docs/thirty-minutes.md, followed command by command, for whoever wants to ask what it leads to."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.docs.hospital import DDL, PATIENTS, rows
from tests.docs.pages import ROOT, Block, _blocks
from tests.support.plain_server import PlainServer, installed_servers, running_server

PAGE = ROOT / "docs" / "thirty-minutes.md"
DPSQL = [sys.executable, "-c", "from dpsql.cli.main import app; app()"]


@dataclass(frozen=True, slots=True)
class Followed:
    """Where the page has led."""

    port: int
    password: str = field(repr=False)
    said: str
    """All that its commands have said."""

    @property
    def dsn(self) -> str:
        """Return how Ana connects."""
        return f"host=127.0.0.1 port={self.port} dbname=hospital user=ana password={self.password} sslmode=disable"


@contextmanager
def hospital_server(major: int) -> Iterator[PlainServer]:
    """Run a PostgreSQL of a version with the hospital's database."""
    with running_server(installed_servers()[major]) as server:
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE hospital")
        with psycopg.connect(server.dsn("hospital"), autocommit=True) as connection:
            connection.execute(f"{DDL}{rows(PATIENTS)}".encode())
        yield server


def steps(*info: str) -> list[Block]:
    """Return the page's blocks of one kind."""
    return [block for block in _blocks(PAGE) if block.info[: len(info)] == info]


def environment_of(database: PlainServer) -> Mapping[str, str]:
    """Return the environment that the page's reader has."""
    dsn = f"host={database.sockets} dbname=hospital user=dpsql_reader password='choose another'"
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOSPITAL": dsn}


@contextmanager
def followed(database: PlainServer, home: Path) -> Iterator[Followed]:
    """Do what each step says, in their order, and serve."""

    def as_owner(sql: str) -> None:
        with psycopg.connect(database.dsn("hospital"), autocommit=True) as owner:
            owner.execute(sql.encode())

    with followed_elsewhere(environment_of(database), as_owner, home) as led:
        yield led


@contextmanager
def followed_elsewhere(
    environment: Mapping[str, str], as_owner: Callable[[str], None], home: Path, engine: str | None = None
) -> Iterator[Followed]:
    """Do what each step says, on whatever database the environment leads to, with another line for the `engine`."""
    said = ""
    home.mkdir(mode=0o711)
    for block in _blocks(PAGE):
        match block.info:
            case ("sql", "step"):
                as_owner(block.text)
            case ("yaml", "step", file):
                text = block.text.replace("port: 5439", "port: 0")
                text = text if engine is None else re.sub("^engine: .*", lambda _: engine, text, flags=re.MULTILINE)
                (home / file).write_text(text)
            case ("sh", "step"):
                said += "".join(_done(line, home, environment) for line in block.text.splitlines())
    password = re.search(r"^password: (\S+)$", said, re.MULTILINE)
    assert password
    (serve,) = steps("sh", "serve")
    assert serve.text == "dpsql serve\n"
    with subprocess.Popen(  # noqa: S603
        [*DPSQL, "serve"], cwd=home, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            port = re.match(r"serving hospital on 127\.0\.0\.1:(\d+)", server.stdout.readline())
            assert port, "the server did not start"
            yield Followed(int(port[1]), password[1], said)
        finally:
            server.terminate()
            server.wait(30)


def _done(line: str, home: Path, environment: Mapping[str, str]) -> str:
    """Run one command of the page, and return what it says."""
    words = [environment[word[1:]] if word.startswith("$") else word for word in shlex.split(line)]
    assert words[0] == "dpsql"
    done = subprocess.run(  # noqa: S603
        [*DPSQL, *words[1:]], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
