"""EXPLAIN of a private statement, as values: asked as any client could, free, and without reading anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg


@dataclass(frozen=True, slots=True)
class ExplainedRange:
    """An expression and the interval that its values are clamped to."""

    expression: str
    low: float
    high: float

    @classmethod
    def of(cls, node: Mapping[str, object]) -> "ExplainedRange":
        """Read one from EXPLAIN's JSON."""
        return cls(str(node["Expression"]), _number(node["Low"]), _number(node["High"]))


@dataclass(frozen=True, slots=True)
class ExplainedOutput:
    """An output that is read off noisy sums."""

    name: str
    margin: float
    unit: str
    """The things that the margin counts, or the number of rows for which it is told; empty where it is in units of the
    output."""
    relative: float | None
    """The margin as a share of what is expected, where something is."""
    least: float | None = None
    """The margin for the least C that is thought of, where nobody knows what will be chosen; `margin` is for the most."""
    given: str = ""
    """The C for which it is told, where that will be chosen."""

    @property
    def margins(self) -> tuple[float, ...]:
        """Return the margin, or the least and the largest."""
        return (self.margin,) if self.least is None else (self.least, self.margin)


@dataclass(frozen=True, slots=True)
class ExplainedChoice:
    """Order statistics that are chosen among buckets."""

    points: tuple[float, ...]
    of: ExplainedRange
    buckets: int
    enough: int
    """Groups of far fewer rows are mostly NULL."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The measurements and the price of a private statement."""

    epsilon: str
    delta: str
    """Empty where it is 0."""
    tables: tuple[tuple[str, ...], ...]
    """Those that each measurement reads."""
    clamped: tuple[ExplainedRange, ...]
    choices: tuple[ExplainedChoice, ...]
    outputs: tuple[ExplainedOutput, ...]

    @classmethod
    def of(cls, node: Mapping[str, object]) -> "Explained":
        """Read a plan from EXPLAIN's JSON."""
        measurements = _nodes(node["Measurements"])
        return cls(
            str(node["Epsilon"]),
            str(node.get("Delta", "")),
            tuple(tuple(map(str, _items(measurement["Tables"]))) for measurement in measurements),
            tuple(
                ExplainedRange.of(each)
                for measurement in measurements
                for each in _nodes(measurement.get("Clamped", []))
            ),
            tuple(_choice(measurement) for measurement in measurements if "Points" in measurement),
            tuple(_output(output) for output in _nodes(node["Outputs"])),
        )


def explained(connection: psycopg.Connection[tuple[object, ...]], statement: str) -> Explained | None:
    """Return what EXPLAIN says of a statement; None if it is not a private one."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}".encode())
        ((value,),) = cursor.fetchall()
    (plan,) = _nodes(value)
    (node,) = _nodes([plan["Plan"]])
    return Explained.of(node) if "Measurements" in node else None


def _choice(node: Mapping[str, object]) -> ExplainedChoice:
    (chosen,) = _nodes([node["Chosen"]])
    points = tuple(map(_number, _items(node["Points"])))
    return ExplainedChoice(
        points, ExplainedRange.of(chosen), int(_number(node["Buckets"])), int(_number(node["Enough"]))
    )


def _output(node: Mapping[str, object]) -> ExplainedOutput:
    relative = node["Relative"]
    return ExplainedOutput(
        str(node["Output"]),
        _number(node["Margin"]),
        str(node.get("Unit") or ""),
        None if relative is None else _number(relative),
        _number(node["Least Margin"]) if "Least Margin" in node else None,
        str(node.get("Given", "")),
    )


def _items(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _nodes(value: object) -> Sequence[Mapping[str, object]]:
    return [item for item in _items(value) if isinstance(item, dict)]


def _number(value: object) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError(value)
    return float(value)
