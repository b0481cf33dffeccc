"""`python -m benchmarks.peers.aggregates`: aggregates by three keys, beside OpenDP with Polars too, which has no SQL.

One part is about trips, beside OpenDP alone. Both know the same bounds and keys, and count at most 20 trips of a passenger.
The other one is about laboratory results of patients: who is sicker has more, and higher ones. There dpsql chooses how
many rows of one count, and the peers, which do not choose, are told 20, and 200, which is as many as anybody has.
All pay the same ε, and errors are against the truth, in which all rows count. What is found is kept beside this file, and
stands at the end of the page on peers. `python -m benchmarks.peers.aggregates labs` measures that part alone.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import typer

from benchmarks.peers.asked import Ours, Peer, System, Task, timed
from benchmarks.peers.declared import DELTA, EPSILON, configure, declared, declared_labs
from benchmarks.peers.measured import OURS
from benchmarks.peers.questions import Question
from benchmarks.peers.records import LABS, make_labs, write_duckdb, write_tables
from benchmarks.peers.scores import errors, ratio, telling
from benchmarks.peers.server import serving

_KEPT = Path(__file__).with_name("aggregates.json")
_ROWS, _RUNS, _SECONDS, _LIMIT = 100_000, 40, 12.0, 600.0
_PEER = "OpenDP with Polars"
_KEYS = {"all": "", "by payment": "payment_type", "by zone": "pickup_zone"}
_LABS_KEYS = {"all": "", "by ward": "ward", "by test": "test"}
_BOUNDS = (20, 200)
"""How many results of one patient count, where that is told: as in the other comparisons, and as many as anybody has."""
_VERSIONS = {"OpenDP": "0.16.0", "SmartNoise SQL": "1.0.10", "Qrlew": "0.9.27"}
"""Those of the files in `requirements`."""


def aggregates(
    table: str = "taxi", unit: str = "passenger", value: str = "fare", keys: Mapping[str, str] = _KEYS
) -> Iterator[Question]:
    """Yield the questions."""
    values = {"count": "COUNT(*)", "sum": f"SUM({value})", "mean": f"AVG({value})", "median": f"MEDIAN({value})"}
    for what, aggregate in values.items():
        for where, key in keys.items():
            select, group = (f"{key}, ", f" GROUP BY {key}") if key else ("", "")
            sql = f"SELECT {select}{aggregate} AS v FROM {table}{group}"  # noqa: S608 # our own names
            yield Question(what, where, unit, sql, (key,) if key else ())


def measure_trips(peers: Path) -> Mapping[str, object]:
    """Return the median errors, and how much larger those of the peer are with 90 %."""
    with tempfile.TemporaryDirectory() as directory:
        file, tables = Path(directory) / "records.duckdb", declared(_ROWS)
        write_duckdb(file, _ROWS)
        config = configure(Path(directory) / "dpsql", {"kind": "duckdb", "database": str(file)}, tables)
        systems: dict[str, System] = {
            OURS: Ours(config, ["passenger"]),
            _PEER: Peer(peers / "opendp" / "bin" / "python", "ask_opendp.py", {"duckdb": str(file), "tables": tables}),
        }
        cells = []
        for asked, off, refused in _asked(file, systems, list(aggregates())):
            if refused:
                sys.exit(f"{asked.sql}: {refused}")
            compared = ratio(off[_PEER], off[OURS])
            cells.append([asked.name, asked.about, *map(_middle, off.values()), compared.least, compared.most])
            typer.echo(cells[-1], err=True)
    return {"versions": [version("dpsql"), _VERSIONS["OpenDP"]], "rows": _ROWS, "cells": cells}


def measure_labs(peers: Path) -> Mapping[str, object]:
    """Return each system's median errors; beside a peer's, whether it is certainly more exact, or perhaps."""
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        directory = Path(name)
        directory.chmod(0o711)  # PostgreSQL's account passes through
        file = directory / "records.duckdb"
        write_tables(file, made := make_labs())
        with serving(directory / "postgres", file) as dsn:
            engine: dict[str, str | bool] = {"kind": "duckdb", "database": str(file)}
            systems: dict[str, System] = {}
            for most in ("auto", 20):
                config = configure(directory / f"dpsql-{most}", engine, declared_labs(most))
                systems[f"{OURS}, {most}"] = Ours(config, ["patient"])
            for peer, short, opening in (
                ("OpenDP", "opendp", {"duckdb": str(file)}),
                ("SmartNoise SQL", "smartnoise", {"dsn": dsn}),
                ("Qrlew", "qrlew", {"dsn": dsn, "duckdb": str(file)}),
            ):
                for most in _BOUNDS:
                    told = {**opening, "tables": declared_labs(most)}
                    systems[f"{peer}, {most}"] = Peer(peers / short / "bin" / "python", f"ask_{short}.py", told)
            ours, cells = next(iter(systems)), []
            for asked, off, refused in _asked(file, systems, list(aggregates(LABS, "patient", "value", _LABS_KEYS))):
                said = [refused.get(name) or _beside(off[name], off[ours]) for name in systems]
                cells.append([asked.name, asked.about, *said])
                typer.echo(cells[-1], err=True)
    versions = {OURS: version("dpsql"), **_VERSIONS}
    return {"systems": list(systems), "versions": versions, "rows": len(made[LABS]["value"]), "cells": cells}


def _asked(
    file: Path, systems: Mapping[str, System], questions: list[Question]
) -> Iterator[tuple[Question, Mapping[str, list[float]], Mapping[str, str]]]:
    """Ask all systems, and end them; yield each question with the errors by system, and the reasons of those without."""
    task = Task(EPSILON, DELTA, _RUNS, _SECONDS, _LIMIT)
    with duckdb.connect(file, read_only=True) as truth:
        for asked in questions:
            exact = timed(truth, asked.sql)
            answers = {name: system.ask(asked, task) for name, system in systems.items()}
            refused = {name: answer.refused for name, answer in answers.items() if answer.refused}
            yield (
                asked,
                {name: errors(asked, exact, answer.runs, "v") for name, answer in answers.items() if answer.runs},
                refused,
            )
    for system in systems.values():
        system.close()


def _beside(theirs: list[float], ours: list[float]) -> list[object]:
    compared = ratio(theirs, ours) if theirs is not ours and telling(theirs, ours) else None
    mark = "" if compared is None else "beaten" if compared.beaten else "doubtful" if compared.doubtful else ""
    return [_middle(theirs), mark]


def _middle(sample: list[float]) -> float:
    return sorted(sample)[len(sample) // 2]


def section(kept: Path = _KEPT) -> Iterator[str]:
    """Yield the lines of the page about what was found."""
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if "trips" in found:
        yield from _of_trips(found["trips"])
    if "labs" in found:
        yield ""
        yield from _of_labs(found["labs"])


def _of_trips(found: Mapping[str, Any]) -> Iterator[str]:
    yield "## Beside OpenDP with Polars"
    yield ""
    yield f"Medians of relative errors to the truth, of {found['rows']:,} trips at ε = {EPSILON:g}; 20 of a passenger count;"
    yield "`python -m benchmarks.peers.aggregates` writes them. OpenDP has no SQL: its questions are built in Python."
    yield "The ratio is that of OpenDP's error to dpsql's, with 90 %; 100 % and more says nothing."
    yield "Its medians are chosen among 601 values, a quarter of a dollar apart."
    yield ""
    yield f"| fares | | dpsql {found['versions'][0]} | OpenDP {found['versions'][1]} | ratio |"
    yield "|---|---|---|---|---|"
    for what, where, ours, theirs, least, most in found["cells"]:
        yield f"| {what} | {where} | {100 * ours:.3g} % | {100 * theirs:.3g} % | {least:.2g} to {most:.2g} |"


def _of_labs(found: Mapping[str, Any]) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    yield "## Where the sicker have more rows"
    yield ""
    yield f"Medians of relative errors to the truth, of {found['rows']:,} laboratory results of 5,000 synthetic patients,"
    yield f"with 1 to 200 each, at ε = {EPSILON:g}: {versions}."
    yield "Who is sicker has more results, and higher ones, so that what a bound on rows takes off is unlike the rest."
    yield "dpsql chooses the bound of each answer (`auto`), and is given 20 beside that. The others do not choose. They are"
    yield "given 20, or 200, which only an owner knows who has looked. The truth is exact, with all rows."
    yield "**Bold** is certainly (95 %) more exact than the first column, by over a tenth; **?** may be. Errors of 100 %"
    yield "say nothing. `python -m benchmarks.peers.aggregates labs` measures it again, with at most 40 answers a cell."
    yield ""
    yield f"| values | | {' | '.join(found['systems'])} |"
    yield "|---|---|" + "---|" * len(found["systems"])
    for what, where, *said in found["cells"]:
        yield f"| {what} | {where} | {' | '.join(map(_said, said))} |"


def _said(cell: str | tuple[float, str]) -> str:
    """Return an error as it stands in the table; of what was not answered only that."""
    if isinstance(cell, str):
        return "refused"
    error, mark = cell
    shown = f"{100 * error:.3g} %" if error < 10 else "over 1,000 %"
    return {"beaten": f"**{shown}**", "doubtful": f"{shown} **?**"}.get(mark, shown)


def page_with(page: str) -> str:
    """Return a page with the sections as they are now; what follows them stays."""
    before, _, old = page.partition("\n## Beside OpenDP")
    _, title, after = old.partition("\n## Where dpsql chooses")
    return before.rstrip("\n") + "\n\n" + "\n".join(section()) + "\n" + title + after


_PARTS: Mapping[str, Callable[[Path], Mapping[str, object]]] = {"trips": measure_trips, "labs": measure_labs}


def main() -> None:
    """Measure the parts that are named, or all, and write the page."""
    kept = json.loads(_KEPT.read_text(encoding="utf-8")) if _KEPT.exists() else {}
    for part in sys.argv[1:] or _PARTS:
        kept[part] = _PARTS[part](Path(".venv/peers"))
        _KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    page = Path("docs/peers.md")
    page.write_text(page_with(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
