"""A line is as it was written, or is none."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from dpsql.trail.record import BEGINNING, chain_line, read_line

_FIELDS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
        lambda k: k not in ("line", "previous", "hash")
    ),
    st.text(st.characters(exclude_categories=["Cs"])) | st.none() | st.lists(st.text(st.characters(codec="utf-8"))),
    max_size=4,
)


@given(_FIELDS, st.data())
def test_any_line_is_read_back_and_any_change_of_a_byte_is_seen(fields: dict[str, object], data: st.DataObject) -> None:
    """Whatever the fields hold: quotes, brackets, another line."""
    raw, link = chain_line(fields, BEGINNING)
    line = raw.removesuffix(b"\n")
    assert b"\n" not in line
    read_back = read_line(line)
    assert read_back is not None
    assert (read_back.fields, read_back.link) == (fields, link)
    assert read_back.follows(BEGINNING)
    place = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    assert read_line(line[:place] + bytes([other]) + line[place + 1 :]) is None


def test_anybody_can_compute_the_hash() -> None:
    """It is SHA-256 of all that stands before its key, as the documentation says."""
    raw, _ = chain_line({"statement": "SELECT 1"}, BEGINNING)
    body, _, rest = raw.decode().rpartition(',"hash":"')
    assert hashlib.sha256(body.encode()).hexdigest() == rest.removesuffix('"}\n')


def test_a_line_that_follows_another_says_so() -> None:
    """By its number and by the hash."""
    first, link = chain_line({}, BEGINNING)
    second, _ = chain_line({}, link)
    read = read_line(second.removesuffix(b"\n"))
    assert read is not None
    assert read.follows(link)
    assert not read.follows(BEGINNING)
    assert first != second
