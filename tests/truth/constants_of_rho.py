"""The two constants by which Gaussian noise is chosen where C is, on tables on which neither was chosen.

They are from how many groups on a statement of a role that counts ρ has Gaussian noise (`euclidean.FEWEST_CHOSEN`), and how
much more noise a cell of the ladder of lengths is taken to have than one draw (`noisy_pairs._NOISE`): the more, the later a
rung counts as seen. `python -m tests.truth.constants_of_rho` asks both tables of `further`, and writes a table of
`docs/accuracy.md`. Lines of JSON that an earlier run wrote may be given instead.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, median
from unittest.mock import patch

from dpsql.privacy.measurement import pricing
from dpsql.privacy.release import noisy_ladder
from tests.support.fix_policy import counting_rho, with_epsilon
from tests.truth.asking import Place, place
from tests.truth.beside_oracle import PAGE
from tests.truth.counting_rho import errors_of, true_of
from tests.truth.data_sets import USERS
from tests.truth.further import CUSTOMERS, VISITORS

KEYS = (
    "channel",
    "region",
    "extract(dow FROM day)",
    "extract(month FROM day)",
    "region; channel",
    "channel; extract(dow FROM day)",
    "extract(week FROM day)",
    "region; extract(month FROM day)",
    "day",
)
NOISES = (Fraction(14, 10), Fraction(17, 10), Fraction(2), Fraction(25, 10))
EPSILONS = (Fraction(1), Fraction(1, 10))
ANSWERS = 40
_SIZES = ((2, 7), (8, 20), (21, 100), (101, 10**6))
_BEGIN, _END = "<!-- table constants of rho -->\n\n", "\n<!-- end of constants -->"


@dataclass(frozen=True, slots=True)
class Tried:
    """Errors of counts by a key, with the cube's noise (0) or with Gaussian noise, and so much for a cell's."""

    data: str
    key: str
    epsilon: float
    groups: int
    noise: float
    middle: float
    """At the median of answers."""
    whole: float
    """The root of the mean over answers: of those, too, whose C went a rung too far."""


def tried(served: Place, key: str, epsilon: Fraction) -> Iterator[Tried]:
    """Ask with the cube's noise, and with each of the others."""
    true, summed = true_of(served, key), with_epsilon(served.filled.policy, epsilon)
    for noise in (Fraction(0), *NOISES):
        with ExitStack() as until:
            until.enter_context(patch.object(pricing, "FEWEST_CHOSEN", 2))
            if noise:
                until.enter_context(patch.object(noisy_ladder, "_NOISE", noise))
            policy = counting_rho(summed, *USERS.values()) if noise else summed
            errors, _, groups = errors_of(served, served.client_of(policy), key, true, ANSWERS)
        whole = sqrt(fmean(error**2 for error in errors))
        yield Tried(served.filled.data.name, key, float(epsilon), groups, float(noise), median(errors), whole)


def table(found: Sequence[Tried]) -> Iterator[str]:
    """Yield a line for each number of groups: how many times the cube's error the others have, as a geometric mean."""
    cube = {(one.data, one.key, one.epsilon): one for one in found if not one.noise}
    noises = sorted({one.noise for one in found if one.noise})
    yield "| groups | cells | " + " | ".join(f"{noise:g}: usually, in all" for noise in noises) + " |"
    yield "|---|---|" + "---|" * len(noises)
    for least, most in _SIZES:
        said, cells = list[str](), 0
        for noise in noises:
            of = [
                (one, cube[one.data, one.key, one.epsilon])
                for one in found
                if one.noise == noise and least <= one.groups <= most
            ]
            cells = len(of)
            usual, whole = (
                exp(fmean(log(getattr(one, what) / getattr(other, what)) for one, other in of))
                for what in ("middle", "whole")
            )
            said.append(f"{usual:.2f}, {whole:.2f}")
        name = f"{least} to {most}" if most < 10**6 else f"{least} and more"
        yield f"| {name} | {cells} | {' | '.join(said)} |"


def main() -> None:
    """Measure, a line each, or read the lines of files, and write the page."""
    found = [Tried(**json.loads(line)) for file in sys.argv[1:] for line in Path(file).read_text().splitlines()]
    for data in (CUSTOMERS, VISITORS) if not found else ():
        with place(data) as served:
            for key in KEYS:
                for epsilon in EPSILONS:
                    for one in tried(served, key, epsilon):
                        sys.stdout.write(json.dumps(asdict(one)) + "\n")
                        sys.stdout.flush()
                        found.append(one)
    page = PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END.strip())
    assert begin
    assert end
    PAGE.write_text(before + _BEGIN + "\n".join(table(found)) + "\n" + _END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
