"""`python -m benchmarks.peers.everyone`: seven statistics by no key, one and two, of four tables, asked of all systems.

Errors are against the truth, in which all rows count, once for all of ε and once for (ε, δ). Whoever needs to be told how
many rows of one unit count is told a number that suits the table; dpsql is asked with that number, and with `auto`, where
it pays for choosing. With a δ it is asked as a role that counts ρ, too, and is given the ρ that is (ε, δ)-DP, as OpenDP and
Tumult are. What is found is kept beside this file, and stands on the page on peers. `… trips labs` measures these alone.
"""

import json
import math
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import Any

import duckdb
import numpy as np
import typer

from benchmarks.peers.asked import Answer, Ours, Peer, Run, System, Task, timed
from benchmarks.peers.declared import DELTA, EPSILON, Declared, configure, declared, declared_labs
from benchmarks.peers.questions import Question
from benchmarks.peers.records import LABS, make, make_labs, write_tables
from benchmarks.peers.scores import errors, ratio, telling
from benchmarks.peers.server import serving
from dpsql.accounting.zcdp import epsilon_paid_by, rho_within
from dpsql.demo.trips import Columns
from tests.truth.data_sets import patients

_KEPT = Path(__file__).with_name("everyone.json")
_TRIPS, _PEOPLE, _PATIENTS, _FIRST = 20_000, 1_500, 10_000, 3
"""How many rows, or people, the tables have, and how many groups a ranking."""
_RUNS, _SECONDS, _LIMIT = 15, 1.2, 120.0
_OF_RHO = float(rho_within(Fraction(str(EPSILON)), Fraction(str(DELTA))))
"""What is (ε, δ)-DP."""
_PAYS = float(epsilon_paid_by(Fraction(str(_OF_RHO))))
"""The ε of dpsql's question that costs as much."""
_FEW = 8
"""Answers with which nothing is certain."""
_PURE, _WITH_DELTA = "pure", "δ"
_TITLE = "## All systems beside the truth"
_FLIGHTS = Path(__file__).parent.parent.parent / "tests" / "flights" / "data" / "flights.parquet"
_VERSIONS = {
    "SmartNoise SQL": ("smartnoise", "smartnoise-sql"),
    "Qrlew": ("qrlew", "pyqrlew"),
    "OpenDP": ("opendp", "opendp"),
    "diffprivlib": ("diffprivlib", "diffprivlib"),
    "PipelineDP": ("pipelinedp", "pipeline-dp"),
    "Tumult": ("tumult", "tmlt-analytics"),
}
_STATISTICS = {
    "count": "COUNT(*)",
    "sum": "SUM({value})",
    "mean": "AVG({value})",
    "variance": "VARIANCE({value})",
    "median": "MEDIAN({value})",
    "distinct": "COUNT(DISTINCT {unit})",
}
_RANKED = "top 3"


