"""Queries in other words that mean the same, made before their aggregates are looked for.

No rule is decided here: the new words are followed, and refused, as if a client had written them.
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.any_rows import ask_for_any
from dpsql.rewrite.syntax.forms.compared import tie_compared
from dpsql.rewrite.syntax.forms.extremes import compare_extremes
from dpsql.rewrite.syntax.forms.flat_left_joins import flatten_left_joins
from dpsql.rewrite.syntax.forms.group_windows import ask_for_groups
from dpsql.rewrite.syntax.forms.laterals import without_laterals
from dpsql.rewrite.syntax.forms.levels import put_levels_apart
from dpsql.rewrite.syntax.forms.listed_values import list_values
from dpsql.rewrite.syntax.forms.other_windows import say_by_other_windows
from dpsql.rewrite.syntax.forms.outer_joins import lead_with_private_rows, require_partners
from dpsql.rewrite.syntax.forms.public_left import as_answers
from dpsql.rewrite.syntax.forms.quantified import exist_instead
from dpsql.rewrite.syntax.forms.random_keys import number_by_key
from dpsql.rewrite.syntax.forms.running_totals import add_periods_up
from dpsql.rewrite.syntax.forms.set_operations import make_distinct
from dpsql.rewrite.syntax.forms.unpivoted import join_constants_instead
from dpsql.rewrite.syntax.named.columns import from_items


def reword(query: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> None:
    """Change one query, not those in it, to words that are followed."""
    match query:
        case exp.SetOperation():
            make_distinct(query, ctes, policy)
        case exp.Select():
            _put_below(query)
            list_values(query, ctes, policy)
            number_by_key(query, ctes, policy)
            flatten_left_joins(query, ctes, policy)
            exist_instead(query, ctes, policy)
            compare_extremes(query, ctes, policy)
            ask_for_any(query, ctes, policy)
            join_constants_instead(query, ctes, policy)
            put_levels_apart(query, ctes, policy)
            say_by_other_windows(query, ctes, policy)
            ask_for_groups(query, ctes, policy)
            without_laterals(query, ctes, policy)
            require_partners(query, ctes, policy)
            lead_with_private_rows(query, ctes, policy)
            as_answers(query, ctes, policy)
            add_periods_up(query, ctes, policy)
            tie_compared(query, ctes, policy)
        case _:
            pass


def _put_below(select: exp.Select) -> None:
    """Write joins in brackets with a name as a subquery: FROM (a JOIN b …) AS j  →  FROM (SELECT * FROM a JOIN b …) AS j."""
    for item in list(from_items(select)):
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table) and item.args.get("alias"):
            table, joins = item.this, item.this.args.get("joins")
            table.set("joins", None)
            item.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=table), joins=joins))
