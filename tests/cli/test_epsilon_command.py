"""`dpsql epsilon` on the command line."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.commands.epsilon import OutputNoise, StatementNoise, epsilon_app, make_epsilon_app
from dpsql.errors import Unsupported
from dpsql.policy.model import NoiseLevel

PUPILS = ["risk", "--values", "1,2,3,10", "--query", "mean", "--risk"]
ADVICE = [
    *("advise", "--people", "10000", "--max-posterior", "0.33", "--membership", "0.75"),
    *("--queries-per-day", "50", "--days", "30"),
]


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let messages stand on one line."""
    monkeypatch.setenv("COLUMNS", "200")


def run(*words: str) -> str:
    """Return what a command prints."""
    result = CliRunner().invoke(epsilon_app, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def refused(*words: str) -> str:
    """Return the message of a command that must fail with 2."""
    result = CliRunner().invoke(epsilon_app, list(words))
    assert result.exit_code == 2, result.output
    return re.sub(r"\s+", " ", result.stderr)


def test_risk_of_values_shows_both_bounds() -> None:
    """The pupils' absences: Δf, Δv and both ε, and that this is for the owner only."""
    shown = run(*PUPILS, "1/3")
    for number in ("2.833333333", "0.3829392688", "0.4317201196", "0.347697146"):
        assert number in shown
    assert "must not be published" in shown


def test_risk_at_a_chosen_epsilon() -> None:
    """--epsilon may be repeated; its risks are shown instead of the usual ones."""
    shown = run(*PUPILS, "1/3", "--epsilon", "0.25", "--epsilon", "2")
    assert "0.7347845418" in shown
    rows = [line.split()[0] for line in shown.splitlines() if line.split()]
    assert "0.25" in rows
    assert "0.5" not in rows


def test_risk_of_a_csv_column(tmp_path: Path) -> None:
    """The same numbers from a file."""
    file = tmp_path / "pupils.csv"
    file.write_text("name,absences\nChris,1\nKelly,2\nPat,3\nTerry,10\n")
    assert run("risk", "--csv", str(file), "--column", "absences", "--risk", "1/3") == run(*PUPILS, "1/3")


def test_risk_of_a_population_alone() -> None:
    """Without data: the rule for a total."""
    shown = run("risk", "--people", "10000", "--risk", "1/3")
    assert "4.2585" in shown
    assert "budget: {epsilon: 1.0986}" in shown
    assert "must not be published" not in shown


def test_several_missing_people_show_the_risk_of_one_person() -> None:
    """The posterior that one of them is missing, beside that of a whole world."""
    assert "of one person" in run(*PUPILS[:2], "1,2,3,10,4,4", *PUPILS[3:5], "--missing", "2", "--risk", "0.5")


def test_noise_may_hide_fewer_people_than_are_missing() -> None:
    """Then there is less of it; the distance is the Hamming distance of neighbours."""
    asked = ("risk", "--values", "1,2,3,4,5,9", "--missing", "2", "--risk", "1/3")
    scales = [run(*asked, *words).split("scaled with")[1].split()[0] for words in ((), ("--distance", "1"))]
    assert float(scales[0]) > float(scales[1])
    assert "between 1 and the 2 who are missing" in refused(*asked, "--distance", "3")


def test_infinite_epsilon_is_called_any() -> None:
    """Nothing is learnt from a count whose size is known."""
    assert "any" in run("risk", "--values", "1,2,3,10", "--query", "count", "--risk", "1/3")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["risk", "--risk", "1/3"], "give one of --values, --csv with --column, or --people"),
        (["risk", "--risk", "1/3", "--values", "1,2,3", "--people", "3"], "give one of"),
        (["risk", "--risk", "1/3", "--csv", "x.csv"], "give one of"),
        (["risk", "--risk", "1/3", "--csv", "missing.csv", "--column", "x"], "missing.csv"),
        (["risk", "--risk", "a lot", "--values", "1,2,3"], '"a lot" is not a number like 0.333 or 1/3'),
        (["risk", "--risk", "1/0", "--values", "1,2,3"], "is not a number"),
        (["risk", "--risk", "1/3", "--values", "1,x,3"], 'value 2: "x" is not a number'),
        (["risk", "--risk", "1/3", "--values", "1,nan,3"], "not a finite number"),
        (["risk", "--risk", "1/3", "--values", "1,2,3,4", "--query", "mode"], 'unknown statistic "mode"'),
        (["risk", "--risk", "0.2", "--values", "1,2,3,4"], "below the 0.25 of a blind guess"),
        (["risk", "--risk", "200", "--values", "1,2,3,4"], "not between 0 and 1"),
        (["risk", "--risk", "1/3", "--values", "1,2"], "at least 3"),
        (["risk", "--risk", "1/3", "--people", "2"], "blind guess"),
        ([*ADVICE, "--membership", "0.4"], "blind guess"),
        ([*ADVICE, "--days", "0"], "days must be at least 1"),
        ([*ADVICE, "--value", "0.5"], "blind guess"),
        ([*ADVICE, "--period", "day"], "give a number of days or a period, not both"),
        ([*ADVICE[:-2], "--period", "day"], "stay for good"),
        (ADVICE[:-2], "give --days"),
        ([*ADVICE, "--role", "a b"], "role must be a name"),
        ([*ADVICE, "--rows", "0"], "rows must be at least 1"),
        (["noise"], "give a statement with --role, or --level and --rows"),
        (["noise", "--level", "loud", "--rows", "9"], "loud"),
        (["noise", "--level", "low", "--rows", "0"], "at least 1"),
    ],
)
def test_bad_input_is_refused_with_a_reason(words: list[str], message: str) -> None:
    """Exit code 2, and the message names the value or what to give."""
    assert message in refused(*words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,days\na,1\n", 'no column "absences"; it has name, days'),
        ("absences\n1\nmany\n", 'row 3: "many" is not a number'),
        ("", "it has nothing"),
    ],
)
def test_bad_csv_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    """The message names the file and the row."""
    file = tmp_path / "f.csv"
    file.write_text(text)
    shown = refused("risk", "--csv", str(file), "--column", "absences", "--risk", "1/3")
    assert message in shown
    assert "f.csv" in shown


