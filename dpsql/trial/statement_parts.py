"""Parts of an engine's statement, as they are read again."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpsql.trial.column_bounds import ColumnBounds, NotProvedError, without_cast, without_parens
from dpsql.trial.summed import is_text

FULL_WEIGHT = 2**16
"""W: the weight of a row of a unit that keeps to its bound."""

_OF_ROWS = frozenset(
    "Abs And Array Case Cast Ceil Coalesce Collate DateBin Exists Exp Extract Floor Getbit Greatest If IsNan Least Left"
    " Length Ln Log Lower Nullif Or Pow Round Sign Sqrt Substring TimestampFromParts TimestampTrunc Translate Trim Trunc"
    " TryCast UnixToTime Upper".split()
)
_AGGREGATES = frozenset(
    "BitwiseOrAgg Count ExplodingGenerateSeries GroupConcat LogicalAnd LogicalOr Max Min PercentileCont PercentileDisc"
    " Sum".split()
)
_OF_WINDOWS = frozenset(
    "ConcatWs CumeDist DenseRank FirstValue Lag LastValue Lead MD5 NthValue Ntile PercentRank Rank RowNumber".split()
)
_CALLED = frozenset(
    "age epoch_us gcd hashint8 int4send lcm list_extract list_position round_even to_microseconds".split()
)
"""The functions that are read: the same for the same row in each scan, and one value, as no window and no list of rows is."""
_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset("distinct expressions from_ group having joins offset order where with_".split()),
    exp.Group: frozenset({"expressions"}),
    exp.Join: frozenset({"this", "on", "using", "side"}),
    exp.With: frozenset({"expressions"}),
}
_UNKNOWN = (exp.Cube, exp.Except, exp.GroupingSets, exp.Intersect, exp.Pivot, exp.Rollup, exp.TableSample, exp.UDTF)

ONE_ROW = "one row a unit"
"""Stands among the conditions of rows of which each unit has one."""


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Rows with their unit `u`: a SELECT, what it is of, and what its columns can be."""

    text: str
    """FROM, with its joins."""
    conditions: frozenset[str]
    unit: str
    columns: Mapping[str, ColumnBounds]
    definitions: Mapping[str, str]
    """By the name of a column how it is computed, all the way down."""
    named: str = "u"
    """How the unit is called in what is around them."""
    once: bool = False
    """Whether each row of the table that names the unit is among them once at most."""

    def same_rows(self, other: "RowsRead") -> bool:
        """Return whether another SELECT has the same rows, of the same units."""
        return (self.text, self.conditions - {"TRUE"}, self.unit) == (
            other.text,
            other.conditions - {"TRUE"},
            other.unit,
        )


def see_that_it_is_known(tree: exp.Expr, is_public: Callable[[exp.Table], bool], called: Collection[str]) -> None:
    """See that nothing is in a statement whose meaning is not known here, wherever it stands; what is `called` is known, too.

    Of what stands in expressions it may read public tables, and the marks of heavy units where it chooses rows. Windows, and
    other rows that EXISTS asks for, are looked at where rows are read: see `unseen`.

    Raises:
        NotProvedError: something is.
    """
    for node in tree.walk():
        if isinstance(node, exp.Select):
            placed = _is_in_place(node) or _is_beside(node, is_public) or isinstance(node.parent, exp.Exists)
            accepted = node is tree or ("with_" not in _given(node) and placed)
        else:
            accepted = _is_known(node, called)
        if not accepted or _given(node) - _PARTS.get(type(node), _given(node)):
            raise NotProvedError


def unseen(tree: exp.Expr, is_public: Callable[[exp.Table], bool], seen: Collection[str]) -> bool:
    """Return whether a statement has windows, or rows that EXISTS asks for, which nobody has looked at; `seen` are texts."""
    for select in tree.find_all(exp.Select):
        if isinstance(select.parent, exp.Exists) and not all(map(is_public, select.find_all(exp.Table))):
            in_condition = isinstance(
                select.parent.find_ancestor(exp.Where, exp.Join, exp.Select), (exp.Where, exp.Join)
            )
            if not in_condition or asked_in_place(select) not in seen:
                return True
        if any(window.find_ancestor(exp.Select) is select for window in select.find_all(exp.Window)):
            in_from = isinstance(select.parent, exp.Subquery) and _is_in_place(select)
            if not in_from or select.sql() not in seen:
                return True
    return False


def asked_in_place(select: exp.Select) -> str:
    """Return what EXISTS asks for, and of which rows: the same words may ask for others elsewhere."""
    around = select.find_ancestor(exp.Select)
    return f"{select.sql()} of {'' if around is None else tables_of(around)}"


def tables_of(select: exp.Expr) -> str:
    """Return FROM with its joins."""
    return " ".join(clause.sql() for clause in (select.args["from_"], *(select.args.get("joins") or ())))


def _is_known(node: exp.Expr, called: Collection[str]) -> bool:
    """Return whether it is known what a node does that is no SELECT."""
    match node:
        case exp.Offset():
            return bool(node.expression.name == "0")
        case exp.TableAlias():
            return not node.columns or isinstance(node.parent, exp.Values)
        case exp.Anonymous():
            return node.name.lower() in _CALLED or node.name in called
        case exp.Func() if isinstance(node.find_ancestor(exp.Window, exp.Select), exp.Window):
            return type(node).__name__ in _OF_ROWS | _AGGREGATES | _OF_WINDOWS
        case exp.Func():
            return type(node).__name__ in _OF_ROWS | _AGGREGATES
        case _:
            return isinstance(node, exp.Values) or not isinstance(node, _UNKNOWN)


