"""The description that the shadow gives of a scope: its keys and aggregates alone, as g0, g1, a0, a1 and so on.

SELECT zone, round(avg(fare)) FROM trips GROUP BY 1  →  SELECT zone AS g0, avg(fare) AS a0 FROM trips GROUP BY 1
"""

from collections.abc import Iterator

from sqlglot import exp

from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.whole.found_scopes import Scope


def probe(scope: Scope) -> str:
    """Return the SELECT of the scope's keys and aggregates alone: the shadow says what types they have.

    SELECT zone, round(avg(fare)) FROM trips GROUP BY 1  →  SELECT zone AS g0, avg(fare) AS a0 FROM trips GROUP BY 1
    """
    outputs = [f"{render(node)} AS g{i}" for i, node in enumerate(scope.keys)]
    outputs += [f"{render(node)} AS a{i}" for i, node in enumerate(scope.aggregates)]
    recursive = any(cte.parent is not None and cte.parent.args.get("recursive") for cte in scope.ctes.values())
    ctes = ", ".join(map(render, scope.ctes.values()))
    with_ = f"WITH {'RECURSIVE ' * recursive}{ctes} " if ctes else ""
    group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(scope.keys)))}" if scope.keys else ""
    return f"{with_}SELECT {', '.join(outputs or ['1'])}{''.join(_clauses(scope.select))}{group}"


def _clauses(select: exp.Select) -> Iterator[str]:
    """Yield the text of what decides the rows that a SELECT aggregates."""
    for name in ("from_", "joins", "laterals", "where"):
        clause = select.args.get(name) or []
        for part in clause if isinstance(clause, list) else [clause]:
            text = render(part)
            yield text if text.startswith(",") else f" {text}"
