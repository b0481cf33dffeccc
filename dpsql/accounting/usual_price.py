"""The usual price of a role's questions, and the number of further questions that a budget pays for."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from statistics import median_high

from dpsql.accounting.composition import compose
from dpsql.accounting.ledger import Entry
from dpsql.policy.model import Privacy, Role

LINES = 500
"""The newest lines of a role, by which its usual price is known."""


def usual_price(entries: Iterable[Entry], role: Role) -> Privacy:
    """Return the price in the middle of those that a role has paid for recent statements.

    Until it has paid any: the most that one may cost.
    """
    statements: defaultdict[tuple[datetime, str, str], list[Privacy]] = defaultdict(list)
    for entry in entries:
        if entry.user:  # else an operator's correction
            statements[entry.time, entry.user, entry.statement].append(entry.cost)
    paid = [compose(costs) for costs in statements.values()]
    if not paid:
        return Privacy(role.per_query.epsilon, role.per_query.delta)
    return Privacy(median_high([cost.epsilon for cost in paid]), median_high([cost.delta for cost in paid]))
