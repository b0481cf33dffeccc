"""Two tables on which no constant was chosen: customers by a power law, and visitors of whom a few are programs.

`python -m tests.truth.further` measures how many margins have the truth, as `coverage` does, and writes a table of the page.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np

from tests.truth.asking import every, place
from tests.truth.beside_oracle import PAGE
from tests.truth.coverage import Covered, covered, told
from tests.truth.data_sets import DataSet

ANSWERS = 30
EPSILONS = (Fraction(1), Fraction(1, 10))
_BEGIN, _END = "<!-- table further -->\n\n", "\n<!-- end -->"
_WORDS = {"a": "amount", "b": "items", "g": "region", "h": "channel", "f": "returned"}
_PARTS = (
    "TRUE",
    "channel = 'web'",
    "region = 'Centre'",
    "day >= '2024-03-01' AND day < '2024-03-15'",
    "amount > 300",
)


def _set(name: str, made: Callable[[], dict[str, Sequence[object]]]) -> DataSet:
    clamped = (
        f"SELECT * REPLACE (least(greatest(amount, 0), 1000) AS amount, least(greatest(items, 0), 40) AS items)"
        f" FROM taken.{name}"
    )
    return DataSet(name, "customer", "customer_id", clamped, _WORDS, _PARTS, made)


def customers(people: int = 3_000) -> dict[str, Sequence[object]]:
    """Return the columns of orders: who orders more often orders cheaper things, and fewer; some have thousands."""
    draw = np.random.default_rng(3)
    rows = np.clip((draw.pareto(1, people) + 1).astype(int), 1, 4_000)
    customer = np.repeat(np.arange(people), rows)
    number, cheap = len(customer), 1 / np.sqrt(rows)[customer]
    regions = np.where(rows > 50, 4, draw.integers(0, 4, people))[customer]
    days = np.minimum(draw.integers(0, 330, people)[customer] + draw.geometric(0.05, number), 365)
    return _columns(
        customer,
        np.clip(400 * cheap * np.exp(draw.normal(0, 0.8, number)), 0, 2_000),
        np.clip(draw.poisson(1 + 20 * cheap), 0, 40),
        regions,
        draw.choice(3, number, p=(0.6, 0.3, 0.1)),
        days,
        draw.random(number) < np.clip(0.02 + 0.4 * cheap, 0, 1),
    )


def visitors(people: int = 4_000) -> dict[str, Sequence[object]]:
    """Return the columns of visits: three of a hundred visitors are programs, which come hundreds of times and buy little."""
    draw = np.random.default_rng(4)
    program = draw.random(people) < 0.03
    rows = np.where(program, draw.integers(200, 400, people), 1 + draw.poisson(1.5, people))
    visitor = np.repeat(np.arange(people), rows)
    number, by_program = len(visitor), program[visitor]
    return _columns(
        visitor,
        np.clip(np.where(by_program, draw.normal(2, 0.5, number), draw.gamma(2, 15, number)), 0, 200),
        np.where(by_program, draw.integers(0, 2, number), draw.integers(5, 30, number)),
        draw.choice(5, people, p=(0.5, 0.3, 0.1, 0.07, 0.03))[visitor],
        np.where(by_program, draw.choice(3, number, p=(0.95, 0.05, 0)), draw.choice(3, number, p=(0.3, 0.4, 0.3))),
        draw.integers(0, 366, number),
        draw.random(number) < np.where(by_program, 0.01, 0.3),
    )


def _columns(unit: np.ndarray, amount: np.ndarray, items: np.ndarray, *more: np.ndarray) -> dict[str, Sequence[object]]:
    region, channel, days, returned = more
    columns = {
        "customer_id": unit.astype(np.int64),
        "amount": np.round(amount, 2),
        "items": items.astype(np.int32),
        "region": np.array(["North", "South", "East", "West", "Centre"])[region],
        "channel": np.array(["web", "app", "shop"])[channel],
        "day": np.datetime64("2024-01-01") + days.astype("timedelta64[D]"),
        "returned": returned,
    }
    return {name: column.tolist() for name, column in columns.items()}


CUSTOMERS, VISITORS = _set("customers", customers), _set("visitors", visitors)


def cells(data: DataSet) -> Iterator[Covered]:
    """Measure all cells of a table."""
    with place(data) as served:
        for asked, epsilon in every(data):
            if epsilon in EPSILONS and served.true(asked):
                yield covered(served, asked, epsilon, ANSWERS)


def table(seen: Sequence[Covered]) -> Iterator[str]:
    """Yield a line a set."""
    yield "| | cells | cells that fail | of them mostly in silence | silent misses, % | margins beside errors |"
    yield "|---|---|---|---|---|---|"
    for data in dict.fromkeys(cell.data for cell in seen):
        some = told([cell for cell in seen if cell.data == data])
        failing = [cell for cell in some if cell.fails]
        silent = sum(cell.silent > (1 - cell.share) / 2 for cell in failing)
        mean, width = 100 * sum(cell.silent for cell in some) / len(some), median(cell.width for cell in some)
        yield f"| {data} | {len(some)} | {len(failing)} | {silent} | {mean:.2g} | {width:.2f} |"


def main() -> None:
    """Measure, a line each, or read the lines of files, and write the page."""
    seen = [Covered(**json.loads(line)) for file in sys.argv[1:] for line in Path(file).read_text().splitlines()]
    for data in (CUSTOMERS, VISITORS) if not seen else ():
        for cell in cells(data):
            sys.stdout.write(json.dumps(asdict(cell)) + "\n")
            sys.stdout.flush()
            seen.append(cell)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    text = before + _BEGIN + "\n".join(table(seen)) + "\n" + _END + rest.partition(_END)[2]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
