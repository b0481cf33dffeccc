"""The declared tables beside the engine's: what is missing, what can't be read safely, and what it keeps as declared."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Protocol

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpsql.engines.base import Engine, NoEngine
from dpsql.errors import ConfigError, EngineAway, EngineNotReady
from dpsql.policy.model import Column, Policy, SqlType, Table, UniqueKey, Value, is_unique
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.emitter import micros_of_interval, micros_of_time, quote_name, representable
from dpsql.rewrite.ir.literal import simplest

# The types of an engine that may stand behind a declared one, and public values as engines return them, made exact.
#
# Statements read a column through a cast to its declared type (`rewrite.emit.emitter`), so a type fits if that cast can never
# fail and changes no value: else an error, or two units that look the same, would be a fact about somebody's row.

_CHARACTERS = re.compile(r"character\((\d+)\)")
_IN_BRACKETS = re.compile(r"^(enum|varchar|character varying|character)\(.*\)$|\(\d+\)", re.DOTALL)
_ENUMERATION = re.compile(r"enum\((.*)\)", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"'((?:[^']|'')*)'")
LOOSE = " (nondeterministic collation)"
"""Stands behind the type of a column of PostgreSQL's whose collation takes different texts for one."""


def fits(declared: SqlType, written: str, stored: str, dialect: Dialect) -> bool:
    """Return whether a column of the engine's type `stored` can be read as the declared type, `written` in full."""
    plain = stored.lower().removesuffix(LOOSE)
    kind = _IN_BRACKETS.sub(r"\1", plain)
    if declared.is_integer:
        return kind in _integers(declared, dialect)
    if not declared.is_number:
        return kind in dialect.stored_types.others[declared]
    if kind in _integers(
        SqlType.BIGINT, dialect
    ) | dialect.stored_types.floats | dialect.stored_types.wide or representable(kind):
        return True
    # Without a length a numeric may be beyond double precision; only a plain numeric is read with that in mind.
    return declared is SqlType.NUMERIC and kind == "numeric" and not representable(written)


def fits_column(column: Column, stored: str, dialect: Dialect) -> bool:
    """Return whether a column of the engine's type `stored` can be read by its declared type."""
    if column.in_numbers:
        return (
            fits(SqlType.BIGINT, SqlType.BIGINT.value, stored, dialect) or stored.lower() in dialect.stored_types.wide
        )
    return fits(column.type, column.declared, stored, dialect)


def engine_labels(stored: str) -> frozenset[str] | None:
    """Return the labels of an engine's enumeration; None of another type."""
    inside = _ENUMERATION.fullmatch(stored.removesuffix(LOOSE))
    return None if inside is None else frozenset(label.replace("''", "'") for label in _LABEL.findall(inside[1]))


def identifies(declared: SqlType, stored: str, dialect: Dialect) -> bool:
    """Return whether different units have different values, and one unit one value, as the engine compares them.

    Floats round, and NaN or −0 equals what it is not. Texts are read byte by byte: of a type or collation to which "Ann" is
    "ann", one unit would be two, with twice the rows that it may have.
    """
    kind = stored.lower()
    if declared.is_text:
        return kind != "citext" and not kind.endswith(LOOSE)
    return declared.is_integer or kind not in dialect.stored_types.floats


def unique_as_declared(
    table: Table, unique_keys: frozenset[UniqueKey], kinds_of: Callable[[str], Mapping[str, str]]
) -> frozenset[UniqueKey]:
    """Return which of the keys that the engine keeps unique are so as statements read them.

    Texts that differ in the blanks at their ends, or beyond its length, are one in a char(n). `kinds_of` returns the
    engine's types of a table's columns.
    """
    asked = frozenset[str]().union(*unique_keys)
    cut = {name: c.characters for name, c in table.columns.items() if c.type is SqlType.CHARACTER and name in asked}
    if not cut:
        return unique_keys
    kinds = kinds_of(table.name)
    short = {name for name, length in cut.items() if _is_as_short(kinds[name].lower(), length)}
    return frozenset(key for key in unique_keys if key.isdisjoint(cut.keys() - short))


def _is_as_short(kind: str, length: int | None) -> bool:
    stored = _CHARACTERS.fullmatch(kind)
    return stored is not None and length is not None and int(stored[1]) <= length


