"""Every golden statement that is answered, inside what people and tools put around statements: it is answered there too.

Names and types are PostgreSQL's, and what fails has failed for PostgreSQL as well: nothing that planning could have found
out fails after the charge.
"""

import psycopg
import pytest

from tests.queries.test_golden import ANSWERED
from tests.support.fix_dirty import NewUser
from tests.support.golden import Golden
from tests.support.reference import Reference

QUERIES = [g for g in ANSWERED if g.reference == "" and g.sql.lstrip().lower().startswith(("select", "with"))]
SHELLS = {
    "subquery": "SELECT * FROM ({}) AS w",
    "cte": "WITH w AS ({}) SELECT * FROM w",
    "twice": "({0}) UNION ALL ({0})",
    "first": "SELECT * FROM ({}) AS w LIMIT 1",
    "created": "CREATE TEMP TABLE shell_made AS {}",
    "counted": "SELECT count(*) FROM ({}) AS w",
    "cursor": "DECLARE shell_cursor CURSOR WITH HOLD FOR {}",
    "copy": "COPY ({}) TO STDOUT",
    "inserted": "INSERT INTO shell_kept {}",
    "explained": "EXPLAIN {}",
    "explained in full": "EXPLAIN (VERBOSE, FORMAT JSON) {}",
    "explained as text": "EXPLAIN (VERBOSE, FORMAT TEXT) {}",
    "explained as YAML": "EXPLAIN (VERBOSE, FORMAT YAML) {}",
    "explained as XML": "EXPLAIN (VERBOSE, FORMAT XML) {}",
}
KEPT = "CREATE TEMP TABLE shell_kept AS SELECT * FROM ({}) AS w LIMIT 0"
DESCRIBED = ("subquery", "cte", "twice", "first", "counted")
QUICK = QUERIES[::24]


def check(golden: Golden, user: NewUser, reference: Reference) -> None:
    """Ask for a statement in each shell, and compare with what PostgreSQL says of the same."""
    client, sql = user(golden.user), golden.sql.rstrip().rstrip(";")
    question = client.gateway.examine(sql, client.asker)
    plain = sql if question is None else client.text(question)
    kind = reference.policy.roles[client.asker.role].protects
    for name, around in SHELLS.items():
        shell = around.format(sql)
        try:
            wanted = reference.answer(shell, kind) if name in DESCRIBED else None
        except psycopg.Error:
            continue  # two columns of one name, for one
        question = client.gateway.examine(shell, client.asker)
        assert question is not None, name
        text = client.text(question)
        if name == "copy":
            continue
        with client.connection.transaction(force_rollback=True):
            try:
                if name == "inserted":
                    client.connection.execute(KEPT.format(plain).encode())
                cursor = client.connection.execute(text.encode())
            except psycopg.errors.DuplicateColumn:
                assert name in ("created", "inserted")  # the wire has PostgreSQL check what makes a table first
                continue
            if wanted is not None:
                described = cursor.description or ()
                assert tuple(c.name for c in described) == wanted.names, name
                assert tuple(c.type_code for c in described) == wanted.types, name


@pytest.mark.parametrize("golden", QUICK, ids=[g.name for g in QUICK])
def test_some_are_answered_in_every_shell(golden: Golden, user: NewUser, reference: Reference) -> None:
    """One of two dozen, in each run of the tests."""
    check(golden, user, reference)


@pytest.mark.slow
@pytest.mark.parametrize("golden", QUERIES, ids=[g.name for g in QUERIES])
def test_all_are_answered_in_every_shell(golden: Golden, user: NewUser, reference: Reference) -> None:
    """All of them, where there is time."""
    check(golden, user, reference)
