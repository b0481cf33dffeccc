"""Names that stand in a query's text for what is put there later."""

import hashlib

from dpsql.rewrite.syntax.read.parse import Query

_NAME_LENGTH = 63


def placeholder(query: Query, label: object) -> str:
    """Return a name that no literal of the query's statement can contain: it depends on the whole of the query."""
    return f"_dpsql {label} {hashlib.sha256(f'{query.offset} {query.text}'.encode()).hexdigest()}"[:_NAME_LENGTH]
