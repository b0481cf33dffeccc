"""`connection.frame(…)`: an answer with its margins, for notebooks and data frames."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dpsql.plots.margins import Asking, ask_with_margins

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    import polars as pl

_MARGIN = "_margin"
_MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class AnswerFrame:
    """Column names and rows; `n_margin` has the half-widths of the 95 % intervals of `n`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, connection: Asking, statement: str, parameters: Sequence[object] | None = None) -> "AnswerFrame":
        """Ask a statement; margins are there wherever they cost nothing."""
        cursor = ask_with_margins(connection, statement, parameters)
        names = tuple(column.name for column in cursor.description or ())
        return cls(names, tuple(cursor.fetchall()) if names else ())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """Return a column's values."""
        if name not in self.columns:
            raise KeyError(f'no column "{name}"; there are {", ".join(self.columns)}')
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a data frame of pandas, which must be installed."""
        import pandas as pd  # noqa: PLC0415  the caller's own

        return pd.DataFrame(list(self.rows), columns=list(self.columns))

    def to_polars(self) -> "pl.DataFrame":
        """Return a data frame of polars, which must be installed."""
        import polars as pl  # noqa: PLC0415  the caller's own

        # Polars looks at the first hundred rows by itself to find a column's type: they may all be NULL.
        return pl.DataFrame(list(self.rows), schema=list(self.columns), orient="row", infer_schema_length=None)

    def plot(self, kind: str = "histogram", **options: Any) -> "go.Figure":
        """Draw it with its margins as error bars: `histogram`, `versus`, `box`, or `density_curve` with its bounds."""
        if find_spec("plotly") is None:
            raise ImportError("plots need an extra: in a checkout of dpsql: pip install -e '.[plots]'")
        from dpsql.plots import charts  # noqa: PLC0415  an extra

        kinds: dict[str, Callable[..., go.Figure]] = {
            "histogram": charts.histogram,
            "versus": charts.versus,
            "box": charts.box,
            "density_curve": charts.density_curve,
        }
        if kind not in kinds:
            raise ValueError(f'no kind "{kind}": {", ".join(kinds)}')
        return kinds[kind]((self.columns, self.rows), **options)

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook, each number with its margin."""
        shown = [name for name in self.columns if not self._is_margin(name)]
        head = "".join(f"<th>{escape(name)}</th>" for name in shown)
        rows = "".join(f"<tr>{self._cells(row, shown)}</tr>" for row in self.rows[:_MOST_SHOWN])
        more = len(self.rows) - _MOST_SHOWN
        foot = f"<tfoot><tr><td colspan={len(shown)}>and {more:,} more</td></tr></tfoot>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>{foot}</table>"

    def _cells(self, row: tuple[Any, ...], shown: Sequence[str]) -> str:
        given = dict(zip(self.columns, row, strict=True))
        texts = (_text(given[name], given.get(f"{name}{_MARGIN}")) for name in shown)
        return "".join(f"<td>{escape(text)}</td>" for text in texts)

    # A column that the statement itself calls `x_margin` is one of its own where there is no `x`.
    def _is_margin(self, name: str) -> bool:
        return name.endswith(_MARGIN) and name.removesuffix(_MARGIN) in self.columns


def _text(value: object, margin: object) -> str:
    if value is None:
        return "NULL"
    plain = f"{value:,.6g}" if isinstance(value, float) else f"{value:,}" if _is_whole(value) else str(value)
    return plain if not isinstance(margin, int | float) else f"{plain} ± {margin:,.3g}"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
