"""The page Choose in a browser."""

import re
from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.support.fix_pages import Running

Visit = Callable[..., Page]


def test_the_largest_epsilon_that_fits(visit: Visit) -> None:
    """The chosen ε is judged against all promises, and the button returns to the largest that keeps them."""
    page = visit("ana", "choose")
    expect(page.locator("#epsilon")).to_have_value("1.09")
    expect(page.locator("#verdict")).to_contain_text("Keeps all three promises to somebody who is there for good")
    page.locator("#epsilon").fill("3")
    expect(page.locator("#verdict")).to_contain_text("Too much: it breaks the promise of membership and attribute")
    expect(page.locator("#verdict")).to_contain_text("The largest that fits is 1.09")
    page.get_by_role("button", name="Use the largest that fits").click()
    expect(page.locator("#verdict")).to_contain_text("Keeps all three promises")


def test_a_daily_renewal_is_judged_after_the_whole_stay(visit: Visit) -> None:
    """30 days touch 31: the budget is divided, the table is open, and twice the stay is marked as too much."""
    page = visit("ana", "choose")
    page.locator("#stay_unit").select_option("days")
    page.locator("#stay").fill("30")
    page.locator("#period").select_option("day")
    expect(page.locator("#each")).to_have_text("0.0351")
    expect(page.locator("#verdict")).to_contain_text("Keeps all three promises to somebody who is there for 30 days")
    stay = page.locator("#milestones tr", has_text="31 days: the stay")
    expect(stay).to_be_visible()
    expect(stay).to_contain_text("89.8")
    expect(page.locator("#milestones tr.bad")).to_contain_text("62: twice the stay")
    expect(page.locator("#yaml")).to_contain_text("budget: {epsilon: 0.0351, period: day}")


def test_who_stays_for_good_gets_no_renewing_budget(visit: Visit, complaints: list[str]) -> None:
    """And the page says what to do, beside the field."""
    page = visit("ana", "choose")
    page.locator("#period").select_option("day")
    expect(page.locator("#promises-error")).to_contain_text("say how long")
    assert page.locator("#period").get_attribute("aria-invalid") == "true"
    expect(page.locator("#yaml")).to_be_empty()
    complaints.clear()


def test_a_dashboard_is_compared_both_ways(visit: Visit) -> None:
    """With its errors where ε adds up and where ρ is counted, and lines in comments; of one question nothing is suggested."""
    page = visit("ana", "choose")
    page.locator("#charts").fill("500")
    count = page.locator("#dashboard tbody tr", has_text="COUNT")
    expect(count).to_contain_text("%")
    expect(page.locator("#dashboard-verdict")).to_contain_text("times nearer")
    expect(page.locator("#dashboard-yaml")).to_contain_text("delta: 1e-6, accounting: zcdp")
    page.locator("#charts").fill("1")
    expect(page.locator("#dashboard-verdict")).to_contain_text("not for so few questions")
    expect(page.locator("#dashboard-yaml")).to_be_hidden()


def test_a_guess_of_a_value_is_a_promise_of_its_own(visit: Visit) -> None:
    """90 % at the usual total; a stricter promise binds and halves the ε."""
    page = visit("ana", "choose")
    expect(page.locator("#valued")).to_have_text("89.84 %")
    expect(page.locator("#valued-note")).to_contain_text("this one limits ε")
    page.locator("#value").fill("3/4")
    expect(page.locator("#verdict")).to_contain_text("breaks the promise of attribute")
    page.get_by_role("button", name="Use the largest that fits").click()
    expect(page.locator("#epsilon")).to_have_value("0.549")


def test_the_promise_that_binds_is_named(visit: Visit) -> None:
    """With ten thousand people naming does not; with ten it does."""
    page = visit("ana", "choose")
    expect(page.locator("#verdict")).to_contain_text(
        "Limited by membership and attribute; re-identification alone would allow"
    )
    page.locator("#people").fill("10")
    page.get_by_role("button", name="Use the largest that fits").click()
    expect(page.locator("#verdict")).to_contain_text("Limited by re-identification.")


def test_what_each_statistic_costs_is_shown(visit: Visit) -> None:
    """A variance costs more than a count, errors say of what they are a share, and a tick raises `per_query`."""
    page = visit("ana", "choose")
    cell = page.locator
    expect(cell("[data-output=avg] [data-cell=error]")).to_contain_text("of the answer")
    expect(cell("[data-output=count] [data-cell=questions]")).to_have_text("46")
    expect(cell("[data-output=variance] [data-cell=questions]")).to_have_text("11")
    page.get_by_label("VARIANCE").uncheck()
    expect(page.locator("#yaml")).to_contain_text("per_query: {noise: medium, epsilon: 0.0475486}")
    expect(cell("[data-output=median] [data-cell=error]")).to_contain_text("mostly NULL")
    page.get_by_label("MEDIAN").check()
    expect(cell("[data-output=median] [data-cell=error]")).to_contain_text("of the answer")
    expect(page.locator("#yaml")).to_contain_text("per_query: {noise: medium, epsilon: 0.112614}")


