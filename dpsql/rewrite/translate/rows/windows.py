"""Window functions over the rows of single units: a row's place among those of the same unit.

    SELECT avg(gap) FROM (SELECT fare - lag(fare) OVER (PARTITION BY rider ORDER BY picked) AS gap FROM rides) AS t
    →  a source with the columns rider, fare, picked and lag; gap = fare - lag

Only windows whose partition has the unit among its keys, or the key of a row that has one owner: over any others one unit's
rows would move another's. Claim: a partition by such a key has one unit's rows, so that it is the same partition by the unit
beside it, which is what engines are asked for; a row without the key is nobody's, or stays out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dpsql.errors import AccessDenied, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType, Table, UnitBound
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.owners import Owners, determine_unit, is_unit, owners
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Env, Expr, Ref, refs, with_refs
from dpsql.rewrite.ir.relation import (
    Relation,
    RowsAround,
    Source,
    UnitValue,
    Window,
    WindowFunction,
    WindowRows,
    naming_units,
    ref,
)
from dpsql.rewrite.syntax.named.aggregate_names import LOGICAL, OF_TWO, STATISTICS, function_name
from dpsql.rewrite.syntax.named.columns import output_name
from dpsql.rewrite.syntax.read.dialect import excerpt, render
from dpsql.rewrite.translate.rows.aggregates import aggregate
from dpsql.rewrite.translate.rows.per_unit import (
    AggregatedArgument,
    Around,
    as_asked,
    fresh_names,
    made_column,
    unit_value,
)
from dpsql.rewrite.translate.values.context import Names, Translator
from dpsql.rewrite.translate.values.json_paths import UNREAD, is_json
from dpsql.rewrite.translate.values.texts import in_order, labels_of
from dpsql.rewrite.translate.values.value_map import map_values

# The rows in a row's window, where a single unit's rows are read.
#
# ROWS BETWEEN 6 PRECEDING AND CURRENT ROW  →  RowsAround(6, 0)
# RANGE UNBOUNDED PRECEDING                 →  None: the default

_FARTHEST = 10_000
_DEFAULT = (None, 0)
_SIDES = ("PRECEDING", "FOLLOWING")
_UNKNOWN = -1


def frame_of(node: exp.Window) -> RowsAround | None:
    """Return the frame of a window call, None for the default one.

    Raises:
        Unsupported: its own row is not among them, or it is told by the distance of values.
    """
    spec = node.args.get("spec")
    if spec is None:
        return None
    kind = str(spec.args.get("kind") or "").upper()
    before, after = (_end(spec, key, side) for key, side in zip(("start", "end"), _SIDES, strict=True))
    unknown = before is _UNKNOWN or after is _UNKNOWN or spec.args.get("exclude")
    # RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW says no more than nothing at all: the rows up to those that tie with
    # its own.
    if kind != "ROWS" and (before, after) == _DEFAULT and not unknown:
        return None
    if unknown or (kind != "ROWS" and (before, after) != (None, None)):
        raise Unsupported(
            f"the frame {render(spec)[:60]} is not supported over private rows",
            because="window-frame",
            hint="Write ROWS BETWEEN n PRECEDING AND n FOLLOWING, with UNBOUNDED or CURRENT ROW at either end.",
        )
    return RowsAround(before, after)


def _end(spec: exp.Expr, key: str, side: str) -> int | None:
    """Return how many rows on one side there are, None if all."""
    value, given = spec.args.get(key), str(spec.args.get(f"{key}_side") or side).upper()
    if value is None or (isinstance(value, str) and value.upper() == "CURRENT ROW"):
        return 0
    text = value.name if isinstance(value, exp.Literal) and not value.is_string else ""
    if given != side:
        return 0 if text == "0" else _UNKNOWN  # no row before its own, and none behind it: its own
    if isinstance(value, str):
        return None
    return int(text) if text.isdecimal() and int(text) <= _FARTHEST else _UNKNOWN


_COUNTED: Mapping[str, WindowFunction] = {"row_number": "row_number", "rank": "rank", "dense_rank": "dense_rank"}
_OTHERS: Mapping[str, WindowFunction] = {"lag": "lag", "lead": "lead"}
_ENDS: Mapping[str, WindowFunction] = {"first_value": "first_value", "last_value": "last_value"}
_AGGREGATES = (STATISTICS.keys() - OF_TWO) | LOGICAL | {"min", "max"}
_MOST_TEXTS = 100
_WINDOWS = " "
"""The table whose columns the windows are: no other table has such a name."""


def windows_of(select: exp.Select) -> Sequence[exp.Window]:
    """Return the window calls among the outputs of a SELECT."""
    return [window for output in select.expressions for window in output.find_all(exp.Window)]


def with_windows(relation: Relation, t: Translator, select: exp.Select, around: Around) -> Relation:
    """Return the rows of a relation, with the columns that a SELECT with window functions puts out.

    Raises:
        AccessDenied: a window is not of one unit's rows.
        Unsupported: it is none that is known of single units.
    """
    rows = _Rows(relation, owners(relation, around.kind, around.policy.tables, around.unique), around)
    calls = windows_of(select)
    # fare - lag(fare) OVER (…)  →  fare - " "."lag(fare) OVER (…) ": a column for each window, so that what is around it is
    # translated as any expression is.
    marks = {f"{render(call)} ": rows.window(t, call) for call in calls}  # as messages show them, unlike any column
    places = {id(call): f"{render(call)} " for call in calls}
    inside = replace(t, names=Names({**t.names.tables, _WINDOWS: marks}))
    outputs: dict[str, Expr] = {}
    for output in select.expressions:
        if isinstance(output, exp.Star):
            every = t.names.all().items()
            outputs |= {name: UNREAD if expr.type is SqlType.JSON else rows.seen(expr) for name, expr in every}
        else:
            node = output.unalias().transform(lambda part: _marked(part, places), copy=False)
            json = is_json(inside, node)
            outputs[output_name(output)] = UNREAD if json else rows.seen(inside.expression(node))
    return rows.made(outputs)


def _marked(node: exp.Expr, places: Mapping[int, str]) -> exp.Expr:
    name = places.get(id(node))
    return node if name is None else exp.column(name, _WINDOWS, quoted=True)


@dataclass(slots=True)
class _Rows:
    """The columns that are read of the rows, and their windows, as they are found."""

    relation: Relation
    owned: Owners
    around: Around
    columns: dict[Expr, Column] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    fresh: Callable[[str], str] = field(default_factory=fresh_names)
    unit: Column = field(init=False)

    def __post_init__(self) -> None:
        own = self.owned.unit
        self.unit = replace(own.column, name=self.fresh(own.name), nullable=False)

    def window(self, t: Translator, node: exp.Window) -> Expr:
        """Return what stands for a window call: a column of the rows that are made."""
        partition = [t.expression(key) for key in node.args.get("partition_by") or ()]
        if not any(self._is_unit(key) for key in partition) and not self._is_owned(partition):
            raise AccessDenied(
                "a window over private rows must be PARTITION BY the privacy unit",
                because="window-by-unit",
                hint=f"Write PARTITION BY \"{self.owned.unit.name}\": a place among everybody's rows is not anybody's own. "
                "To pick the largest of all, compare with (SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY x) FROM …).",
            )
        if node.args.get("first") or node.args.get("alias"):
            raise _refused(node)
        by = self._order(t, node.args.get("order"), partition)
        value = self._aggregate(t, node)
        call = self._call(t, node) if value is None else self._windowed(value, node)
        further = tuple(self._named(key) for key in partition if not self._is_unit(key))
        column = replace(call.column, name=self.fresh(call.function))
        self.windows.append(replace(call, column=column, partition=further, order=by))
        window_ref = Ref(-1, "", column.name, column)
        return window_ref if value is None else as_asked(value, window_ref)

    def _aggregate(self, t: Translator, node: exp.Window) -> UnitValue | None:
        """Return the aggregate that a call is of the rows in its frame, None if it is none."""
        call = node.this.this if isinstance(node.this, exp.Filter) else node.this
        if function_name(call) not in _AGGREGATES:
            return None
        return unit_value(aggregate(t, node.this), node, self._aggregated)

    def _aggregated(self, expr: Expr) -> AggregatedArgument:
        return AggregatedArgument(expr, facts(expr, self._env(expr)), self.owned.rows)

    def _windowed(self, value: UnitValue, node: exp.Window) -> Window:
        """Return an aggregate of columns of the rows; a row's own is in its frame, so that what each row has is there."""
        if value.arg is None:
            value = replace(value, where=self.seen(value.where))
        else:
            arg = value.arg
            if value.where != TRUE:  # not every engine filters windows
                arg = Apply("case", (value.where, arg, Const(None, arg.type)), arg.type)
            name = self._named(arg)
            value = replace(value, arg=Ref(-1, "", name, self.columns.get(arg, self.unit)), where=TRUE)
        return Window("aggregate", value.column, frame=frame_of(node), value=value)

    def _call(self, t: Translator, node: exp.Window) -> Window:
        name, args = function_name(node.this), getattr(node.this, "expressions", [])
        if name in _ENDS and len(args) == 1:
            value = t.expression(args[0])
            arg = self._named(value)
            return Window(_ENDS[name], self.columns.get(value, self.unit), arg, frame=frame_of(node))
        if node.args.get("spec"):
            raise _refused(node)
        # Among a unit's rows there are no more places than it may have rows.
        whole = Column("", SqlType.BIGINT, "bigint", bounds=Interval.of(1, self.owned.rows))
        if name in _COUNTED and not args:
            return Window(_COUNTED[name], whole)
        if name == "ntile" and len(args) == 1:
            parts = _number(t.expression(args[0]), node)
            return Window("ntile", replace(whole, type=SqlType.INTEGER, bounds=Interval.of(1, parts)), number=parts)
        if name in _OTHERS and 1 <= len(args) <= 2:
            value = t.expression(args[0])
            by = _number(t.expression(args[1]), node) if len(args) == 2 else 1
            arg = self._named(value)
            column = replace(self.columns.get(value, self.unit), nullable=True)
            return Window(_OTHERS[name], column, arg, by)
        raise _refused(node)

    def _order(self, t: Translator, order: exp.Order | None, partition: Sequence[Expr]) -> tuple[tuple[str, str], ...]:
        """Return what a window is ordered by: not by its partition's keys, which are the same in all of its rows.

        DISTINCT ON (person) … ORDER BY person, day, where the first has to stand, is ordered by days.
        """
        nodes: Sequence[exp.Expr] = order.expressions if order else ()
        keys = [(node, t.expression(node.this if isinstance(node, exp.Ordered) else node)) for node in nodes]
        told = [(node, key) for node, key in keys if key not in partition]
        # RANGE with an offset has to have one, of whatever is no text.
        told = told or [(node, key) for node, key in keys if not key.type.is_text]
        return tuple(self._ordered(t, node, key) for node, key in told)

    def _ordered(self, t: Translator, node: exp.Expr, key: Expr) -> tuple[str, str]:
        if key.type is SqlType.ENUM:  # by its labels' order, whatever their letters
            key = in_order(key, labels_of(key))
        elif key.type.is_text:
            key = _place_of_text(t, key)
        down, first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        return self._named(key), f"{'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"

    def _is_unit(self, expr: Expr) -> bool:
        tables = self.around.policy.tables
        return isinstance(expr, Ref) and is_unit(self.relation, expr, self.around.kind, tables)

    def _is_owned(self, keys: Sequence[Expr]) -> bool:
        """Return whether all rows with the same keys, none of them NULL, are one unit's."""
        columns = [key for key in keys if isinstance(key, Ref) and not key.column.nullable]
        around = self.around
        return determine_unit(self.owned.relation, columns, around.kind, around.policy.tables, around.unique)

    def _named(self, expr: Expr) -> str:
        """Return the name of a column of the rows that an expression is."""
        if self._is_unit(expr):
            return self.unit.name
        if expr not in self.columns:
            name = self.fresh(expr.name if isinstance(expr, Ref) else "column")
            self.columns[expr] = made_column(name, expr, self._env(expr))
        return self.columns[expr].name

    def _env(self, expr: Expr) -> Env:
        declared = self.around.declared
        narrowed_env = refine_by_predicate(refs(expr), self.relation.condition, declared)
        return declared.env(refs(expr)) if narrowed_env is None else {**declared.env(refs(expr)), **narrowed_env}

    def seen(self, expr: Expr) -> Expr:
        """Return an expression over the rows below as one over those that are made."""

        def change(column_ref: Ref) -> Ref:
            return column_ref if column_ref.source < 0 else Ref(-1, "", self._named(column_ref), column_ref.column)

        return with_refs(expr, change)

    def made(self, outputs: Mapping[str, Expr]) -> Relation:
        """Return the relation of the rows with what is put out of them."""
        below, kind = self.owned.relation, self.around.kind
        name = f"windows of {below.protected.name}"
        while name in self.around.policy.tables:  # facts about public columns are found by their table's name
            name += "'"
        single = naming_units(below)
        naming = [
            c.name
            for e, c in self.columns.items()
            if single & {(column_ref.source, column_ref.name) for column_ref in refs(e)}
        ]
        # Values of another row of the unit name it as well.
        naming += [window.column.name for window in self.windows if _taken_of(window) in {self.unit.name, *naming}]
        units = {f"{name} {i}": UnitBound(column, 1) for i, column in enumerate(naming)}
        every = (self.unit, *self.columns.values(), *(window.column for window in self.windows))
        bound = UnitBound(self.unit.name, self.owned.rows, self.owned.groups, up_to=self.owned.up_to)
        table = Table(
            name, {c.name: c for c in every}, {**units, kind: bound}, expected_rows=below.expected_rows, file=""
        )
        pairs = tuple((column.name, expr) for expr, column in self.columns.items())

        def change(column_ref: Ref) -> Ref:
            return ref(0, table, column_ref.name)

        made = WindowRows(below, self.owned.unit, pairs, tuple(_of_columns(window, change) for window in self.windows))
        columns = {key: with_refs(e, change) for key, e in outputs.items()}
        return Relation((Source(table, made=made),), TRUE, columns)


