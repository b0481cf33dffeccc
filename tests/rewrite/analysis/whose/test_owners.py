"""Whose a joined row is, how many of them a unit may have, and by which columns that is told."""

import pytest

from dpsql.errors import AccessDenied, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Reference, SqlType, Table, UnitBound
from dpsql.rewrite.analysis.owners import Owners, owners, unit_bound
from dpsql.rewrite.ir.expr import TRUE, Apply, Expr, Ref, both
from dpsql.rewrite.ir.relation import Join, Relation, Source, ref

INTEGER = SqlType.INTEGER


def _table(name: str, unit: UnitBound | None, *columns: str, type_: SqlType = INTEGER, key: str | None = None) -> Table:
    made = {c: Column(c, type_, type_.value) for c in columns}
    return Table(name, made, {} if unit is None else {"p": unit}, public=unit is None, key=key)


PEOPLE = _table("people", UnitBound("id", 5), "id", "age", key="id")
VISITS = _table("visits", UnitBound("who", 3, 2), "visit", "who", "place", key="visit")
BILLS = _table("bills", UnitBound("visit", 4, None, Reference("visits", "visit", public=False)), "bill", "visit")
BILLS_OWN = _table("own", UnitBound("payer", 4), "bill", "visit", "payer")
PLACES = _table("places", None, "place", "name", key="place")
TABLES = {table.name: table for table in (PEOPLE, VISITS, BILLS, PLACES)}
UNIQUE = {
    name: frozenset({frozenset({key})}) for name, key in (("people", "id"), ("visits", "visit"), ("places", "place"))
}


def _equal(a: int, column: str, b: int, other: str, *tables: Table) -> Expr:
    return Apply("eq", (ref(a, tables[a], column), ref(b, tables[b], other)), SqlType.BOOLEAN)


def _joined(*tables: Table, on: tuple[int, str, int, str], join: Join = Join.INNER) -> Relation:
    first, *rest = tables
    conditions = [_equal(*on, *tables)]
    sources = [Source(table, join, condition) for table, condition in zip(rest, conditions, strict=True)]
    return Relation((Source(first), *sources), Apply("and", (), SqlType.BOOLEAN), {})


def _owners(relation: Relation) -> Owners:
    return owners(relation, "p", TABLES, lambda name: UNIQUE.get(name, frozenset()))


@pytest.mark.parametrize(
    ("relation", "rows", "groups", "single"),
    [
        (_joined(PEOPLE, PLACES, on=(0, "age", 1, "place")), 1, None, True),
        (_joined(VISITS, PLACES, on=(0, "place", 1, "place")), 3, 2, False),
        (_joined(PEOPLE, VISITS, on=(0, "id", 1, "who")), 3, 2, False),
        (_joined(VISITS, PEOPLE, on=(0, "who", 1, "id")), 3, 2, False),
        (_joined(VISITS, VISITS, on=(0, "who", 1, "who")), 9, None, False),
        (_joined(VISITS, VISITS, on=(0, "visit", 1, "visit")), 3, 2, False),
        (_joined(VISITS, BILLS, on=(0, "visit", 1, "visit")), 4, None, False),
        (_joined(PEOPLE, VISITS, on=(0, "id", 1, "who"), join=Join.LEFT), 3, None, False),
        (_joined(VISITS, BILLS, on=(0, "visit", 1, "visit"), join=Join.LEFT), 4 + 3, None, False),
    ],
)
def test_the_bound_follows_from_the_keys(relation: Relation, rows: int, groups: int | None, *, single: bool) -> None:
    """Tables whose rows a unique key finds do not multiply; others do."""
    owned = _owners(relation)
    assert (owned.rows, owned.groups, owned.single) == (rows, groups, single)


def test_rows_multiply_by_those_that_every_row_has() -> None:
    """And so do the groups that a unit may be in; one row a unit is many then."""
    for first, rows, groups in ((VISITS, 12, 8), (PEOPLE, 4, None)):
        every = Source(PLACES, Join.INNER, Apply("and", (), SqlType.BOOLEAN), every=4)
        owned = _owners(Relation((Source(first), every), Apply("and", (), SqlType.BOOLEAN), {}))
        assert (owned.rows, owned.groups, owned.single, owned.once) == (rows, groups, False, False)


def test_the_unit_is_read_where_its_rows_are_not_doubled() -> None:
    """In whichever table; but in no other than the first where the columns are not compared, or rows may be missing."""
    owned = _owners(_joined(PEOPLE, VISITS, on=(0, "id", 1, "who")))
    assert (owned.unit, owned.once) == (ref(1, VISITS, "who"), True)
    owned = _owners(_joined(VISITS, PEOPLE, on=(0, "who", 1, "id")))
    assert (owned.unit, owned.once) == (ref(0, VISITS, "who"), True)
    owned = _owners(_joined(VISITS, VISITS, on=(0, "who", 1, "who")))
    assert (owned.unit, owned.once) == (ref(0, VISITS, "who"), False)
    owned = _owners(_joined(VISITS, VISITS, on=(0, "visit", 1, "visit")))
    assert (owned.unit, owned.once) == (ref(0, VISITS, "who"), True)
    owned = _owners(_joined(PEOPLE, VISITS, on=(0, "id", 1, "who"), join=Join.LEFT))
    assert (owned.unit, owned.once) == (ref(0, PEOPLE, "id"), False)