def _integers(widest: SqlType, dialect: Dialect) -> frozenset[str]:
    types = dialect.stored_types.integers
    order = list(types)
    return frozenset[str]().union(*(types[kind] for kind in order[: order.index(widest) + 1]))


# Public values as engines return them, made exact: dates are days, timestamps microseconds since 1970.


def public_column(name: str, engine_type: str, dialect: Dialect) -> str:
    """Return the SQL that reads a column of a public table as a boolean, a number or a text.

    Dates and timestamps become numbers in the engine, because Python has no infinite ones, and none outside the years
    1 to 9999; those are NULL, here as in measurements (`Emitter.as_number`).
    """
    text = quote_name(name)
    kind = engine_type.lower()
    if kind.startswith("timestamp"):
        return dialect.micros(f"CAST({text} AS TIMESTAMP)")
    if kind.startswith("time"):
        return micros_of_time(text)
    if kind == "interval":
        return micros_of_interval(text)
    if kind == "date":
        return dialect.days(text)
    if kind.startswith(_AS_IT_IS):
        return text
    return dialect.stored_text(text)


_AS_IT_IS = (
    "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint",
    "numeric", "decimal", "real", "float", "double",
)  # fmt: skip


def exact_value(cell: object) -> Value | None:
    """Return a public value without floats; NaN and infinities are NULL."""
    match cell:
        case None | bool() | int() | str():
            return cell
        case float() | Decimal():
            return simplest(Fraction(cell)) if math.isfinite(cell) else None
        case _:
            return str(cell)


_PROBE_PATIENCE = 30.0


# The comparison of what is declared with what is there.


class DescribedTables(Protocol):
    """What has to be known of tables to compare them with what is declared: an `Engine` knows it."""

    @property
    def dialect(self) -> Dialect:
        """Return the SQL whose types they have."""

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with their types; empty if there is no such table."""

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the keys that are unique."""


def require_tables(policy: Policy, engine: Engine) -> None:
    """See that the engine has every declared table and column, with a type that can be read as the declared one.

    Raises:
        ConfigError: with a line for each mistake: file, table, column, and both types.
    """
    mistakes = misfits_of(policy, engine)
    if mistakes:
        raise ConfigError("\n".join(mistakes.values()), hint="Correct the schema files, or the tables.")
    hidden = [table for table in policy.tables.values() if not _is_readable(table, engine)]
    if hidden:
        lines = list[str]()
        for table in hidden:
            lines.append(f'{table.file}: the engine does not let dpsql read table "{table.name}"')
        named = ", ".join(engine.named(table.name) for table in hidden)
        raise ConfigError(
            "\n".join(lines),
            hint="Its reason stands above. Where rights are missing, the role that dpsql connects as needs GRANT SELECT ON "
            f"{named}, and GRANT USAGE ON their SCHEMA.",
        )


def misfits_of(policy: Policy, engine: DescribedTables) -> dict[str, str]:
    """Return the tables that do not fit what is declared of them, each with a line for each mistake."""
    lines = {name: "\n".join(_mistakes(table, policy.tables, engine)) for name, table in policy.tables.items()}
    return {name: text for name, text in lines.items() if text}


def _is_readable(table: Table, engine: Engine) -> bool:
    """Return whether a question about all declared columns can be made ready; it is not run."""
    columns = ", ".join(quote_name(name) for name in table.columns)
    probe = f"SELECT {columns} FROM {engine.named(table.name)} WHERE 1 = 0"  # noqa: S608
    try:
        with engine.ready([probe], timeout=_PROBE_PATIENCE, cancellation=Cancellation()):
            return True
    except EngineNotReady:
        return False
    except EngineAway:
        raise NoEngine("the engine can't be asked", hint="Its reason stands above.") from None


