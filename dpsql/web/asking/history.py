"""What a visitor's role was told before, with what each answer cost, and what is free now: read over their own connection."""

from dpsql.web.curves import Json
from dpsql.web.site import VisitorClient

_MOST = 60
"""Answers that are listed."""
_BUDGET = """SELECT epsilon_total, epsilon_spent, epsilon_left, per_query_epsilon, coalesce(to_char(renews AT TIME ZONE 'UTC',
  'YYYY-MM-DD'), '') FROM dpsql.budget"""
_CHARGED = f"""SELECT statement, user_name, trim_scale(sum(epsilon))::text,
       to_char(made_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')
  FROM dpsql.charges GROUP BY statement, user_name, made_at ORDER BY made_at DESC LIMIT {_MOST}
"""  # noqa: S608  # a number of our own
_FREE = f"""
SELECT statement, string_agg(DISTINCT measured, '; ') FROM dpsql.releases GROUP BY statement LIMIT {_MOST}
"""  # noqa: S608
_CUT = "…"
"""The end of a statement that the tables have cut short."""


async def budget_of(client: VisitorClient) -> Json:
    """Return the budget of the visitor's role as it stands now."""
    ((total, spent, left, most, renews),) = (await client.answer(_BUDGET)).rows
    return {"total": total, "spent": spent, "left": left, "most": most, "renews": renews or None}


async def history_of(client: VisitorClient) -> Json:
    """Return the newest answers that were paid for, and the statements off whose answers others are free now."""
    charged = (await client.answer(_CHARGED)).rows
    free = (await client.answer(_FREE)).rows
    now = {statement for statement, _ in free}
    return {
        "charged": [
            {
                "statement": statement,
                "user": user,
                "epsilon": cost,
                "time": time,
                "free": statement in now,
                "whole": _whole(statement),
            }
            for statement, user, cost, time in charged
        ],
        "free": [
            {"statement": statement, "measured": measured, "whole": _whole(statement)} for statement, measured in free
        ],
        "budget": await budget_of(client),
    }


def _whole(statement: str | None) -> bool:
    return statement is not None and not statement.endswith(_CUT)
