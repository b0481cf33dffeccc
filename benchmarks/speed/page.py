"""The page that the benchmark writes: `docs/speed.md`."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.added import Added
from benchmarks.speed.asked import BOUNDED, SNAPSHOT, WAYS, Asked, asked
from benchmarks.speed.clients import Rate
from benchmarks.speed.measured import Cell, Part
from benchmarks.speed.through import AUTO, DECLARED, Default
from benchmarks.starting import Started

WAYS_OF_GROWTH = (BOUNDED, SNAPSHOT)
_INTRODUCTION = """\
# What privacy costs

Written by `make bench`. Each figure is a ratio of two times of the engine: that for the statements that dpsql sends it, to
that for the same question asked plainly, of the same records. Both run in turn, and the figure is the median of the rounds.
For a snapshot, too, the plain query reads the records.

DuckDB's time is the processor's, all threads together, which hardly depends on the machine's other work. PostgreSQL's is time
by the clock. The records are made up, from a seed: those of the [comparison with other systems](peers.md), taxi trips of 0.4
passengers for each, of whom 20 rows count.

- *One row a unit*: each trip is a privacy unit of its own, which the engine enforces.
- *Bounded*: passengers are units; rows of those with more than 20 weigh less.
- *Bounded, snapshot*: the same, asked of dpsql's own copy (`engine.snapshot`), for any engine of the records.
- **Bold** is above its aim, which stands behind it.
"""

_ABOVE = """\
## Figures above their aims, and why

- *In the default setting.* The aims were set on another machine, whose plain queries took one and a half to twice as long. Of
  a question that plainly takes 15 ms, 13 to 19 are dpsql's own (see Sessions). A count under a condition
  takes 30 ms more, in which DuckDB counts the rows of 600,000 units; it was 8.9 before it was told by the same statement.
  Sums of two columns take 54 ms more, in which values are clamped and rounded. A week by day reads the records in their
  order, in which that week is one piece, and the rows of heavy units in the order of units. On PostgreSQL units are
  counted twice, and [one statement for both](decisions/0017-one-statement-or-two.md) took longer.
- *Bounded, on DuckDB.* The rows of units with more rows than count are kept in memory, and only these are weighed. Where
  most units have many more (10,000 of them with 500 rows each, below) every row has to be: once to count its unit's rows,
  and once more in the sums. By few groups, such as payment and seats, a unit's rows are told apart by group for that as well.
  Where the number that counts is chosen (`max_rows: auto`), a question about a part of the records counts each unit's rows
  in it first.
- *Other records*, of five million trips, by hand (2026-11-24). Parquet: COUNT, SUM, AVG 2.44, by payment 1.57, by zone 1.96,
  one month 1.35, a median by seats 0.65. CSV is read once, when it is opened: 0.05 to 0.2 of the plain query, which reads it
  each time. Units that are texts: 2.93, 1.95, 1.92, 1.44, 0.60. Of 100,000 units of 50 rows, where nearly all are heavy:
  4.62, 5.85, 4.07, 2.95, 1.10, and five of four columns 8.71. The 22 questions but q01 and q18 have 5.8 at most there. By
  payment the aim was 5. The weight of a row in a sum depends on the mean of its unit's values in its group. So all rows are
  grouped by both, which takes four fifths of the time.
- *One row a unit.* Each value is clamped and rounded to whole steps, and these are added up exactly, in whole numbers, where
  the plain query adds doubles up as they come. On DuckDB clamping and rounding take longer than the plain sum.
- *q01 and q18 on DuckDB.* The plain query reads the number of rows, and the least and greatest value, in the file's own
  statistics, and no row, within a millisecond. A private answer needs the rows: extremes are drawn among all values. Each of
  the two reads the column once, and by unit only the rows beyond a value that a few hundred units reach. For q18 20 was aimed
  at. To read its column once takes 12 times the plain query (five million rows, 2026-11-27), and so both 24.
- *On PostgreSQL* nothing is kept, and units with many rows are found by sorting them, each time. To count them by a hash with
  fewer places, or neighbours together, took a third longer. A snapshot takes a fortieth of that.
