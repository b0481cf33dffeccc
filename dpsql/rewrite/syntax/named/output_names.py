"""The names that PostgreSQL gives to output columns that nobody named (`FigureColname` of its parser, in parse_target.c)."""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.dialect import render

UNNAMED = "?column?"
_CALLS: Mapping[type[exp.Expr], str] = {
    exp.Array: "array",
    exp.AtTimeZone: "timezone",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentDate: "current_date",
    exp.CurrentRole: "current_role",
    exp.CurrentSchema: "current_schema",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.Exists: "exists",
    exp.Extract: "extract",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
    exp.Overlaps: "overlaps",
    exp.Overlay: "overlay",
    exp.SessionUser: "session_user",
    exp.StrPosition: "position",
    exp.Substring: "substring",
    exp.Tuple: "row",
}
"""What has a grammar of its own, by the name of the function that it stands for."""
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_TYPES = {
    "bigint": "int8", "boolean": "bool", "char": "bpchar", "character": "bpchar", "decimal": "numeric",
    "double precision": "float8", "float": "float8", "int": "int4", "integer": "int4", "real": "float4",
    "smallint": "int2", "character varying": "varchar", "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp", "time without time zone": "time", "time with time zone": "timetz",
}  # fmt: skip
"""The names of types in the catalogue, where people write others."""


def output_name(node: exp.Expr) -> str:
    """Return the name of an output column: `count(*) FILTER (WHERE x)` is "count", `1 + 1` is "?column?"."""
    name, _ = _named(node)
    return name or UNNAMED


def _named(node: exp.Expr | None) -> tuple[str, bool]:
    """Return a name, empty if there is none, and whether a cast or a CASE around it keeps it."""
    match node:
        case exp.Alias():
            return fold(node.args["alias"]), True
        case exp.Column():
            return fold(node.this), True
        case exp.Paren() | exp.Filter() | exp.WithinGroup() | exp.Window() | exp.Collate() | exp.Bracket():
            return _named(node.this)
        case exp.Cast():
            return _weak(node.this, _type_name(node.to))
        case exp.Interval():
            return "interval", False
        case exp.Case():
            return _weak(node.args.get("default"), "case")
        case exp.Trim():
            return _TRIMS.get(str(node.args.get("position") or "").upper(), "btrim"), True
        case exp.Subquery():
            return _of_query(node.this), True
        case _:
            name = _called(node)
            return name, bool(name)


def _called(node: exp.Expr | None) -> str:
    """Return the last part of the name of what is called, or of a field."""
    if node is None:
        return ""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return fold(node.expression)
    return _CALLS.get(type(node)) or function_name(node).rpartition(".")[2]


def _weak(inner: exp.Expr | None, name: str) -> tuple[str, bool]:
    """Return the name of what stands inside if it has a good one, else `name`, which is not."""
    found, good = _named(inner)
    return (found, True) if good else (name, False)


def _of_query(query: exp.Expr) -> str:
    while isinstance(query, (exp.SetOperation, exp.Subquery)):
        query = query.this
    return output_name(query.expressions[0]) if isinstance(query, exp.Select) and query.expressions else UNNAMED


def _type_name(type_: exp.Expr) -> str:
    """Return the name of a cast's type in the catalogue: INT is int4, and an array goes by its elements."""
    written = render(type_).lower().split("(")[0].rstrip("[] ").removeprefix("pg_catalog.")
    return _TYPES.get(written, written)
