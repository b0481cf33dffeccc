"""Views in the tree of a statement: a subquery where the view is read, written by its name where PostgreSQL reads it.

    FROM card_trips AS c   →  ViewRead: (SELECT … FROM trips WHERE …) AS c, which is rendered as public.card_trips AS c

No text of a client's becomes one of these nodes, so they say what a role was granted: the view, and what is read in it.
"""

from typing import ClassVar

from sqlglot import exp


class ViewRead(exp.Subquery):
    """Where a statement reads a view: its query, its name, and whether it has public rows only."""

    arg_types: ClassVar[dict[str, bool]] = {**exp.Subquery.arg_types, "view": True, "public": True}

    @property
    def view(self) -> str:
        """Return the view's name."""
        return str(self.args["view"])


class ViewedTable(exp.Table):
    """A protected table in the query of a view; a role that may use the view need not be granted it.

    PostgreSQL is asked for the types of what is computed from it, and sees a row of NULLs of the declared types in its place.
    """

    arg_types: ClassVar[dict[str, bool]] = {**exp.Table.arg_types, "typed": True}
