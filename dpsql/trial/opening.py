"""From what is served to the trial of its statements: on synthetic databases in an engine of the records' kind."""

import hashlib
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import duckdb
import psycopg

from dpsql.engines.base import Engine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.opening import ALLOWED_OPTIMIZERS, DUCKDB_SETTINGS
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import InternalError
from dpsql.policy.model import Policy, TrialMode
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts, PublicRows
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from dpsql.trial.engine import TrialEngine
from dpsql.trial.postgres_engine import PostgresTrialEngine
from dpsql.trial.spark_engine import SparkTrialEngine
from dpsql.trial.subject import TrialSubject
from dpsql.trial.trial import StatementTrial
from dpsql.trial.tried_forms import TriedForms

_TRIED = ("engines", "privacy", "rewrite", "trial")
"""The rooms whose code a trial is of."""


def open_trial(
    policy: Policy,
    public: tuple[PublicRows, DeclaredFacts],
    engine: Engine,
    cluster: Callable[[str], str],
    mode: TrialMode = TrialMode.FORMS,
    file: Path | None = None,
) -> StatementTrial | None:
    """Return the trial of statements for an engine that has just been opened; None where nothing is tried.

    `cluster` says how the owner of the PostgreSQL that dpsql runs connects to one of its databases; `file` keeps what passed.
    """
    if mode is TrialMode.OFF:
        return None
    prepare, language, edition = _trial_engine_of(engine, cluster)
    rows, declared = public
    emitter = Emitter(engine.dialect, declared, engine.named, engine.kept)
    # All that a verdict rests on beside the policy. What passed is kept in a file, and read by the next process: with
    # another engine, its settings or our code it has to pass again.
    about = f"dpsql {version('dpsql')} {_source()}, {edition}"
    return StatementTrial(
        TrialSubject.of(policy, rows, engine, language), prepare, about, emitter, TriedForms(file), mode
    )


def _trial_engine_of(
    engine: Engine, cluster: Callable[[str], str]
) -> tuple[Callable[[TrialSubject], TrialEngine], str, str]:
    """Return what makes databases for an engine, what the parser calls its SQL, and its edition.

    Raises:
        InternalError: statements for this kind of engine can't be tried, so that none is asked of it.
    """
    match engine:
        case DuckDb():
            settings = sorted((name, str(value)) for name, value in DUCKDB_SETTINGS.items())
            return DuckDbTrialEngine, "duckdb", f"DuckDB {duckdb.__version__} {settings} {sorted(ALLOWED_OPTIMIZERS)}"
        case PostgresEngine():
            with psycopg.connect(cluster("postgres")) as connection:
                # Of the cluster that tries, which dpsql runs itself: the engine with the records may be of another
                # version.
                number = connection.info.server_version
            return partial(PostgresTrialEngine, dsn=cluster), "postgres", f"PostgreSQL {number}"
        case SparkEngine():
            return partial(SparkTrialEngine, connect=engine.another_session), "spark", " ".join(engine.product)
        case _:
            raise InternalError


@cache
def _source() -> str:
    """Return a hash of the files that write statements and try them: a checkout may change while its version stays."""
    digest = hashlib.sha256()
    for room in _TRIED:
        for file in sorted((Path(__file__).parent.parent / room).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
