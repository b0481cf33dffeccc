"""The page Choose: the numbers of docs/choosing-epsilon.md, and YAML that loads."""

from collections.abc import Callable
from fractions import Fraction
from html import escape
from pathlib import Path

import pytest

from dpsql.web.choosing.policies import PUBLISHED, QUERIES
from dpsql.web.inputs import BadField, share, whole_number
from tests.policy.fix_config import load_changed
from tests.web.browsing import Browser

Visit = Callable[..., Browser]
RULE = {
    "people": "10000",
    "naming": "1/3",
    "membership": "75 %",
    "value": "90",
    "stay": "12",
    "stay_unit": "good",
    "period": "never",
    "rows": "920",
    "max_rows": "1",
    "groups": "1",
    "noise": "medium",
    "statistics": "count,avg",
    "role": "owner",
    "protects": "passenger",
}
STUDY = {"values": "1, 2, 3, 10", "query": "mean", "study_risk": "1/3", "study_epsilon": "0.5"}


def test_the_rule_for_ten_thousand_people(visit: Visit) -> None:
    """Naming alone would allow 4.2585; membership and value allow 1.0986, and bind."""
    answer = visit("ana").get("/choose/rule", **RULE).json()
    assert answer["limits"] == {"naming": 4.2585, "membership": 1.0986, "value": 1.0986}
    assert answer["binding"] == ["membership", "value"]
    assert (answer["epsilon"], answer["largest"]) == (1.09, 1.0986)
    assert (answer["guess"], answer["valued"]) == (pytest.approx(0.7484, abs=1e-4), pytest.approx(0.8984, abs=1e-4))


def test_a_chosen_epsilon_is_judged(visit: Visit) -> None:
    """What it means is told, also beyond what fits; but then there is nothing to be copied."""
    answer = visit("ana").get("/choose/rule", **RULE, epsilon="4.2585").json()
    assert answer["named"] == pytest.approx(1 / 3, abs=1e-4)
    assert answer["guess"] == pytest.approx(0.9861, abs=1e-4)
    assert (answer["keeps"], answer["yaml"]) == (False, None)


def test_what_statistics_cost(visit: Visit) -> None:
    """920 rows, one each, search included; and how many such questions the total pays for."""
    by_name = {
        statistic["name"]: statistic for statistic in visit("ana").get("/choose/rule", **RULE).json()["statistics"]
    }
    assert (round(by_name["count"]["epsilon"], 4), by_name["count"]["questions"]) == (0.0264, 41)
    assert (round(by_name["avg"]["epsilon"], 4), by_name["avg"]["questions"]) == (0.0397, 27)
    # A variance is not ticked, so it pays no more than what suffices for the others.
    assert by_name["variance"]["epsilon"] == pytest.approx(0.0425809, rel=1e-4)
    assert (round(by_name["count"]["error"], 3), by_name["count"]["of"]) == (0.057, "of the answer")
    assert not by_name["median"]["answered"]


def test_the_cap_suffices_for_what_is_ticked(visit: Visit) -> None:
    """Also for a variance, which needs more, and a median, which would be NULL."""
    browser = visit("ana")
    caps = {
        ticked: float(
            browser.get("/choose/rule", **{**RULE, "statistics": ticked}).json()["yaml"].split("epsilon: ")[-1][:-2]
        )
        for ticked in ("count", "count,avg", "count,variance", "count,median")
    }
    assert caps == pytest.approx(
        {"count": 0.0263632, "count,avg": 0.0425809, "count,variance": 0.10584, "count,median": 0.120806}, rel=1e-3
    )


def test_a_daily_budget_is_divided_among_the_days_of_a_stay(visit: Visit) -> None:
    """30 days touch 31; the stay's line keeps the promise, that of twice the stay does not."""
    given = {**RULE, "period": "day", "stay_unit": "days", "stay": "30"}
    answer = visit("ana").get("/choose/rule", **given).json()
    assert (answer["periods"], answer["each"], answer["keeps"]) == (31, "0.0351", True)
    assert [(m["periods"], m["stay"], m["kept"]) for m in answer["milestones"]][-2:] == [
        (31, True, True),
        (62, False, False),
    ]


