"""`python -m benchmarks.peers.chosen`: how long all take where dpsql chooses how many rows of a unit count, and their memory.

`auto` is the default, and asks the engine more than a declared number does. The peers do not choose, and are told 20. Only
time and memory are compared: errors are, by the other parts of the page. The systems take turns at each question, so
that whatever else runs on the machine slows all of them. What is found is kept beside this file.
"""

import json
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import typer

from benchmarks.peers.asked import Exact, Ours, Peer, Task
from benchmarks.peers.declared import DELTA, EPSILON, PLENTY, Declared, configure, declared
from benchmarks.peers.measured import DUCKDB, OURS, POSTGRES, check
from benchmarks.peers.questions import questions
from benchmarks.peers.records import write_duckdb
from benchmarks.peers.server import serving

_KEPT = Path(__file__).with_name("chosen.json")
_ROWS = (1000, 1_000_000)
_TURNS, _LIMIT = 7, 600.0
_AUTO, _COPY = f"{OURS}, auto", f"{OURS}, auto, snapshot"
_TITLE = "## Where dpsql chooses how many rows count"
_PEERS = {"SmartNoise SQL": "smartnoise", "Qrlew": "qrlew"}


_ABOUT = """\
`auto` is what `dpsql init` writes, and needs a look at how many rows each unit has. Here dpsql chooses how many rows count,
and the others, which do not choose, are given 20. Milliseconds are those of a whole question by the clock, at the median
of {turns}; the systems took turns. **Bold** is a peer that is faster than dpsql over the same records. Memory is the most
that the system's own process had at any time; neither PostgreSQL's nor the shadow's is counted. Measured {taken} by
`python -m benchmarks.peers.chosen`."""


def chosen(rows: int) -> Declared:
    """Return the declarations with `auto` where a number of rows above one is declared otherwise."""
    return {
        name: table if table["max_rows"] == 1 else {**table, "max_rows": "auto"}
        for name, table in declared(rows).items()
    }


