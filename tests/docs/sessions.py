"""The sessions with psql that pages show, typed anew on the demo; `python -m tests.docs.sessions` copies them into the pages.

A block of the language `psql` is a session: what stands behind the prompt is typed, the rest is what psql says.
"""

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpsql.demo.trips import generate
from dpsql.shadow.server import directory
from tests.docs.pages import PAGES, ROOT, Block, blocks, text
from tests.support.connected import addresses

FIRST, MORE = "taxi=> ", "taxi-> "
_BEGUN = "SELECT payment_type, COUNT(*) AS trips, AVG(fare) AS average_fare FROM trips GROUP BY payment_type;"
"""What the demo asks before anybody connects."""
_ROLE = """\
  {name}:
    protects: passenger
    budget: {{epsilon: {epsilon}}}
    per_query: {{epsilon: 1}}
    owner: true
"""
_EPSILON = {"budget": "2.2"}
"""What a role may spend that is to run out of it."""
_GOES_ON_FROM = {ROOT / "docs" / "tour.md": ROOT / "README.md"}
"""What somebody has typed who comes to a page."""
_SAID = "-- said --"
_UNSEEN = re.compile(r"NOTICE: +(there are too few units |dpsql\.margin\(.*\) assumes )")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_TRIAL = re.compile(r"(?<= Trial: passed on ).*")
_FORESEEN = re.compile(r"(?<=: ±)[\d.,]+|(?<=, about )[\d.]+(?= % of )|(?<= if C is )[\d,]+")
"""What EXPLAIN knows from releases."""

Psql = Callable[[list[str]], list[str]]
"""Types statements into one psql, and returns what it says to each."""


def sessions() -> dict[Path, list[Block]]:
    """Return the sessions of each page that has some."""
    by_page = {page: [block for block in blocks("psql") if ROOT / block.page == page] for page in PAGES}
    return {page: shown for page, shown in by_page.items() if shown}


def typed(session: str) -> list[str]:
    """Return the statements and commands of a session, as they were typed."""
    entered: list[str] = []
    for line in session.splitlines():
        if line.startswith(FIRST):
            entered.append(line.removeprefix(FIRST))
        elif line.startswith(MORE):
            entered[-1] += "\n" + line.removeprefix(MORE)
    return entered


def replayed(session: str, psql: Psql) -> str:
    """Return a session as psql shows it now."""
    entered = typed(session)
    prompted = [FIRST + each.replace("\n", f"\n{MORE}") + "\n" for each in entered]
    return "".join(line + said for line, said in zip(prompted, psql(entered), strict=True)).rstrip("\n") + "\n"


def masked(session: str) -> str:
    """Return a session without what differs each time: numbers in rows of answers, how trials went, the width of columns.

    What EXPLAIN tells of earlier releases differs, too, and whether units of a small group were seen by the choice of C, and
    so what is told of that and of what was cut off.
    """
    kept, head, varies = [], "", False
    for line in session.splitlines():
        if _UNSEEN.match(line):
            continue
        is_rule = bool(re.fullmatch(r"[-+]+", line))
        varies = not line.startswith("(") and (head != "QUERY PLAN" if is_rule else varies)
        head = line.strip()
        said = _NUMBER.sub("#", line) if varies else _FORESEEN.sub("#", _TRIAL.sub("", line))
        kept.append("---" if is_rule else " ".join(said.split()))
    return "\n".join(kept)


@contextmanager
def demo(*names: str) -> Iterator["Demo"]:
    """Serve the demo with all its trips to some roles; two that ask the same pay each, and are told the same."""
    roles = "".join(_ROLE.format(name=name, epsilon=_EPSILON.get(name, "500")) for name in names)
    with tempfile.TemporaryDirectory(prefix="dpsql-sessions-") as name:
        home = Path(name)
        home.chmod(0o711)
        (home / "schemas").symlink_to(ROOT / "schemas")
        config = text(ROOT / "config.yaml").replace("roles:  # For play only.\n", f"roles:\n{roles}")
        (home / "config.yaml").write_text(config, encoding="utf-8")
        generate(home / ".dpsql" / "demo" / "taxi.duckdb")
        with addresses(home / "config.yaml") as address:
            yield Demo(address)


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo, served."""

    address: Callable[[str], str]
    """Returns how a role connects."""

    def begun(self, role: str, page: Path) -> Psql:
        """Ask what the demo asks at first, and what a page goes on from; return what types into a psql."""
        _said(self.address(role), [_BEGUN])
        for block in sessions()[_GOES_ON_FROM[page]] if page in _GOES_ON_FROM else ():
            _said(self.address(role), typed(block.text))
        return partial(_said, self.address(role))


def role_of(page: Path) -> str:
    """Return the role that asks what a page shows."""
    return page.stem.lower().replace("-", "_")


def _said(address: str, entered: list[str]) -> list[str]:
    """Type into one psql, and return what it says to each: notices first, as a terminal shows it."""
    program = directory.find_binaries().directory / "psql"
    script = "".join(f"{each}\n\\echo {_SAID}\n\\warn {_SAID}\n" for each in entered)
    done = subprocess.run(  # noqa: S603
        [program, "-X", address], input=script, capture_output=True, text=True, check=True, timeout=60
    )
    notices, answers = (stream.split(f"{_SAID}\n")[:-1] for stream in (done.stderr, done.stdout))
    return [notice + answer for notice, answer in zip(notices, answers, strict=True)]


def _copied() -> None:
    """Write every page's sessions anew."""
    with demo(*map(role_of, sessions())) as served:
        for page, shown in sessions().items():
            psql, whole = served.begun(role_of(page), page), text(page)
            for block in shown:
                whole = whole.replace(block.text, replayed(block.text, psql))
            page.write_text(whole, encoding="utf-8")


if __name__ == "__main__":
    _copied()