_SAID = {_PURE: "ε alone", _WITH_DELTA: "(ε, δ)"}
_INTRODUCTION = """\
Seven statistics by no key, one and two, of four tables, at ε = {epsilon:g}, once with no δ and once with δ = {delta:g}. The
tables are taxi trips, laboratory results of which the sicker have more, flights of planes with hundreds each, and patients
with one row each.
{versions}
`python -m benchmarks.peers.everyone` measures it again, and `make bench-peers` with all else.

- Errors are medians of relative errors to the truth, in which all rows count; of groups the median group's. Of a ranking it
  is the share of the true first three that is missed, on average. Each is of up to {runs} answers within a second, and of one
  at least. PipelineDP's and Tumult's, which take seconds, are of one or two, so that nothing is certain of them.
- dpsql is asked as it is by default, with the number of rows of one unit chosen (`auto`), and with the number that the
  others are told. With a δ it is asked as a role that counts ρ, too: it is given the ρ that is (ε, δ)-DP, as OpenDP and
  Tumult are. Such a role is for many questions; of one alone the pure answer is nearer, and a role may have that as well.
- **Bold** is certainly (95 %) nearer than dpsql's nearest, by over a tenth; **?** may be. Of errors of 100 % and more none
  tells anything. *None* is no answer: there is no such statistic, or it is refused. Where nothing stands nobody has asked.
- diffprivlib knows rows and no people, so that ε is divided by the rows that one of them may have. It takes the number of
  rows for known, which the others do not: counts are cut off there, and means and variances divide by it. It has no δ.
- Tumult was asked a few questions of each table, as far as the time went."""
_WHY: Mapping[tuple[str, str], str] = {
    ("diffprivlib", ""): "it takes the number of rows for known, and cuts counts off there",
}
"""Why a peer is nearer, by its name and a statistic, or nothing for all others."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A table: what is asked about it, and how many rows of one unit count where that has to be told."""

    name: str
    table: str
    value: str
    keys: tuple[str, str]
    most: int

    def questions(self, declared_table: Mapping[str, Any]) -> Iterator[Question]:
        """Yield the questions: each statistic by none, the first and both keys, and rankings of the groups by their rows."""
        unit, owner = declared_table["unit"], declared_table["column"]
        for what, aggregate in _STATISTICS.items():
            for number in range(3):
                yield self._question(what, aggregate.format(value=self.value, unit=owner), self.keys[:number], unit)
        for number in (1, 2):
            yield self._question(_RANKED, "COUNT(*)", self.keys[:number], unit, f" ORDER BY v DESC LIMIT {_FIRST}")

    def _question(self, what: str, aggregate: str, keys: tuple[str, ...], unit: str, ranked: str = "") -> Question:
        select, group = "".join(f"{key}, " for key in keys), f" GROUP BY {', '.join(keys)}" if keys else ""
        sql = f"SELECT {select}{aggregate} AS v FROM {self.table}{group}{ranked}"  # noqa: S608 # our own names
        return Question(what, ", ".join(keys) or "all", unit, sql, keys)


SETS = (
    Asked("trips", "taxi", "fare", ("payment_type", "passenger_count"), 20),
    Asked("labs", LABS, "value", ("test", "ward"), 200),
    Asked("flights", "flights", "distance", ("month", "origin"), 512),
    Asked("patients", "patients", "cost", ("ward", "region"), 1),
)


def made(of: Asked) -> Mapping[str, Columns]:
    """Return the columns of a table, within the declared bounds."""
    match of.name:
        case "trips":
            return {"taxi": make(_TRIPS)["taxi"]}
        case "labs":
            return make_labs(_PEOPLE)
        case "flights":
            return {"flights": _flights()}
        case _:
            people = {name: np.asarray(column) for name, column in patients(_PATIENTS).items()}
            columns = {name: people[name] for name in ("patient_id", "ward", "region")}
            return {"patients": {**columns, "cost": people["cost"].clip(0, 40_000)}}


def _flights() -> Columns:
    """Return the flights of every twelfth plane that left New York in 2013."""
    planes = f"SELECT *, dense_rank() OVER (ORDER BY tailnum) AS plane_id FROM '{_FLIGHTS}' WHERE tailnum IS NOT NULL"  # noqa: S608
    columns = "row_number() OVER () AS flight_id, plane_id, month, origin, distance::DOUBLE AS distance"
    with duckdb.connect() as reading:
        found = reading.execute(f"SELECT {columns} FROM ({planes}) WHERE plane_id % 12 = 0 ORDER BY ALL").fetchnumpy()  # noqa: S608
    return {name: np.asarray(column) for name, column in found.items()}


