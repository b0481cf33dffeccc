"""An answer that the shadow can't read, or reads as something else, is noticed before it is paid for."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import psycopg
import pytest

from dpsql.gateway.request import Reply, Request, Unpaid
from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.server.listener import Listener
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401
from tests.wire.doubles import AsksOfTrips
from tests.wire.listening import dsn, listening

ASKED = "SELECT payment_type, count(*) FROM trips GROUP BY 1"


@dataclass(slots=True)
class Wrong(AsksOfTrips):
    """A gateway that makes `made_up` of synthetic people, and would then be paid."""

    made_up: str = ""
    paid: list[str] = field(default_factory=list)

    def answer(self, request: Request) -> Unpaid:
        """Answer as soon as that is paid for."""

        def paid() -> Reply:
            self.paid.append(request.question.text)
            return Reply("SELECT 'cash'::text AS payment_type, 3::bigint AS count")

        return Unpaid(paid, through=lambda: self.made_up)


@pytest.fixture(scope="module")
def served(shadow: Postgres) -> Iterator[tuple[Wrong, Listener]]:  # noqa: F811
    """Serve it."""
    wrong = Wrong()
    with listening(wrong, shadow) as (listener, _):
        yield wrong, listener


@pytest.mark.parametrize(
    "made_up",
    [
        "SELECT _dp.g0, _dp.a0, _dp.a0 OVER () FROM (SELECT 1 AS g0, 2 AS a0) AS _dp",
        "SELECT nope AS payment_type, 3::bigint AS count FROM zones",
        "SELECT 'cash'::text AS payment_type, 3::integer AS count",
        "SELECT 'cash'::text AS paid, 3::bigint AS count",
        "SELECT 'cash'::text AS payment_type",
    ],
)
@pytest.mark.parametrize("prepared", [True, False])
def test_what_the_shadow_can_not_read_is_free(made_up: str, prepared: bool, served: tuple[Wrong, Listener]) -> None:
    """The client hears of a mistake of dpsql's, nothing was paid, and the session goes on."""
    wrong, listener = served
    wrong.made_up = made_up
    with psycopg.connect(f"{dsn(listener)} password=pw", autocommit=True) as session:
        for _ in range(2):
            with pytest.raises(psycopg.errors.InternalError_):
                session.execute(ASKED, prepare=prepared)
        assert session.execute("SELECT 1").fetchone() == (1,)
    assert wrong.paid == []


def test_what_the_shadow_reads_is_paid_for(served: tuple[Wrong, Listener]) -> None:
    """The check lets through what has the columns of the client's statement, which it did not look into further."""
    wrong, listener = served
    wrong.made_up = "SELECT NULL::text AS payment_type, 1::bigint / 0 AS count"
    with psycopg.connect(f"{dsn(listener)} password=pw", autocommit=True) as session:
        assert session.execute(ASKED).fetchall() == [("cash", 3)]
    assert wrong.paid == [ASKED]