def test_nobody_who_stays_for_good_is_promised_anything_by_a_renewing_budget(visit: Visit) -> None:
    """It says what to change, beside the field."""
    reply = visit("ana").get("/choose/rule", **{**RULE, "period": "month"})
    assert (reply.status_code, reply.json()["field"]) == (400, "period")
    assert "let the budget never renew, or say how long" in reply.json()["error"]


def test_more_rows_than_people_can_have_are_questioned(visit: Visit) -> None:
    """And reckoned with as many as can count."""
    answer = visit("ana").get("/choose/rule", **{**RULE, "rows": "1000000"}).json()
    assert "10,000 people with at most 1 row each" in answer["doubt"]
    assert visit("ana").get("/choose/rule", **RULE).json()["doubt"] is None


def test_todays_roles_are_measured_by_the_same_promises(visit: Visit) -> None:
    """A role sees itself; an owner sees all."""
    (own,) = visit("ana").get("/choose/rule", **RULE).json()["roles"]
    assert (own["name"], own["budget"], own["broken"]) == ("analyst", "10", ["naming", "membership", "value"])
    everybody = visit("olga").get("/choose/rule", **RULE).json()["roles"]
    assert [role["name"] for role in everybody] == ["owner", "analyst", "third_party"]


def test_yaml_can_be_loaded(visit: Visit, tmp_path: Path) -> None:
    """What is copied stands the loader's checks: the data set's own budget, and a role within it."""
    yaml = (
        visit("ana")
        .get("/choose/rule", **{**RULE, "period": "month", "stay_unit": "years", "stay": "1"})
        .json()["yaml"]
    )
    budget, roles = yaml.split("roles:\n")
    assert budget == "budget:\n  passenger: {epsilon: 1.09, window: 366 days}\n"
    assert roles.startswith("  owner:\n")
    old = (
        "    protects: passenger\n    budget: {epsilon: 5, delta: 1e-6, period: week}\n"
        "    per_query: {noise: low, epsilon: 0.1}\n"
    )
    role = load_changed(tmp_path, "config.yaml", old, roles.removeprefix("  owner:\n")).policy.roles["owner"]
    assert (float(role.budget.total.epsilon), role.budget.period, role.noise) == (0.0778, "month", "medium")
    assert float(role.per_query.epsilon) == 0.0425809


def test_a_dashboard_is_compared_both_ways(visit: Visit) -> None:
    """500 questions are several times nearer where ρ is counted, and one is further off, for which no lines are there."""
    given = {**RULE, "rows": "100000", "people": "10000", "max_rows": "20", "groups": "31"}
    many = visit("ana").get("/choose/rule", **given, charts="500").json()["dashboard"]
    (count,) = [one for one in many["compared"] if one["name"] == "count"]
    assert count["nearer"] == pytest.approx(count["pure"] / count["spread"])
    assert count["nearer"] > 20
    assert count["spread"] < count["of_rho"] < count["pure"]
    assert "# budget:\n#   passenger: {epsilon: 1.09, delta: 1e-6, accounting: zcdp}\n" in many["yaml"]
    one = visit("ana").get("/choose/rule", **given, charts="1").json()["dashboard"]
    assert one["yaml"] == ""
    assert "not for so few questions" in one["verdict"]
    nothing = visit("ana").get("/choose/rule", **given, epsilon="4.3", charts="500").json()
    assert (nothing["yaml"], nothing["dashboard"]["yaml"]) == (None, "")


