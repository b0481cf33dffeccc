"""Whatever the files say, the loader answers with a configuration or with a list of mistakes."""

import re
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import ConfigError
from dpsql.policy.load import load
from tests.policy.fix_config import FILES, write_files

SCRAPS = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "- ",
        "'",
        '"',
        "&a ",
        "*a",
        "!x ",
        "|",
        "\n",
        "  ",
        "\t",
        "null",
        "-1",
        "1e999",
        "é",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    file=st.sampled_from(sorted(FILES)), at=st.floats(0, 1), cut=st.integers(0, 30), scraps=st.lists(SCRAPS, max_size=4)
)
def test_damaged_files_give_mistakes_and_nothing_else(file: str, at: float, cut: int, scraps: list[str]) -> None:
    """Text cut out and put in anywhere never makes the loader fail in another way."""
    text = FILES[file]
    start = int(at * len(text))
    with tempfile.TemporaryDirectory() as directory:
        path = write_files(Path(directory))
        (Path(directory) / file).write_text(text[:start] + "".join(scraps) + text[start + cut :], encoding="utf-8")
        told = _told(path)
    assert all(re.match(r"/.*:\d+: ", line) for line in told.splitlines())


def _told(path: Path) -> str:
    """Return what the loader says, nothing if it is content."""
    try:
        load(path, {})
    except ConfigError as error:
        return error.message
    return ""
