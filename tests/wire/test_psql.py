"""psql, the wheel's own, as a person would use it."""

import os
import subprocess

import pytest

from dpsql.shadow import binaries
from dpsql.wire.listener import Listener


def psql(listener: Listener, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands as ana."""
    arguments = [part for command in commands for part in ("-c", command)]
    where = f"host=127.0.0.1 port={listener.port} user=ana dbname=taxi sslmode=disable"
    environment = {"PGPASSWORD": "pw", "PATH": os.environ["PATH"], "PAGER": "cat"}
    program = binaries.find().directory / "psql"
    return subprocess.run(  # noqa: S603
        [program, "-X", "-A", where, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


BACKSLASH = [
    "\\l+",
    "\\dn+",
    "\\dt+",
    "\\d+ trips",
    "\\d trips",
    "\\dp",
    "\\du",
    "\\df dpsql.*",
    "\\dv dpsql.*",
    "\\di+",
    "\\conninfo",
    "\\dconfig work_mem",
]


@pytest.mark.parametrize("command", BACKSLASH)
def test_catalogue_command_works(listener: Listener, command: str) -> None:
    """What reads the catalogue reads the shadow's."""
    done = psql(listener, command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_comments_and_keys_are_shown(listener: Listener) -> None:
    r"""In \d+ stands what the schema files say."""
    shown = psql(listener, "\\d+ trips").stdout
    assert "metered fare" in shown
    assert '"trips_pkey" PRIMARY KEY' in shown
    assert "FOREIGN KEY (pickup_zone) REFERENCES zones(zone_id)" in shown


def test_question_is_answered(listener: Listener) -> None:
    """A grouped aggregate prints its rows."""
    done = psql(listener, "select payment_type, count(*) from trips group by 1 order by 1")
    assert done.stdout.splitlines() == ["payment_type|count", "cash|333", "credit card|334", "|333", "(3 rows)"]


def test_error_shows_where(listener: Listener) -> None:
    """The error points at the word that PostgreSQL does not know."""
    done = psql(listener, "select count(nope) from trips")
    assert 'column "nope" does not exist' in done.stderr
    assert "LINE 1: select count(nope) from trips" in done.stderr


def test_rows_are_refused_with_advice(listener: Listener) -> None:
    """Rows of a protected table are refused, and psql shows the hint."""
    done = psql(listener, "select * from trips")
    assert 'rows of protected table "trips" cannot be read' in done.stderr
    assert "HINT:" in done.stderr
    assert "PL/pgSQL" not in done.stderr