- *Sessions.* 150 new and 2,000 repeated answers a second were aimed at with two processes, 100 and 1,200 with one. On
  two cores that is 13 and 1.0 ms of both for each, the client included. A new one is planned and priced anew, also
  where another differed in a constant alone. A constant in a condition narrows the bounds of a column, and these decide
  the noise. Where only compared numbers differ, PostgreSQL is not asked again what it means, and DuckDB binds nothing
  again. It plans each statement, which takes a fifth of all. What was asked before is sent ahead, and needs no thread;
  a third of it is its line in the audit trail. The version for which less was aimed at was run in the same quarter of an
  hour, in turn (2026-11-30, one session, median and least). A new question took 19.1 ms of dpsql's and the shadow's (17.9)
  and takes 14.4 (12.7), its `EXPLAIN` 26.7 (21.9) and 10.3 (6.8), a repeated one 2.1 (1.6) and 1.3 (1.2). The tables of
  these sessions declare how many rows count. Where that is chosen (`max_rows: auto`) a new question is two measurements:
  it took 26.0 ms and takes 19.9, its `EXPLAIN` 37.9 and 10.3. A statement of 27 kB takes 0.3 to 1.1 s, of which
  the parser has less than a third: some 10,000 nodes go through six stages. The machine of 28 November took twice as long
  for plain Python as that of the 24th, and 135 µs to go from one thread to another. The version of the 24th was run there in
  the same hour. It gave 22, 14 and 17 new answers with one process, and 18, 22 and 22 with two; repeated ones were 235, 384
  and 209, and 134, 510 and 504. On its own day it had 76 to 94 new and 633 to 1,301 repeated ones.
- *Two processes.* 1.7 times as many answers as one were aimed at, on two cores. One process has more than one core busy
  already: DuckDB's threads, and the PostgreSQL without records, work beside it. A new answer takes 25 ms of both cores,
  the client included, so that two can give 80 a second at most, and gave 74. Each planned again all that the other had
  answered, since its next question might be computed from it: 24.3 + 4.9 ms where one took 19.4 + 2.8 (2026-11-29, 8
  sessions, in turn). Now only what may tell something is planned again: 17.8 + 2.7 beside 18.9 + 2.8.
- *Starting.* Half of `dpsql query` is for importing what answers, and a quarter of that for making data classes. Before
  this was looked at `dpsql query` took 5.5 to 5.8 s of the processor and `dpsql serve` 2.7 to 3.5 (2026-11-28, at a load
  of 10). Everything was imported twice for a query, a PostgreSQL was made, and the rows of heavy units were read before
  the answer.
