"""dbt with a project of its own: previews of a source and of a model, an answer, and the tests that dbt brings along."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.private_files import Scratch
from tests.clients.site import configure, serving

pytestmark = pytest.mark.slow  # each command takes seconds to begin; `make test-all` has them
DBT = Path(os.environ.get("DRIVERS", ".venv/drivers")).absolute() / "bin" / "dbt"
_PROFILE = """
taxi:
  target: dev
  outputs:
    dev: {{type: postgres, host: {site.host}, port: {site.port}, user: {site.user}, password: "{site.password}",
           dbname: {site.database}, schema: public, threads: 1, sslmode: disable}}
"""
_SOURCES = """
version: 2
sources:
  - name: public
    tables:
      - name: trips
        columns:
          - {name: fare, data_tests: [not_null]}
          - {name: trip_id, data_tests: [unique]}
          - {name: payment_type, data_tests: [{accepted_values: {arguments: {values: [cash, credit card]}}}]}
"""
_MODEL = "WITH source AS (SELECT * FROM {{ source('public', 'trips') }}) SELECT fare, tip FROM source"


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    """Give a project over a server whose role sees made-up rows."""
    with Scratch("dpsql-dbt-", mode=0o711) as place:
        config = configure(place.path)
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("per_query: {epsilon: 1000}", "per_query: {epsilon: 1000}, preview: made-up"))
        home = place.path / "project"
        (home / "models").mkdir(parents=True)
        (home / "dbt_project.yml").write_text("{name: taxi, version: '1.0', profile: taxi, config-version: 2}")
        (home / "models" / "sources.yml").write_text(_SOURCES)
        (home / "models" / "staged.sql").write_text(_MODEL)
        with serving(config) as site:
            (home / "profiles.yml").write_text(_PROFILE.format(site=site))
            yield home


def _said(project: Path, *words: str) -> tuple[int, str]:
    """Return the exit code of a command of dbt's, and what it says."""
    done = subprocess.run(  # noqa: S603
        [str(DBT), "--no-use-colors", *words, "--project-dir", str(project), "--profiles-dir", str(project)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "HOME": str(project)},
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("what", [("--inline", "select * from trips"), ("--select", "staged")])
def test_dbt_shows_made_up_rows(what: tuple[str, str], project: Path) -> None:
    """Of a source, and of a model with a CTE as projects stage their sources."""
    code, said = _said(project, "show", *what, "--limit", "3")
    assert code == 0, said
    assert said[said.index("Previewing") :].count("\n| ") == 5  # names, a line, rows


def test_dbt_shows_answers(project: Path) -> None:
    """Around which it writes a query with LIMIT."""
    code, said = _said(project, "show", "--inline", "select payment_type, count(*) as n from trips group by 1")
    assert code == 0, said
    assert "| cash         | 1000 |" in said


def test_dbt_tests_pass_where_the_policy_knows_and_are_refused_where_it_does_not(project: Path) -> None:
    """`unique` of a column without a declared key ends in an error, and does not pass."""
    _, said = _said(project, "test")
    assert "PASS source_not_null_public_trips_fare" in said
    assert "PASS source_accepted_values_public_trips_payment_type" in said
    assert "ERROR source_unique_public_trips_trip_id" in said
    assert "rule: key-without-domain" in said
