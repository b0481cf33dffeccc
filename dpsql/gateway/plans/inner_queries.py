"""Inner queries over released rows, as the shadow that planning asks is asked them."""

import hashlib
from collections.abc import Mapping

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Column
from dpsql.rewrite.ir.constant_table import AwaitedTable, awaited_table
from dpsql.rewrite.ir.evaluator import TYPES, PublicAnswer, Spelled, quoted_name
from dpsql.rewrite.translate.public.constants import Constants, required
from dpsql.rewrite.translate.public.public_queries import require_names, spelled_public


def released(name: str) -> str:
    """Return what stands in a spelled text for the released rows that have this name."""
    return f'"public".{quoted_name(name)}'


def asked(tree: exp.Expr, constants: Constants) -> Spelled:
    """Return a query over released rows, its CTEs in their places, as the shadow is asked it.

    Raises:
        Unsupported: it has something that this shadow is not asked.
    """
    spelled = spelled_public(tree, constants)
    if spelled is None or spelled.volatile:  # what moves would be another question each time
        raise Unsupported(
            "an answer that decides which private rows count can't be computed like this",
            because="answer-among-rows",
            hint="Ask for the inner answer first and write its values into this statement.",
        )
    return spelled


def awaited(
    place: int, text: str, fields: PublicAnswer, *, several: bool, columns: Mapping[str, Column]
) -> AwaitedTable:
    """Return the table that the answer to an inner query will be, of which it is known whether it may have `several` rows.

    Those of `columns` are within bounds.

    Raises:
        Unsupported: a column has no name of its own, or a type that can't stand beside private rows.
    """
    require_names(fields.names)
    for type_ in fields.types:
        required(type_)
    token = hashlib.sha256(text.encode()).hexdigest()
    types = tuple(TYPES[type_] for type_ in fields.types)
    bounds = {
        name: within
        for name, type_ in zip(fields.names, types, strict=True)
        if name in columns and columns[name].type.is_temporal == type_.is_temporal
        if (within := columns[name].bounds) is not None
    }
    return awaited_table(place, token, fields.names, types, several=several, bounds=bounds)