def declared_as(of: Asked, most: int | str) -> Declared:
    """Return what all are told of a table."""
    match of.name:
        case "trips":
            table = declared(_TRIPS)["taxi"]
            return {"taxi": {**table, "max_rows": most, "expected_rows": 10_000}}
        case "labs":
            return {LABS: {**declared_labs(most)[LABS], "expected_rows": 10_000}}
        case "flights":
            columns: dict[str, dict[str, object]] = {
                "flight_id": {"type": "bigint"},
                "plane_id": {"type": "integer"},
                "month": {"type": "integer", "values": list(range(1, 13))},
                "origin": {"type": "text", "values": ["EWR", "JFK", "LGA"]},
                "distance": {"type": "double precision", "bounds": [0, 5000]},
            }
            said = {"unit": "plane", "column": "plane_id", "max_rows": most, "expected_rows": 10_000}
            return {"flights": {**said, "columns": columns}}
        case _:
            regions = "North South East West Centre Coast Hills Islands Border Abroad".split()
            columns = {
                "patient_id": {"type": "integer"},
                "ward": {"type": "text", "values": ["Surgery", "Cardiology", "Oncology", "Paediatrics"]},
                "region": {"type": "text", "values": regions},
                "cost": {"type": "double precision", "bounds": [0, 40_000]},
            }
            said = {"unit": "patient", "column": "patient_id", "max_rows": most, "expected_rows": 10_000}
            return {"patients": {**said, "columns": columns}}


def measure(of: Asked, peers: Path) -> list[dict[str, Any]]:
    """Ask all systems about a table; return what each errs by, or why it has no answer."""
    cells = []
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name, ExitStack() as until:
        directory = Path(name)
        directory.chmod(0o711)  # PostgreSQL's account passes through
        file = directory / "records.duckdb"
        write_tables(file, made(of))
        truth = until.enter_context(duckdb.connect(file, read_only=True))
        truth.execute(f"COPY {of.table} TO '{directory}/{of.table}.parquet'")
        dsn = until.enter_context(serving(directory / "postgres", file))
        budgets = _systems(of, directory, file, dsn, peers)
        for systems in budgets.values():
            for system in systems.values():
                until.callback(system.close)
        (table,) = declared_as(of, of.most).values()
        for asked in of.questions(table):
            exact, earlier = timed(truth, asked.sql), dict[str, Answer]()
            for budget, systems in budgets.items():
                answers = {**earlier, **{name: _asked(system, name, asked, budget) for name, system in systems.items()}}
                earlier = {name: answer for name, answer in answers.items() if name.startswith("dpsql")}
                cells.append(_cell(of, budget, asked, exact, answers))
                typer.echo(cells[-1], err=True)
    return cells


def _systems(of: Asked, directory: Path, file: Path, dsn: str, peers: Path) -> dict[str, dict[str, System]]:
    engine: dict[str, str | bool] = {"kind": "duckdb", "database": str(file)}
    units = [declared_as(of, of.most)[of.table]["unit"]]
    told = declared_as(of, of.most)
    ours: dict[str, dict[str, System]] = {_PURE: {}, _WITH_DELTA: {}}
    bounds: tuple[int | str, ...] = ("auto", of.most)
    for most in bounds:
        tables = declared_as(of, most)
        config = configure(directory / f"dpsql-{most}", engine, tables)
        ours[_PURE][f"dpsql, {most}"] = Ours(config, units)
        config = configure(directory / f"rho-{most}", engine, tables, rho=True)
        ours[_WITH_DELTA][f"dpsql with ρ, {most}"] = Ours(config, units)

    def peer(short: str, opening: Mapping[str, object]) -> Peer:
        return Peer(peers / short / "bin" / "python", f"ask_{short}.py", {**opening, "tables": told, "rho": _OF_RHO})

    files = {"duckdb": str(file), "parquet": str(directory)}
    both = {"OpenDP": "opendp", "PipelineDP": "pipelinedp", "Tumult": "tumult"}
    shared: dict[str, System] = {
        name: peer(short, files) for name, short in both.items() if (peers / short / "bin" / "python").exists()
    }
    alone: dict[str, System] = {"SmartNoise SQL": peer("smartnoise", {"dsn": dsn})}
    alone["diffprivlib"] = peer("diffprivlib", files)
    return {
        _PURE: {**ours[_PURE], **alone, **shared},
        _WITH_DELTA: {**ours[_WITH_DELTA], "Qrlew": peer("qrlew", {"dsn": dsn}), **shared},
    }


def _asked(system: System, name: str, asked: Question, budget: str) -> Answer:
    task = Task(EPSILON, DELTA if budget == _WITH_DELTA else 0.0, _RUNS, _SECONDS, _LIMIT)
    if name.startswith("dpsql with ρ"):
        task = replace(task, epsilon=_PAYS)
    if name == "SmartNoise SQL":
        task = replace(task, delta=DELTA)  # it wants one, and spends none where keys are declared
    return system.ask(asked, task)


