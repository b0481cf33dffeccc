"""Every dialect that dpsql writes."""

from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.dialects.postgres import POSTGRES

__all__ = ["DIALECTS", "DUCKDB", "NAMES", "POSTGRES"]

DIALECTS = (DUCKDB, POSTGRES)
NAMES = tuple(dialect.name for dialect in DIALECTS)
