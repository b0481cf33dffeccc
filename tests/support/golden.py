"""Golden statements: files of SQL, each with its verdict and its cost; what engines are asked stands in files beside.

A file has blocks that end with `;` at the end of a line followed by an empty one. A block begins with a comment that says
what it is about, then has lines with `-->` that say what is expected, then the statement:

    -- rows by payment
    --> answered, 1 measurement
    SELECT payment_type, count(*) FROM trips GROUP BY payment_type;

`python -m tests.support.golden --update` writes the engines' statements anew; look at the difference before you commit it.
"""

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpsql.privacy.measurement.plan import Measurement, MeasurementPlan
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.emitter import Emitter
from tests.support.dialects import DIALECTS
from tests.support.exactness import plans
from tests.support.fix_policy import read_policy
from tests.support.fix_world import USERS, World, running
from tests.support.memory import Memory

QUERIES = Path(__file__).parent.parent / "queries"
_END = re.compile(r";[ \t]*(?:\n\s*\n|\s*\Z)")
_ANSWERED = re.compile(r"answered, (?:(\d+) measurements?|free)$")
_MOVING = re.compile(r"\bnow\(|\bcurrent_date\b|\bage\(\w+\)", re.IGNORECASE)
_REFUSED = re.compile(r"(refused|postgres) (\w{5})(?:: (.*))?$")


NEARLY = 1e-8
"""How far a quotient may be from the reference's: of small groups' counts the tests' little noise is seen at 1e-9."""


@dataclass(frozen=True, slots=True)
class Golden:
    """One statement, and what is expected of it."""

    file: str
    title: str
    sql: str
    verdict: str
    """answered, empty, refused (by dpsql), postgres (refused by the shadow), passed (not dpsql's business)."""
    cost: int = 0
    """How many measurements are charged."""
    sqlstate: str = ""
    words: str = ""
    """What the refusal says, in part."""
    user: str = "ana"
    within: float = NEARLY
    """How far numbers may be from the reference's, relative to the larger; values are rounded to a lattice."""
    empty: int = 0
    """How many groups have no rows, which the reference does not show."""
    reference: str | None = ""
    """What the reference evaluator is asked instead; None if there is nothing to compare with."""

    @property
    def still(self) -> bool:
        """Return whether engines are asked the same at any time."""
        return _MOVING.search(self.sql) is None

    @property
    def name(self) -> str:
        """Return how tests name it."""
        return f"{self.file}: {self.title}"


def load() -> list[Golden]:
    """Return all golden statements."""
    return [golden for file in sorted(QUERIES.glob("*.sql")) for golden in _read(file)]


def _read(file: Path) -> Iterator[Golden]:
    for block in _END.split(file.read_text(encoding="utf-8")):
        lines = block.strip().splitlines()
        expected = [line.removeprefix("-->").strip() for line in lines if line.startswith("-->")]
        if expected:
            last = max(i for i, line in enumerate(lines) if line.startswith("-->"))
            title = lines[0].removeprefix("--").strip()
            yield _expecting(Golden(file.stem, title, "\n".join(lines[last + 1 :]), ""), expected)


def _expecting(golden: Golden, expected: list[str]) -> Golden:
    facts: dict[str, object] = {}
    for line in expected:
        facts |= _fact(line)
    return Golden(**{**{n: getattr(golden, n) for n in ("file", "title", "sql")}, **facts})


def _fact(line: str) -> Mapping[str, object]:
    """Return what one line says."""
    if line in ("empty", "passed"):
        return {"verdict": line}
    if match := _ANSWERED.match(line):
        return {"verdict": "answered", "cost": int(match[1] or 0)}
    if match := _REFUSED.match(line):
        return {"verdict": match[1], "sqlstate": match[2], "words": match[3] or ""}
    word, _, rest = line.partition(" ")
    match word:
        case "as":
            return {"user": rest}
        case "within":
            return {"within": float(rest)}
        case "empty":
            return {"empty": int(rest.split()[0])}
        case "like":
            return {"reference": rest}
        case "unlike":
            return {"reference": None}
    raise ValueError(line)


def ways(golden: Golden, world: World, engine: Memory) -> Sequence[Measurement]:
    """Return what is measured for a statement, in both ways where there are two."""
    return both_ways(plans(golden.sql, world.policy, world, engine, USERS[golden.user]))


def both_ways(every_plan: Iterable[MeasurementPlan]) -> Sequence[Measurement]:
    """Return what is measured by some plans, in both ways where there are two."""
    return [part for plan in every_plan for way in (plan, plan.by_units) if way for part in way.parts]


def engine_statements(parts: Sequence[Measurement], world: World, dialect: Dialect) -> list[str]:
    """Return what an engine is asked for what is measured, each once."""
    return list(dict.fromkeys(part.sql(Emitter(dialect, world.public.declared)) for part in parts))


def expected_statements(dialect: Dialect) -> Mapping[str, list[str]]:
    """Return, by name of the golden statement, what the files say that an engine is asked."""
    statements: dict[str, list[str]] = {}
    for file in sorted((QUERIES / dialect.name).glob("*.sql")):
        for block in _END.split(file.read_text(encoding="utf-8")):
            title, _, sql = block.strip().partition("\n")
            if not sql:
                continue
            statements.setdefault(f"{file.stem}: {title.removeprefix('--').strip()}", []).append(sql)
    return statements


def update() -> None:
    """Write the engines' statements of all golden files anew."""
    with tempfile.TemporaryDirectory() as directory, running(read_policy(Path(directory))) as world:
        engine = Memory(world.policy)
        asked = [(golden, ways(golden, world, engine)) for golden in load() if golden.cost and golden.still]
        for dialect in DIALECTS:
            texts: dict[str, list[str]] = {}
            for golden, parts in asked:
                for sql in engine_statements(parts, world, dialect):
                    texts.setdefault(golden.file, []).append(f"-- {golden.title}\n{sql};\n")
            (QUERIES / dialect.name).mkdir(exist_ok=True)
            for file, blocks in texts.items():
                (QUERIES / dialect.name / f"{file}.sql").write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update()
