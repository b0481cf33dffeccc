"""FULL JOIN of private rows as two parts below each other: what each row of the left side has, and what is the right's alone.

FROM a FULL JOIN b ON c  →  FROM (SELECT a.x, b.y FROM a LEFT JOIN b ON c
                            UNION ALL SELECT NULL, b.y FROM b WHERE NOT EXISTS (SELECT 1 FROM a WHERE c)) AS j

Claim: these are its rows: one of `a`, perhaps with one of `b`, or one of `b` that meets none of `a`. Where COALESCE(a.k, b.k)
is read and c says a.k = b.k, that is a.k in the first part and b.k in the second.

Nothing is decided about whose the rows are: `translate` sees to it that each part's are one unit's, as in any LEFT JOIN, NOT
EXISTS and UNION ALL (`owners`, `unions`), and a unit has as many of them as in both parts together. So c has to say that both
sides are one unit's, and a row of `b` is alone by what there is of its own unit.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpsql.rewrite.syntax.named.columns import Ctes, item_name
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.made_names import fresh
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.trees import every, holds

_CLAUSES = frozenset({"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"})
_Place = tuple[str, str]
"""A column by its table and its name."""
_Value = tuple[_Place | None, _Place | None]
"""A value of the joined rows: its column on the left, and on the right; both of COALESCE."""


def is_full_join(select: exp.Select) -> bool:
    """Return whether the first two elements of FROM are joined so that all rows of both stay."""
    joins = select.args.get("joins") or []
    return bool(joins) and _side(joins[0]) == "FULL"


def as_two_parts(select: exp.Select, ctes: Ctes) -> bool:
    """Change such a SELECT to read both parts; return whether it is plain enough for that."""
    join, left, right = select.args["joins"][0], select.args["from_"].this, select.args["joins"][0].this
    sides = item_name(left), item_name(right)
    if join.args.get("using") and not any(other.args.get("using") for other in select.args["joins"][1:]):
        _say_on(select, join, sides)
    on, parts = join.args.get("on"), [*_outside(select)]
    if on is None or "" in sides or sides[0] == sides[1] or any(map(_side, select.args["joins"][1:])):
        return False
    if any(value and key not in _CLAUSES for key, value in select.args.items()) or holds(on, exp.Query):
        return False
    if any(holds(part, exp.Query) for part in parts):
        return False
    names = _rename(select, parts, _equated(on, sides), sides)
    alias = fresh("either", {fold(table.this) for table in every(select, exp.Table)} | {*sides} | {*ctes})
    for column in (each for part in _outside(select) for each in every(part, exp.Column)):
        if not column.args.get("table") and fold(column.this) in names.values():
            column.set("table", exp.to_identifier(alias, quoted=True))
    union = _union(left, right, on, names)
    made = exp.Subquery(this=union, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    select.set("from_", exp.From(this=made))
    select.set("joins", select.args["joins"][1:])
    return True


def _say_on(select: exp.Select, join: exp.Join, sides: tuple[str, str]) -> None:
    """Write USING (k) as ON a.k = b.k, and k as COALESCE(a.k, b.k): what has no table before it is such a column."""
    names = [fold(identifier) for identifier in join.args["using"]]
    pairs = {name: [exp.column(name, side, quoted=True) for side in sides] for name in names}
    join.set("using", None)
    join.set(
        "on",
        exp.and_(*(exp.EQ(this=left_column.copy(), expression=other.copy()) for left_column, other in pairs.values())),
    )
    for column in [each for part in _outside(select) for each in every(part, exp.Column)]:
        name = fold(column.this)
        if not column.args.get("table") and name in pairs:
            merged = exp.Anonymous(this="coalesce", expressions=[side.copy() for side in pairs[name]])
            is_output = isinstance(column.parent, exp.Select)
            column.replace(exp.alias_(merged, name, quoted=True) if is_output else merged)


def _union(left: exp.Expr, right: exp.Expr, on: exp.Expr, names: dict[_Value, str]) -> exp.Expr:
    """Return both parts, of all values that are read.

    Where a row of the right side has none of the left, that is of rows with a value in all that is read of them.
    """
    first = exp.Select(
        expressions=[_as(mine or theirs, name) for (mine, theirs), name in names.items()],
        from_=exp.From(this=left.copy()),
        joins=[exp.Join(this=right.copy(), side="LEFT", on=on.copy())],
    )
    second = exp.Select(
        expressions=[_as(theirs, name) for (_, theirs), name in names.items()], from_=exp.From(this=right.copy())
    )
    read = [mine for mine, _ in names if mine is not None]
    met = exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=left.copy()))
    met.set("where", exp.Where(this=exp.and_(exp.Paren(this=on.copy()), *map(_is_known, read), copy=False)))
    second.set("where", exp.Where(this=exp.Not(this=exp.Exists(this=met))))
    return exp.Union(this=first, expression=second, distinct=False)


def _side(join: exp.Join) -> str:
    return str(join.args.get("side") or "").upper()


def _outside(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield what reads the joined rows: all but FROM and what the two are joined by."""
    yield from select.expressions
    for clause in ("where", "group", "having", "order"):
        if (part := select.args.get(clause)) is not None:
            yield part
    yield from (join.args["on"] for join in select.args["joins"][1:] if join.args.get("on") is not None)


