"""The twelve steps: their names, what each shows, and which answers of a driver are right."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.clients.data import BY_PAYMENT
from tests.clients.matrix.asked import KINDS, WORDS

_COLUMNS = (
    "trip_id driver_id passenger_id pickup_ts pickup_zone payment_type passenger_count trip_distance fare tip total"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a driver prints `{"step": name, "got": …}`, and `right` says whether that is right."""

    name: str
    about: str
    right: Callable[[Any], bool]


def _rows(got: Any) -> bool:
    """Return whether these are the trips by payment; some drivers give numbers as text."""
    return [(key, int(count)) for key, count in got] == BY_PAYMENT


def _types(got: Mapping[str, Any]) -> bool:
    """Return whether each type gave its count, and 0 for NULL."""
    return {name: [int(n) for n in counts] for name, counts in got.items()} == {k.name: [k.count, 0] for k in KINDS}


def _words(got: Mapping[str, str]) -> bool:
    """Return whether all words came back; a driver that has one encoding alone says the others in a note."""
    return "UTF8" in got and all(WORDS[name] == word for name, word in got.items())


STEPS = (
    Step("connect", "logs in, and asks who and where it is", lambda got: got == ["ana", "taxi"]),
    Step("TLS", "checks certificate and name, and binds the log-in to the channel", lambda got: got == "bound"),
    Step("tables", "lists the tables, by its own call if it has one", lambda got: got == ["endless", "trips", "zones"]),
    Step(
        "columns", "lists the columns of a table in the same way", lambda got: sorted(got) == sorted(_COLUMNS.split())
    ),
    Step("grouped", "a grouped aggregate, one of whose groups is NULL", _rows),
    Step("lists", "`IN ($1,$2)` without a space, then an array", lambda got: list(map(int, got)) == [1200, 1200]),
    Step("types", f"a parameter of each of {len(KINDS)} types, and NULL of each", _types),
    Step("refusal", "rows are refused with SQLSTATE 42501, and the session goes on", lambda got: got == "42501"),
    Step("cursor", "a cursor that fetches two rows at a time, or COPY", _rows),
    Step("cancel", "the driver's own call stops a statement", lambda got: got in ("57014", "stopped")),
    Step("timeout", "`statement_timeout` stops a statement with 57014", lambda got: got == "57014"),
    Step("encodings", f"a word each in {len(WORDS)} client encodings", _words),
)
