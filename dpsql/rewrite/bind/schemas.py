"""One name for each table: that of a schema beside `public` becomes a part of it.

FROM clinical.encounters   →  FROM public."clinical.encounters" AS encounters

In PostgreSQL's words every table that is not temporary has its schema, whatever a search path, a temporary table or an alias
would make of its bare name: this is the one place where a schema is read. From here on a table is known by the text by
which the policy keeps it, and `generator` writes that as a schema and a name again.

Claim: no two tables get one name, and no CTE or temporary table that of a table. Proof: no declared name has a dot in a part
of it, and nothing else is in `public`; and what has no schema in PostgreSQL's words stays without one.
"""

from sqlglot import exp

from dpsql.policy.model import PUBLIC, TableName
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.trees import every

_OWN = frozenset({"", PUBLIC, "dpsql", "information_schema"})
"""The schemas whose tables stay as they are: `public`, and what is no owner's."""


def with_kept_names(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    for table in every(tree, exp.Table):
        schema = fold(table.args.get("db"))
        if schema in _OWN or schema.startswith("pg_") or not isinstance(table.this, exp.Identifier):
            continue
        name = fold(table.this)
        if table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        table.set("this", exp.to_identifier(TableName(schema, name).text, quoted=True))
        table.set("db", exp.to_identifier(PUBLIC, quoted=True))
