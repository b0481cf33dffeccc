"""The page Choose: the numbers of docs/choosing-epsilon.md, and YAML that loads."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.policy.fix_config import load_changed
from tests.web.browsing import Browser

Visit = Callable[..., Browser]
RULE = {
    "people": "10000",
    "risk": "1/3",
    "membership": "0.75",
    "rows": "920",
    "max_rows": "1",
    "groups": "1",
    "noise": "medium",
    "role": "owner",
    "protects": "passenger",
    "period": "month",
}
STUDY = {"values": "1, 2, 3, 10", "query": "mean", "risk": "1/3", "epsilon": "0.5"}


def test_the_rule_for_ten_thousand_people(visit: Visit) -> None:
    """Naming alone would allow 4.2585; membership allows 1.0986."""
    answer = visit("ana").get("/choose/rule", **RULE).json()
    assert (answer["naming_epsilon"], answer["membership_epsilon"]) == (4.2585, 1.0986)
    assert answer["epsilon"] == answer["largest"] == 1.0986
    assert answer["guess"] == pytest.approx(0.75, abs=1e-4)


def test_a_chosen_epsilon_is_judged(visit: Visit) -> None:
    """What it means is told, also beyond what fits."""
    answer = visit("ana").get("/choose/rule", **RULE, epsilon="4.2585").json()
    assert answer["named"] == pytest.approx(1 / 3, abs=1e-4)
    assert answer["guess"] == pytest.approx(0.9861, abs=1e-4)


def test_levels_of_the_registry(visit: Visit) -> None:
    """920 rows, one each: .0435 / .0145 / .0072, and how many questions the total pays for."""
    levels = visit("ana").get("/choose/rule", **RULE).json()["levels"]
    assert [round(level["epsilon"], 4) for level in levels] == [0.0435, 0.0145, 0.0072]
    assert [level["questions"] for level in levels] == [25, 75, 151]


def test_renewals_add_up(visit: Visit) -> None:
    """Three periods cost three times as much."""
    renewals = visit("ana").get("/choose/rule", **RULE).json()["renewals"]
    assert [(r["periods"], round(r["epsilon"], 4)) for r in renewals][:3] == [(1, 1.0986), (2, 2.1972), (3, 3.2958)]


def test_yaml_can_be_loaded(visit: Visit, tmp_path: Path) -> None:
    """What is copied stands the loader's checks."""
    yaml = visit("ana").get("/choose/rule", **RULE).json()["yaml"]
    lines = yaml.splitlines(keepends=True)
    assert lines[:2] == ["roles:\n", "  owner:\n"]
    old = (
        "    protects: passenger\n    budget: {epsilon: 5, delta: 1e-6, period: week}\n"
        "    per_query: {noise: low, epsilon: 0.1}\n"
    )
    role = load_changed(tmp_path, "config.yaml", old, "".join(lines[2:])).policy.roles["owner"]
    assert (float(role.budget.total.epsilon), role.budget.period, role.noise) == (1.0986, "month", "medium")
    assert float(role.per_query.epsilon) == 0.0144927


def test_the_study_of_four_pupils(visit: Visit) -> None:
    """The reference numbers: .3829 by the upper bound, .4317 by the tight one, .3477 at ε = 0.5."""
    answer = visit("ana").get("/choose/study", **STUDY).json()
    assert answer["epsilon_upper"] == pytest.approx(0.38294, abs=1e-5)
    assert answer["epsilon_tight"] == pytest.approx(0.43172, abs=1e-5)
    assert answer["tight_now"] == pytest.approx(0.3476971459619019)
    assert (round(answer["noise_sensitivity"], 4), answer["world_sensitivity"]) == (2.8333, 3)
    assert all(tight <= upper for tight, upper in zip(answer["tight"], answer["upper"], strict=True))


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("rule", {"people": "1"}),
        ("rule", {"people": "many"}),
        ("rule", {"people": "2.5"}),
        ("rule", {"membership": "0.5"}),
        ("rule", {"risk": "0.00001"}),
        ("rule", {"protects": "nobody"}),
        ("rule", {"role": "x: {epsilon: 9}"}),
        ("rule", {"noise": "none"}),
        ("study", {"values": ""}),
        ("study", {"values": "1 2 x"}),
        ("study", {"values": "1 2"}),
        ("study", {"values": " ".join("1" * 201)}),
        ("study", {"query": "DROP"}),
        ("study", {"risk": "0.01"}),
    ],
)
def test_nonsense_is_explained(visit: Visit, path: str, wrong: dict[str, str]) -> None:
    """With status 400 and a sentence, never an error of the server."""
    given = {**(RULE if path == "rule" else STUDY), **wrong}
    reply = visit("ana").get(f"/choose/{path}", **given)
    assert reply.status_code == 400
    assert len(reply.json()["error"]) > 10


def test_a_statistic_that_nothing_is_learnt_from(visit: Visit) -> None:
    """Equal values allow any ε, which JSON says as null."""
    answer = visit("ana").get("/choose/study", **{**STUDY, "values": "5 5 5 5"}).json()
    assert (answer["epsilon_upper"], answer["epsilon_tight"]) == (None, None)
