"""Trees written as PostgreSQL's SQL, with every operator and function as it was."""

import re
from typing import ClassVar

from sqlglot import exp
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.helper import name_sequence

from dpsql.policy.model import PUBLIC, TableName
from dpsql.rewrite.syntax.read.view_nodes import ViewedTable, ViewRead

_BEYOND_TABLES = frozenset({"db", "catalog", "join_mark", "shadow"})
"""Parts that few columns have."""
_NEGATED = {exp.Is: "IS NOT", exp.RegexpLike: "!~", exp.RegexpILike: "!~*"}
"""Comparisons that are negated by another word, and not by NOT before them."""
_OF_VALUES = "_values"
"""The parser's name for VALUES that stand for a query."""
JOINED_AS = "joined_as"
"""The part of a join in which the name stands that USING gives to its columns."""
_PRECISE = re.compile(r"\binterval_(\d+)_(?=\W|$)")


class Prefixed(exp.Unary):
    """What an operator without a left side is before: |/ fare."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "operator": True}


class ClientGenerator(PostgresGenerator):
    """A generator that writes operators as they were."""

    MULTI_ARG_DISTINCT = True
    TRANSFORMS: ClassVar = {
        **PostgresGenerator.TRANSFORMS,
        exp.Array: lambda self, node: f"ARRAY[{self.expressions(node, flat=True)}]",
        exp.CurrentTime: lambda self, node: self.sql(node, "this") or "CURRENT_TIME",
        exp.Pow: lambda self, node: self.binary(node, "^"),
        exp.StrPosition: lambda self, node: PostgresGenerator.TRANSFORMS[exp.StrPosition](self, node.copy()),
        exp.StartsWith: lambda self, node: self.binary(node, "^@"),
        Prefixed: lambda self, node: f"({node.args['operator']} {self.sql(node, 'this')})",
        ViewRead: lambda self, node: f"{TableName.of(node.view).quoted} AS {self.sql(node, 'alias')}",
        ViewedTable: lambda self, node: f"{node.args['typed']} AS {self.sql(node, 'alias')}",
    }

    def generate(self, expression: exp.Expr, copy: bool = True) -> str:
        """Write a tree as if it were the first one."""
        self._next_name = name_sequence("_t")
        return super().generate(expression, copy)

    def identifier_sql(self, expression: exp.Identifier) -> str:
        """Write a name; most are plain, and need no look at what has to be quoted."""
        name = str(expression.this)
        if not (name.isascii() and name.isidentifier()):
            return super().identifier_sql(expression)
        return f'"{name}"' if expression.args.get("quoted") else name

    def table_parts(self, expression: exp.Table) -> str:
        """Write a table's name; one that has its schema in it (`bind.schemas`) as a schema and a name."""
        name, schema = expression.this, expression.args.get("db")
        if isinstance(name, exp.Identifier) and schema is not None and schema.name == PUBLIC and "." in name.name:
            return TableName.of(name.name).quoted
        return super().table_parts(expression)

    def column_sql(self, expression: exp.Column) -> str:
        """Write a column; most are a name alone, or behind their table's."""
        table, more = expression.args.get("table"), _BEYOND_TABLES & expression.args.keys()
        if more and any(expression.args[key] for key in more):
            return super().column_sql(expression)
        name = self.sql(expression.this)
        return f"{self.sql(table)}.{name}" if table else name

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        """Write a join, and the name that USING gives to its columns."""
        named = expression.args.get(JOINED_AS)
        return super().join_sql(expression, join_op) + (f" AS {self.sql(named)}" if named is not None else "")

    def lateral_sql(self, expression: exp.Lateral) -> str:
        """Write LATERAL, and what is joined to it in brackets."""
        joins = expression.args.get("joins") or ()
        return super().lateral_sql(expression) + "".join(f" {self.sql(join).lstrip()}" for join in joins)

    def not_sql(self, expression: exp.Not) -> str:
        """Write a negation; where the operator has a word of its own for it, by that."""
        inside, word = expression.this, _NEGATED.get(type(expression.this))
        if isinstance(inside, exp.In):
            return f"{self.sql(inside, 'this')} NOT {self.sql(inside)[len(self.sql(inside, 'this')) + 1 :]}"
        if word is None:
            return super().not_sql(expression)
        what = "UNKNOWN" if inside.args.get("unknown") else self.sql(inside, "expression")
        return f"{self.sql(inside, 'this')} {word} {what}"

    def is_sql(self, expression: exp.Is) -> str:
        """Write IS, and UNKNOWN where that was written."""
        if expression.args.get("unknown"):
            return f"{self.sql(expression, 'this')} IS {'NOT ' * bool(expression.args.get('negate'))}UNKNOWN"
        return super().is_sql(expression)

    def if_sql(self, expression: exp.If) -> str:
        """Write a branch; sqlglot would take it out of its CASE to do so."""
        return super().if_sql(expression.copy())

    def windowspec_sql(self, expression: exp.WindowSpec) -> str:
        """Write a frame; one without an end goes to the current row."""
        if expression.args.get("end") or expression.args.get("exclude"):
            return super().windowspec_sql(expression)
        start = f"{self.sql(expression, 'start')} {self.sql(expression, 'start_side')}".strip()
        return f"{self.sql(expression, 'kind')} {start}"

    def trim_sql(self, expression: exp.Trim) -> str:
        """Write TRIM with the side that was written; what is trimmed stands in calls of other names."""
        return f"TRIM({expression.args.get('position') or 'BOTH'} FROM {self.sql(expression, 'this')})"

    def select_sql(self, expression: exp.Select) -> str:
        """Write a query; of VALUES, which may stand in its place, the parser makes a query over them."""
        rows = expression.args["from_"].this if expression.args.get("from_") else None
        if isinstance(rows, exp.Values) and _is_made(expression, rows):
            rows = rows.copy()
            rows.set("alias", None)
            return self.sql(rows)
        return super().select_sql(expression)

    def datatype_sql(self, expression: exp.DataType) -> str:
        """Write a type; `interval_3_` stands for `interval(3)`, which the parser does not read."""
        return _PRECISE.sub(r"INTERVAL(\1)", super().datatype_sql(expression))


def _is_made(query: exp.Select, rows: exp.Values) -> bool:
    """Return whether a query over VALUES is the parser's: PostgreSQL writes no star."""
    written = {key for key, value in query.args.items() if value and key != "with_"}
    stars = [type(output) for output in query.expressions] == [exp.Star]
    return stars and written == {"expressions", "from_"} and rows.alias == _OF_VALUES and not rows.alias_column_names