def test_the_study_of_four_pupils(visit: Visit) -> None:
    """The reference numbers: .3829 by the upper bound, .4317 by the tight one, .3477 at ε = 0.5."""
    (answer,) = visit("ana").get("/choose/study", **STUDY).json()["universes"]
    assert answer["epsilon_upper"] == pytest.approx(0.382939, abs=1e-9)
    assert answer["epsilon_tight"] == pytest.approx(0.43172, abs=1e-9)
    assert answer["tight_now"] == pytest.approx(0.3476971459619019)
    assert (round(answer["noise_sensitivity"], 4), answer["world_sensitivity"]) == (2.8333, 3)
    assert all(tight <= upper for tight, upper in zip(answer["tight"], answer["upper"], strict=True))


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("rule", {"people": "1"}),
        ("rule", {"people": "many"}),
        ("rule", {"people": "2.5"}),
        ("rule", {"membership": "50"}),
        ("rule", {"membership": "0.05"}),
        ("rule", {"naming": "0.0001"}),
        ("rule", {"value": "high"}),
        ("rule", {"stay_unit": "days", "stay": "0"}),
        ("rule", {"stay_unit": "years", "stay": "100"}),
        ("rule", {"stay_unit": "ages"}),
        ("rule", {"statistics": ""}),
        ("rule", {"protects": "nobody"}),
        ("rule", {"role": "x: {epsilon: 9}"}),
        ("rule", {"noise": "none"}),
        ("rule", {"charts": "0"}),
        ("study", {"values": ""}),
        ("study", {"values": "1 2 x"}),
        ("study", {"values": "1 2"}),
        ("study", {"values": " ".join("1" * 201)}),
        ("study", {"query": "DROP"}),
        ("study", {"values": "a: 1 2 3\na: 1 2 3"}),
        ("study", {"values": "1 2 3\n" * 5}),
        ("study", {"distance": "2"}),
        ("study", {"missing": "3"}),
        ("study", {"prior": "1 1"}),
        ("study", {"prior": "0 1 1 1"}),
        ("study", {"missing": "2", "values": "1 2 3 4 5 6", "prior": "1 1 1 1 1 1"}),
        ("study", {"seen": "much"}),
        ("study", {"study_risk": "1"}),
    ],
)
def test_nonsense_is_explained(visit: Visit, path: str, wrong: dict[str, str]) -> None:
    """With status 400 and a sentence, never an error of the server."""
    given = {**(RULE if path == "rule" else STUDY), **wrong}
    reply = visit("ana").get(f"/choose/{path}", **given)
    assert reply.status_code == 400
    assert len(reply.json()["error"]) > 10


def test_fields_that_make_no_sense_are_named(visit: Visit) -> None:
    """So that the page can show the message where the mistake is."""
    for field, value in (("membership", "0.01 %"), ("rows", "many"), ("statistics", "")):
        reply = visit("ana").get("/choose/rule", **{**RULE, field: value})
        assert reply.json()["field"] == field
    assert "from 0.1 to 99.9 %: 33 %, 0.33 or 1/3" in visit("ana").get("/choose/rule", **{**RULE, "value": "1/0"}).text


@pytest.mark.parametrize(
    ("typed", "limit"),
    [
        ("1/3", "1/3"),
        ("33.3", "0.333"),
        ("33.3 %", "0.333"),
        ("200/3 %", "2/3"),
        ("0.33", "0.33"),
        ("0.33 %", "0.0033"),
    ],
)
def test_per_cent_and_fractions_are_read_exactly(typed: str, limit: str) -> None:
    """A third is a third."""
    assert share({"risk": typed}, "risk") == Fraction(limit)


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("10,000", 10_000),
        ("10 000", 10_000),
        ("1e5", 100_000),
        ("1_000_000", 10**6),
        ("10\u202f000", 10_000),
        ("12.0", 12),
    ],
)
def test_large_numbers_are_read_as_people_write_them(typed: str, number: int) -> None:
    """With something between the thousands, or as powers of ten."""
    assert whole_number({"people": typed}, "people", 1, 10**9) == number


@pytest.mark.parametrize("typed", ["10,00", "1,0000", "0,500", "1,5", "1e999999999", "1e-3", "ten", "1,000,00", "--5"])
def test_what_could_be_read_in_two_ways_is_refused(typed: str) -> None:
    """A comma parts thousands and nothing else."""
    with pytest.raises(BadField, match="people must be a"):
        whole_number({"people": typed}, "people", 1, 10**9)


