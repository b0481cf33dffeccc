"""Why something does not come to the same as on PostgreSQL, where no rule of dpsql's says so in the error."""

_TESTED = "asks for failing rows, and takes the refusal for a missing column"
REASONS: dict[tuple[str, str], str] = {
    ("JupySQL", "%sqlcmd test --greater"): _TESTED,
    ("JupySQL", "%sqlcmd test --less-than"): _TESTED,
    (
        "JupySQL",
        "%sqlcmd profile",
    ): "asks for a value of each column first; made-up rows help for bounded ones",
    ("Malloy", "index"): "reads every column as a text, also those without declared values",
    ("Soda Core 3", "means of"): "has none of columns without bounds",
    ("Soda Core 3", "values of"): "asks for the values that occur, also of columns whose values are not declared",
    ("LangChain's SQLDatabase", "get_table_info"): "has no sample rows, or made-up ones",
    ("sqlmesh", "plan and apply"): "would write tables",
    ("Alembic", "writes"): "would write a table of its own",
    ("Piccolo", "batch"): "reads rows, and passes over the refusal: gives none",
    ("Pony", "existence"): "asks for a row with all its columns: ask `count() > 0`",
    ("Pony", "select().limit"): "rows (`rows-of-protected-table`)",
    (
        "querychat",
        "get_schema",
    ): "asks for the extremes of all columns at once, of which some have no bounds: shows none",
    ("querychat", "rows"): "rows (`rows-of-protected-table`)",
}
