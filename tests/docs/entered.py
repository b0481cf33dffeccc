"""The modules that one plain statement enters: `python -m tests.docs.entered` writes them into docs/development.md.

It is the first statement of its kind that a server hears, so that nothing of it is remembered. Another one was asked
before, so that what is read once at a start is not counted.
"""

import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.question import Asker
from tests.docs.pages import ROOT
from tests.support.fix_policy import read_policy
from tests.support.fix_world import USERS, Client, noon, running
from tests.support.memory import Memory

PAGE = ROOT / "docs" / "development.md"
STATEMENT = "SELECT payment_type, count(*), avg(fare) FROM trips GROUP BY 1"
_BEGIN, _END = "<!-- modules entered -->\n", "<!-- end of modules entered -->\n"
_PACKAGE = str(ROOT / "dpsql") + "/"


def written() -> str:
    """Return the part of the page: each room with the modules that the statement enters."""
    rooms = defaultdict[str, list[str]](list)
    for module in sorted(_entered()):
        room, _, name = module.partition("/")
        rooms[room if name else "beside the rooms"].append(f"`{name or module}`")
    number = sum(map(len, rooms.values()))
    lines = [
        f"`{STATEMENT}` enters {number} modules, from the gateway to the engine and back:",
        "",
        "| room | modules |",
        "|---|---|",
    ]
    lines += [f"| {room} | {' · '.join(names)} |" for room, names in sorted(rooms.items())]
    return "\n".join(lines) + "\n"


def of_page() -> str:
    """Return what stands on the page."""
    return PAGE.read_text(encoding="utf-8").split(_BEGIN)[1].split(_END)[0].strip() + "\n"


def _entered() -> set[str]:
    with tempfile.TemporaryDirectory() as made, running(read_policy(Path(made))) as world:
        engine = Memory(world.policy)
        with SqliteLedger(Path(made) / "ledger.db", noon) as ledger:
            gateway = world.gateway(engine, ledger)
            client = Client(
                gateway, ledger, world.connect("ana"), world.connect("dpsql_owner"), Asker("ana", USERS["ana"])
            )
            client.ask("SELECT count(*) FROM rides")
            return _traced(lambda: client.ask(STATEMENT))


def _traced(work: Callable[[], object]) -> set[str]:
    modules = set[str]()

    def heed(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (file := frame.f_code.co_filename).startswith(_PACKAGE):
            modules.add(file.removeprefix(_PACKAGE).removesuffix(".py"))

    threading.setprofile(heed)
    sys.setprofile(heed)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return modules


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, after = text.partition(_BEGIN)
    PAGE.write_text(f"{before}{_BEGIN}\n{written()}\n{_END}{after.partition(_END)[2]}", encoding="utf-8")
