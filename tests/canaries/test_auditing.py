"""The audit on servers of its own: what is right proves no more than was paid, and what is wrong is found out."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

from dpsql.canaries import auditing
from dpsql.canaries.auditing import ALL, AuditedQuestion, audit_questions, questions_of
from dpsql.engines.open import open_engine
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.config import Config, EngineConfig, PostgresServer, SparkServer
from dpsql.policy.load import load
from dpsql.policy.model import Privacy
from dpsql.privacy.measurement.sums import Sums
from tests.clients.site import configure
from tests.support.two_schemas import write_site


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Give the configuration of a few trips."""
    return load(configure(tmp_path))


def _audit(config: Config, minutes: float, like: EngineConfig | None = None) -> Iterator[AuditedQuestion]:
    role = replace(config.policy.roles["analyst"], per_query=Privacy(Fraction(1)))
    public = read_public(config.policy, open_engine(config)).rows
    return audit_questions(replace(config, engine=like or config.engine), role, public, minutes, lambda _: None)


ENGINES = {"duckdb": None, "postgres": PostgresServer(""), "spark": SparkServer("")}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_person(engine: str, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question is asked, of each engine, and pays what it is to pay; a few seconds prove nothing that is wrong."""
    monkeypatch.setattr(auditing, "_FEWEST", 4)
    asked = [*questions_of(config.policy, "passenger")]
    questions = [*islice(_audit(config, 0.01, ENGINES[engine]), len(asked) + 1)]
    assert [question.question for question in questions] == [*asked, ALL]
    assert [question.paid for question in questions] == pytest.approx([1.0] * len(asked) + [len(asked)])
    assert not any(question.broken for question in questions)


@pytest.mark.slow
def test_half_the_noise_is_found_out(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eighth, so that two minutes suffice."""
    right = Sums.scale.fget  # type: ignore[attr-defined]  # a property
    monkeypatch.setattr(Sums, "scale", property(lambda sums: right(sums) // 8))
    assert any(question.broken for question in islice(_audit(config, 2), 12))


@pytest.mark.parametrize("engine", [pytest.param("duckdb", marks=pytest.mark.slow), "postgres"])
def test_tables_of_schemas_are_audited(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of those with one name by its own."""
    monkeypatch.setattr(auditing, "_FEWEST", 4)
    config = load(write_site(tmp_path))
    role = replace(config.policy.roles["owner"], per_query=Privacy(Fraction(1)))
    public = read_public(config.policy, open_engine(config)).rows
    like = replace(config, engine=ENGINES[engine] or config.engine)
    asked = [*questions_of(config.policy, "person")]
    assert 'SELECT count(*) FROM "clinical"."patients"' in asked
    questions = [*islice(audit_questions(like, role, public, 0.01, lambda _: None), len(asked))]
    assert [question.question for question in questions] == asked
    assert not any(question.broken for question in questions)


_NUMERIC_THROUGH = {
    "people.yaml": """\
table: people
key: person
privacy_units:
  person: {column: person, max_rows: 1}
columns:
  person: {type: integer}
  weight: {type: "numeric(5,1)", bounds: [0, 200]}
""",
    "visits.yaml": """\
table: visits
key: visit
privacy_units:
  person: {column: person, max_rows: 4}
columns:
  visit: {type: integer}
  person: {type: integer, references: people.person}
  cost: {type: "numeric(10,2)", bounds: [0, 500], nullable: true}
""",
    "results.yaml": """\
table: results
privacy_units:
  person: {through: visit, max_rows: 8}
columns:
  visit: {type: integer, references: visits.visit}
  value: {type: double precision, bounds: [0, 10]}
""",
}


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_what_a_policy_needs_of_an_engine_synthetic_people_have(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numerics of the declared length, and keys through which rows belong to somebody: the owner's files were blamed."""
    monkeypatch.setattr(auditing, "_FEWEST", 4)
    for file, text in _NUMERIC_THROUGH.items():
        (tmp_path / "schemas").mkdir(exist_ok=True)
        (tmp_path / "schemas" / file).write_text(text, encoding="utf-8")
    (tmp_path / "config.yaml").write_text(
        "{dataset: d, engine: {kind: duckdb, database: d.duckdb}, schemas: schemas, "
        "budget: {person: {epsilon: 9}}, users: {}, "
        "roles: {all: {protects: person, budget: {epsilon: 9}, per_query: {epsilon: 1}}}}",
        encoding="utf-8",
    )
    config = load(tmp_path / "config.yaml")
    like = replace(config, engine=ENGINES[engine] or config.engine)
    asked = [*questions_of(config.policy, "person")]
    questions = [*islice(audit_questions(like, config.policy.roles["all"], {}, 0.01, lambda _: None), len(asked))]
    assert [question.question for question in questions] == asked
