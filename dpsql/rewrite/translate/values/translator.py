"""From sqlglot's tree of a row-level expression to ours: every class is handled by name here or refused.

The result is typed as PostgreSQL types it, so that integer division, for one, is decided here and not by an engine.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.ir.facts import Facts
from dpsql.rewrite.translate.public.constants import Constants
from dpsql.rewrite.translate.values.arithmetic import ARITHMETIC_HANDLERS
from dpsql.rewrite.translate.values.calls import CALLS
from dpsql.rewrite.translate.values.comparisons import LOGIC_HANDLERS
from dpsql.rewrite.translate.values.context import Handler, Operand, Translator
from dpsql.rewrite.translate.values.json_paths import JSON_HANDLERS, column
from dpsql.rewrite.translate.values.membership import MEMBERSHIP_HANDLERS
from dpsql.rewrite.translate.values.overlaps import overlaps
from dpsql.rewrite.translate.values.scope_names import Names
from dpsql.rewrite.translate.values.subqueries import LOOKUPS
from dpsql.rewrite.translate.values.texts import REGULAR
from dpsql.rewrite.translate.values.value_map import MAPPED
from dpsql.rewrite.translate.values.zoned_times import by_clock
from dpsql.rewrite.translate.values.zones import at_time_zone


def _inner(t: Translator, node: exp.Expr) -> Operand:
    return t.operand(node.this)


HANDLERS: Mapping[type[exp.Expr], Handler] = {
    exp.Column: column, exp.Paren: _inner, **ARITHMETIC_HANDLERS, **LOGIC_HANDLERS, **JSON_HANDLERS,
    **MEMBERSHIP_HANDLERS, **CALLS, **MAPPED, **LOOKUPS, **REGULAR,
    exp.AtTimeZone: at_time_zone, exp.Add: by_clock, exp.Sub: by_clock, exp.Overlaps: overlaps,
}  # fmt: skip


def translator(
    names: Names,
    constants: Constants,
    facts_of: Callable[[Expr], Facts],
    public: Callable[[exp.Expr], exp.Expr | None],
) -> Translator:
    """Return the translator of one SELECT's expressions."""
    return Translator(names, constants, facts_of, HANDLERS, public)
