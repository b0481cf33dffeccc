"""Values as drivers give them, as texts: total, and exact to the last digit.

What has no text, such as bytes that are no UTF-8, is None; it is counted with what can't be read as the declared type.
"""

import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from dpsql.engines.databases.kinds import Family

_MICROSECOND = timedelta(microseconds=1)
_DAY, _MIDNIGHT = timedelta(days=1), datetime(1, 1, 1, tzinfo=UTC)


def as_texts(values: Sequence[object], family: Family) -> list[str | None]:
    """Return a column's values as texts."""
    if family is Family.BITS:
        return [_number_of_bits(value) if isinstance(value, bytes) else _text(value, family) for value in values]
    if family is Family.BYTES:
        return [_uuid(value) for value in values]
    kinds = set(map(type, values))
    if kinds <= {bytes, type(None)}:
        try:
            return [None if value is None else value.decode() for value in values]  # type: ignore[attr-defined]
        except UnicodeDecodeError:
            pass
    elif kinds <= {int, type(None)}:
        return [None if value is None else str(value) for value in values]
    elif kinds <= {str, type(None)} and all(map(str.isascii, filter(None, values))):  # type: ignore[arg-type]
        return list(values)  # type: ignore[arg-type]
    return [_text(value, family) for value in values]


def _text(value: object, family: Family) -> str | None:
    match value:
        case None:
            return None
        case str():
            return value if _is_text(value) else None
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case Decimal():
            return format(value, "f") if value.is_finite() else str(value)
        case bytes() | bytearray() | memoryview():
            return _decoded(bytes(value))
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat(sep=" ")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat() if value.tzinfo is None else None
        case timedelta():
            return _span(value, family)
        case UUID():
            return str(value)
        case dict() | list() if family is Family.JSON:
            return _json(value)
        case _:
            return None


def _is_text(value: str) -> bool:
    """Return whether a text has nothing but characters: drivers let stand-ins be for what they can't decode."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _number_of_bits(value: bytes) -> str:
    return str(int.from_bytes(value, "big"))


def _uuid(value: object) -> str | None:
    """Return a UUID's text; 16 bytes are one, too."""
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return str(UUID(bytes=raw)) if len(raw) == 16 else _decoded(raw)
    return _text(value, Family.UUID)


def _span(value: timedelta, family: Family) -> str | None:
    if family is Family.TIME and timedelta() <= value < _DAY:
        return (_MIDNIGHT + value).time().isoformat()
    return f"{value // _MICROSECOND} microseconds"


def _json(value: object) -> str | None:
    try:
        text = json.dumps(value, ensure_ascii=False, default=_json_number)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if _is_text(text) else None


def _json_number(value: object) -> object:
    if isinstance(value, Decimal) and math.isfinite(value):
        return float(value)
    raise TypeError
