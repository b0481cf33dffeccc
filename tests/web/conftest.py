"""A site over doubles of the server and the ledger's books, and a browser-like client of it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from starlette.testclient import TestClient

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.ledger import Entry
from dpsql.accounting.privacy_loss import compose
from dpsql.accounting.sliding import ReadDays
from dpsql.gateway.readiness import ReadyState
from dpsql.policy.interval import Interval
from dpsql.policy.model import (
    Column,
    DatasetBudget,
    Period,
    Policy,
    Privacy,
    Role,
    RoleBudget,
    SqlType,
    Table,
    UnitBound,
)
from dpsql.web.app import make_app
from dpsql.web.site import Answer, Cells, LoginRefused, ServerLost, ServerRefused, Site
from tests.support.fix_pages import running  # noqa: F401
from tests.web.browsing import Browser

COLUMNS: list[Cells] = [
    ("rides", "fare", "rides", "fare", "double precision", "0", "150", "in dollars"),
    ("rides", "seats", "rides", "seats", "integer", "0", "6", ""),
    ("rides", "at", "rides", "at", "timestamp", "2019-03-01", "2019-04-01", ""),
    ("zones", "size", "zones", "size", "integer", "1", "9", ""),
]
"""What `dpsql.columns` says."""
KNOWN: list[Cells] = [
    ("rides", "number of driver units", 1_234.4, 56.7),
    ("rides.fare", "share of values above the bounds", 0.00312, None),
    ("rides.tip", "share of values above the bounds", 0.987, 0.61),
]
"""What a role knows of whole tables."""
STANDS: list[Cells] = [
    ("analyst", "rides", "2026", "stands", "0.25", "SELECT <b>days</b>", 3, date(2026, 1, 3), date(2027, 2, 2)),
    ("analyst", "rides", "2025", "over", "1", "SELECT old", 0, None, date(2026, 2, 2)),
]
"""What `dpsql.standing` says."""


def _role(name: str, protects: str, *, owner: bool = False) -> Role:
    budget = RoleBudget(Privacy(Fraction(10)), Period.NEVER)
    return Role(name, protects, budget, Privacy(Fraction(1, 2)), owner=owner)


_FARE = Column("fare", SqlType.DOUBLE, "double precision", bounds=Interval.of(0, 150))
POLICY = Policy(
    "rides",
    {
        "rides": Table(
            "rides", {"fare": _FARE}, {"passenger": UnitBound("passenger", 20), "driver": UnitBound("d", 400)}
        ),
        "zones": Table("zones", {}, {}, public=True),
    },
    {
        "owner": _role("owner", "passenger", owner=True),
        "analyst": _role("analyst", "passenger"),
        "third_party": _role("third_party", "driver"),
    },
    {
        "passenger": DatasetBudget(Privacy(Fraction(30))),
        "driver": DatasetBudget(Privacy(Fraction(20)), 30, Fraction(1, 10)),
    },
    "a fingerprint",
)
USERS = {"olga": "owner", "ana": "analyst", "tess": "third_party"}


@dataclass(slots=True)
class Server:
    """Stands in for the server's client and the ledger: a question costs its ε and has 1,000 rows in each bucket."""

    lines: list[Entry] = field(default_factory=list)
    open: int = 0
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    refusal: Exception | None = None
    output: dict[str, object] = field(default_factory=lambda: {"Output": "count(*)", "Margin": 240.0, "Relative": None})
    """What EXPLAIN says of the counts."""
    ready: ReadyState = field(default_factory=ReadyState)
    renews: date | None = None

    async def connect(self, user: str, password: str, _: str) -> "Connection":
        """Let in who has the password."""
        if self.refusal is not None:
            raise self.refusal
        if password != f"pw-{user}":
            raise LoginRefused
        self.open += 1
        return Connection(self, user)

    def charge(self, user: str, statement: str, epsilon: str) -> None:
        """Write a line."""
        role = POLICY.roles[USERS[user]]
        when = datetime(2026, 1, 1, 12, len(self.lines), tzinfo=UTC)
        cost = Privacy(Fraction(epsilon))
        line = Entry(
            when,
            user,
            role.name,
            role.protects,
            statement,
            str(len(self.lines)),
            "",
            cost,
            measured=True,
            read=ReadDays.of_now(when),
        )
        self.lines.insert(0, line)

    def entries(self, role: str | None, limit: int) -> tuple[Entry, ...]:
        """Return the newest lines first."""
        return tuple(line for line in self.lines if role in (None, line.role))[:limit]

    def balance(self, account: Account, *, read: ReadDays | None) -> Balance:
        """Add up; of a role that renews only the newest line is of this period."""
        _ = read
        own = [line.cost for line in self.lines if line.role == account.role.name]
        together = compose(line.cost for line in self.lines if line.kind == account.role.protects)
        return Balance(account, compose(own[:1] if self.renews else own), together, self.renews)


@dataclass(slots=True)
class Connection:
    """A visitor's connection to it."""

    server: Server
    user: str
    place: tuple[str, int] = ("127.0.0.1", 5439)
    busy: bool = False

    async def answer(self, statement: str, settings: Mapping[str, str] | None = None) -> Answer:
        """Answer as texts."""
        rows = await self.rows(statement, (settings or {}).get("dpsql.epsilon"))
        return Answer(("bucket", "count"), (23, 20), tuple(tuple(map(str, row)) for row in rows), cut=False, notices=())

    async def stop(self) -> None:
        """Stop nothing."""

    async def rows(self, statement: str, epsilon: str | None = None) -> list[Cells]:
        """Answer."""
        if "dpsql.columns" in statement:
            return COLUMNS
        if "dpsql.charges" in statement:
            return []
        if "dpsql.standing" in statement and not isinstance(self.server.refusal, ServerLost):
            return STANDS
        if "dpsql.profile" in statement and not isinstance(self.server.refusal, ServerLost):
            return KNOWN
        if isinstance(self.server.refusal, (ServerRefused, ServerLost)):
            raise self.server.refusal
        if statement.startswith("EXPLAIN"):
            return [([{"Plan": {"Epsilon": "1", "Measurements": [], "Outputs": [self.server.output]}}],)]
        if (statement, epsilon) not in self.server.asked:
            self.server.charge(self.user, statement, str(epsilon))
        self.server.asked.append((statement, epsilon))
        return [(bucket, 1_000) for bucket in range(102)]

    async def close(self) -> None:
        """Hang up."""
        self.server.open -= 1


@dataclass(slots=True)
class Clock:
    """A clock that a test turns."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def server() -> Server:
    """The server's double."""
    return Server()


@pytest.fixture
def clock() -> Clock:
    """The clock of sessions and attempts."""
    return Clock()


@pytest.fixture
def visit(server: Server, clock: Clock) -> Callable[..., Browser]:
    """Give a function that opens a new browser, logged in if a name is given; all of them see one site."""
    app, _ = make_app(Site(POLICY, USERS, server.connect, server, os.urandom, clock, lambda: server.ready))

    def visit(user: str | None = None) -> Browser:
        browser = Browser(TestClient(app, follow_redirects=False, raise_server_exceptions=False))
        if user is not None:
            assert browser.log_in(user, f"pw-{user}").status_code == 303
        return browser

    return visit
