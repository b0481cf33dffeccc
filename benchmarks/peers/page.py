"""The page that the benchmark writes: `docs/peers.md`."""

import os
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.peers import chosen, everyone
from benchmarks.peers.aggregates import section
from benchmarks.peers.declared import DELTA, EPSILON
from benchmarks.peers.measured import OURS, SNAPSHOT, Cell, Part
from benchmarks.peers.questions import Question
from benchmarks.peers.scores import Ratio, ratio, telling

_OWN = (OURS, SNAPSHOT)
_INTRODUCTION = """\
# dpsql beside SmartNoise SQL and Qrlew

Written by `make bench-peers`. Three systems answer the same 22 questions (`benchmarks/peers/questions.sql`) about the
same synthetic records, from a seed: taxi trips, orders of customers, a register of 920 patients. Each question may cost
ε = {epsilon:g} and δ = {delta:g} in all, for all its measurements. All are given the same bounds and domains, and
that at most 20 trips of one passenger count, at most 20 orders of one customer, one row of a patient.
dpsql and SmartNoise SQL spend no δ here, because all keys are declared; Qrlew's noise is Gaussian and needs it.

- **Error** is the median over all runs, on both engines, of the relative error to the exact answer. Of an answer with
  groups it is the median over the groups with rows. A group that is not shown is 100 % off, as 0 is. Errors of 100 % and
  more say nothing, and are not compared with each other.
- **ms** is the median time of a whole question, parsing and rewriting included; *exact* is the plain query on the
  same engine. dpsql is asked twice: where it reads the records themselves, and with `engine.snapshot`, where it has
  copied the declared columns before. Its errors are those of both.
- **Bold** is a peer that is certainly (95 %) more exact than dpsql, by over a tenth; **?** one that may be: too few
  runs to tell.
- *Wrong* is an answer that is more than 2 % off at ε = 100,000 on 1,000 trips, where noise should vanish. It is
  compared with nothing.
- SmartNoise SQL takes ε for each statistic: these are chosen so that their sum is the question's ε. It runs on
  PostgreSQL only. Domains are declared to be public (`censor_dims: False`), the register has `row_privacy`.
- Qrlew divides ε itself. It takes the number of rows for public and cuts counts off there. Told the exact number, it
  would answer `COUNT(*)` with that number every other time. So it is given ten times the order of magnitude, which all
  systems are given.

"""


@dataclass(frozen=True, slots=True)
class Found:
    """All that the page tells."""

    questions: tuple[Question, ...]
    parts: Sequence[Part]
    versions: Mapping[str, str]
    """By system."""


def page(found: Found) -> str:
    """Return the page in Markdown."""
    lines = [_INTRODUCTION.format(epsilon=EPSILON, delta=DELTA).rstrip(), "", "## In short", "", _summary(found)]
    for part in found.parts:
        lines += ["", *(_errors(found, part) if part.noisy else _only_times(found, part))]
    lines += ["", "## Where a peer is better", "", *_better(found), "", "## Refused and wrong", "", *_reasons(found)]
    return "\n".join([*lines, "", *everyone.section(), "", *section(), "", *chosen.section()]).rstrip("\n") + "\n"


