"""docs/thirty-minutes.md, followed command by command on a real PostgreSQL with a hospital's records."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.docs.followed import DPSQL, environment_of, followed, hospital_server, steps
from tests.docs.hospital import PATIENTS
from tests.docs.pages import statements
from tests.support.plain_server import PlainServer


@pytest.fixture(scope="module", params=[15, pytest.param(17, marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest) -> Iterator[PlainServer]:
    """A server with the hospital's database, of a version as an owner may have it."""
    with hospital_server(request.param) as server:
        yield server


def test_the_page_leads_to_answers(database: PlainServer, tmp_path: Path) -> None:
    """Each step does what it says, in its order; the answers are near the truth."""
    (asked,) = steps("sql", "ask")
    with (
        followed(database, tmp_path / "home") as led,
        psycopg.connect(led.dsn, autocommit=True) as connection,
    ):
        answers = [connection.execute(text.encode()).fetchall() for text in statements(asked)]
        with pytest.raises(psycopg.Error, match="rows of patients are protected"):
            connection.execute("SELECT * FROM patients")
    # Of 20,000 patients, in a table with a row for each and in others that lead to them.
    assert "share of values" in " ".join(led.said.split())
    assert "patients: left out, since dpsql has no such type: photo (bytea)" in led.said
    by_department, by_quarter, by_region, left = answers
    assert [name for name, *_ in by_department if name in ("Surgery", "Oncology")]
    assert sum(number for _, number, *_ in by_department) == pytest.approx(2 * PATIENTS, rel=0.1)
    days = sum(number * float(mean) for _, number, mean, _ in by_department)
    assert days / sum(number for _, number, *_ in by_department) == pytest.approx(10.5, abs=4)
    assert len(by_quarter) == 3 * 8
    assert len(by_region) == 4 * 4
    assert left[0][1] == 16  # of 20 questions three are paid, and the profile costs as much as one


def test_each_table_of_the_page_is_one_that_init_writes(database: PlainServer, tmp_path: Path) -> None:
    """Names, types and references are as `dpsql init` has them: only what the owner declares was added."""
    environment = environment_of(database)
    files = {block.info[2] for block in steps("yaml", "step") if block.info[2].startswith("schemas/")}
    done = subprocess.run(  # noqa: S603
        [*DPSQL, "init", database.dsn("hospital"), "--unit", "patient=patients.patient_id", "-d", str(tmp_path / "new")],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {f"schemas/{path.name}" for path in (tmp_path / "new").iterdir()} == files, done.stderr
    for block in steps("yaml", "step"):
        if block.info[2] not in files:
            continue
        drafted = (tmp_path / "new" / Path(block.info[2]).name).read_text()
        for name, kind in re.findall(r"^  (\w+): \{type: (\"[^\"]+\"|[\w ()]+)", block.text, re.MULTILINE):
            assert f"  {name}: {{type: {kind}" in drafted
