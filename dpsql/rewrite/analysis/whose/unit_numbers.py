"""Numbers of a unit's own rows, which count up to a number that is taken for `max_rows: auto` before anything is measured.

SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS t   →  n is clamped to 20
"""

from collections.abc import Iterator, Sequence

from dpsql.errors import Unsupported
from dpsql.rewrite.ir.expr import Expr, refs
from dpsql.rewrite.ir.relation import Relation, UnitRows


def check_numbers(relation: Relation, impossible: Sequence[Expr]) -> None:
    """Refuse conditions that no row can satisfy for a number that nobody has declared: HAVING count(*) > 30, where 20 count.

    Raises:
        Unsupported: there is one.
    """
    for unit, most in unit_numbers(relation, impossible):
        raise Unsupported(
            f"of a {unit}'s own rows at most {most:,} count here, so that none has so many",
            because="number-beyond-auto",
            hint="`max_rows: auto` stands for that number; the owner of the data can declare another, or `{auto: N}`.",
        )


def unit_numbers(relation: Relation, exprs: Sequence[Expr]) -> Iterator[tuple[str, int]]:
    """Yield the units of whose own rows some expressions read a number, and the most that count, if that is not declared."""
    read = {(ref.source, ref.name) for ref in refs(*exprs)}
    made_of = ((place, source.made) for place, source in enumerate(relation.sources))
    for place, made in made_of:
        if not isinstance(made, UnitRows) or made.up_to is None or made.wide:
            continue
        if any((place, name) in read for name in made.growing):
            yield made.unit.name, made.rows
