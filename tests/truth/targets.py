"""How far answers that aim at an error lie from the truth, and what they pay: `docs/accuracy.md`.

`python -m tests.truth.targets` measures all cells, says each, and writes the page's tables anew; given files of such lines it
reads these. Every answer is of an epoch of its own: nothing is read of an earlier one.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

from dpsql.gateway.explaining.notices import notices
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.measuring import with_profile
from dpsql.gateway.pricing import by_best, following, with_drawn
from dpsql.policy.model import NoiseLevel, Policy
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.release.release import NOTHING_KNOWN, Draws, Release, release_of
from tests.support.fix_policy import with_epsilon
from tests.truth.asking import Asked, Place, Repeated, Values, place
from tests.truth.data_sets import LABS, PATIENTS, TRIPS, DataSet, with_bound

PAGE = Path(__file__).parent.parent.parent / "docs" / "accuracy.md"
MARK = "\n<!-- targets -->\n"
EPOCHS = 150
CAP = Fraction(1)
QUESTIONS = (
    "count(*)",
    "sum({a})",
    "avg({a})",
    "avg(CASE WHEN {f} THEN 1 ELSE 0 END)",
    "variance({a})",
    "stddev({a})",
    "median({a})",
    "count(DISTINCT {owner})",
    "{g}: count(*)",
)
"""What is asked of each part of a table; of groups the one with the median row is judged."""
FILTERS = {
    TRIPS.name: (
        "TRUE",
        "payment_type = 'cash'",
        "fare > 30",
        "pickup_ts >= '2019-03-05' AND pickup_ts < '2019-03-06'",
        "fare > 60",
        "pickup_ts >= '2019-03-05 08:00' AND pickup_ts < '2019-03-05 09:00'",
    ),
    PATIENTS.name: PATIENTS.filters[:3],
    LABS.name: LABS.filters,
}
"""Parts of at least a thousand rows, but for one of laboratory results, of 56 patients of whom some have many."""
SAYING = ("typical error is above", "too few units")
"""What notices say of answers that err by more, and of those of which nobody can tell."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said in one epoch."""

    values: Values
    epsilon: Fraction
    """What it paid."""
    said: tuple[bool, bool]
    """Whether a notice says that it errs by more: to who has no profile, and to who has one."""


@dataclass(frozen=True, slots=True)
class Cell:
    """How far the answers of many epochs lie from the truth, at one level."""

    data: str
    question: str
    where: str
    rows: int
    level: str
    profile: bool
    error: float
    """The mean of relative errors; what is not answered errs by all of it."""
    doubt: float
    """The standard error of that."""
    unsaid: float | None
    """The mean of relative errors of those answers that do not say that they err by more; None where all do."""
    unsaid_doubt: float
    said: float
    """The share of answers that say so."""
    epsilon: float
    """The mean of what is paid."""

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """Return what was asked at which level."""
        return self.data, self.question, self.where, self.rows, self.level

    @property
    def target(self) -> float:
        """Return the error that is aimed at."""
        return float(NoiseLevel(self.level).error)

    @property
    def missed_in_silence(self) -> float:
        """Return which share of the answers errs by more, typically, and does not say so."""
        return 1 - self.said if self.unsaid is not None and self.unsaid - 2 * self.unsaid_doubt > self.target else 0.0

    @property
    def alarmed_for_nothing(self) -> float:
        """Return which share of the answers says so, though answers err by no more, typically."""
        return self.said if self.error < self.target else 0.0


def answered(repeated: Repeated) -> Answer:
    """Answer once as a gateway does in a new epoch, but for the charge."""
    reading, priced, draws = repeated.reading, repeated.priced, dict[str, Draws]()
    paid: dict[object, Release] = {}
    spent = Fraction(0)
    while (step := following(priced, draws)) is not None:
        now: dict[str, Draws] = {}
        more: dict[str, Draws] = {}
        for waiting in step.measurements:
            part, key = reading.completed(step, waiting, now), _key(waiting)
            if key not in paid:
                rows = repeated.engine.rows(part.sql) if not waiting.awaits else repeated.engine.asked(part.sql)
                finder = None if part.finds_keys is None else paid[_key(part.finds_keys)]
                paid[key] = release_of(part, rows, finder, repeated.entropy)
                spent += waiting.cost.epsilon
            now[waiting.identity] = Draws.of((waiting.measurement, paid[key]))
            more[waiting.identity] = draws.get(waiting.identity, Draws(())).with_draw(waiting.measurement, paid[key])
        priced, kept = with_drawn(priced, draws, more)
        draws = dict(kept)
        priced, _ = by_best(priced, draws)
    drawn = by_best(priced, draws)[1]

    def says(reading: Reading) -> bool:
        known = with_profile(drawn, priced, reading.profile)
        return any(said in text for text in notices(priced, known, reading) for said in SAYING)

    said = says(replace(reading, profile=NOTHING_KNOWN)), says(reading)
    return Answer(replace(repeated, priced=priced).read(with_profile(drawn, priced, reading.profile)), spent, said)


def _key(part: PricedMeasurement) -> object:
    return (part.identity, part.cost.epsilon, *map(_key, part.read))


def _aiming(policy: Policy, data: DataSet, level: NoiseLevel, most: int | None) -> Policy:
    policy = with_bound(with_epsilon(policy, CAP), data, most)
    return replace(policy, roles={name: replace(role, noise=level) for name, role in policy.roles.items()})