def _summary(found: Found) -> str:
    """Return the table that has every system in short."""
    lines = [
        (
            "| | answers right, of 22 | its error to dpsql's | more exact by over a tenth | its time to dpsql's | faster "
            "| its time to dpsql's with a snapshot | faster |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for part in found.parts:
        for name in _systems(found, part):
            where = f"{_with_version(found, name)}, {part.rows:,} trips, {part.engine}"
            right = sum(part.cells[question.name, name].right for question in found.questions)
            if name in _OWN:
                lines.append(f"| {where} | {right} | | | | | | |")
                continue
            ratios = _ratios(found, part, name)
            errors = f"{_median([r.middle for r in ratios.values()])} | {_beaten(ratios)}" if part.noisy else " | "
            against = [_times(found, part, name, own) for own in _OWN]
            times = " | ".join(f"{_median(list(of.values()))} | {_faster(of)}" for of in against)
            lines.append(f"| {where} | {right} | {errors} | {times} |")
    return "\n".join(lines)


def _errors(found: Found, part: Part) -> Iterator[str]:
    """Yield the lines about one number of trips on the engine that all systems run on."""
    systems = [name for name in _systems(found, part) if name != SNAPSHOT]
    yield from _heading(part)
    heads = [f"{name}: error | ms" + (" | with a snapshot" if name == OURS else "") for name in systems]
    yield f"| question | exact, ms | {' | '.join(heads)} |"
    yield "|---|---|" + "---|---|" * len(systems) + "---|"
    for question in found.questions:
        for index, column in enumerate(part.columns[question.name]):
            errors = [_error(part, question, name, column) for name in systems]
            times = [_took(part, question, name, index) for name in systems]
            about = f"{question.name} {question.about}" + (
                f": {column}" if len(part.columns[question.name]) > 1 else ""
            )
            exact = "" if index else _milliseconds(part.exact[question.name])
            yield f"| {about} | {exact} | {' | '.join(' | '.join(pair) for pair in zip(errors, times, strict=True))} |"


def _only_times(found: Found, part: Part) -> Iterator[str]:
    """Yield the lines about one number of trips on another engine."""
    systems = _systems(found, part)
    yield from _heading(part)
    yield f"| question, ms | exact | {' | '.join(systems)} |"
    yield "|---|---|" + "---|" * len(systems)
    for question in found.questions:
        cells = [part.cells[question.name, name] for name in systems]
        times = [_milliseconds(cell.seconds) if cell.right else _why(cell) for cell in cells]
        yield f"| {question.name} {question.about} | {_milliseconds(part.exact[question.name])} | {' | '.join(times)} |"


def _heading(part: Part) -> Iterator[str]:
    runs = [cell.runs for cell in part.cells.values() if cell.runs]
    before, after = part.load
    yield f"## {part.rows:,} trips on {part.engine}"
    yield ""
    yield f"{min(runs, default=0)} to {max(runs, default=0)} runs of each question, as many as fit into its time."
    yield f"The machine's load was {before:.1f} when this began and {after:.1f} when it ended, on {os.cpu_count()} cores."
    yield ""


def _took(part: Part, question: Question, name: str, index: int) -> str:
    """Return a system's time, beside its first column alone; of ours, with and without a snapshot."""
    names = _OWN if name == OURS else (name,)
    return " | ".join("" if index else _milliseconds(part.cells[question.name, one].seconds) for one in names)


def _error(part: Part, question: Question, name: str, column: str) -> str:
    cell = part.cells[question.name, name]
    if not cell.right:
        return _why(cell)
    if not cell.errors[column]:
        return "no group"
    said = _percent(median(cell.errors[column]))
    if cell.shown < 0.995:
        said += f" ({cell.shown:.0%} of the groups)".replace("%", " %")
    compared = _compared(part, question, name).get(column)
    if compared is None or not (compared.beaten or compared.doubtful):
        return said
    return f"**{said}**" if compared.beaten else f"{said} **?**"


def _better(found: Found) -> Iterator[str]:
    """Yield where a peer that answers right is more exact, or faster, or alone."""
    for part in found.parts:
        where = f"{part.rows:,} trips, {part.engine}"
        for name in _systems(found, part):
            if name in _OWN:
                continue
            ratios = _ratios(found, part, name) if part.noisy else {}
            for what, one in ratios.items():
                if one.beaten:
                    sure = f"{one.middle:.2f} of dpsql's error ({one.least:.2f} to {one.most:.2f})"
                    yield f"- {where}: {name} is more exact in {what}: {sure}."
            alone = [q.name for q in found.questions if _right(part, q, name) and not _right(part, q, OURS)]
            undecided = [what for what, one in ratios.items() if one.doubtful]
            for what, which in (
                ("perhaps more exact in", undecided),
                ("faster in (parts of dpsql's time)", _quicker(found, part, name, OURS)),
                ("faster than dpsql with a snapshot in", _quicker(found, part, name, SNAPSHOT)),
                ("answers what dpsql does not:", alone),
            ):
                if which:
                    yield f"- {where}: {name} {'' if 'answers' in what else 'is '}{what} {', '.join(which)}."


def _quicker(found: Found, part: Part, name: str, own: str) -> list[str]:
    return [f"{question} ({times:.2f})" for question, times in _times(found, part, name, own).items() if times < 1]


def _reasons(found: Found) -> Iterator[str]:
    """Yield by name what a system does not answer or answers wrong, once for all parts."""
    reasons: dict[str, str] = {}
    rows: defaultdict[str, set[int]] = defaultdict(set)
    for part in found.parts:
        for question in found.questions:
            for name in _systems(found, part):
                cell = part.cells[question.name, name]
                if not cell.right:
                    what = f"{name} {question.name} {question.about}: {_why(cell)}"
                    reasons.setdefault(what, cell.wrong or f"`{cell.refused.replace('`', chr(39))}`")
                    rows[what].add(part.rows)
    everywhere = {part.rows for part in found.parts}
    for what, reason in sorted(reasons.items()):
        where = " and ".join(f"{number:,}" for number in sorted(rows[what]))
        item = f"- {what}: {reason}" + ("" if rows[what] == everywhere else f" ({where} trips)")
        yield textwrap.fill(item, 130, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _with_version(found: Found, name: str) -> str:
    """Return a name with its version behind its first part: `dpsql 0.1.0 with a snapshot`."""
    system, among, addition = name.partition(" with ")
    return f"{system} {found.versions[name]}{among}{addition}"


def _systems(found: Found, part: Part) -> list[str]:
    asked = {name for _, name in part.cells}
    return [name for name in found.versions if name in asked]


def _why(cell: Cell) -> str:
    return "refused" if cell.refused else "wrong"


def _right(part: Part, question: Question, name: str) -> bool:
    return part.cells[question.name, name].right


def _ratios(found: Found, part: Part, name: str) -> dict[str, Ratio]:
    return {
        f"{question.name} {column}": compared
        for question in found.questions
        for column, compared in _compared(part, question, name).items()
    }


def _compared(part: Part, question: Question, name: str) -> dict[str, Ratio]:
    """Return by column how a peer's error compares with ours, where both answer right."""
    if name in _OWN or not (_right(part, question, OURS) and _right(part, question, name)):
        return {}
    ours, theirs = part.cells[question.name, OURS], part.cells[question.name, name]
    return {
        column: ratio(theirs.errors[column], own)
        for column, own in ours.errors.items()
        if own and telling(own, theirs.errors[column])
    }


def _times(found: Found, part: Part, name: str, own: str) -> dict[str, float]:
    """Return by question a peer's time in parts of one of ours, where both answer right."""
    both = (q.name for q in found.questions if _right(part, q, own) and _right(part, q, name))
    return {question: part.cells[question, name].seconds / part.cells[question, own].seconds for question in both}


def _median(values: Sequence[float]) -> str:
    return f"{median(values):.1f} times" if values else ""


def _beaten(ratios: Mapping[str, Ratio]) -> str:
    sure = sum(r.beaten for r in ratios.values())
    perhaps = sum(r.doubtful for r in ratios.values())
    return f"{sure} of {len(ratios)}" + (f", {perhaps} undecided" if perhaps else "")


def _faster(times: Mapping[str, float]) -> str:
    return f"{sum(value < 1 for value in times.values())} of {len(times)}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f}" if seconds else ""


def _percent(error: float) -> str:
    if error >= 10:
        return "over 1,000 %"
    return f"{error:.3%}".replace("%", " %") if error < 0.01 else f"{error:.1%}".replace("%", " %")
