"""The periods of a stay (`dpsql.policy.model`), for questions about them without a policy."""

from dpsql.epsilon.refusal import BadInput
from dpsql.policy import model
from dpsql.policy.model import Period


def periods_of_stay(period: Period, days: int | None) -> int:
    """Return in how many periods, at the most, somebody is there who stays for `days`, or for good (None).

    Raises:
        BadInput: less than a day, too many, or for good while the budget renews.
    """
    try:
        return model.periods_touched(period, days)
    except ValueError as error:
        raise BadInput(str(error)) from None