def _mistakes(table: Table, tables: Mapping[str, Table], engine: DescribedTables) -> Iterator[str]:
    types = engine.columns(table.name)
    if not types:
        yield f'{table.file}: the engine has no table "{table.name}"'
        return
    units = {name for bound in table.units.values() for name in bound.columns}
    for column in table.columns.values():
        kind = types.get(column.name)
        named = f'{table.file}: column "{column.name}" of table "{table.name}"'
        if kind is None:
            yield f"{named}: the engine has no such column{_meant(column.name, types)}"
        elif not fits_column(column, kind, engine.dialect):
            declared = f"{column.declared} with values 0 and 1" if column.in_numbers else column.declared
            yield f"{named} is declared {declared}, the engine has {kind}{_advice(column, kind, engine.dialect)}"
        elif column.name in units and not identifies(column.type, kind, engine.dialect):
            why = "which takes different texts for one" if column.type.is_text else "which rounds"
            yield f"{named} identifies a privacy unit, but the engine has {kind}, {why}"
        else:
            yield from (f"{named} has no {label!r} in the engine's enumeration" for label in _unknown(column, kind))
    yield from _not_enforced(table, tables, engine)


def _meant(name: str, there: Iterable[str]) -> str:
    folded = {other.lower(): other for other in there}
    close = get_close_matches(name.lower(), folded, n=1)
    return f'; did you mean "{folded[close[0]]}"?' if close else ""


def _unknown(column: Column, kind: str) -> list[str]:
    """Return the declared values that no row can have, since the engine's enumeration lacks them: spelt wrong, mostly."""
    labels = engine_labels(kind)
    return [] if labels is None else [str(value) for value in column.values or () if str(value) not in labels]


def _not_enforced(table: Table, tables: Mapping[str, Table], engine: DescribedTables) -> Iterator[str]:
    """Yield a line for each unit through a reference to what may be several rows: a row would be several units'."""
    for kind, bound in table.units.items():
        target = bound.through
        if target is not None and not is_unique(target.columns, _unique(tables[target.table], engine)):
            key = target.text
            yield (
                f'{table.file}: the unit "{kind}" of table "{table.name}" goes through {key}, which no constraint of the '
                "engine keeps unique; declare PRIMARY KEY or UNIQUE there; files have none: put the unit's column into the "
                "table itself"
            )


def _unique(table: Table, engine: DescribedTables) -> frozenset[UniqueKey]:
    return unique_as_declared(table, engine.unique_keys(table.name), engine.columns)


def _advice(column: Column, kind: str, dialect: Dialect) -> str:
    declared = column.type
    if declared is SqlType.JSON:
        return f"; {dialect.stored_types.json}"
    if declared.is_number and not declared.is_integer and kind == "numeric":
        return " without a length, which may be beyond double precision; declare it numeric"
    if declared is SqlType.BOOLEAN and "int" in kind.lower():
        return "; if those are 0 and 1, declare `values: [0, 1]` for it"
    return ""


# The columns of which an engine itself keeps every row as the policy declares it: with a value, and one of its domain.
#
# city text NOT NULL CHECK (city IN ('a', 'b'))        values: [a, b, c]            enforced
# fare double precision NOT NULL CHECK (fare <= 500)   bounds: [0, 150]             enforced: NaN is above every number
# zone_id integer NOT NULL REFERENCES zones            references: zones.zone_id    enforced
# zone_id integer REFERENCES zones                     references: zones.zone_id    not: NULL refers to nothing
#
# Claim: no row of the table lacks a value in such a column as statements read it (`Emitter.present`). What is not understood
# enforces nothing. A mistake here answers wrongly, and tells nothing: only releases are read by it.

