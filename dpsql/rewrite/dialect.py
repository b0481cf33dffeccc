"""PostgreSQL's grammar with every function kept by its own name.

sqlglot knows hundreds of functions by class and writes some of them back in another form (`to_char` through strftime, for
one). Here a function call stays what was written, so that what is post-processing reaches PostgreSQL unchanged, and
what is private is looked up by name in `functions.py`.
"""

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser

_OWN_SYNTAX = ("CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY")


class Client(Postgres):
    """The dialect that clients write."""

    class Parser(PostgresParser):
        """A parser that recognises syntax, not functions."""

        FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
        FUNCTION_PARSERS: ClassVar = {k: v for k, v in PostgresParser.FUNCTION_PARSERS.items() if k in _OWN_SYNTAX}
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            k: v for k, v in PostgresParser.NO_PAREN_FUNCTION_PARSERS.items() if k in ("ANY", "CASE")
        }


def render(node: exp.Expr) -> str:
    """Return `node` as PostgreSQL text, function names as they were written."""
    return node.sql(Client, normalize_functions=False, comments=False)
