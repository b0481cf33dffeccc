"""From the engine's rows to a release, for each kind of measurement."""

from collections.abc import Sequence
from dataclasses import replace

from dpsql.privacy.accuracy.margin import largest_share
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.plan import Measured
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release.exact import EngineRow, KeyRow, exact_buckets, exact_cells, exact_sums, exact_units
from dpsql.privacy.release.release import (
    Release,
    release_buckets,
    release_cells,
    release_keys,
    release_sums,
)


def release_of(part: PricedMeasurement, rows: Sequence[EngineRow], finder: Release | None, entropy: Entropy) -> Release:
    """Return what may be shown of the engine's rows; they end here."""
    measurement = part.measurement
    keys = None if finder is None else finder.keys
    released = _with_noise(part, measurement, rows, keys, entropy)
    return released if part.chosen is None else replace(released, chosen=part.chosen)


def _with_noise(
    part: PricedMeasurement,
    measurement: Measured,
    rows: Sequence[EngineRow],
    keys: Sequence[KeyRow] | None,
    entropy: Entropy,
) -> Release:
    match measurement:
        case RowsPerUnit() | BeyondBounds():
            return release_cells(measurement, exact_cells(measurement, rows), entropy)
        case Sums():
            exact = exact_sums(measurement, rows)
            return release_sums(measurement, exact if keys is None else exact.at(keys), entropy, part.rule)
        case KeySearch():
            return release_keys(exact_units(measurement, rows), entropy, part.rule)
        case Histogram():
            buckets, chosen = exact_buckets(measurement, rows, keys), part.chosen
            missing = 0.0 if chosen is None else (chosen.cut + chosen.doubt) / largest_share(len(buckets.histogram))
            return release_buckets(measurement, buckets, entropy, missing)