def _cell(of: Asked, budget: str, asked: Question, exact: Run, answers: Mapping[str, Answer]) -> dict[str, Any]:
    off = {name: _errors(asked, exact, answer) for name, answer in answers.items() if answer.runs}
    ours = min((sample for name, sample in off.items() if name.startswith("dpsql")), key=_middle_of(asked), default=[])
    said: dict[str, object] = {name: answer.refused for name, answer in answers.items() if not answer.runs}
    for name, sample in off.items():
        mark = "" if name.startswith("dpsql") or not ours else _mark(asked, sample, ours)
        said[name] = [_middle_of(asked)(sample), mark, len(sample)]
    return {"set": of.name, "budget": budget, "what": asked.name, "keys": asked.about, "errors": said}


def _errors(asked: Question, exact: Run, answer: Answer) -> list[float]:
    """Return the errors of all answers: of a ranking, what part of the true first groups is not among them."""
    if asked.name != _RANKED:
        return errors(asked, exact, answer.runs, "v")
    first = {tuple(map(str, row[:-1])) for row in exact.rows}
    return [1 - len(first & {_key(row[:-1]) for row in run.rows}) / len(first) for run in answer.runs]


def _key(group: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(value).removesuffix(".0") for value in group)


def _middle_of(asked: Question) -> Any:
    return fmean if asked.name == _RANKED else median


def _mark(asked: Question, theirs: Sequence[float], ours: Sequence[float]) -> str:
    """Return whether a peer is certainly (95 %) nearer, by over a tenth, or perhaps."""
    if asked.name == _RANKED:
        draw = np.random.default_rng(1)
        means = [draw.choice(sample, (2000, len(sample))).mean(axis=1) for sample in (ours, theirs)]
        gained, few = float(np.percentile(means[0] - means[1], 5)), min(len(ours), len(theirs)) < _FEW
        return "beaten" if gained > 0.1 and not few else "doubtful" if fmean(ours) - fmean(theirs) > 0.1 else ""
    if not telling(theirs, ours):
        return ""
    compared = ratio(theirs, ours)
    return "beaten" if compared.beaten else "doubtful" if compared.doubtful else ""


def section(kept: Path = _KEPT) -> Iterator[str]:
    """Yield the lines of the page about what was found."""
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"cells": [], "versions": {}}
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    yield _TITLE
    yield ""
    these = textwrap.fill(f"These are {versions}, each in an environment of its own.", 118)
    yield from _INTRODUCTION.format(epsilon=EPSILON, delta=DELTA, versions=these, runs=_RUNS).splitlines()
    yield ""
    yield "| | answers, of the questions that it was asked | its error to dpsql's | nearer by over a tenth | perhaps |"
    yield "|---|---|---|---|---|"
    for budget in (_PURE, _WITH_DELTA):
        yield from _in_short(budget, [cell for cell in found["cells"] if cell["budget"] == budget])
    for of in SETS:
        for budget in (_PURE, _WITH_DELTA):
            yield from _table(of, budget, [c for c in found["cells"] if (c["set"], c["budget"]) == (of.name, budget)])
    yield ""
    yield "### Where a peer is nearer than dpsql"
    yield ""
    yield "Certainly, by over a tenth, than each of dpsql's ways to answer, with why."
    yield ""
    yield from _beaten(found["cells"])