"""


@dataclass(frozen=True, slots=True)
class Found:
    """All that the page tells."""

    parts: Mapping[str, Part]
    """By title: the 22 questions."""
    growth: Mapping[str, Part]
    """By title: how ratios grow."""
    added: Sequence[Added]
    rates: Sequence[Rate]
    started: Sequence[Started] = ()
    defaults: Mapping[str, Default] = field(default_factory=dict)
    """By title: what a client waits for in the default setting."""


def page(found: Found) -> str:
    """Return the page in Markdown."""
    lines = [_INTRODUCTION]
    if found.defaults:
        lines += ["## In the default setting", "", *_defaults(found.defaults), ""]
    lines += ["## In short", "", _summary(found)]
    for part in found.parts.values():
        lines += ["", f"## {part.title}", "", _conditions(part), "", *_table(part, asked())]
    if found.growth:
        lines += ["", "## As the records grow", ""]
        lines += _grown(found.growth)
    if found.added:
        lines += ["", "## One question", "", *_added(found.added)]
    if found.rates:
        lines += ["", "## Sessions", "", *_rates(found.rates)]
    if found.started:
        lines += ["", "## Starting", "", *_started(found.started)]
    return "\n".join([*lines, "", _ABOVE])


def _defaults(defaults: Mapping[str, Default]) -> Iterator[str]:
    yield "The demo's trips and schemas, through the wire: what all of dpsql's processes take to what the plain query takes,"
    yield "binding, planning, ledger and noise included. Each question is a new one every time. On DuckDB both are time of"
    yield "the processor. *C chosen* is the default (`max_rows: auto`); for *C = 20* the policy says `max_rows: 20`."
    for one in defaults.values():
        yield ""
        yield f"**{one.title}**, taken on {one.taken}, load {one.load[0]:.1f} to {one.load[1]:.1f}:"
        yield ""
        yield f"| question | plain, ms | {AUTO} | {DECLARED} |"
        yield "|---|---|---|---|"
        for asked_form in one.questions:
            auto = asked_form.ratios[AUTO]
            bold = _number(auto) if auto <= asked_form.aim else f"**{_number(auto)}** (≤ {asked_form.aim:g})"
            yield f"| {asked_form.about} | {asked_form.plain:,.0f} | {bold} | {_number(asked_form.ratios[DECLARED])} |"


def _summary(found: Found) -> str:
    """Return the table that has the ratios in short."""
    lines = [f"| ratio to the plain query | {' | '.join(WAYS)} | load |", "|---|---|---|---|---|"]
    for part in found.parts.values():
        load = f"{part.load[0]:.1f} to {part.load[1]:.1f}"
        lines.append(f"| **{part.title}**, median of the 22 questions | {' | '.join(_medians(part))} | {load} |")
        forms = [form for form in asked() if form.aims and form.name in part.cells]
        lines += [f"| {_about(forms, form)} | {' | '.join(_ratios(part, form))} | |" for form in forms]
    return "\n".join(lines)


def _about(forms: Sequence[Asked], form: Asked) -> str:
    first = forms[0].about
    return form.about.replace("…", first, 1)


def _medians(part: Part) -> Iterator[str]:
    questions = [cell for name, cell in part.cells.items() if name.startswith("q")]
    for way in WAYS:
        ratios = [cell.ratios[way] for cell in questions if way in cell.ratios]
        yield _number(median(ratios)) if ratios else ""


def _table(part: Part, questions: Sequence[Asked]) -> Iterator[str]:
    yield f"| question | plain, ms | {' | '.join(WAYS)} |"
    yield "|---|---|---|---|---|"
    for question in questions:
        if question.name in part.cells:
            plain = _milliseconds(part.cells[question.name])
            yield f"| {question.name} {question.about} | {plain} | {' | '.join(_ratios(part, question))} |"


def _ratios(part: Part, question: Asked) -> Iterator[str]:
    ratios = part.cells[question.name].ratios
    for way in WAYS:
        aim = question.aim(part.engine, way)
        if way not in ratios:
            yield ""
        elif aim is None or ratios[way] <= aim:
            yield _number(ratios[way])
        else:
            yield f"**{_number(ratios[way])}** (≤ {aim:g})"


def _grown(growth: Mapping[str, Part]) -> Iterator[str]:
    yield f"| | question | plain, ms | {' | '.join(WAYS_OF_GROWTH)} | load | taken |"
    yield "|---|---|---|---|---|---|---|"
    forms = [form for form in asked() if form.aims]
    abouts = {form.name: _about(forms, form) for form in forms}
    for part in growth.values():
        for name, cell in part.cells.items():
            ratios = (_number(cell.ratios[way]) if way in cell.ratios else "" for way in WAYS_OF_GROWTH)
            about = abouts.get(name, name)
            taken = f"{part.load[1]:.1f} | {part.taken}"
            yield f"| {part.title} | {about} | {_milliseconds(cell)} | {' | '.join(ratios)} | {taken} |"


def _added(added: Sequence[Added]) -> Iterator[str]:
    yield "The milliseconds that dpsql adds to the engine's own, client to client, for a million trips in DuckDB. Aim: 8."
    yield ""
    yield "| question | whole | engine | added | the same again |"
    yield "|---|---|---|---|---|"
    for one in added:
        figures = (f"{ms:.1f}" for ms in (one.whole, one.engine, one.added, one.again))
        yield f"| {one.about} | {' | '.join(figures)} |"


def _rates(rates: Sequence[Rate]) -> Iterator[str]:
    yield "Answers a second, of a small table, to sessions that ask as fast as they can, client and server on one machine."
    yield "Beside it what one takes of the processor, in ms: dpsql with DuckDB, the PostgreSQL without records, and who asks."
    yield ""
    yield "| processes | sessions | new questions | one takes | repeated ones | one takes | load | taken |"
    yield "|---|---|---|---|---|---|---|---|"
    for rate in rates:
        asking = f"{rate.processes} | {rate.sessions}"
        load = f"{rate.load[0]:.1f} to {rate.load[1]:.1f}"
        new, repeated = (
            " + ".join(f"{ms:.1f}" for ms in takes) or "not taken" for takes in (rate.new_takes, rate.repeated_takes)
        )
        yield f"| {asking} | {rate.new:,.0f} | {new} | {rate.repeated:,.0f} | {repeated} | {load} | {rate.taken} |"


def _started(started: Sequence[Started]) -> Iterator[str]:
    yield "Seconds to the first answer at the median: by the clock, and of the processor for all of dpsql's processes, those"
    yield "included that have ended. Each is a new one about the demo's million trips in DuckDB. Aims, where the PostgreSQL"
    yield "without records is there from the last time: 2 s by the clock for `dpsql serve`, 1.5 s of the processor for"
    yield "`dpsql query`."
    yield ""
    yield "| | by the clock | of the processor | load | taken |"
    yield "|---|---|---|---|---|"
    for one in started:
        yield f"| {one.about} | {one.clock:.2f} | {one.processor:.2f} | {one.load:.1f} | {one.taken} |"


def _conditions(part: Part) -> str:
    before, after = part.load
    when = f"Taken on {part.taken}. " if part.taken else ""
    load = f"The machine's load was {before:.1f} when this began and {after:.1f} when it ended, on {part.cores} cores."
    return textwrap.fill(f"{when}{load} {part.about}".rstrip(), 126, break_long_words=False, break_on_hyphens=False)


def _milliseconds(cell: Cell) -> str:
    return f"{cell.plain:.1f}" if cell.plain < 10 else f"{cell.plain:,.0f}"


def _number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
