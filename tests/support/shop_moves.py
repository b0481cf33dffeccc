"""How far units move what is measured over the shop, table by table."""

from collections.abc import Sequence

from dpsql.privacy.measurement.plan import Measurement
from tests.support.exactness import Measured, measurements
from tests.support.fix_shop import PROTECTED, Shop, Tables, without
from tests.support.schema import of

UNITS = (1, 2, 3)


def worst(part: Measurement, shop: Shop, worlds: Sequence[Tables], *units: int | None) -> int:
    """Return how far taking away a unit moves a measurement at most; tables that it does not read are left alone."""
    measured, moves = Measured.of(part, shop.engine, shop.world), [0]
    names = [name for name in PROTECTED if shop.engine.named(of(name)) in measured.sql]
    for tables in worlds:
        shop.fill(tables, names)
        whole = measured.exact()
        for unit in units:
            shop.fill(without(tables, unit), names)
            moves.append(measured.distance(whole, measured.exact()))
    return max(moves)


def asked(sql: str, shop: Shop) -> tuple[Measurement, ...]:
    """Return what a statement measures."""
    return measurements(sql, shop.policy, shop.world, shop.engine)
