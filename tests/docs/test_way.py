"""The picture of a statement's way is what the code makes of it now."""

from tests.docs.pages import text
from tests.docs.way import PICTURE, Step, drawn


def test_the_picture_is_current() -> None:
    """`python -m tests.docs.way` was run after the last change of a stage."""
    assert text(PICTURE) == drawn()


def test_lines_fit_into_the_picture() -> None:
    """The indentation of the first is kept, and an empty one is a line."""
    assert Step("a step", "wire", f"  a\n\n{'word ' * 30}").lines == [
        "  a",
        "",
        ("word " * 23).strip(),
        ("word " * 7).strip(),
    ]