def test_the_copied_lines_have_the_data_sets_own_budget(visit: Visit) -> None:
    """What is on the clipboard is what is shown, with the level that was picked."""
    page = visit("ana", "choose", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_text("high", exact=False).first.click()
    expect(page.locator("#yaml")).to_contain_text("noise: high")
    expect(page.locator("#yaml")).to_contain_text("budget:\n  passenger: {epsilon: 1.09}")
    page.get_by_role("button", name="Copy as YAML").click()
    expect(page.locator("#copied")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#yaml").text_content()


@pytest.mark.parametrize(
    ("field", "typed", "form", "message"),
    [
        ("membership", "0.01 %", "promises", "membership inference must be from 0.1 to 99.9 %: 33 %, 0.33 or 1/3"),
        ("naming", "many", "promises", "re-identification must be"),
        ("people", "", "promises", "people must be a number"),
        ("rows", "0", "quality", "rows must be a number from 1"),
        ("role", "x y", "writing", "role must be a name"),
    ],
)
def test_nothing_green_stands_beside_an_error(
    visit: Visit, complaints: list[str], field: str, typed: str, form: str, message: str
) -> None:
    """The message is in the form of the field; verdict, numbers and lines are gone until it is mended."""
    page = visit("ana", "choose")
    before = page.locator(f"#{field}").input_value()
    page.locator(f"#{field}").fill(typed)
    expect(page.locator(f"#{form}-error")).to_contain_text(message)
    for name in ("verdict", "yaml", "named-note"):
        expect(page.locator(f"#{name}")).to_be_empty()
    for name in ("each", "named", "guess", "valued"):
        expect(page.locator(f"#{name}")).to_have_text("–")
        expect(page.locator(f"#{name}")).to_have_class("")
    expect(page.get_by_role("button", name="Copy as YAML")).to_be_disabled()
    assert page.locator("#milestones tbody tr, #roles tbody tr, #rule-chart path[data-name]").count() == 0
    page.locator(f"#{field}").fill(before)
    expect(page.locator(f"#{form}-error")).to_be_hidden()
    expect(page.locator("#verdict")).to_contain_text("Keeps all three promises")
    assert all("400" in complaint for complaint in complaints)
    complaints.clear()


def test_more_rows_than_people_can_have_are_questioned(visit: Visit) -> None:
    """With the numbers that do not go together."""
    page = visit("ana", "choose")
    expect(page.locator("#doubt")).to_be_hidden()
    page.locator("#rows").fill("1000000")
    expect(page.locator("#doubt")).to_contain_text("10,000 people with at most 2 rows each have at most 20,000 rows")


def test_nearly_certain_is_not_called_certain(visit: Visit) -> None:
    """ε = 5 makes a guess of a value 99.9955 %."""
    page = visit("ana", "choose")
    page.locator("#epsilon").fill("5")
    expect(page.locator("#valued")).to_have_text("99.9955 %")
    page.locator("#epsilon").fill("50")
    expect(page.locator("#valued")).to_have_text("> 99.9999 %")


def test_a_third_is_a_third(visit: Visit) -> None:
    """The study's ε is .43172, which a requirement of 33.3 % would not give."""
    page = visit("ana", "choose")
    tight = page.locator("#bounds tbody tr", has_text="absences").locator("td").nth(1)
    expect(tight).to_have_text("0.431")
    page.locator("#study_risk").fill("33.3 %")
    expect(tight).to_have_text("0.43")


def test_todays_roles_are_shown_by_the_same_promises(visit: Visit) -> None:
    """An owner sees all, and a role itself."""
    page = visit("olga", "choose")
    expect(page.locator("#roles tbody tr")).to_have_count(3)
    expect(page.locator("#roles tbody tr", has_text="analyst")).to_contain_text(
        "broken: re-identification, membership, attribute"
    )
    expect(visit("tess", "choose").locator("#roles tbody tr")).to_have_count(1)


def test_the_curves_and_the_chosen_epsilon_are_drawn(visit: Visit) -> None:
    """Upper and tight bound, the requirement, and a line at ε that moves with the slider."""
    page = visit("ana", "choose")
    chart = page.locator("#study-chart")
    for name in ("upper", "tight"):
        expect(chart.locator(f'path[data-name="absences, {name} bound"]')).to_have_count(1)
    expect(chart.locator("path.need")).to_have_count(1)
    before = chart.locator("path.chosen").get_attribute("d")
    page.get_by_label("ε of the answer, slider").press("PageDown")
    expect(chart.locator("path.chosen")).not_to_have_attribute("d", before or "")


def test_a_mistake_of_the_study_is_explained_beside_its_fields(visit: Visit, complaints: list[str]) -> None:
    """And its numbers go away until it is corrected."""
    page = visit("ana", "choose")
    page.locator("#values").fill("1, 2, three")
    expect(page.locator("#study-error")).to_contain_text("each value must be a number")
    expect(page.locator("#bounds tbody tr, #beliefs table")).to_have_count(0)
    page.locator("#values").fill("1, 2, 3, 4")
    expect(page.locator("#study-error")).to_be_hidden()
    assert all("400" in complaint for complaint in complaints)
    complaints.clear()


def test_several_groups_of_people_share_one_figure(visit: Visit) -> None:
    """One axis for all, a colour each; who adds a line adds two curves, and bars of its own."""
    page = visit("ana", "choose")
    expect(page.locator("#study-chart path[data-name]")).to_have_count(4)
    expect(page.locator("#beliefs table")).to_have_count(2)
    first = page.locator("#beliefs table").first
    expect(first.locator("tbody tr").first).to_contain_text("10")
    expect(first.locator("caption")).to_contain_text("the answer 2.20131 is seen")
    page.locator("#values").fill("a: 1 2 3\nb: 1 2 9\nc: 4 4 5")
    expect(page.locator("#study-chart path[data-name]")).to_have_count(6)
    expect(page.locator("#study-legend")).to_contain_text("b, tight bound")


def test_a_bar_for_each_world_follows_the_answer_that_is_seen(visit: Visit) -> None:
    """The likeliest world first; at ε = 2 and 2.20131 the reference's 61.8 %."""
    page = visit("ana", "choose")
    page.locator("#study_epsilon").fill("2")
    first = page.locator("#beliefs table").first.locator("tbody tr").first
    expect(first).to_contain_text("61.8 %")
    expect(first.locator("rect.fill")).to_have_attribute("width", "61.80%")
    page.locator("#seen").fill("5")
    expect(first).not_to_contain_text("61.8 %")


def test_a_share_means_the_same_however_it_is_typed(visit: Visit, complaints: list[str]) -> None:
    """0.33 is 33 %, on the slider too; thousands may be parted."""
    page = visit("ana", "choose")
    page.locator("#membership").fill("0.6")
    expect(page.locator("#guess-note")).to_contain_text("promise 60 %")
    assert page.get_by_label("Membership inference succeeds at most, slider").input_value() == "188"
    page.locator("#people").fill("1,000,000")
    expect(page.locator("#promises-error")).to_be_hidden()
    page.locator("#role").fill("null")
    expect(page.locator("#writing-error")).to_contain_text("YAML reads that as true, false or nothing")
    page.locator("#role").fill("analyst")
    expect(page.locator("#writing-error")).to_be_hidden()
    assert all("400" in complaint for complaint in complaints)
    complaints.clear()


def test_ones_own_epsilon_stands_among_the_published(visit: Visit) -> None:
    """In its place by size."""
    page = visit("ana", "choose")
    page.get_by_text("What others have published with").click()
    rows = page.locator(".published tbody th")
    expect(rows).to_have_text(["1", "1.09", "2", "2.64", "4", "9.98", "19.61"])
    page.locator("#epsilon").fill("5")
    expect(rows).to_have_text(["1", "2", "2.64", "4", "5", "9.98", "19.61"])


def test_a_month_is_planned(visit: Visit) -> None:
    """What each question errs by at its share, and the risk of all together, for free."""
    page = visit("ana", "choose")
    page.locator("#questions").fill("SELECT count(*) FROM rides; SELECT * FROM rides")
    page.locator("#plan_epsilon").fill("0.2")
    page.get_by_role("button", name="Explain them, free").click()
    rows = page.locator("#planned tbody tr")
    expect(rows.nth(0)).to_contain_text("±")
    expect(rows.nth(1)).to_contain_text("rows of rides are protected")
    expect(page.locator("#planned-risk")).to_contain_text("membership inference succeeds with at most 54.98 %")


def test_last_months_questions_are_taken_from_the_audit_trail(visit: Visit, running: Running) -> None:
    """Into the box, each with its parameters, and it is said what was taken; then they can be explained as they are."""
    with psycopg.connect(f"{running.sql} dbname=rides user=ana password={running.passwords['ana']}") as connection:
        connection.execute("SELECT count(*) FROM rides WHERE fare > %s -- of late", [44])
    page = visit("olga", "choose")
    page.locator("#lately").click()
    expect(page.locator("#taken")).to_contain_text("Taken from the audit trail since")
    expect(page.locator("#questions")).to_have_value(
        re.compile(r"SELECT count\(\*\) FROM rides WHERE fare > '44' -- of late\n;")
    )
    page.locator("#explain").click()
    expect(page.locator("#planned tbody tr").filter(has_text="fare > '44'")).to_contain_text("count(*): ±")
