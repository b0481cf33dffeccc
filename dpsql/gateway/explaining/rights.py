"""The lines of EXPLAIN about rows that a role does not see."""

from collections.abc import Iterator

from dpsql.gateway.pricing import PricedPlan
from dpsql.policy.model import Role
from dpsql.rewrite.ir.relation import tables_below


def rights(role: Role, priced: PricedPlan) -> Iterator[str]:
    """Yield for each table that a plan reads in part, the rows of it that the role sees."""
    if not role.where:
        return
    relations = (part.measurement.relation for part in priced.measurements)
    for name in sorted({table.name for relation in relations for table in tables_below(relation)}):
        if name in role.where:
            text = " ".join(role.where[name].text.split())
            yield f'Rows: of {name} those for which {text}, the only ones granted to role "{role.name}"'