def test_a_csv_that_is_not_there_is_named_once() -> None:
    """Without the number that the system has for it."""
    shown = refused("risk", "--csv", "/nowhere.csv", "--column", "absences", "--risk", "1/3")
    assert "/nowhere.csv: No such file or directory" in shown
    assert "Errno" not in shown


def test_advice_prints_budgets_errors_and_risks() -> None:
    """Total, per question, errors, levels, beliefs, renewals, and the lines for the configuration."""
    shown = run(*ADVICE)
    assert "  person: {epsilon: 1.0986}\n" in shown
    assert "    budget: {epsilon: 1.0986}\n    per_query: {epsilon: 0.000732}\n" in shown
    for text in (
        "13.7 %",
        "only noise",
        "mostly NULL",
        "46 at 0.0236, 5.8 %",
        "Worst-case inference",
        "attribute inference",
        "90 %",
        "Limited by: membership inference and attribute inference; re-identification alone would allow 4.251.",
    ):
        assert text in shown


def test_advice_for_a_renewing_budget_shows_the_stay() -> None:
    """The table says what a stay comes to, and what twice of it would."""
    shown = run(*ADVICE[:-2], "--period", "day", "--stay", "30", "--rows", "50000")
    assert "budget: {epsilon: 0.035438, period: day}" in shown
    assert "31, all of a stay" in shown
    assert "CHECK: 10,000 people with at most 1 row each have at most 10,000 rows that count, not 50,000" in shown


@pytest.mark.parametrize(("level", "epsilon"), [("low", "0.0434"), ("medium", "0.0144"), ("high", "0.00724")])
def test_noise_of_an_imagined_statement(level: str, epsilon: str) -> None:
    """920 rows: ε, the scale and the expected percentage."""
    assert f"ε = {epsilon}" in run("noise", "--level", level, "--rows", "920")


def test_noise_is_capped() -> None:
    """A small group would need more than the role may pay, so the error grows instead."""
    shown = run("noise", "--level", "low", "--rows", "40", "--groups", "4", "--output", "avg", "--cap", "0.5")
    assert "ε = 0.5" in shown
    assert "20 %  of the declared range" in shown