def measure(peers: Path) -> Mapping[str, object]:
    """Return by number of trips and engine each system's milliseconds for each question, and its megabytes at most."""
    parts: list[Mapping[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        directory = Path(name)
        directory.chmod(0o711)  # PostgreSQL's account passes through
        with _systems(directory / "check", _ROWS[0], peers, POSTGRES) as (systems, exact):
            task = Task(PLENTY, DELTA, 3, _LIMIT, _LIMIT)
            wrong = check(systems, exact, questions(), task, _told)
        for rows in _ROWS:
            for engine in (POSTGRES, DUCKDB):
                with _systems(directory / f"{rows}-{engine}", rows, peers, engine) as (systems, exact):
                    parts.append(_part(rows, engine, systems, exact, wrong))
    return {"taken": time.strftime("%Y-%m-%d"), "parts": parts}


def _part(
    rows: int, engine: str, systems: Mapping[str, Ours | Peer], exact: Exact, wrong: Mapping[tuple[str, str], str]
) -> Mapping[str, object]:
    """Ask all systems all questions in turns; the first turn is not counted."""
    once = Task(EPSILON, DELTA, 1, _LIMIT, _LIMIT)
    cells: dict[str, dict[str, float | str]] = {}
    for question in questions():
        taken: dict[str, list[float]] = {name: [] for name in ("exact", *systems)}
        said: dict[str, str] = {name: "wrong" for name in systems if wrong.get((question.name, name))}
        for turn in range(_TURNS + 1):
            asked = replace(once, epsilon=EPSILON * (1 - turn * 1e-6))
            for name, system in {"exact": exact, **systems}.items():
                if name in said:
                    continue
                answer = system.ask(question, asked)
                if answer.refused:
                    said[name] = "refused"
                elif turn:
                    taken[name].append(1000 * answer.runs[-1].seconds)
        cells[f"{question.name} {question.about}"] = {
            name: said.get(name) or median(values) for name, values in taken.items()
        }
        _told(f"{rows:,} {engine} {question.name} {cells[f'{question.name} {question.about}']}")
    memory = {name: round(system.megabytes()) for name, system in systems.items()}
    return {"rows": rows, "engine": engine, "systems": list(systems), "cells": cells, "memory": memory}


@contextmanager
def _systems(directory: Path, rows: int, peers: Path, engine: str) -> Iterator[tuple[Mapping[str, Ours | Peer], Exact]]:
    """Make the records and yield those that are asked about them, and the exact answers' source."""
    directory.mkdir(mode=0o711)
    file, tables = directory / "records.duckdb", chosen(rows)
    write_duckdb(file, rows)
    units = sorted({table["unit"] for table in tables.values()})
    with ExitStack() as stack:
        dsn = stack.enter_context(serving(directory / "postgres", file))
        settings: dict[str, str | bool] = (
            {"kind": "postgres", "dsn": dsn} if engine == POSTGRES else {"kind": "duckdb", "database": str(file)}
        )
        systems: dict[str, Ours | Peer] = {
            _AUTO: Ours(configure(directory / "auto", settings, tables), units),
            _COPY: Ours(configure(directory / "copy", {**settings, "snapshot": True}, tables), units),
        }
        opening = {"dsn": dsn, "tables": declared(rows), **({"duckdb": str(file)} if engine == DUCKDB else {})}
        for name, short in _PEERS.items():
            if engine == POSTGRES or short == "qrlew":
                systems[name] = Peer(peers / short / "bin" / "python", f"ask_{short}.py", opening)
        exact = Exact(dsn, file if engine == DUCKDB else None)
        for system in (*systems.values(), exact):
            stack.callback(system.close)
        yield systems, exact


def section(kept: Path = _KEPT) -> Iterator[str]:
    """Yield the lines of the page about what was found."""
    if not kept.exists():
        return
    found = json.loads(kept.read_text(encoding="utf-8"))
    yield from (_TITLE, "")
    yield from textwrap.wrap(_ABOUT.format(turns=_TURNS, taken=found["taken"]), 120)
    for part in found["parts"]:
        yield from ("", f"### {part['rows']:,} trips on {part['engine']}", "")
        yield f"| ms | exact | {' | '.join(part['systems'])} |"
        yield "|---|---|" + "---|" * len(part["systems"])
        for question, cell in part["cells"].items():
            said = [_said(cell[name], cell, part["systems"]) for name in ("exact", *part["systems"])]
            yield f"| {question} | {' | '.join(said)} |"
        yield f"| memory at most, MB | | {' | '.join(str(part['memory'][name]) for name in part['systems'])} |"


def _said(value: float | str, cell: Mapping[str, Any], systems: Sequence[str]) -> str:
    """Return milliseconds; in bold those of a peer that is faster than dpsql over the same records."""
    if isinstance(value, str):
        return value
    peers = [cell[name] for name in systems if name not in (_AUTO, _COPY)]
    is_faster = value in peers and value < cell[_AUTO]
    return f"**{value:,.0f}**" if is_faster else f"{value:,.0f}"


def page_with(page: str, kept: Path = _KEPT) -> str:
    """Return a page that ends with the section."""
    before, _, _ = page.partition(f"\n{_TITLE}\n")
    return "\n".join([before.rstrip("\n"), "", *section(kept)]) + "\n"


def main() -> None:
    """Measure, and write the page."""
    _KEPT.write_text(json.dumps(measure(Path(".venv/peers")), indent=1) + "\n", encoding="utf-8")
    page = Path("docs/peers.md")
    page.write_text(page_with(page.read_text(encoding="utf-8")), encoding="utf-8")


def _told(what: str) -> None:
    typer.echo(f"{time.strftime('%H:%M:%S')} {what}", err=True)


if __name__ == "__main__":
    main()