def test_a_reference_is_followed_to_the_unit() -> None:
    """A table that leads there is joined, unless it is there already."""
    alone = _owners(Relation((Source(BILLS),), Apply("and", (), SqlType.BOOLEAN), {}))
    assert [source.table.name for source in alone.relation.sources] == ["bills", "visits"]
    assert (alone.unit.source, alone.unit.name) == (1, "who")
    joined = _owners(_joined(BILLS, VISITS, on=(0, "visit", 1, "visit")))
    assert [source.table.name for source in joined.relation.sources] == ["bills", "visits"]


def test_a_table_without_the_unit_is_denied() -> None:
    """Nothing can be said privately about it."""
    with pytest.raises(AccessDenied, match='no privacy unit of kind "q"'):
        unit_bound(PEOPLE, "q")


@pytest.mark.parametrize("type_", [SqlType.NUMERIC, SqlType.DOUBLE])
def test_what_double_precision_takes_for_one_is_not_the_unit(type_: SqlType) -> None:
    """Units that are compared in double precision could be several."""
    other = _table("others", UnitBound("who", 3), "who", type_=type_)
    with pytest.raises(Exception, match="must be on the privacy unit"):
        owners(_joined(other, other, on=(0, "who", 1, "who")), "p", TABLES, lambda _: frozenset())


def test_a_clamped_key_is_none() -> None:
    """Keys beyond the bounds would all be one."""
    key = Column("visit", INTEGER, "integer", bounds=Interval.of(0, 9))
    clamped = Table("visits", {**VISITS.columns, "visit": key}, VISITS.units, key="visit")
    with pytest.raises(Exception, match="must be on the privacy unit"):
        _owners(_joined(clamped, clamped, on=(0, "visit", 1, "visit")))


JOINT = {"bill": Column("bill", INTEGER, "integer"), "place": Column("place", INTEGER, "integer")}
LINES = Table("lines", {**JOINT, "who": PEOPLE.columns["id"]}, {"p": UnitBound("who", 2)}, joint_key=("bill", "place"))
_TO_LINES = UnitBound("place", 5, None, Reference("lines", "place", public=False, further=("bill",)), ("bill",))
RETURNS = Table("returns", JOINT, {"p": _TO_LINES})


def _of_lines(relation: Relation, *key: str) -> Owners:
    keys = frozenset({frozenset(key)})
    return owners(relation, "p", {"lines": LINES}, lambda name: keys if name == "lines" else frozenset())


def _on_both(*pairs: tuple[str, str], join: Join = Join.INNER) -> Relation:
    on = both(*(_equal(0, column, 1, other, LINES, RETURNS) for column, other in pairs))
    return Relation((Source(LINES), Source(RETURNS, join, on)), Apply("and", (), SqlType.BOOLEAN), {})


@pytest.mark.parametrize("join", [Join.INNER, Join.LEFT])
def test_a_key_of_two_columns_names_a_row_by_both(join: Join) -> None:
    """And by no less, and by each in its place; any key that is among them will do."""
    whole = _on_both(("bill", "bill"), ("place", "place"), join=join)
    owned = _of_lines(whole, "bill", "place")
    assert (owned.rows, owned.unit, len(owned.relation.sources)) == (
        5 if join is Join.INNER else 5 + 2,
        ref(0, LINES, "who"),
        2,
    )
    for pairs in ((("bill", "bill"),), (("place", "place"),), (("bill", "place"), ("place", "bill"))):
        with pytest.raises(Exception, match="must be on the privacy unit"):
            _of_lines(_on_both(*pairs, join=join), "bill", "place")
    assert _of_lines(whole, "bill").unit == owned.unit


def test_a_reference_of_two_columns_is_followed() -> None:
    """The row that both point to is joined, which has to be one by a constraint on some of the columns alone."""
    alone = Relation((Source(RETURNS),), Apply("and", (), SqlType.BOOLEAN), {})
    owned = _of_lines(alone, "place", "bill")
    assert (owned.rows, owned.unit) == (5, Ref(1, "lines", "who", LINES.columns["who"]))
    assert owned.relation.sources[1].on == both(
        *(Apply("eq", (ref(0, RETURNS, c), ref(1, LINES, c)), SqlType.BOOLEAN) for c in ("place", "bill"))
    )
    for keys in (("bill", "place", "who"), ("who",)):
        with pytest.raises(
            Exception, match=r"goes through lines.\(place, bill\), which the engine does not keep unique"
        ):
            _of_lines(alone, *keys)


def test_the_unit_is_joined_beside_what_a_join_says() -> None:
    """In its place it would be another question, of which nobody is told that."""
    condition = _equal(0, "visit", 1, "place", BILLS_OWN, VISITS)
    relation = Relation((Source(BILLS_OWN), Source(VISITS, Join.INNER, condition)), TRUE, {})
    with pytest.raises(Unsupported) as caught:
        owners(relation, "p", {**TABLES, "own": BILLS_OWN}, lambda name: UNIQUE.get(name, frozenset()))
    assert caught.value.hint == (
        "Write … JOIN visits ON … AND own.payer = visits.who, beside what it is joined by, of one type on both sides."
    )
