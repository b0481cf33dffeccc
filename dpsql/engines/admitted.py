"""Versions of engines that are admitted: on which the tests of admission have found the same integers in every way.

Another one may have another optimizer, which nobody has tried: it is refused at start unless `engine.unverified` says so.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.errors import ConfigError

_LOG = logging.getLogger("dpsql.engine")


@dataclass(frozen=True, slots=True)
class AdmittedVersion:
    """One version, or all that begin with it."""

    engine: str
    version: str
    day: str
    """When the tests passed on it."""
    by: str
    """The test that has to pass on another one before it is named here."""


_ADMISSION = "test_every_way_finds_the_same_integers"
_GOLDEN = "test_spark_measures_what_duckdb_measures"
ADMITTED: Sequence[AdmittedVersion] = (
    AdmittedVersion("DuckDB", "2.0.1", "2026-11-27", _ADMISSION),
    AdmittedVersion("PostgreSQL", "15", "2026-11-28", _ADMISSION),
    AdmittedVersion("PostgreSQL", "16", "2026-11-28", _ADMISSION),
    AdmittedVersion("PostgreSQL", "17", "2026-11-28", _ADMISSION),
    AdmittedVersion("PostgreSQL", "18", "2026-11-28", _ADMISSION),
    AdmittedVersion("Sail", "0.7", "2026-11-27", _ADMISSION),
    AdmittedVersion("Spark", "4", "2026-11-22", _GOLDEN),
)
"""docs/engines.md says of each what was tried."""
_PARTS: Mapping[str, int] = {"PostgreSQL": 1, "Spark": 1, "Sail": 2}
"""How many parts of a version's number tell which one it is; of other engines all do."""


def versions(engine: str) -> str:
    """Return the admitted versions of an engine, for people: 16, 17 and 18."""
    names = [admission.version for admission in ADMITTED if admission.engine == engine]
    return " and ".join((", ".join(names[:-1]), names[-1])) if names[1:] else "".join(names)


def is_admitted(product: tuple[str, str]) -> bool:
    """Return whether an engine is admitted, by its name and its version."""
    engine, version = product
    own = ".".join(version.split(".")[: _PARTS.get(engine)])
    return any((engine, own) == (admission.engine, admission.version) for admission in ADMITTED)


def see_that_it_is_admitted(product: tuple[str, str], *, unverified: bool) -> None:
    """See that an engine, by its name and its version, is admitted; `unverified` lets any pass, which the log says.

    Raises:
        ConfigError: it is not.
    """
    engine, version = product
    admitted, listed = is_admitted(product), versions(engine)
    if unverified:
        verdict = (
            "is a tested version, and needs no such setting"
            if admitted
            else f"is not among the tested versions, {listed}"
        )
        _LOG.warning("engine.unverified is set: %s %s %s", engine, version, verdict)
    elif not admitted:
        raise ConfigError(
            f"engine: {engine} {version} is not among the tested versions: its optimizer may change what is measured",
            hint=f"Tested: {engine} {listed}. engine: {{…, unverified: true}} lets any version pass, at your own risk.",
        )