_MOST = 100_000
"""Whole numbers between two ends that are listed."""
_TEXTS = frozenset({exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR})
_UNREADABLE = frozenset({SqlType.INTERVAL})
"""Types of which some values are read as none."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """What an engine enforces of one table, as its catalogue says: valid constraints of the table itself alone."""

    present: frozenset[str] = frozenset()
    """The columns that are NOT NULL."""
    checks: Sequence[str] = ()
    """The conditions of its CHECKs."""
    language: str | None = None
    """The name by which sqlglot reads them."""
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By column, the table that its foreign key points to, as statements name it, and the column there."""
    collated: bool = False
    """Whether texts of some column are not compared byte by byte."""
    optional: frozenset[str] = frozenset()
    """The columns that may be NULL, where the engine says so: not of views, nor of DuckDB's tables of which none is NOT NULL,
    since these may have been made of files."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The values that CHECKs leave a column that has one."""

    values: frozenset[object] | None = None
    """None: any."""
    low: float = -math.inf
    high: float = math.inf
    numbers: bool = False
    """Whether NaN is none of them."""

    def both(self, other: "_Allowed") -> "_Allowed":
        """Return the values that are in both."""
        some = [each.values for each in (self, other) if each.values is not None]
        values = frozenset.intersection(*some) if some else None
        return _Allowed(
            values, max(self.low, other.low), min(self.high, other.high), numbers=self.numbers or other.numbers
        )

    def either(self, other: "_Allowed") -> "_Allowed":
        """Return the values that are in one of the two."""
        values = None if self.values is None or other.values is None else self.values | other.values
        return _Allowed(
            values, min(self.low, other.low), max(self.high, other.high), numbers=self.numbers and other.numbers
        )

    def within(self, values: frozenset[object]) -> bool:
        """Return whether none of them is beside `values`; of numbers they are whole ones."""
        if self.values is not None:
            return self.values <= values
        if self.high - self.low > _MOST:  # or is endless
            return False
        return values.issuperset(range(math.ceil(self.low), math.floor(self.high) + 1))


_ANY = _Allowed()


def enforced_columns(
    table: Table, constraints: Constraints, kinds: Mapping[str, str], named: Callable[[str], str], dialect: Dialect
) -> frozenset[str]:
    """Return the columns of a table of which each row has a value of the declared domain, because its engine sees to it.

    `kinds` are the engine's types of its columns; `named` returns a table's name as statements write it.
    """
    allowed = _allowed(constraints)

    def is_enforced(column: Column) -> bool:
        if column.name not in constraints.present or column.in_numbers or column.type in _UNREADABLE:
            return False
        kind, left, reference = kinds.get(column.name, ""), allowed.get(column.name, _ANY), column.references
        if reference is not None and reference.public:
            target = named(reference.table), reference.column
            return _is_exact(column, kind, constraints) and constraints.references.get(column.name) == target
        if column.values is not None and column.type is not SqlType.BOOLEAN:
            return _is_exact(column, kind, constraints) and _in_domain(column.values, kind, left)
        if column.type.is_number and not column.type.is_integer:
            return left.numbers or kind.lower().partition("(")[0] in _without_nan(dialect)
        return True

    return frozenset(name for name, column in table.columns.items() if is_enforced(column))


def _is_exact(column: Column, kind: str, constraints: Constraints) -> bool:
    """Return whether the engine takes two values for one only where statements do."""
    if not column.type.is_text:
        return column.type.is_integer
    loose = constraints.collated or kind.lower() == "citext" or kind.lower().endswith(LOOSE)
    return not (loose or column.type is SqlType.CHARACTER)


def _in_domain(values: Sequence[object], kind: str, left: _Allowed) -> bool:
    labels = engine_labels(kind)
    return left.within(frozenset(values)) or (labels is not None and labels <= frozenset(values))


def _without_nan(dialect: Dialect) -> frozenset[str]:
    """Return the engine's types of numbers in which NaN is none: PostgreSQL's numeric has it."""
    types = dialect.stored_types
    return frozenset({"decimal"}).union(types.wide, *types.integers.values())


def _allowed(constraints: Constraints) -> Mapping[str, _Allowed]:
    """Return what is left to each column by conditions that all hold."""
    by_column: dict[str, _Allowed] = {}
    for check in constraints.checks:
        for part in _parts(_read(check, constraints.language)):
            said = _said(part)
            if said is not None:
                by_column[said[0]] = by_column.get(said[0], _ANY).both(said[1])
    return by_column


def _read(check: str, language: str | None) -> exp.Expr | None:
    try:
        return exp.maybe_parse(check, dialect=language)
    except SqlglotError:
        return None