@pytest.mark.parametrize("name", ["true", "null", "yes", "Off", "n"])
def test_names_that_yaml_reads_otherwise_are_refused(visit: Visit, name: str) -> None:
    """The lines would not name the role that was meant."""
    reply = visit("ana").get("/choose/rule", **{**RULE, "role": name})
    assert (reply.status_code, reply.json()["field"]) == (400, "role")
    assert "YAML reads that as true, false or nothing" in reply.json()["error"]


def test_a_statistic_that_nothing_is_learnt_from(visit: Visit) -> None:
    """Equal values allow any ε, which JSON says as null."""
    (answer,) = visit("ana").get("/choose/study", **{**STUDY, "values": "5 5 5 5"}).json()["universes"]
    assert (answer["epsilon_upper"], answer["epsilon_tight"]) == (None, None)


def test_beliefs_after_an_answer(visit: Visit) -> None:
    """The document's own numbers at ε = 2: posteriors, and a confidence of max(posterior − prior)."""
    given = {"values": "years: 1 2 3 4\nabsences: 1 2 3 10", "seen": "2.20131", "study_epsilon": "2"}
    years, absences = visit("ana").get("/choose/study", **{**STUDY, **given}).json()["universes"]
    after = {world["missing"]: world["posterior"] for world in absences["worlds"]}
    assert [after[name] for name in ("10", "3", "2", "1")] == pytest.approx(
        [0.61802372, 0.15816999, 0.12500781, 0.09879847], abs=1e-8
    )
    assert (years["name"], absences["name"]) == ("years", "absences")
    assert (years["confidence"], absences["confidence"]) == pytest.approx((0.15031580, 0.36802372), abs=1e-8)
    assert absences["risk"] == pytest.approx(0.61802372, abs=1e-8)
    assert absences["worlds"][0] == pytest.approx(
        {"missing": "10", "answer": 2.0, "prior": 0.25, "posterior": after["10"]}
    )


def test_every_statistic_of_the_page_is_studied(visit: Visit) -> None:
    """The variance of the population beside that of a sample, with the document's own ε."""
    page = visit("ana").get("/choose").text
    tight_of = {}
    for query in QUERIES:
        assert f"<option>{query}</option>" in page
        (universe,) = visit("ana").get("/choose/study", **{**STUDY, "query": query}).json()["universes"]
        tight_of[query] = universe["epsilon_tight"]
    assert (tight_of["var_pop"], tight_of["variance"]) == pytest.approx((0.46609933, 0.46366751), abs=1e-6)
    assert tight_of["count"] is None


def test_a_prior_moves_the_beliefs(visit: Visit) -> None:
    """In the order of the people; who was likelier before is likelier after, by the same factor."""
    beliefs = []
    for prior in ("1 1 1 1", "1 1 1 3"):
        (universe,) = visit("ana").get("/choose/study", **{**STUDY, "prior": prior, "seen": "3"}).json()["universes"]
        beliefs.append({world["missing"]: world["posterior"] for world in universe["worlds"]})
    odds = [after["10"] / after["1"] for after in beliefs]
    assert odds[1] == pytest.approx(3 * odds[0])


def test_how_many_are_missing_is_apart_from_how_many_the_noise_hides(visit: Visit) -> None:
    """Two of six are missing: noise for one is less noise than for both, and so a larger risk."""
    given = {**STUDY, "values": "1 2 3 4 5 9", "missing": "2"}
    told = []
    for distance in ("1", "2", ""):
        (universe,) = visit("ana").get("/choose/study", **{**given, "distance": distance}).json()["universes"]
        told.append((universe["noise_sensitivity"], universe["tight_now"], universe["worlds"][0]["missing"].count(",")))
    assert told[0][0] < told[1][0]
    assert told[0][1] > told[1][1]
    assert told[1] == told[2]
    assert {commas for _, _, commas in told} == {1}


def test_published_values_have_their_sources(visit: Visit) -> None:
    """In the order of ε, each with for whom it is."""
    text = visit("ana").get("/choose").text
    assert [published.epsilon for published in PUBLISHED] == sorted(published.epsilon for published in PUBLISHED)
    assert all(
        escape(part) in text for published in PUBLISHED for part in (published.what, published.unit, published.source)
    )