def _given(node: exp.Expr) -> set[str]:
    """Return the names of the parts that a node has."""
    return {name for name, part in node.args.items() if part}


def _is_in_place(select: exp.Select) -> bool:
    """Return whether a SELECT stands where rows are read."""
    node: exp.Expr = select
    while isinstance(node.parent, (exp.Subquery, exp.Union)):
        node = node.parent
    return node.parent is None or (node.arg_key == "this" and isinstance(node.parent, (exp.CTE, exp.From, exp.Join)))


def _is_beside(select: exp.Select, is_public: Callable[[exp.Table], bool]) -> bool:
    """Return whether a SELECT in an expression reads nothing that is somebody's, or which units are heavy, to choose rows."""
    if is_text(select, "SELECT u FROM heavy") or is_text(select, "SELECT bits FROM heavy"):
        return isinstance(select.find_ancestor(exp.Where, exp.Select), exp.Where)
    return all(map(is_public, select.find_all(exp.Table)))


def is_member(table: exp.Expr | None, name: str) -> bool:
    """Return whether a part of FROM is the member of WITH of this name, under its own name."""
    return (
        isinstance(table, exp.Table)
        and _given(table) <= {"this", "alias"}
        and {table.name, table.alias or name} == {name}
    )


def weight_of(text: exp.Expr) -> tuple[int, int, exp.Expr]:
    """Return M, C and the number of rows of `CAST(M // greatest(number, C) AS …)`."""
    quotient = without_cast(text)
    if not isinstance(quotient, (exp.IntDiv, exp.Div)) or not isinstance(quotient.expression, exp.Greatest):
        raise NotProvedError
    least = quotient.expression.expressions
    if len(least) != 1 or not quotient.this.is_int or not least[0].is_int:
        raise NotProvedError
    return int(quotient.this.name), int(least[0].name), quotient.expression.this


def listed_above(heavy: exp.Select) -> int:
    """Return k of HAVING count(*) > k."""
    having = heavy.args.get("having")
    if having is None or not isinstance(having.this, exp.GT) or not is_text(having.this.this, "count(*)"):
        raise NotProvedError
    return int(having.this.expression.name)


def projected(select: exp.Select) -> dict[str, exp.Expr]:
    """Return what a SELECT's columns are, by their names."""
    return {output.alias_or_name: output.unalias() for output in select.expressions}


def every_condition(select: exp.Expr) -> list[exp.Expr]:
    """Return what WHERE asks, of a SELECT and of those that it is made of."""
    conditions = [
        condition
        for where in select.find_all(exp.Where)
        for condition in where.this.flatten()
        if isinstance(where.this, exp.And)
    ]
    return conditions or [where.this for where in select.find_all(exp.Where)]


def conditions_of(select: exp.Select) -> frozenset[str]:
    """Return what a SELECT's own WHERE asks, each part as a text."""
    where = select.args.get("where")
    if where is None:
        return frozenset()
    parts = where.this.flatten() if isinstance(where.this, exp.And) else (where.this,)
    return frozenset(without_parens(condition).sql() for condition in parts)


def names_in(tree: exp.Expr) -> set[str]:
    """Return the names of the columns in an expression."""
    return {column.name for column in tree.find_all(exp.Column)}


def is_by_first(select: exp.Select, name: str = "") -> bool:
    """Return whether rows are grouped by the first column alone, perhaps one of this name."""
    group = select.args.get("group")
    if group is None or [element.sql() for element in group.expressions] != ["1"]:
        return False
    return not name or select.expressions[0].alias_or_name == name


def without_group(select: exp.Select) -> exp.Select:
    """Return a SELECT without its GROUP BY."""
    plain = select.copy()
    plain.set("group", None)
    return plain


def is_column(tree: exp.Expr | None, name: str) -> bool:
    """Return whether an expression is a column of this name, and nothing else."""
    return isinstance(tree, exp.Column) and tree.name == name and not tree.table


def grouped_by(select: exp.Select) -> list[exp.Expr]:
    """Return what rows are grouped by."""
    group = select.args.get("group")
    return [] if group is None else list(group.expressions)


def see_that_it_is_plain(select: exp.Select, *, joins: bool = False, having: bool = False) -> None:
    """See that a SELECT leaves out no row of what it reads, and reads nothing beside that.

    Raises:
        NotProvedError: it does.
    """
    parts = ("where", "distinct", "qualify", "limit", "offset", "laterals", "sample", *(() if having else ("having",)))
    if any(select.args.get(part) for part in (*parts, *(() if joins else ("joins",)))):
        raise NotProvedError


def summed_column(output: exp.Expr) -> str:
    """Return the name of the column that an output adds up, and does nothing else with.

    Raises:
        NotProvedError: it is none.
    """
    inner = without_cast(output.unalias())
    if not isinstance(inner, exp.Sum) or not isinstance(inner.this, exp.Column):
        raise NotProvedError
    return inner.this.name
