"""Reading SQL by PostgreSQL's own lexical rules (its `scan.l`): tokens, statements, kinds of statement."""
