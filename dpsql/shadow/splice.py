"""Released values as a table that the shadow can read: literals of exactly the types that PostgreSQL gave the columns.

Rows come in the order of the keys' domain, never in the engine's order, which would say something about data.
"""

from collections.abc import Sequence

from dpsql.errors import InternalError

Text = str | None
"""A value as PostgreSQL reads it; None is NULL."""


def released_table(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Text]]) -> str:
    """Return a FROM item whose columns have these names and types."""
    if len(columns) != len(types):
        raise InternalError
    if not columns:
        return f"(SELECT FROM pg_catalog.generate_series(1, {len(rows)}))"
    arrays = [_array([row[i] for row in rows], _element(type_)) for i, type_ in enumerate(types)]
    outputs = [
        name if _element(type_) == type_ else f"{name}::{type_} AS {name}"
        for name, type_ in zip(columns, types, strict=True)
    ]
    return f"(SELECT {', '.join(outputs)} FROM ROWS FROM ({_unnested(arrays)}) AS _u({', '.join(columns)}))"


def _unnested(arrays: Sequence[str]) -> str:
    return ", ".join(f"pg_catalog.unnest({array})" for array in arrays)


def _element(type_: str) -> str:
    """Return the type to use inside an array: arrays do not nest there, and a length is cast to afterwards."""
    if type_.endswith("[]"):
        return "text"
    if type_.startswith("character("):
        return "bpchar"  # `character` would be that of one character
    return type_.split("(", maxsplit=1)[0] if type_.startswith(("numeric(", "character varying")) else type_


def _array(values: Sequence[Text], type_: str) -> str:
    return f"{shadow_literal(array_text(values))}::{type_}[]"


def array_text(values: Sequence[Text]) -> str:
    """Return an array as PostgreSQL reads it."""
    return "{" + ",".join(map(_item, values)) + "}"


def _item(value: Text) -> str:
    if value is None:
        return "NULL"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shadow_literal(text: str) -> str:
    """Return a string literal that reads the same with `standard_conforming_strings` on and off."""
    quoted = text.replace("'", "''")
    if "\\" not in text:
        return f"'{quoted}'"
    return "E'" + quoted.replace("\\", "\\\\") + "'"