def _in_short(budget: str, cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    peers = dict.fromkeys(name for cell in cells for name in cell["errors"] if not name.startswith("dpsql"))
    for peer in peers:
        asked = [cell for cell in cells if peer in cell["errors"]]
        answered = [cell for cell in asked if isinstance(cell["errors"][peer], list)]
        ratios = [
            math.log(max(cell["errors"][peer][0], 1e-6) / max(_nearest(cell), 1e-6))
            for cell in answered
            if cell["what"] != _RANKED and min(cell["errors"][peer][0], _nearest(cell)) < 1
        ]
        marks = [cell["errors"][peer][1] for cell in answered]
        beside = f"{math.exp(fmean(ratios)):.2g} times" if ratios else ""
        told = f"{len(answered)} of {len(asked)} | {beside} | {marks.count('beaten')} | {marks.count('doubtful')} |"
        yield f"| {peer}, {_SAID[budget]} | {told}"


def _nearest(cell: Mapping[str, Any]) -> float:
    """Return the error of dpsql's nearest way to answer."""
    return min(
        float(said[0]) for name, said in cell["errors"].items() if name.startswith("dpsql") and isinstance(said, list)
    )


def _table(of: Asked, budget: str, cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not cells:
        return
    order = ["dpsql, auto", f"dpsql, {of.most}", "dpsql with ρ, auto", f"dpsql with ρ, {of.most}", *_VERSIONS]
    systems = [name for name in order if any(name in cell["errors"] for cell in cells)]
    yield ""
    rows = "one row" if of.most == 1 else f"{of.most} rows"
    yield f"### {of.name}, {_SAID[budget]}: at most {rows} of one unit where that is told"
    yield ""
    yield f"| | | {' | '.join(systems)} |"
    yield "|---|---|" + "---|" * len(systems)
    for cell in cells:
        said = [_shown(cell["errors"].get(name)) for name in systems]
        yield f"| {cell['what']} | {cell['keys']} | {' | '.join(said)} |"


def _shown(said: Any) -> str:
    """Return an error as it stands in the table; of a ranking the share that is missed."""
    if not isinstance(said, list):
        return "" if said is None else "none"
    error, mark, _ = said
    text = f"{100 * error:.3g} %" if error < 10 else "over 1,000 %"
    return {"beaten": f"**{text}**", "doubtful": f"{text} **?**"}.get(mark, text)


def _beaten(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    told = dict[str, list[str]]()
    for cell in cells:
        for name, said in cell["errors"].items():
            if isinstance(said, list) and said[1] == "beaten":
                where = f"{cell['set']}, {cell['what']} by {cell['keys']}, {_SAID[cell['budget']]}"
                told.setdefault(f"{name}: {why(name, cell['what'])}", []).append(where.replace("by all", "of all"))
    if not told:
        yield "- Nowhere."
    for reason, places in told.items():
        said = f"- {reason}. So it is in {'; '.join(places)}."
        yield from textwrap.wrap(said, 118, subsequent_indent="  ", break_long_words=False)


def why(peer: str, what: str) -> str:
    """Return why a peer is nearer in a statistic."""
    return _WHY.get((peer, what)) or _WHY[peer, ""]


def page_with(page: str) -> str:
    """Return a page with the section as it is now; the others stay."""
    before, title, old = page.partition(f"\n{_TITLE}\n")
    if not title:
        before, title, old = page.partition("\n## Beside OpenDP")
        old = title + old
    _, beside, after = old.partition("\n## Beside OpenDP")
    return before.rstrip("\n") + "\n\n" + "\n".join(section()) + "\n" + beside + after


def _version(peers: Path, short: str, package: str) -> str | None:
    """Return what version of a peer is installed; nothing where it is not."""
    found = sorted((peers / short).glob(f"lib/python*/site-packages/{package.replace('-', '_')}-*.dist-info"))
    return found[0].name.removesuffix(".dist-info").rpartition("-")[2] if found else None


def main() -> None:
    """Measure the tables that are named, or all, and write the page."""
    peers, page = Path(".venv/peers"), Path("docs/peers.md")
    for of in SETS if len(sys.argv) == 1 else [of for of in SETS if of.name in sys.argv[1:]]:
        cells = measure(of, peers)
        kept = json.loads(_KEPT.read_text(encoding="utf-8")) if _KEPT.exists() else {"cells": []}
        versions = {name: _version(peers, *how) for name, how in _VERSIONS.items()}
        kept["versions"] = {"dpsql": version("dpsql"), **{name: said for name, said in versions.items() if said}}
        kept["cells"] = [cell for cell in kept["cells"] if cell["set"] != of.name] + cells
        _KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(page_with(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
