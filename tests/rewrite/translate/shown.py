"""What the client's SQL becomes, written so that tests can compare it."""

from dataclasses import astuple
from typing import assert_never

import sqlglot
from sqlglot import exp

from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref
from dpsql.rewrite.syntax.read.dialect import Client
from dpsql.rewrite.translate.values.context import Translator


def shown(expr: Expr) -> str:
    """Return an expression as `function[option](argument, …)`; dates and timestamps are numbers."""
    match expr:
        case Ref():
            return expr.name
        case Const():
            return "NULL" if expr.value is None else str(expr.value)
        case Apply(option=None):
            return f"{expr.op}({', '.join(map(shown, expr.args))})"
        case Apply(option=option):
            assert option is not None
            return f"{expr.op}[{', '.join(map(str, astuple(option)))}]({', '.join(map(shown, expr.args))})"
        case _:
            assert_never(expr)


def tree(sql: str) -> exp.Expr:
    """Return the parser's tree of an expression over `rides`, whose name is before its columns as PostgreSQL has it."""
    select = sqlglot.parse_one(f"SELECT {sql}", read=Client)
    assert isinstance(select, exp.Select)
    (expression,) = select.expressions
    assert isinstance(expression, exp.Expr)
    for column in expression.find_all(exp.Column):
        column.set("table", column.args.get("table") or exp.to_identifier("rides"))
    return expression


def translated(t: Translator, sql: str) -> str:
    """Return what an expression over `rides` becomes."""
    return shown(t.expression(tree(sql)))
