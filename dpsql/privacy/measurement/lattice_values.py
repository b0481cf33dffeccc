"""The values that a measurement of sums computes of each row, and the sums over them, as the engine is to write them."""

from collections.abc import Sequence

from dpsql.policy.model import SqlType
from dpsql.privacy.features.feature import Scaled
from dpsql.privacy.features.lattice import EngineSum, own_points
from dpsql.privacy.measurement.contribution import Bound
from dpsql.privacy.measurement.heavy_units import RowValues
from dpsql.rewrite.emit.binning import stepped
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref

_SHORT = 2**22
"""Steps of 32 bits that an engine may add up in 64: it would take 2^41 rows, more than a table of PostgreSQL's has."""


class LatticeValues:
    """The lattice values, conditions and blocks that the inner SELECT computes, each under one name."""

    def __init__(
        self,
        emitter: Emitter,
        bound: Bound,
        points: int,
        block_conditions: Sequence[Expr],
        *,
        in_steps: bool = False,
    ) -> None:
        self.named: dict[str, str] = {}
        self._read: dict[str, str] = {}
        """Expressions of columns before they are rounded, where the engine would compute them each time that they are
        named."""
        self._later: set[str] = set()
        """The texts that read it."""
        self._in_steps = in_steps and bool(emitter.dialect.computed_once)
        self._emitter, self._bound, self.points = emitter, bound, points
        cases = " ".join(f"WHEN {emitter.sql(where)} THEN {i}" for i, where in enumerate(block_conditions))
        self._block = f"CASE {cases} ELSE {len(block_conditions)} END"

    def summed(self, column: EngineSum, *, weighted: bool, apart: bool = False) -> str:
        """Return the sum as the engine computes it; where heavy units are weighed apart, without weights."""
        weight = ["v" if column.by_value else "w"] if weighted and not apart else []
        long = weighted and (not apart or 2 * self.points > _SHORT)
        text = self._emitter.dialect.total(" * ".join([*weight, *self._factors(column, cast=long)]))
        text = text if weight or column.factors else "count(*)"
        conditions = [] if column.block is None else [self.block(column.block)]
        conditions += [] if column.where == TRUE else [self._name(self._emitter.sql(column.where))]
        return f"{text} FILTER (WHERE {' AND '.join(conditions)})" if conditions else text

    def norm(self, columns: Sequence[EngineSum]) -> str:
        """Return the largest of a row's lattice values from 0, whichever of them it counts in; one without a value has S."""
        sizes = [
            f"coalesce({self._from_zero(factor, upwards=column.upwards)}, {self.points})"
            for column, factor in ((c, self._factors(c, cast=False)[0]) for c in columns if c.factors)
        ]
        different = list(dict.fromkeys(sizes))
        return f"greatest({', '.join(different)})" if len(different) > 1 else different[0]

    def _from_zero(self, factor: str, *, upwards: bool) -> str:
        number = self._emitter.cast(factor, SqlType.BIGINT)
        return number if upwards else f"abs({number} - {self.points})"

    def block(self, block: int) -> str:
        """Return the condition that a row is in a block: one number says in which, so it can't be in two."""
        return f"{self.block_name} = {block}"

    @property
    def block_name(self) -> str:
        """Return the column that says in which block a row is."""
        return self._name(self._block)

    def _factors(self, column: EngineSum, *, cast: bool) -> list[str]:
        steps = self.points if column.upwards else 2 * self.points
        names = [self._name(self._stepped(x, steps)) for x in column.factors]
        type_ = self._product(column)
        if not column.centred:
            return [self._emitter.cast(name, type_) if cast or len(names) > 1 else name for name in names]
        return [f"({self._emitter.cast(name, type_)} - {self.points})" for name in names]

    def _stepped(self, x: Scaled, steps: int) -> str:
        own = own_points(x, steps)
        if not self._in_steps or isinstance(x.expr, Ref):
            return stepped(self._emitter, x.expr, x.interval, steps, own=own)
        earlier: list[str] = []

        def read(text: str) -> str:
            earlier.append(text)
            return self._read.setdefault(text, f"x{len(self._read)}")

        text = stepped(self._emitter, x.expr, x.interval, steps, own=own, read=read)
        self._later.update([text] if earlier else [])
        return text

    @property
    def row_values(self) -> RowValues:
        """Return all with their names, those that are computed of others' names apart from these."""
        if not self._read:
            return RowValues([f"{text} AS {name}" for text, name in self.named.items()])
        read = {**self._read, **{text: name for text, name in self.named.items() if text not in self._later}}
        named = [f"{text} AS {name}" if text in self._later else name for text, name in self.named.items()]
        return RowValues(named, [f"{text} AS {name}" for text, name in read.items()])

    def _product(self, column: EngineSum) -> SqlType:
        """Return the type that holds one row's product."""
        most = self._bound.weight * (2 * self.points) ** len(column.factors)
        return self._emitter.dialect.product_type(most)

    def _name(self, text: str) -> str:
        return self.named.setdefault(text, f"f{len(self.named)}")
