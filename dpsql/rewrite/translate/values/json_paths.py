"""Values inside columns of JSON: each declared path is a column of its own, however it is written.

props->'address'->>'city'    props #>> '{address,city}'  →  the column props->'address'->>'city'
(props->>'age')::integer, declared as one                →  the column props->>'age'
props IS NOT NULL, count(props)                          →  whether there is any JSON

Claim: nothing else of such a column is read. Each expression of its type ends here, or is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.model import Column, JsonPath, SqlType
from dpsql.rewrite.ir.expr import Const, Expr, Ref
from dpsql.rewrite.ir.literal import TYPES
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.read.dialect import excerpt, literal_text, written_type
from dpsql.rewrite.translate.values.context import Handler, Translator, unknown_construct

_BY_KEY = (exp.JSONExtract, exp.JSONExtractScalar)
_BY_KEYS = (exp.JSONBExtract, exp.JSONBExtractScalar)
_AS_TEXT = (exp.JSONExtractScalar, exp.JSONBExtractScalar)
_WIDTHS = (SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT)
_SPELLED_ALIKE = frozenset({*_WIDTHS, SqlType.BOOLEAN, SqlType.DATE})
"""Types whose values JSON and PostgreSQL write in the same way."""
_MOST_SHOWN = 12
UNREAD = Const(None, SqlType.JSON)
"""A column of JSON behind a query whose rows are made anew: nobody can read a path of it there."""


def is_path(node: exp.Expr) -> bool:
    """Return whether a node reads something inside of JSON."""
    return isinstance(node.unnest(), (*_BY_KEY, *_BY_KEYS))


def extract_text(t: Translator, node: exp.Expr) -> Expr:
    """Translate `->>` and its kin, which give texts: of numbers, too, where these are few.

    Raises:
        Unsupported: the path is not declared, or not as a text.
    """
    inside = _declared_path(t, node)
    if inside.type is SqlType.TEXT:
        return inside
    if inside.type in _SPELLED_ALIKE:
        typed = exp.cast(node.copy(), inside.column.declared, dialect="postgres")
        try:
            return t.expression(exp.cast(exp.Paren(this=typed), "text", dialect="postgres"))
        except DpsqlError:
            pass  # what is to be written instead is said below
    raise _not_a_text(inside)


def typed_path(t: Translator, node: exp.Cast) -> Expr | None:
    """Return a path that is cast to its declared type, or to a wider one; None of any other cast.

    Raises:
        Unsupported: it is declared as another type.
    """
    if not is_path(node.this):
        return None
    inside = _declared_path(t, node.this.unnest())
    target = TYPES.get(written_type(node.to).split("(")[0])
    # (props->>'name')::varchar(3) is a cast of a text like any other.
    if inside.type is SqlType.TEXT or target is SqlType.TEXT:
        return None
    if target is None or not _holds(target, inside.type):
        raise _not_a_text(inside)
    return inside


def any_json(json: Ref) -> Ref:
    """Return the column that says whether there is any JSON, and is NULL where there is none."""
    name = f"{json.name} IS NOT NULL"
    nullable = json.column.nullable
    there = Column(name, SqlType.BOOLEAN, "boolean", nullable=nullable, path=JsonPath(json.column.name, ()))
    return replace(json, name=name, column=there)


def column(t: Translator, node: exp.Expr) -> Expr:
    """Translate a column; one of JSON only where nothing is asked but whether it is NULL.

    Raises:
        Unsupported: more is asked.
    """
    assert isinstance(node, exp.Column)
    found = t.names.find(node)
    if found.type is not SqlType.JSON:
        return found
    if isinstance(found, Ref) and found.column.paths and _is_counted(node):
        return any_json(found)
    raise not_as_a_whole(found, node)


def is_json(t: Translator, node: exp.Expr) -> bool:
    """Return whether a node is a whole column of JSON."""
    return isinstance(node, exp.Column) and t.names.find(node).type is SqlType.JSON


def pull_up_output(t: Translator, node: exp.Expr) -> Expr:
    """Translate an output of a query inside another, which may be a whole column of JSON: its paths are read outside."""
    return t.names.find(node) if isinstance(node, exp.Column) and is_json(t, node) else t.expression(node)


def not_as_a_whole(json: Expr, node: exp.Expr) -> Unsupported:
    """Return the refusal of JSON itself, in which anything may stand."""
    paths = json.column.paths if isinstance(json, Ref) else ()
    return Unsupported(
        f"{excerpt(node)} is JSON, of which declared paths can be read alone",
        because="json-as-a-whole",
        hint=_told(paths) if paths else "Read its paths inside of this query, where the table stands in FROM.",
    )


def _is_counted(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    # props IS NULL, and count(props) below: they ask for the column that says whether there is any JSON.
    if isinstance(parent, exp.Is):
        return isinstance(parent.expression, exp.Null)
    return parent is not None and function_name(parent) == "count"


def _declared_path(t: Translator, node: exp.Expr) -> Ref:
    """Return the column that a path is.

    Raises:
        Unsupported: it is not declared.
    """
    of, keys = _steps(t, node)
    json = t.names.find(of)
    if json.type is not SqlType.JSON:
        raise unknown_construct(node, because="json-path-not-declared")
    if not isinstance(json, Ref) or not json.column.paths or not isinstance(node, _AS_TEXT):
        raise not_as_a_whole(json, node if isinstance(node, _BY_KEY + _BY_KEYS) else of)
    for inside in json.column.paths:
        if inside.path is not None and inside.path.keys == keys:
            return replace(json, name=inside.name, column=inside)
    raise Unsupported(
        f'{JsonPath(json.column.name, keys).text} is no declared path of column "{json.name}"',
        because="json-path-not-declared",
        hint=_told(json.column.paths),
    )


def _steps(t: Translator, node: exp.Expr) -> tuple[exp.Column, tuple[str, ...]]:
    """Return the column at which a path begins, and its keys.

    Raises:
        Unsupported: it begins elsewhere, or takes a place in an array.
    """
    # props->'address'->>'city' is ->>(->(props, 'address'), 'city'): the last key is the outermost.
    node = node.unnest()
    match node:
        case exp.Column():
            return node, ()
        case exp.JSONExtract() | exp.JSONExtractScalar():
            own: tuple[str, ...] = (_key(t, node.expression, node),)
        case exp.JSONBExtract() | exp.JSONBExtractScalar():
            own = _keys(t, node.expression, node)
        case _:
            raise unknown_construct(node, because="json-path-not-declared")
    of, above = _steps(t, node.this)
    return of, (*above, *own)


def _key(t: Translator, key: exp.Expr, node: exp.Expr) -> str:
    text = literal_text(key)
    if text is not None:
        return text
    if key.find(exp.Column) is not None or isinstance(key, exp.JSONPath):
        _no_key(node)
    value = t.constants.of(key)
    if not isinstance(value, Const) or not isinstance(value.value, str) or not value.type.is_text:
        _no_key(node)
    return value.value


def _keys(t: Translator, array: exp.Expr, node: exp.Expr) -> tuple[str, ...]:
    if array.find(exp.Column) is not None:
        _no_key(node)
    items = t.constants.items(array) or ()
    keys = tuple(item.value for item in items if isinstance(item.value, str) and item.type.is_text)
    if not keys or len(keys) < len(items):
        _no_key(node)
    return keys


def _no_key(node: exp.Expr) -> NoReturn:
    raise Unsupported(
        f"{excerpt(node)}: a path in JSON takes constant keys",
        because="json-path-not-declared",
        hint="Write them as texts: props->'address'->>'city'. Places in arrays can't be read.",
    )


def _holds(target: SqlType, declared: SqlType) -> bool:
    """Return whether every text of a declared type can be cast to another one, and means the same there."""
    # Of a declared integer a bigint or a numeric can be made. A smallint can't: the cast could fail for a row, and tell of
    # it.
    if declared in _WIDTHS:
        return target in _WIDTHS[_WIDTHS.index(declared) :] or (target.is_number and not target.is_integer)
    if declared.is_number:
        return target.is_number and not target.is_integer
    if declared is SqlType.DATE:
        return target in {SqlType.DATE, SqlType.TIMESTAMP}
    return target is declared or (declared is SqlType.TIMESTAMP and target is SqlType.DATE)


def _not_a_text(inside: Ref) -> Unsupported:
    declared = inside.column.declared
    return Unsupported(
        f"{inside.name} is declared {declared}",
        because="json-path-type",
        hint=f"Write ({inside.name})::{declared}.",
    )


def _told(paths: Sequence[Column]) -> str:
    """Return what can be read instead."""
    forms = [p.name if p.type is SqlType.TEXT else f"({p.name})::{p.declared}" for p in paths[:_MOST_SHOWN]]
    more = len(paths) - len(forms)
    return f"Declared are {', '.join(forms)}{f' and {more} more, see dpsql.columns' if more else ''}."


JSON_HANDLERS: Mapping[type[exp.Expr], Handler] = dict.fromkeys((*_BY_KEY, *_BY_KEYS), extract_text)
