"""`dpsql explain`: what a statement would measure, cost and err by; nothing is read and nothing is paid."""

import typer

import dpsql
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile, RoleName, Sql, statement


@with_exit_code
def explain_statement(sql: Sql, role: RoleName, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Print how a statement would be answered; free."""
    asked = statement(sql)
    with dpsql.connect(config, role=role) as connection, connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked}".encode())
        for row in cursor.fetchall():
            typer.echo(row[0])
