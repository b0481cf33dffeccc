"""Whether all lines of a ledger are there, as they were written."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.ledger import DataSet
from dpsql.accounting.sql.owner import Owner
from dpsql.accounting.sql.store import SqlConnection


@dataclass(frozen=True, slots=True)
class Examined:
    """The contents of a ledger, and the faults in it."""

    ledger: str
    """Its identity."""
    dataset: DataSet
    charges: int
    statements: int
    epochs: int
    wrong: tuple[str, ...]


def examined(connection: SqlConnection, owner: Owner, wrong: tuple[str, ...]) -> Examined:
    """Return what a ledger holds, once its owner and its mistakes are read."""
    charges, statements, epochs = (
        int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 # names of ours
        for table in ("charges", "statements", "epochs")
    )
    return Examined(owner.ledger, owner.dataset, charges, statements, epochs, wrong)


def wrong_lines(connection: SqlConnection) -> Iterator[str]:
    """Yield what is not as dpsql writes it."""
    for table in ("statements", "charges", "events", "owners"):
        number, last = connection.execute(f"SELECT count(*), coalesce(max(id), 0) FROM {table}").fetchone()  # noqa: S608
        if number != last:
            yield f"{last - number} lines of {table} are gone"
    for line, epsilon, delta, rho in connection.execute("SELECT id, epsilon, delta, rho FROM charges"):
        try:
            sound = Fraction(epsilon) >= 0 <= Fraction(delta) and (rho is None or Fraction(rho) > 0)
        except (ValueError, ZeroDivisionError):
            sound = False
        if not sound:
            yield f"line {line} of charges has no amount"