def _of_columns(window: Window, change: Callable[[Ref], Ref]) -> Window:
    """Return a window whose aggregate is of the columns that `change` says."""
    if window.value is None:
        return window
    value = window.value
    arg = None if value.arg is None else with_refs(value.arg, change)
    return replace(window, value=replace(value, arg=arg, where=with_refs(value.where, change)))


def _taken_of(window: Window) -> str | None:
    """Return the column of which a window takes one of the values."""
    value = window.value
    if value is None:
        return window.arg
    return value.arg.name if isinstance(value.arg, Ref) and value.function in {"min", "max"} else None


def _place_of_text(t: Translator, text: Expr) -> Expr:
    """Return the place of a text among its declared values, as PostgreSQL orders them: engines do so each in its own way.

    Raises:
        Unsupported: its values are not declared, or are too many.
    """
    values = t.facts_of(text).values
    if values is None or len(values) > _MOST_TEXTS:
        raise Unsupported(
            f"a window over private rows is ordered by numbers, times, and texts of at most {_MOST_TEXTS} declared values",
            because="window-order",
            hint="Engines order texts each in its own way; the owner of the data can declare `values: […]`.",
        )
    # Of 'a', 'b' and 'c': 0 + (x > 'a')::int + (x > 'b')::int + (x > 'c')::int, of which the shadow says 0, 1 and 2.
    place: exp.Expr = exp.Literal.number(0)
    for value in values:  # each is NULL for NULL, which NULLS FIRST and LAST place
        after = exp.Paren(this=exp.GT(this=exp.column("x"), expression=exp.Literal.string(str(value))))
        place = exp.Add(this=place, expression=exp.cast(after, "int", dialect="postgres"))
    return map_values(t, text, values, place)


def _number(expr: Expr, node: exp.Window) -> int:
    value = expr.value if isinstance(expr, Const) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _FARTHEST:
        raise _refused(node)
    return value


def _refused(node: exp.Window) -> Unsupported:
    return Unsupported(
        f"{excerpt(node)} is not supported over private rows",
        because="window-not-known",
        hint="row_number, rank, dense_rank, ntile, lag, lead, first_value, last_value, counts, sums, averages, extremes are.",
    )