def measured(
    place: Place, asked: Asked, levels: Iterable[NoiseLevel] = NoiseLevel, epochs: int = EPOCHS
) -> Iterator[Cell]:
    """Measure the cells of a question: at each level, without and with a profile."""
    data, key = asked.data, _with_the_median_row(place, asked)
    exact = place.true(asked)[key][0]
    question = asked.question.format(**data.words, owner=data.owner)
    number = next(iter(place.true(Asked(data, "count(*)", asked.where)).values()))[0]
    for level in levels:
        client = place.client_of(_aiming(place.filled.policy, data, level, None))
        client.ask("SELECT dpsql.take_profile()")
        repeated = Repeated.of(client, asked.statement(data.name), place.filled.engine, place.entropy)
        answers = [answered(repeated) for _ in range(epochs)]
        errors = [_error(answer, key, exact) for answer in answers]
        for profile in (False, True):
            unsaid = [error for error, answer in zip(errors, answers, strict=True) if not answer.said[profile]]
            (error, doubt), (unsaid_error, unsaid_doubt) = _mean(errors), _mean(unsaid) if unsaid else (None, 0.0)
            yield Cell(
                data=data.name,
                question=question,
                where=asked.where,
                rows=int(number or 0),
                level=level.value,
                profile=profile,
                error=error,
                doubt=doubt,
                unsaid=unsaid_error,
                unsaid_doubt=unsaid_doubt,
                said=1 - len(unsaid) / epochs,
                epsilon=float(sum(answer.epsilon for answer in answers) / epochs),
            )


def _with_the_median_row(place: Place, asked: Asked) -> object:
    """Return the key of the group in which the median row is; None where there are no groups."""
    if not asked.key:
        return None
    counts = place.true(replace(asked, question=asked.question.split(": ")[0] + ": count(*)"))
    left = sum(count or 0 for count, *_ in counts.values()) / 2
    for key, (count, *_) in sorted(counts.items(), key=lambda item: item[1][0] or 0, reverse=True):
        left -= count or 0
        if left <= 0:
            return key
    raise AssertionError


def _error(answer: Answer, key: object, exact: float | None) -> float:
    value = answer.values.get(key, (None,))[0]
    return 1.0 if value is None or not exact else abs(value - exact) / abs(exact)


def _mean(errors: Sequence[float]) -> tuple[float, float]:
    return fmean(errors), stdev(errors) / len(errors) ** 0.5 if len(errors) > 1 else 0.0


def every(data: DataSet) -> list[Asked]:
    """Return all questions about all parts of a table."""
    return [Asked(data, question, where) for where, question in product(FILTERS[data.name], QUESTIONS)]


def cells(data: DataSet) -> Iterator[Cell]:
    """Measure all cells of a table."""
    with place(data) as served:
        for asked in every(data):
            if served.true(asked):
                yield from measured(served, asked)


def shares(found: Sequence[Cell]) -> tuple[float, float]:
    """Return the shares of answers that err by more in silence, and that say so for nothing."""
    return fmean(cell.missed_in_silence for cell in found), fmean(cell.alarmed_for_nothing for cell in found)


def table(found: Sequence[Cell]) -> Iterator[str]:
    """Yield the lines of the page: all cells together, and those of each table's largest and smallest part."""
    yield "| | level | cells | all answers within it | the silent ones | err in silence | say so for nothing | mean ε |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, level in product(dict.fromkeys(cell.data for cell in found), NoiseLevel):
        some = [cell for cell in found if (cell.data, cell.level) == (name, level)]
        if some:
            within = sum(cell.error <= cell.target for cell in some)
            unsaid = sum(cell.unsaid is None or cell.unsaid <= cell.target for cell in some)
            silent, alarmed = map(_percent, shares(some))
            epsilon = fmean(cell.epsilon for cell in some)
            aimed = f"{level.value}, {_percent(float(level.error))}"
            yield f"| {name} | {aimed} | {len(some)} | {within} | {unsaid} | {silent} | {alarmed} | {epsilon:.2f} |"
    yield ""
    yield f"| | rows | {' | '.join(level.value for level in NoiseLevel)} |"
    yield "|---|---|---|---|---|"
    shown = {cell.key: cell for cell in found if not cell.profile}
    of_parts = dict.fromkeys((cell.rows, cell.data) for cell in found)
    ends = {(end(rows for rows, name in of_parts if name == data), data) for _, data in of_parts for end in (min, max)}
    for data, question, where, rows in dict.fromkeys(key[:4] for key in shown if (key[3], key[0]) in ends):
        some = [shown[data, question, where, rows, level.value] for level in NoiseLevel]
        part = "" if where == "TRUE" else f", `{where}`"
        yield f"| {data}: `{question}`{part} | {rows:,} | {' | '.join(map(_said, some))} |"


def _said(cell: Cell) -> str:
    """Return the error of what says nothing, how many say that they err by more, and what is paid."""
    error = "–" if cell.unsaid is None else _percent(cell.unsaid)
    return f"{error}, {_percent(cell.said)} say so, ε {cell.epsilon:.2g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


def page_with(page: str, found: Sequence[Cell]) -> str:
    """Return the page with other tables."""
    before, _, after = page.partition(MARK)
    _, _, after = after.partition(MARK)
    return "".join((before, MARK, "\n", "\n".join(table(found)), "\n", MARK, after))


def main() -> None:
    """Measure all, a line each, or read the lines of files, and write the page."""
    if files := sys.argv[1:]:
        lines = (line for file in files for line in Path(file).read_text(encoding="utf-8").splitlines())
        found = [Cell(**json.loads(line)) for line in lines]
    else:
        found = []
        for data in (TRIPS, PATIENTS, LABS):
            for cell in cells(data):
                sys.stdout.write(json.dumps(asdict(cell)) + "\n")
                sys.stdout.flush()
                found.append(cell)
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
