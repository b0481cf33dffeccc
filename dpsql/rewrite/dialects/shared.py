"""Forms that two engines spell in the same way."""

from collections.abc import Sequence
from typing import Literal

from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.dialects.forms import spelled_span
from dpsql.rewrite.ir.expr import IntervalValue

_MANY, _FEW = 100, 4
"""Keys from which on they are looked up by their results, and up to how many results."""


class PostgresFunctions(Dialect):
    """An engine that has PostgreSQL's functions of times and of divisors, with their names."""

    def nearest(self, text: str, type_: SqlType, *, most: int) -> str:
        """Return a cast, which rounds so."""
        del most
        return self.cast(text, type_)

    def divisor(self, name: Literal["gcd", "lcm"], a: str, b: str) -> str:
        """Return the call."""
        return f"{name}({a}, {b})"

    def field(self, name: str, timestamp: str) -> str:
        """Return `extract(field FROM t)`."""
        return f"extract({name} FROM {timestamp})"

    def age_field(self, name: str, later: str, earlier: str) -> str:
        """Return `extract(field FROM age(t, u))`."""
        return f"extract({name} FROM age({later}, {earlier}))"

    def shifted(self, timestamp: str, span: IntervalValue) -> str:
        """Return `t + INTERVAL '…'`."""
        return f"({timestamp} + INTERVAL '{spelled_span(span)}')"


class PlainForms(Dialect):
    """An engine for which the plain form of each of these is the fastest."""

    def is_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return `x IN (…)`."""
        return f"{text} IN ({', '.join(texts)})"

    def if_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return `CASE WHEN x IN (…) THEN x END`."""
        return f"(CASE WHEN {self.is_one_of(text, texts)} THEN {text} END)"

    def looked_up(self, text: str, keys: Sequence[str], results: Sequence[str]) -> str:
        """Return `CASE x WHEN key THEN result … END`; of many keys `CASE WHEN x IN (key, …) THEN result … END`.

        Where there are few results that is shorter, and engines look a value up in a list by its hash.
        """
        if len(keys) > _MANY and len(set(results)) <= _FEW:
            by_result: dict[str, list[str]] = {}
            for key, result in zip(keys, results, strict=True):
                by_result.setdefault(result, []).append(key)
            lists = (f"WHEN {self.is_one_of(text, some)} THEN {result}" for result, some in by_result.items())
            return f"(CASE {' '.join(lists)} END)"
        pairs = " ".join(f"WHEN {key} THEN {result}" for key, result in zip(keys, results, strict=True))
        return f"(CASE {text} {pairs} END)"

    def weight_type(self, heaviest: int) -> str:
        """Return 64 bits."""
        del heaviest
        return "BIGINT"

    def rounded_step(self, text: str, scaled: str, *, low: str, steps: int, nan: str) -> str | None:
        """Return nothing: a cast that is too large fails, or wraps around."""
        del text, scaled, low, steps, nan
        return None

    def narrowed(self, text: str, low: int, high: int) -> str:
        """Return the number unchanged: it groups by any type in the same way."""
        del low, high
        return text

    def without_range(self, unit: str, type_: SqlType) -> str:
        """Return the unit: it groups in the same way without a range."""
        del type_
        return unit
