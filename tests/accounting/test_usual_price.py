"""What a question usually costs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from dpsql.accounting.ledger import Entry, usual_price
from dpsql.accounting.sliding import ReadDays
from dpsql.policy.model import Policy, Privacy

_NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _entry(minute: int, epsilon: str, user: str = "ana") -> Entry:
    cost = Privacy(Fraction(epsilon))
    return Entry(
        _NOON + timedelta(minutes=minute),
        user,
        "owner",
        "passenger",
        "SELECT",
        "",
        "",
        cost,
        measured=True,
        read=ReadDays.of_now(_NOON),
    )


def test_it_is_the_price_in_the_middle(policy: Policy) -> None:
    """Of statements, whose measurements count together; operators' corrections do not."""
    entries = [_entry(1, "1/8"), _entry(1, "1/8"), _entry(2, "1"), _entry(3, "1/16"), _entry(4, "9", user="")]
    assert usual_price(entries, policy.roles["owner"]) == Privacy(Fraction(1, 4))


def test_who_has_paid_nothing_pays_what_a_statement_may_cost(policy: Policy) -> None:
    """At the most."""
    role = policy.roles["owner"]
    assert usual_price([], role) == Privacy(role.per_query.epsilon, role.per_query.delta)


def test_a_profile_is_no_usual_question(policy: Policy) -> None:
    """After one and a question each, so many questions were said to be left as profiles could be paid for."""
    profile = replace(_entry(1, "1/16"), statement="SELECT dpsql.take_profile()")
    later = replace(_entry(2, "9"), statement="select DPSQL.Take_Profile ( )")
    assert usual_price([profile, _entry(3, "1/4"), later], policy.roles["owner"]) == Privacy(Fraction(1, 4))
    assert usual_price([profile], policy.roles["owner"]) == usual_price([], policy.roles["owner"])
