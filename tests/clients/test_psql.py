"""psql, the wheel's own: every command that reads the catalogue, questions, cursors, variables and COPY."""

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from dpsql.shadow.server import directory
from tests.clients.asked import GROUPED, LONG, REFUSED, ROWS
from tests.clients.data import LONG_TRIPS
from tests.clients.site import Site

ALIKE = (
    "\\d;\\dS;\\d trips;\\d zones;\\d+ zones;\\dA;\\dAc;\\dAf;\\dAo;\\dAp;\\db;\\dc;\\dcS;\\dC;\\dd;\\dD;\\ddp;"
    "\\dE;\\des;\\det;\\deu;\\dew;\\dF;\\dFd;\\dFp;\\dFt;\\di;\\dl;\\dL;\\dm;\\do;\\doS;\\dO;\\dP;\\dRp;\\dRs;\\ds;\\dt;"
    "\\dT;\\dTS;\\dv;\\dvS;\\dx;\\dx+;\\dX;\\lo_list;\\sf pg_catalog.date_part(text,date);\\encoding"
)
"""Commands that print what they print on a plain server."""
MORE = (
    "\\db+;\\dy;\\l;\\l+;\\d+;\\da;\\dconfig;\\df;\\dfS;\\dg;\\du+;\\di+;\\dL+;\\dn;\\dn+;\\dp;\\drds;"
    "\\drg;\\dt+;\\z;\\conninfo"
)
"""Commands that also show the schema dpsql, its roles, rights, settings, triggers and sizes."""
_POLICY = (
    "Policies (forced row security enabled):",
    '    POLICY "dpsql"',
    "      USING (pg_dpsql.tripwire('trips'::text))",
)


@cache
def _program(name: str) -> Path:
    return directory.find_binaries().directory / name


def piped(site: Site, script: str) -> str:
    """Return what a script on standard input prints."""
    done = subprocess.run(  # noqa: S603
        [_program("psql"), "-X", "-A", "-v", "ON_ERROR_STOP=1", site.words],
        input=script,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout


def psql(site: Site, *commands: str) -> tuple[int, str, str]:
    """Run commands; return the exit code, the output and the errors."""
    done = subprocess.run(  # noqa: S603
        [
            _program("psql"),
            "-X",
            "-A",
            site.words,
            *(part for c in commands for part in ("-c", c)),
        ],
        env={"PATH": os.environ["PATH"], "PAGER": "cat"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", ALIKE.split(";"))
def test_catalogue_command_is_as_on_a_plain_server(here: Site, plain: Site, command: str) -> None:
    """The same text; of a protected table the policy that guards it is shown besides."""
    code, shown, said = psql(here, command)
    lines = [line for line in shown.splitlines() if line not in _POLICY]
    expected, there, error = psql(plain, command)
    assert (code, lines, said) == (expected, there.splitlines(), error)


@pytest.mark.parametrize("command", MORE.split(";"))
def test_catalogue_command_works(here: Site, command: str) -> None:
    """What differs by its nature is shown without complaint."""
    code, shown, said = psql(here, command)
    assert (code, said) == (0, "")
    assert shown


def test_aggregates_are_answered(here: Site) -> None:
    """A statement; one with a variable, and with a parameter; one described without being run."""
    grouped = "payment_type|n\ncash|1000\ncredit card|1000\n|1000\n(3 rows)\n"
    assert psql(here, GROUPED) == (0, grouped, "")
    described = "Column|Type\npayment_type|text\nn|bigint\n(2 rows)\n"
    assert piped(here, f"{GROUPED} \\gdesc\n") == described
    assert (
        piped(here, f"\\set fare 20\n{LONG}:fare;\n{LONG}$1 \\bind 20 \\g\n") == f"count\n{LONG_TRIPS}\n(1 row)\n" * 2
    )


def test_rows_are_refused(here: Site) -> None:
    """With code and hint."""
    code, shown, said = psql(here, "\\set VERBOSITY verbose", ROWS)
    assert (code, shown) == (1, "")
    assert said.startswith(f"ERROR:  {REFUSED}: ")
    assert "HINT:" in said
    assert "PL/pgSQL" not in said


def test_copy_gives_the_rows(here: Site) -> None:
    """By psql's own command, with a header."""
    copied = psql(here, f"\\copy ({GROUPED}) to stdout with (format csv, header)")
    assert copied == (0, "payment_type,n\ncash,1000\ncredit card,1000\n,1000\n", "")


def test_cursor_fetches_in_steps(here: Site) -> None:
    """FETCH_COUNT makes psql declare a cursor."""
    code, shown, said = psql(here, "\\set FETCH_COUNT 2", "\\t on", GROUPED)
    assert (code, shown.splitlines()[-3:], said) == (0, ["cash|1000", "credit card|1000", "|1000"], "")


def test_errors_keep_their_place(here: Site) -> None:
    """The error points into the statement."""
    _, _, said = psql(here, "SELECT count(nope) FROM trips")
    assert said.splitlines()[1:] == ["LINE 1: SELECT count(nope) FROM trips", "                     ^"]


def test_pg_dump_is_told_why_not(here: Site) -> None:
    """It locks tables first, which clients may not; the refusal says what shows the tables' definitions."""
    done = subprocess.run(  # noqa: S603
        [_program("pg_dump"), "-s", "-d", here.words],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 1
    assert "permission denied for LOCK TABLE" in done.stderr
    assert "pg_dump" in done.stderr.partition("HINT:")[2].partition("\n")[0]
