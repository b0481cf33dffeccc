"""DuckDB, and the files that it reads."""
