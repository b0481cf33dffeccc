"""Queries in other words that mean the same, made before their aggregates are looked for.

No rule is decided here: the new words are followed, and refused, as if a client had written them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.decorrelate import without_laterals
from dpsql.rewrite.syntax.forms.group_windows import ask_for_groups, put_levels_apart, say_by_other_windows
from dpsql.rewrite.syntax.forms.listed_values import list_values
from dpsql.rewrite.syntax.forms.outer_joins import (
    as_answers,
    flatten_left_joins,
    lead_with_private_rows,
    require_partners,
)
from dpsql.rewrite.syntax.forms.quantified import ask_for_any, compare_extremes, exist_instead, tie_compared
from dpsql.rewrite.syntax.forms.random_keys import number_by_key
from dpsql.rewrite.syntax.forms.running_totals import add_periods_up
from dpsql.rewrite.syntax.forms.set_operations import make_distinct
from dpsql.rewrite.syntax.forms.unpivoted import join_constants_instead
from dpsql.rewrite.syntax.named.columns import Ctes, from_items
from dpsql.rewrite.syntax.read.trees import kinds_below


@dataclass(frozen=True, slots=True)
class Form:
    """One form that is written in other words, and the kinds of nodes of which no SELECT has it without one."""

    reword: Callable[[exp.Select, Ctes, Policy], None]
    made_of: tuple[type[exp.Expr], ...]


def _put_below(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Write joins in brackets with a name as a subquery: FROM (a JOIN b …) AS j  →  FROM (SELECT * FROM a JOIN b …) AS j."""
    _ = ctes, policy
    for item in list(from_items(select)):
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table) and item.args.get("alias"):
            table, joins = item.this, item.this.args.get("joins")
            table.set("joins", None)
            item.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=table), joins=joins))


FORMS = (
    Form(_put_below, (exp.Subquery,)),
    Form(list_values, (exp.Distinct,)),
    Form(number_by_key, (exp.Anonymous,)),
    Form(flatten_left_joins, (exp.Join,)),
    Form(exist_instead, (exp.Query, exp.Values)),
    Form(compare_extremes, (exp.Exists,)),
    Form(ask_for_any, (exp.Exists, exp.Limit)),
    Form(join_constants_instead, (exp.Join,)),
    Form(put_levels_apart, (exp.Rollup, exp.Cube, exp.GroupingSets)),
    Form(say_by_other_windows, (exp.Window,)),
    Form(ask_for_groups, (exp.Window,)),
    Form(without_laterals, (exp.Lateral,)),
    Form(require_partners, (exp.Join,)),
    Form(lead_with_private_rows, (exp.Join,)),
    Form(as_answers, (exp.Join, exp.Query)),
    Form(add_periods_up, (exp.Join,)),
    Form(tie_compared, (exp.Query,)),
)
"""In the order in which they are looked for: each sees the words of those before it."""


def reword(query: exp.Expr, ctes: Ctes, policy: Policy) -> None:
    """Change one query, not those in it, to words that are followed."""
    match query:
        case exp.SetOperation():
            make_distinct(query, ctes, policy)
        case exp.Select():
            kinds = kinds_below(query)
            for form in FORMS:
                if any(issubclass(kind, form.made_of) for kind in kinds):
                    form.reword(query, ctes, policy)
                    kinds = kinds_below(query)
        case _:
            pass
