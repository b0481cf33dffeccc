"""The ledger's tables of standing questions; see `dpsql.accounting.ledger` for what they keep."""

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ClaimDenial, LastMeasurement, StandingClaim, StandingQuestion, State, WantedClaim
from dpsql.accounting.sql import releases
from dpsql.accounting.sql.store import SqlConnection

_LINEAGE = "INSERT INTO lineages (time, name) VALUES (?1, ?2)"
_NEWEST = "SELECT name FROM lineages ORDER BY id DESC LIMIT 1"
_CLAIMS = """
SELECT number, periods, state, release FROM standing_claims WHERE kind = ?1 AND key = ?2 ORDER BY number
"""
_LAST = "SELECT number, name, state FROM standing_claims WHERE kind = ?1 AND key = ?2 ORDER BY number DESC LIMIT 2"
_LOCKED = "SELECT 1 FROM standing_claims WHERE kind = ?1 AND key = ?2 AND locked = 1"
_CLAIM = """
INSERT INTO standing_claims (kind, key, number, name, lineage, role, time, state, periods, locked)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'open', ?8, 0)
"""
_AGAIN = """
UPDATE standing_claims SET name = ?4, lineage = ?5, role = ?6, time = ?7, state = 'open', periods = ?8, release = NULL
WHERE kind = ?1 AND key = ?2 AND number = ?3
"""
_IS_OPEN = """
SELECT 1 FROM standing_claims
WHERE kind = ?1 AND key = ?2 AND number = ?3 AND name = ?4 AND lineage = ?5 AND state = 'open'
"""
_KEEP = """
UPDATE standing_claims SET state = 'kept', release = ?5 WHERE kind = ?1 AND key = ?2 AND number = ?3 AND name = ?4
"""
_END = """
UPDATE standing_claims SET state = ?5, locked = ?6, role = ?7
WHERE kind = ?1 AND key = ?2 AND number = ?3 AND name = ?4 AND state = 'open'
"""
_CHARGED = """
SELECT 1 FROM charges c JOIN statements s ON s.id = c.statement WHERE c.key = ?1 AND s.role = ?2 AND s.kind = ?3
"""
_UNLOCK = "UPDATE standing_claims SET locked = 0 WHERE role = ?1"
_ATTEMPT = "INSERT INTO standing_attempts (time, role) VALUES (?1, ?2)"
# Days to come count too, so that a clock that was set back frees nothing.
_ATTEMPTS = "SELECT count(*) FROM standing_attempts WHERE role = ?1 AND time >= ?2"
_LISTED = """
INSERT INTO standing (kind, key, role, relation, term, ends, declared, statement, epsilon, began)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING
"""
_QUESTIONS = """
SELECT key, relation, term, ends, declared, statement, epsilon, began FROM standing
WHERE kind = ?1 AND role = ?2 ORDER BY began, key
"""


def enter_lineage(connection: SqlConnection, name: str, now: datetime) -> None:
    """Write that a writer begins."""
    connection.execute(_LINEAGE, (now.isoformat(), name))


def is_newest(connection: SqlConnection, lineage: str) -> bool:
    """Return whether no other writer has begun since."""
    row: tuple[str] | None = connection.execute(_NEWEST).fetchone()
    return row is not None and row[0] == lineage


def find_paid(connection: SqlConnection, account: Account, keys: Sequence[str]) -> tuple[str, ...]:
    """Return which of some questions a role has paid for: by what is stored, or if that was lost, by the charges."""
    stored, role = releases.find_paid(connection, account, keys), account.role
    charged = (key for key in keys if key not in stored)
    paid = (key for key in charged if connection.execute(_CHARGED, (key, role.name, role.protects)).fetchone())
    return (*stored, *paid)


def find_claims(connection: SqlConnection, account: Account, key: str) -> tuple[StandingClaim, ...]:
    """Return the claims of a question in their order."""
    rows = connection.execute(_CLAIMS, (account.role.protects, key)).fetchall()
    return tuple(
        StandingClaim(int(number), _days(periods), State(state), b"" if release is None else bytes(release))
        for number, periods, state, release in rows
    )


