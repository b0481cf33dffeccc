"""The tools that people look at data with: in which environment each lives, and the script that tries it."""

import os
from dataclasses import dataclass
from pathlib import Path

_SCRIPTS = Path(__file__).parent.parent / "drivers" / "tools"
PLACE = Path(os.environ.get("TOOLS", ".venv/tools")).absolute()
"""Where `make test-tools` installs them."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One of them."""

    name: str
    command: tuple[str, ...]


def _python(name: str, environment: str, script: str) -> Tool:
    return Tool(name, (str(PLACE / environment / "bin" / "python"), str(_SCRIPTS / script)))


def _node(name: str, script: str, *more: str) -> Tool:
    return Tool(name, ("node", str(_SCRIPTS / script), *more))


TOOLS = (
    _python("dbt", "dbt", "dbt_tool.py"),
    _python("sqlmesh", "sqlmesh", "sqlmesh_tool.py"),
    _python("Great Expectations", "gx", "gx_tool.py"),
    _python("Soda Core 3", "soda3", "soda3.py"),
    _python("Soda 4", "soda4", "soda4.py"),
    _python("ibis", "ibis", "ibis_tool.py"),
    Tool("dbplyr", ("Rscript", str(_SCRIPTS / "dbplyr.R"))),
    _python("Django", "mappers", "django_tool.py"),
    _python("Piccolo", "mappers", "piccolo_tool.py"),
    _python("Pony", "mappers", "pony_tool.py"),
    _python("SQLModel", "mappers", "sqlmodel_tool.py"),
    _python("Alembic", "mappers", "alembic_tool.py"),
    _node("Prisma", "prisma.mjs"),
    _python("pandas, dask", "frames", "frames_tool.py"),
    _python("records", "frames", "records_tool.py"),
    _python("marimo", "notebooks", "marimo_tool.py"),
    _python("querychat", "notebooks", "querychat_tool.py"),
    _python("dlt", "dlt", "dlt_tool.py"),
    _python("Metabase's statements", "psycopg", "metabase_tool.py"),
    _python("JupySQL", "jupysql", "jupysql_tool.py"),
    _python("ydata-profiling", "ydata", "ydata_tool.py"),
    _python("LangChain's SQLDatabase", "langchain", "langchain_tool.py"),
    _python("MCP's reference server for PostgreSQL", "mcp", "reference_mcp.py"),
    _node("Malloy", "malloy.mjs"),
    _node("Evidence", "evidence.mjs"),
    _node("kanel", "generators.mjs", "kanel"),
    _node("drizzle-kit", "generators.mjs", "drizzle"),
)