def _parts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the conditions that all have to hold."""
    match condition:
        case exp.Paren(this=inner):
            yield from _parts(inner)
        case exp.And(this=left, expression=right):
            yield from _parts(left)
            yield from _parts(right)
        case exp.Between(this=value, args={"low": low, "high": high}):
            yield exp.GTE(this=value, expression=low)
            yield exp.LTE(this=value, expression=high)
        case None:
            return
        case _:
            yield condition


def _said(condition: exp.Expr) -> tuple[str, _Allowed] | None:
    """Return a column, and what a condition leaves to it; None where it is about no single one, or is not understood."""
    match condition:
        case exp.Paren(this=inner):
            return _said(inner)
        case exp.Or(this=left, expression=right):
            sides = _said(left), _said(right)
            if sides[0] is None or sides[1] is None or sides[0][0] != sides[1][0]:
                return None
            return sides[0][0], sides[0][1].either(sides[1][1])
        case exp.And():
            said = [_said(part) for part in _parts(condition)]
            names = {each[0] for each in said if each is not None}
            if len(names) != 1 or None in said:
                return None
            whole = _ANY
            for each in said:
                whole = whole if each is None else whole.both(each[1])
            return names.pop(), whole
        case exp.In(this=value, expressions=options):
            return _one_of(value, options)
        case exp.EQ(this=value, expression=exp.Any(this=array)):
            listed = _plain(array)
            return _one_of(value, listed.expressions) if isinstance(listed, exp.Array) else None
        case exp.EQ(this=value, expression=option):
            return _one_of(value, [option])
        case exp.LTE(this=value, expression=end) | exp.LT(this=value, expression=end):
            return _up_to(value, end, itself=isinstance(condition, exp.LTE))
        case exp.GTE(this=value, expression=end) | exp.GT(this=value, expression=end):
            return _from(value, end, itself=isinstance(condition, exp.GTE))
        case exp.NEQ(this=value, expression=other):
            name, literal = _column(value), _plain(other)
            nan = isinstance(literal, exp.Literal) and literal.is_string and literal.this.lower() == "nan"
            return (name, _Allowed(numbers=True)) if name is not None and nan else None
        case exp.Not(this=exp.IsNan(this=value)):
            name = _column(value)
            return None if name is None else (name, _Allowed(numbers=True))
        case _:
            return None


def _one_of(value: exp.Expr, options: Sequence[exp.Expr]) -> tuple[str, _Allowed] | None:
    name, values = _column(value), [_value(option) for option in options]
    if name is None or not values or None in values:
        return None
    return name, _Allowed(frozenset(values), numbers=all(isinstance(each, int) for each in values))


def _up_to(value: exp.Expr, end: exp.Expr, *, itself: bool) -> tuple[str, _Allowed] | None:
    name, number = _column(value), _number(end)
    if name is None or number is None:
        return None
    return name, _Allowed(high=number if itself else math.nextafter(number, -math.inf), numbers=True)


def _from(value: exp.Expr, end: exp.Expr, *, itself: bool) -> tuple[str, _Allowed] | None:
    name, number = _column(value), _number(end)
    if name is None or number is None:
        return None
    return name, _Allowed(low=number if itself else math.nextafter(number, math.inf))


def _column(value: exp.Expr) -> str | None:
    """Return the name of a plain column, of a text perhaps as another type of texts."""
    match value:
        case exp.Paren(this=inner):
            return _column(inner)
        case exp.Cast(this=inner, to=exp.DataType(this=kind, expressions=[])) if kind in _TEXTS:
            return _column(inner)
        case exp.Column(this=exp.Identifier(this=name), table=""):
            return str(name)
        case _:
            return None


def _plain(value: exp.Expr) -> exp.Expr:
    """Return a constant without parentheses, and without casts to types that have no length."""
    match value:
        case exp.Paren(this=inner):
            return _plain(inner)
        case exp.Cast(this=inner, to=exp.DataType(this=kind, expressions=inside)) if (
            not inside or kind is exp.DataType.Type.ARRAY
        ):
            return _plain(inner)
        case _:
            return value


def _value(option: exp.Expr) -> object:
    """Return a text or a whole number; None where it is neither."""
    constant = _plain(option)
    if isinstance(constant, exp.Literal) and constant.is_string:
        return str(constant.this)
    number = _number(option)
    return int(number) if number is not None and number.is_integer() else None


def _number(end: exp.Expr) -> float | None:
    """Return a number; None where it is none, or NaN."""
    match _plain(end):
        case exp.Neg(this=inner):
            number = _number(inner)
            return None if number is None else -number
        case exp.Literal(this=text):
            try:
                value = float(text)
            except ValueError:
                return None
            return None if math.isnan(value) else value
        case _:
            return None
