"""What `dpsql check` says of tables that grow: what keeps their questions from standing, and for how long charges count."""

from collections.abc import Iterator

from dpsql.engines.snapshot.parts import whole_because
from dpsql.policy.config import Config, CopiedDatabase
from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.model import Period, Role, Table

_PERIOD_DAYS = {Every.DAY: 1, Every.MONTH: 31, Every.QUARTER: 92}
_TERM_DAYS = {TermLength.MONTH: 31, TermLength.QUARTER: 92, TermLength.YEAR: 366}


def said_of_growth(loaded: Config) -> Iterator[str]:
    """Yield what is to be known about each table that grows: a mistake is none of it."""
    for table in loaded.policy.tables.values():
        if table.grows is not None:
            yield from _of_table(loaded, table, table.grows)


def _of_table(loaded: Config, table: Table, grows: Grows) -> Iterator[str]:
    often = loaded.refresh.days
    if often is None:
        yield (
            f"table {table.name} grows, and no copy is made by itself (refresh: never): a {grows.every} is in a copy "
            "that was made after it has closed (dpsql refresh)"
        )
    elif often > _PERIOD_DAYS[grows.every]:
        yield f"table {table.name} grows by the {grows.every}, and a copy is made each {loaded.refresh}: it is released then"
    whole = whole_because(table, loaded.policy)
    if isinstance(loaded.engine, CopiedDatabase):
        whole = "the database can't be asked for a part of it"
    if loaded.snapshot is not None and whole is not None:
        yield f"table {table.name} is copied whole at each refresh, and not by the {grows.every}: {whole}"
    for kind, unit in table.units.items():
        if unit.through is not None:
            yield (
                f"table {table.name} has no standing questions that protect a {kind}: whose a row is, another table says; "
                "copy that column into it"
            )
        else:
            if unit.up_to is not None:
                yield (
                    f"table {table.name}: max_rows is auto, so that standing questions that protect a {kind} begin once a "
                    f"whole {grows.term} within the bounds of {grows.by} has closed; a number lets them begin at once"
                )
            yield from _of_budgets(loaded, table, grows, kind)


def _of_budgets(loaded: Config, table: Table, grows: Grows, kind: str) -> Iterator[str]:
    """Yield for how long what is paid for a standing question counts, where that is longer than budgets take for granted."""
    policy, budget = loaded.policy, loaded.policy.budgets[kind]
    roles = [role for role in policy.roles.values() if role.protects == kind and role.may_use(table.name)]
    lasts = _TERM_DAYS[grows.term] + grows.after + grows.measured_within
    if roles and budget.concentrated is not None:
        yield f"table {table.name} has no standing questions that protect a {kind}: budget.{kind} adds up by zCDP"
        return
    if roles and budget.window is not None and budget.window < lasts:
        yield (
            f"budget.{kind}.window is {budget.window} days: what a standing question of table {table.name} costs counts in "
            f"it until the {grows.term} is measured, {lasts} days at most, and then as long again as the window"
        )
    if roles and budget.window is not None and whole_because(table, policy) is None:
        yield (
            f"budget.{kind}.window is {budget.window} days: what any other question of table {table.name} costs counts since "
            f"the day on which its oldest {grows.every} was copied, and is refused where the window was full once since; "
            "dpsql refresh --all copies all anew"
        )
    for role in roles:
        yield from _of_role(role, table, grows)


def _of_role(role: Role, table: Table, grows: Grows) -> Iterator[str]:
    lasts, period = _TERM_DAYS[grows.term] + grows.after + grows.measured_within, role.budget.period
    if role.budget.concentrated is not None:
        yield f"role {role.name} asks no standing questions of table {table.name}: its budget adds up by zCDP"
        return
    if role.noise is not None:
        yield (
            f"role {role.name} aims at an error: its questions of table {table.name} stand only where it says what they pay "
            "(SET dpsql.epsilon)"
        )
    if period is not Period.NEVER and (period.days or 0) < lasts:
        yield (
            f"roles.{role.name}.budget: what a standing question of table {table.name} costs counts in each {period} in "
            f"which something of it may be measured, for up to {lasts} days"
        )
