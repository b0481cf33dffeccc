"""dbt on psycopg 2: a project in a directory of its own, its adapter, and `dbt show`."""

import atexit
import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from dbt.adapters.factory import get_adapter_by_type
from dbt.cli.main import dbtRunner

from tests.clients.matrix.scripted import Steps, none
from tests.clients.matrix.told import DATABASE, GROUPED, HOST, PASSWORD, PORT, ROOT, SLOW, WHO, code

PROFILE = f"""\
matrix:
  target: dev
  outputs:
    dev: {{type: postgres, host: {HOST}, port: {PORT}, user: {WHO}, password: "{PASSWORD}", dbname: {DATABASE},
           schema: public, threads: 2, sslmode: verify-full, sslrootcert: {ROOT}}}
"""
PROJECT = "{name: matrix, version: '1.0', profile: matrix, config-version: 2}"


def dbt(*words: str) -> Any:
    """Run one of dbt's commands, and return what it says."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        done = dbtRunner().invoke([*words, "--project-dir", HOME, "--profiles-dir", HOME])
    assert done.success, said.getvalue()
    return done.result


class Dbt(Steps):
    lists = none("has no parameters")
    types = none("has no parameters")
    cursor = none("reads the whole")

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        _, table = adapter.execute(statement, fetch=True)
        return [list(row.values()) for row in table.rows]

    def sqlstate(self, failed: Any) -> object:
        return failed.__cause__.pgcode

    def tls(self) -> object:
        return "bound" if self.ask(GROUPED) else None

    def tables(self) -> object:
        relations = adapter.list_relations(DATABASE, "public")
        # Functions are relations to it as well.
        return sorted(relation.identifier for relation in relations if relation.type == "table")

    def columns(self) -> object:
        (trips,) = (
            list_relation
            for list_relation in adapter.list_relations(DATABASE, "public")
            if list_relation.identifier == "trips"
        )
        return [column.name for column in adapter.get_columns_in_relation(trips)]

    def grouped(self) -> object:
        return [list(row.values()) for row in SHOWN.results[0].agate_table.rows]

    def cancel(self) -> object:
        # As Ctrl-C in `dbt run` does, which ends the sessions of all threads but its own.
        def slow() -> object:
            with adapter.connection_named("slow"):
                # psycopg 2 does not keep the 57P01 of a session that was ended.
                return code(lambda: self.ask(SLOW), lambda failed: "stopped" if "closed" in str(failed) else None)

        with ThreadPoolExecutor() as threads:
            stopped = threads.submit(slow)
            while not wait([stopped], 0.2).done:
                adapter.cancel_open_connections()
        return stopped.result()

    def encode(self, name: str) -> None:
        adapter.connections.get_thread_connection().handle.set_client_encoding(name)


os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
os.environ["PGCHANNELBINDING"] = "require"
HOME = tempfile.mkdtemp(prefix="dpsql-dbt-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
Path(HOME, "profiles.yml").write_text(PROFILE, encoding="utf-8")
Path(HOME, "dbt_project.yml").write_text(PROJECT, encoding="utf-8")
Path(HOME, "models").mkdir()
SHOWN = dbt("show", "--inline", GROUPED)
adapter: Any = get_adapter_by_type("postgres")
with adapter.connection_named("matrix"):
    Dbt().tell()
