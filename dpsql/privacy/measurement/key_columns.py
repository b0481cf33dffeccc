"""How a key stands in an engine's statement: what rows are grouped by, and how it comes back."""

from collections.abc import Sequence

from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.keys import Key
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, Results
from dpsql.rewrite.ir.relation import Relation


def telling_keys(keys: Sequence[Key], relation: Relation, emitter: Emitter) -> dict[str, Ref]:
    """Return the keys that are numbers of all values of a column which has to have one, by their names, with the columns.

    Whether such a row has a value is then told by its key, and need not be selected twice.
    """
    telling = {}
    for i, key in enumerate(keys):
        match key.grouped:
            case Apply(args=(Ref() as column, *values), option=Results(values=numbers)):
                every = {value.value for value in values if isinstance(value, Const)}
                told = every == set(emitter.declared.facts_of(column).values or ()) and None not in numbers
                holds = relation.sources[column.source].holds and not (column.public or column.column.nullable)
                if told and holds and column.type.is_text:
                    telling[f"k{i}"] = column
    return telling


def grouping_text(key: Key, emitter: Emitter) -> str:
    """Return what rows are grouped by.

    Under partition selection no two keys may come back as one: a unit that is in both would count twice.
    """
    text, type_ = emitter.sql(key.grouped), key.grouped.type
    if key.shown is None:
        return emitter.as_number(text, type_) if type_.is_temporal else text
    return _narrow(text, key, emitter)


def _narrow(text: str, key: Key, emitter: Emitter) -> str:
    """Return a computed whole number in the type that grouping by it is fastest in.

    An expression that an engine knows of a stored column, or evaluates once for each entry of a dictionary, stays
    unchanged.
    """
    if not key.grouped.type.is_number or key.fractional or _easy(key.grouped, text, emitter):
        return text
    values = [int(v) for v in key.shown or () if v is not None and not isinstance(v, str)]
    if isinstance(key.grouped, Ref) and values:
        return emitter.narrowed(key.grouped, min(values), max(values))
    return emitter.dialect.narrowed(text, min(values), max(values)) if values else text


def _easy(grouped: Expr, text: str, emitter: Emitter) -> bool:
    match grouped:
        case Ref():
            return text == emitter.raw(grouped)
        case Apply():
            return isinstance(grouped.option, Results)
        case Const():
            return True


def returned_text(name: str, key: Key, emitter: Emitter) -> str:
    """Return a key as an integer or a text."""
    type_ = key.grouped.type
    if type_.is_text or (key.shown is None and type_.is_temporal):
        return name
    if key.fractional:
        return emitter.dialect.as_text(emitter.cast(name, SqlType.DOUBLE))
    number = f"CAST({name} AS INTEGER)" if type_ is SqlType.BOOLEAN else emitter.as_number(name, type_)
    return number if type_.is_temporal else f"CAST({number} AS BIGINT)"