def _place(column: exp.Expr) -> _Place:
    return fold(column.args.get("table")), fold(column.this)


def _equated(on: exp.Expr, sides: tuple[str, str]) -> set[_Value]:
    """Return the columns of both sides that the condition says are equal."""
    pairs = set[_Value]()
    for part in conjuncts_of(on):
        columns = (part.this, part.expression) if isinstance(part, exp.EQ) else ()
        if columns and all(isinstance(column, exp.Column) for column in columns):
            places = {_place(column)[0]: _place(column) for column in columns}
            if places.keys() == {*sides}:
                pairs.add((places[sides[0]], places[sides[1]]))
    return pairs


def _rename(
    select: exp.Select, parts: Sequence[exp.Expr], equated: set[_Value], sides: tuple[str, str]
) -> dict[_Value, str]:
    """Put names in the places of all values that are read of the joined rows; return them by what they stand for."""
    names: dict[_Value, str] = {}

    def named(value: _Value) -> exp.Expr:
        text = " ".join(f"{place[0]} {place[1]}" for place in value if place is not None)
        return exp.column(names.setdefault(value, text), quoted=True)

    outputs = [output_name(output) for output in select.expressions]
    for part in parts:
        for call in every(part, exp.Func):
            if (value := _coalesced(call, sides)) in equated and value is not None:
                call.replace(named(value))
    for part in _outside(select):
        for column in [each for each in every(part, exp.Column) if each.args.get("table")]:
            if (place := _place(column))[0] in sides:
                column.replace(named((place, None) if place[0] == sides[0] else (None, place)))
    for item, name in zip([*select.expressions], outputs, strict=True):
        if not isinstance(item, exp.Alias):
            item.replace(exp.Alias(this=item.copy(), alias=exp.to_identifier(name, quoted=True)))
    return names


def _coalesced(call: exp.Expr, sides: tuple[str, str]) -> _Value | None:
    """Return the columns of which a call takes the one that is there, if there are two, of either side."""
    if isinstance(call, exp.Anonymous):
        args = call.expressions if str(call.this).lower() == "coalesce" else []
    else:
        args = [call.this, *call.expressions] if isinstance(call, exp.Coalesce) else []
    places = {_place(arg)[0]: _place(arg) for arg in args if isinstance(arg, exp.Column)}
    return (places[sides[0]], places[sides[1]]) if len(args) == 2 and places.keys() == {*sides} else None


def _column(place: _Place) -> exp.Expr:
    return exp.column(place[1], place[0], quoted=True)


def _as(place: _Place | None, name: str) -> exp.Expr:
    value = exp.Null() if place is None else _column(place)
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _is_known(place: _Place) -> exp.Expr:
    """Return a condition that reads a column, and is true for all its values."""
    there = exp.Is(this=_column(place), expression=exp.Null())
    return exp.Paren(this=exp.Or(this=there, expression=exp.Not(this=there.copy())))
