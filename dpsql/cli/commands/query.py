"""`dpsql query` and `dpsql explain`: ask one statement and print the answer, or what it would measure, cost and err by."""

import sys

import psycopg
import typer

import dpsql
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile, RoleName, Sql, statement
from dpsql.cli.support.show import Form, show_answer


@with_exit_code
def query(
    sql: Sql,
    role: RoleName,
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Ask a statement as a role; the role's budget pays."""
    asked, form = statement(sql), Form.of(as_json, as_csv)
    with dpsql.connect(config, role=role) as connection:
        connection.add_notice_handler(_show_notice)
        with connection.cursor() as cursor:
            cursor.execute(asked.encode())
            show_answer(cursor, form)


def _show_notice(notice: psycopg.errors.Diagnostic) -> None:
    sys.stderr.write(f"{notice.severity}: {notice.message_primary}\n")


# `dpsql explain`: what a statement would measure, cost and err by; nothing is read and nothing is paid.


@with_exit_code
def explain_statement(sql: Sql, role: RoleName, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Print how a statement would be answered; free."""
    asked = statement(sql)
    with dpsql.connect(config, role=role) as connection, connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked}".encode())
        for row in cursor.fetchall():
            typer.echo(row[0])