def test_noise_of_a_median_is_never_an_empty_table() -> None:
    """It is an error of ranks, or the answer is NULL; a variance says of what its share is."""
    assert "mostly NULL" in run("noise", "--level", "medium", "--rows", "920", "--output", "median")
    assert "of the largest possible variance" in run("noise", "--level", "low", "--rows", "920", "--output", "variance")
    many = run("noise", "--level", "low", "--rows", "920", "--output", "median")
    assert "24.8 %  of the rows, in rank, with 95 %" in many


def planned(config: Path, role: str, statement: str) -> StatementNoise:
    """Stand for the gateway."""
    if "secret" in statement:
        raise Unsupported("not allowed", because="some-rule", hint="ask something else")
    assert (config, role) == (Path("c.yaml"), "third_party")
    lines = (OutputNoise("n", "± 8", "15 %", "of the rows"), OutputNoise("m", "± 3", "", "in its own units"))
    return StatementNoise(NoiseLevel.HIGH, Fraction(1, 8), lines)


def test_noise_of_a_statement_is_asked_of_the_planner() -> None:
    """The gateway's part is handed in; what it finds is printed."""
    words = ["noise", "SELECT count(*) AS n FROM t", "--role", "third_party", "--config", "c.yaml"]
    result = CliRunner().invoke(make_epsilon_app(planned), words)
    assert result.exit_code == 0, result.output
    assert "ε = 0.125, high noise" in result.output
    assert "15 %" in result.output


def test_refusals_of_the_planner_are_told() -> None:
    """An error of the tree is shown with its hint and ends with 1, as everywhere."""
    result = CliRunner().invoke(make_epsilon_app(planned), ["noise", "SELECT secret", "--role", "third_party"])
    assert result.exit_code == 1
    assert "not allowed" in result.stderr
    assert "ask something else" in result.stderr


@pytest.mark.parametrize("words", [[*PUPILS, "1/3"], ADVICE, ["risk", "--people", "100", "--risk", "1/3"]])
def test_plot_draws_the_risk_curves(words: list[str], tmp_path: Path) -> None:
    """--plot writes a page that needs no network."""
    run(*words, "--plot", str(tmp_path / "out.html"))
    assert "Plotly.newPlot" in (tmp_path / "out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("exponent", ["1e-999999999", "1e999999999", "1e-100", f"0.{'3' * 5000}", f"1/{'9' * 5000}"])
@pytest.mark.parametrize(
    "words",
    [
        ("advise", "--people", "10000", "--queries-per-day", "9", "--days", "9", "--max-posterior"),
        (*ADVICE, "--membership"),
        (*ADVICE, "--value"),
        ("risk", "--values", "1,2,3,10", "--risk"),
        (*PUPILS, "1/3", "--epsilon"),
        ("noise", "--level", "low", "--rows", "1000", "--cap"),
    ],
)
def test_a_number_of_gigantic_size_is_refused_at_once(words: tuple[str, ...], exponent: str) -> None:
    """Made an exact number of, it would take all of the machine's memory."""
    assert "is not a number like 0.333 or 1/3, of at most 30 digits" in refused(*words, exponent)


@pytest.mark.parametrize(
    "words",
    [
        *(
            (*ADVICE, name)
            for name in ("--people", "--queries-per-day", "--days", "--stay", "--max-rows", "--rows", "--groups")
        ),
        ("risk", "--risk", "0.5", "--people"),
        (*PUPILS, "1/3", "--missing"),
        *(("noise", "--level", "low", "--rows", "9", name) for name in ("--rows", "--groups", "--max-rows")),
    ],
)
def test_a_whole_number_of_gigantic_size_is_refused_at_once(words: tuple[str, ...]) -> None:
    """No float holds it; the largest that is taken is calculated with."""
    said = refused(*words, "9" * 25)
    assert "Input should be less than or equal to" in said or "is no whole number like 10000, 10,000 or 1e4" in said
    done = CliRunner().invoke(epsilon_app, [*words, str(10**15)])
    assert done.exit_code in {0, 2}, done.exception


def test_the_rule_is_written_for_a_spreadsheet() -> None:
    """By another name than elsewhere: `--csv` is the file with the values."""
    lines = run("risk", "--risk", "1/3", "--people", "100", "--as-csv").strip().splitlines()
    assert lines[0].startswith("limited by,ε,")
    risks = ["re-identification", "membership inference", "attribute inference"]
    assert [line.split(",")[0] for line in lines[1:]] == [*risks, "all three"]
