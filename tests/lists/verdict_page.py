"""Tables of verdicts as the page has them, and the line of counts of each list."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.errors import DpsqlError
from tests.support.fix_world import Client


@dataclass(frozen=True, slots=True)
class Page:
    """What the page says of a list beside the verdicts."""

    name: str
    """Of the table, and of the file of statements."""
    title: str
    """In the table of counts."""
    why: Mapping[str, str]
    """Why, by verdict or by the rule of a refusal."""
    of_one: Mapping[int, str]
    """Why, by the number of a statement, where the reason is its own."""
    persons: frozenset[int]
    """Statements that do not ask about many people."""

    def could_be_answered(self, verdicts: Mapping[int, str]) -> int:
        """Return how many are refused that ask for aggregates of what is each unit's own."""
        refused = (number for number, said in verdicts.items() if said not in {"answered", "public"})
        return sum(number not in self.persons for number in refused)

    def table(self, verdicts: Mapping[int, str]) -> str:
        """Return the rows of the table, those of one verdict and one reason together."""
        numbers_of: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for number, said in sorted(verdicts.items()):
            numbers_of[said, self.of_one.get(number, self.why[said])].append(number)
        order = sorted(numbers_of, key=lambda key: (key[0] not in {"answered", "public"}, key[0], numbers_of[key]))
        rows = (
            f"| {_ranges(numbers_of[said, why])} | "
            f"{said if said in {'answered', 'public'} else f'refused `{said}`'} | {why} |\n"
            for said, why in order
        )
        return "| statement | verdict | why |\n|---|---|---|\n" + "".join(rows)

    def counts(self, verdicts: Mapping[int, str]) -> tuple[int, ...]:
        """Return what the line of counts says."""
        said = list(verdicts.values())
        return len(said), said.count("answered"), said.count("public"), self.could_be_answered(verdicts)

    def written(self, verdicts: Mapping[int, str], text: str) -> str:
        """Return the page with the table, and with the line that counts it."""
        line = f"| {self.title} | {' | '.join(map(str, self.counts(verdicts)))} |"
        text = re.sub(rf"^\| {self.title} \|.*$", line, text, flags=re.MULTILINE)
        return re.sub(
            rf"(<!-- table {self.name} -->\n\n).*?(\n<!-- end -->)",
            lambda m: m[1] + self.table(verdicts) + m[2],
            text,
            flags=re.DOTALL,
        )


def verdict_of(sql: str, client: Client) -> str:
    """Return what becomes of a statement before the engine is asked."""
    if client.gateway.examine(sql, client.asker) is None:
        return "public"
    try:
        client.ask(f"EXPLAIN {sql}")
    except DpsqlError as refusal:
        return str(refusal.because)
    return "answered"


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as a list with ranges, such as `1, 4–6`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(_run(run) for run in runs)


def _run(run: Sequence[int]) -> str:
    return f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run))
