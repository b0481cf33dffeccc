"""`python -m dpsql`: the command line, where scripts are not on the path."""

from dpsql.cli.main import app

app(prog_name="dpsql")
