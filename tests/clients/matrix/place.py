"""The server that all drivers of the matrix are sent to: TLS, the trips, and a table that no statement gets through."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from tests.clients.site import Site, configure, serving
from tests.support.demo_schemas import copy_with_numbers

_ROOT = Path(__file__).resolve().parents[3]
CERTIFICATE, _KEY = _ROOT / "tests" / "wire" / "localhost.crt", _ROOT / "tests" / "wire" / "localhost.key"
_ENDLESS = """\
table: endless
expected_rows: 1_000_000
privacy_units:
  passenger: {column: passenger_id, max_rows: 20}
columns:
  passenger_id: {type: integer}
"""


@contextmanager
def matrix_site() -> Iterator[Site]:
    """Run dpsql with a certificate for localhost."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-matrix-"))
    directory.chmod(0o711)
    schemas = copy_with_numbers(directory / "schemas")
    (schemas / "endless.yaml").write_text(_ENDLESS, encoding="utf-8")
    tls = f", tls: {{certificate: {CERTIFICATE}, key: {_KEY}}}"
    config = configure(directory, tls=tls, schemas=schemas)
    with duckdb.connect(directory / "taxi.duckdb") as connection:
        connection.execute(
            "CREATE VIEW endless AS SELECT (n % 500)::INTEGER AS passenger_id FROM range(1000000000000) r (n)"
        )
    try:
        with serving(config) as site:
            yield replace(site, host="localhost")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
