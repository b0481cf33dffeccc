"""The dialects that dpsql writes; those of the engines that most tests ask."""

from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.dialects.postgres import POSTGRES
from dpsql.rewrite.dialects.spark import SPARK

__all__ = ["DIALECTS", "DUCKDB", "NAMES", "POSTGRES", "SPARK"]

DIALECTS = (DUCKDB, POSTGRES)
NAMES = tuple(dialect.name for dialect in DIALECTS)
