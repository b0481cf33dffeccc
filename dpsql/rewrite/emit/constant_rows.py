"""Constants in FROM: rows that stand in the engine's statement, every column of the type that it is read as.

(1, 'a'), (2, 'b')  →  (SELECT c0 AS "id", … FROM (VALUES (0, NULL, NULL), (1, 1, 'a'), (2, 2, 'b')) AS v … WHERE r > 0)
"""

from dpsql.rewrite.emit.columns import quoted
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.constant_table import ConstantTable


def constant_rows(table: ConstantTable, emitter: Emitter) -> str:
    """Return the rows of constants as a subquery."""
    columns = list(table.columns.values())
    own = [f"c{place}" for place, _ in enumerate(columns)]
    outputs = ", ".join(f"{text} AS {quoted(column.name)}" for text, column in zip(own, columns, strict=True))
    # The first row, of NULLs that have types and left out, gives the others theirs.
    rows = [[None for _ in columns], *table.rows]
    texts = (", ".join(emitter.literal(v, c.type) for v, c in zip(row, columns, strict=True)) for row in rows)
    values = ", ".join(f"({number}, {text})" for number, text in enumerate(texts))
    return f"(SELECT {outputs} FROM (VALUES {values}) AS v ({', '.join(['r', *own])}) WHERE r > 0)"