def enter_claim(
    connection: SqlConnection, account: Account, wanted: WantedClaim, now: datetime
) -> LastMeasurement | ClaimDenial:
    """Write the claim on the next measurement, and that it was asked for; return it, or why it is not given.

    The last claim may be of a process that is dead, or has failed. It is given again where no account was written for it:
    then they stand at the one before. Where they were written, and there is no release, its periods are lost.
    """
    whose = (account.role.protects, wanted.key)
    connection.execute(_ATTEMPT, (now.isoformat(), account.role.name))
    if now >= wanted.until:
        return ClaimDenial.OVER
    if not is_newest(connection, wanted.lineage):
        return ClaimDenial.LINEAGE
    if connection.execute(_LOCKED, whose).fetchone() is not None:
        return ClaimDenial.LOCKED
    last, before = _last_two(connection, whose)
    begun = (wanted.lineage, account.role.name, now.isoformat(), " ".join(map(date.isoformat, wanted.periods)))
    # The last claim has come to its end: the next number, if the store's accounts stand where that one left them.
    if last is None or last[1] in (State.KEPT, State.LOST):
        at = LastMeasurement() if last is None else last[0]
        if wanted.stands != at:
            return ClaimDenial.STORE
        claim = LastMeasurement(at.number + 1, wanted.name)
        connection.execute(_CLAIM, (*whose, claim.number, claim.claim, *begun))
        return claim
    # Whoever had it ended before any account was written: the same number once more.
    if wanted.stands == before:
        claim = LastMeasurement(last[0].number, wanted.name)
        connection.execute(_AGAIN, (*whose, claim.number, claim.claim, *begun))
        return claim
    # It ended after that, and its release is gone: to measure it again would add the same rows to accounts twice.
    if wanted.stands == last[0]:
        connection.execute(_END, (*whose, last[0].number, last[0].claim, State.LOST, 1, account.role.name))
        return ClaimDenial.LOCKED
    return ClaimDenial.STORE


def _last_two(
    connection: SqlConnection, whose: tuple[str, str]
) -> tuple[tuple[LastMeasurement, State] | None, LastMeasurement]:
    """Return the last claim with its state, None if there is none, and where accounts stood before it."""
    rows = connection.execute(_LAST, whose).fetchall()
    claims = [(LastMeasurement(int(number), name), State(state)) for number, name, state in rows]
    return (claims[0] if claims else None), (claims[1][0] if len(claims) > 1 else LastMeasurement())


def keep_release(
    connection: SqlConnection, account: Account, key: str, claim: LastMeasurement, lineage: str, release: bytes
) -> bool:
    """Store the release of a claim that is open still, and whose lineage is the newest; return whether it is."""
    found = (account.role.protects, key, claim.number, claim.claim)
    if not is_newest(connection, lineage) or connection.execute(_IS_OPEN, (*found, lineage)).fetchone() is None:
        return False
    connection.execute(_KEEP, (*found, release))
    return True


def end_claim(
    connection: SqlConnection, account: Account, key: str, claim: LastMeasurement, *, written: bool, locked: bool
) -> None:
    """Write that a claim has ended without a release."""
    found = (account.role.protects, key, claim.number, claim.claim)
    state = State.LOST if written else State.VOID
    connection.execute(_END, (*found, state, int(locked), account.role.name))


def unlock(connection: SqlConnection, role: str) -> None:
    """Let questions be measured again that a role's measurements have locked."""
    connection.execute(_UNLOCK, (role,))


def attempts(connection: SqlConnection, role: str, since: date) -> int:
    """Return how many measurements of standing questions a role has asked for since a day."""
    return int(connection.execute(_ATTEMPTS, (role, since.isoformat())).fetchone()[0])


def list_question(connection: SqlConnection, account: Account, question: StandingQuestion) -> None:
    """Write what a role has paid for."""
    role = account.role
    values = (
        question.table,
        question.term,
        question.until.isoformat(),
        question.declared,
        question.statement,
        str(question.epsilon),
        question.began.isoformat(),
    )
    connection.execute(_LISTED, (role.protects, question.key, role.name, *values))


def find_questions(connection: SqlConnection, account: Account) -> tuple[StandingQuestion, ...]:
    """Return what a role has paid for, with the periods that were measured of it."""
    found: list[StandingQuestion] = []
    rows: Sequence[tuple[str, ...]] = connection.execute(
        _QUESTIONS, (account.role.protects, account.role.name)
    ).fetchall()
    for key, table, term, ends, declared, statement, epsilon, began in rows:
        claims = find_claims(connection, account, key)
        measured = sorted(day for claim in claims if claim.state is State.KEPT for day in claim.periods)
        until, since = datetime.fromisoformat(ends), datetime.fromisoformat(began)
        found.append(
            StandingQuestion(key, table, term, until, declared, statement, Fraction(epsilon), since, tuple(measured))
        )
    return tuple(found)


def _days(text: str) -> tuple[date, ...]:
    return tuple(map(date.fromisoformat, text.split()))
