"""The picture of one statement's way, with what each stage really makes of it: `python -m tests.docs.way` draws it anew.

The records are made up, and the noise is drawn from a seed, as only tests can.
"""

import random
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from xml.sax.saxutils import escape

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.privacy.measurement.sums import Sums
from dpsql.question import Asker
from dpsql.rewrite.emit.emitter import Emitter
from tests.docs.pages import ROOT
from tests.support.dialects import DUCKDB
from tests.support.fix_policy import read_policy, with_epsilon
from tests.support.fix_world import Client, World, noon, running
from tests.support.memory import Memory
from tests.support.records import Maker

PICTURE = ROOT / "docs" / "pictures" / "way.svg"
STATEMENT = "SELECT payment_type, avg(tip) FROM trips GROUP BY 1"
_ROWS = 3000
_COLUMNS = 118
_LINE, _HEAD, _GAP = 15, 30, 34
_STYLE = """\
    text { font: 14px system-ui, sans-serif; fill: var(--ink); }
    .name { font-weight: 600; }
    .stage { fill: var(--soft); font-size: 12.5px; }
    .code { font: 11px ui-monospace, monospace; }
    .box { fill: var(--box); stroke: var(--line); stroke-width: 1.5; }
    .private { fill: var(--private); stroke: var(--alarm); stroke-width: 1.5; }
    .open { fill: var(--open); stroke: var(--safe); stroke-width: 1.5; }
    .arrow { stroke: var(--ink); stroke-width: 1.6; fill: none; marker-end: url(#head); }
    svg { --ground: #ffffff; --ink: #1f2933; --soft: #52606d; --box: #f4f6f8; --line: #9aa5b1; --private: #fdeceb;
      --alarm: #c0392b; --open: #e8f5ee; --safe: #1e7f4f; }
    @media (prefers-color-scheme: dark) {
      svg { --ground: #12181f; --ink: #e6ebf0; --soft: #a3b0bd; --box: #1d2630; --line: #5b6b7b; --private: #3a1f20;
        --alarm: #f0897d; --open: #17322a; --safe: #63c99a; }
    }"""
_ARROW = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="var(--ink)"/></marker>'
)


@dataclass(frozen=True, slots=True)
class Step:
    """What some stages make of the statement."""

    title: str
    stages: str
    shown: str
    kind: str = "box"
    """The class of its box: `private` behind the wall, `open` in the shadow."""

    @property
    def lines(self) -> Sequence[str]:
        """Return what is shown, in lines that fit."""
        return [part for line in self.shown.splitlines() for part in textwrap.wrap(line, _COLUMNS) or [""]]


def drawn() -> str:
    """Return the picture."""
    with tempfile.TemporaryDirectory(prefix="dpsql-way-") as name:
        policy = with_epsilon(read_policy(Path(name)), Fraction(1))
        with running(policy) as world, SqliteLedger(Path(name) / "ledger.db", noon) as ledger:
            engine, maker = Memory(world.policy), Maker(5)
            trips = world.policy.tables["trips"]
            engine.fill("trips", [maker.row(trips) | {"passenger_id": n // 3} for n in range(_ROWS)])
            gateway = world.gateway(engine, ledger, entropy=random.Random(7).randbytes)  # noqa: S311 # a test's noise
            with closing(world.connect("ana")) as shadow, closing(world.connect("dpsql_owner")) as owner:
                return _picture(_steps(world, Client(gateway, ledger, shadow, owner, Asker("ana", "owner"))))


def _steps(world: World, client: Client) -> Sequence[Step]:
    question = client.gateway.examine(STATEMENT, client.asker)
    assert question is not None
    request = client.request(question)
    analyzed = client.gateway.analyzed(request)
    assert analyzed is not None
    (priced,) = client.gateway.priced(analyzed, request).measurements
    sums = priced.measurement
    assert isinstance(sums, Sums)
    answer = client.ask(STATEMENT)
    return [
        Step("The client sends a statement", "wire", STATEMENT, "open"),
        Step(
            "PostgreSQL says what it means, in a session of the shadow for planning",
            "bind",
            textwrap.dedent(world.oracle().canonical(STATEMENT, ())),
            "open",
        ),
        Step("dpsql decides what is measured, and what it costs", "resolve · track · measure · price", _priced(sums)),
        Step(
            "The ledger is charged, then the engine runs one aggregate",
            "ready · charge · run",
            sums.sql(Emitter(DUCKDB, world.public.declared)),
            "private",
        ),
        Step(
            "The sums get noise, and stand as rows where the trips stood",
            "release · splice",
            client.text(question),
        ),
        Step(
            "The shadow runs it, and the client gets the answer",
            "wire",
            "\n".join(f"{name or 'NULL':14}{value}" for name, value in (answer.names, *answer.rows)),
            "open",
        ),
    ]


def _priced(sums: Sums) -> str:
    bound = sums.bound
    numbers = f"{len(sums.features)} whole numbers of at most {sums.lattice:,}"
    moves, scale = f"{sums.sensitivity:,}", f"{sums.scale:,}"
    return (
        f"each row becomes {numbers}: one counts it, one is the clamped tip\n"
        f"{bound.unit.name} identifies the unit; {bound.rows} rows of each passenger count, of weight {bound.weight:,}\n"
        f"no passenger moves the sums further than {moves}; for ε = {sums.epsilon} the noise has the scale {scale}"
    )


def _picture(steps: Sequence[Step]) -> str:
    heights = [_HEAD + _LINE * len(step.lines) + 12 for step in steps]
    height = sum(heights) + _GAP * (len(steps) - 1) + 40
    body = "\n".join(_boxes(steps, heights))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {height}" role="img" aria-labelledby="title what">\n'
        '  <title id="title">The way of a statement</title>\n'
        f'  <desc id="what">{escape("; ".join(step.title for step in steps))}.</desc>\n'
        f"  <style>\n{_STYLE}\n  </style>\n  <defs>{_ARROW}</defs>\n"
        f'  <rect width="860" height="{height}" rx="10" fill="var(--ground)"/>\n{body}\n</svg>\n'
    )


def _boxes(steps: Sequence[Step], heights: Sequence[int]) -> Iterator[str]:
    top = 20
    for number, (step, height) in enumerate(zip(steps, heights, strict=True)):
        if number:
            yield f'  <path class="arrow" d="M430 {top - _GAP + 3}V{top - 4}"/>'
        yield f'  <rect class="{step.kind}" x="20" y="{top}" width="820" height="{height}" rx="8"/>'
        yield f'  <text class="name" x="34" y="{top + 21}">{escape(step.title)}</text>'
        yield f'  <text class="stage" x="826" y="{top + 21}" text-anchor="end">{escape(step.stages)}</text>'
        for index, line in enumerate(step.lines):
            place = f'x="34" y="{top + _HEAD + _LINE * index + 12}"'
            yield f'  <text class="code" xml:space="preserve" {place}>{escape(line)}</text>'
        top += height + _GAP


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
