"""The amounts that a budget allows, and those charged to it: a filter that no sequence of charges passes, however chosen.

Of ε and δ that add up the filter is a box: no charge is made that would leave it (Rogers, Roth, Ullman, Vadhan, "Privacy
Odometers and Filters", 2016). With zCDP it is a box of ρ and δ, fixed before the first charge. Its ρ is the largest that
is (ε, δ′)-DP, for the part δ′ of the budget that is kept for it. The other part of δ is for the charges' own. These two
sums are a valid filter even if each question is chosen after the answers before it (Whitehouse, Ramdas, Rogers, Wu,
"Fully Adaptive Composition in Differential Privacy", 2023, Theorem 1). A bound by the best conversion of all charges
together, or by their privacy loss distributions, would be none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.composition import compose, covers, left_of
from dpsql.accounting.zcdp import epsilon_of, epsilon_paid_by, rho_of, rho_within
from dpsql.policy.choices import Accounting
from dpsql.policy.model import Privacy


def counted(costs: Iterable[Privacy], accounting: Accounting) -> Privacy:
    """Return what charges add up to: Σε and Σδ, or with zCDP Σρ instead of Σε.

    What has a ρ of its own has no ε: where ε is added up its ρ stays apart, and no budget covers it.
    """
    if accounting is Accounting.SUM:
        return compose(costs)
    return compose(Privacy(cost.rho or rho_of(cost.epsilon), cost.delta) for cost in costs)


@dataclass(frozen=True, slots=True)
class PrivacyFilter:
    """A budget and what was charged to it."""

    total: Privacy
    """The ε and δ that are promised."""
    concentrated: Fraction | None
    """The part of δ at which ρ is turned into ε; None where ε and δ are added up."""
    charged: Privacy
    """As `counted`."""

    @property
    def accounting(self) -> Accounting:
        """Return how charges add up."""
        return Accounting.SUM if self.concentrated is None else Accounting.ZCDP

    @property
    def limit(self) -> Privacy:
        """Return what charges may add up to, as they are counted."""
        if self.concentrated is None:
            return self.total
        return Privacy(rho_within(self.total.epsilon, self.concentrated), self.total.delta - self.concentrated)

    @property
    def room(self) -> Privacy:
        """Return what they may yet add up to, as they are counted; nothing, where something was charged that has no ε."""
        return left_of(self.limit, self.limit) if self.charged.rho else left_of(self.limit, self.charged)

    @property
    def left(self) -> Privacy:
        """Return the most that one more charge may cost."""
        room = self.room
        return room if self.concentrated is None else Privacy(epsilon_paid_by(room.epsilon), room.delta)

    @property
    def spent(self) -> Privacy:
        """Return the ε and δ that all charges together come to; they may be more than promised, if that was lowered."""
        if self.concentrated is None:
            return self.charged
        at = self.concentrated if self.charged.epsilon else Fraction(0)
        return compose(
            (Privacy(epsilon_of(self.charged.epsilon, self.concentrated), at), Privacy(Fraction(0), self.charged.delta))
        )

    def pays(self, cost: Privacy) -> bool:
        """Return whether there is room for a cost, in the unit that is counted."""
        return covers(self.room, cost)

    def questions(self, price: Privacy) -> int:
        """Return for how many more questions at a price there is room."""
        each, room = counted((price,), self.accounting), self.room
        pairs = ((room.epsilon, each.epsilon), (room.delta, each.delta))
        return min(int(amount // part) for amount, part in pairs if part)
