"""The check that `make check` makes of pages, modules and names notices what it is for."""

from pathlib import Path

import pytest

from tests.docs.prose import LONGEST_LINE, LONGEST_SENTENCE, MOST_IDLE, findings, idle_names


def _found(tmp_path: Path, written: str) -> list[str]:
    page = tmp_path / "page.md"
    page.write_text(written, encoding="utf-8")
    return [str(finding).removeprefix("page.md:") for finding in findings(page)]


def test_names_say_what_a_thing_is(tmp_path: Path) -> None:
    """Texts, comments and longer names do not count."""
    file = tmp_path / "names.py"
    file.write_text("one = found_rows = 'known'  # found\n" * MOST_IDLE + "two = one\n", encoding="utf-8")
    assert [*idle_names([file])] == ["dpsql: the name one 51 times, of 50: say what the thing is"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("word " * (LONGEST_SENTENCE + 1) + "\n", "1: a sentence of 33 words"),
        ("A short one.\n\n- " + "word\n  " * (LONGEST_SENTENCE + 1) + "\n", "3: a sentence of 33 words"),
        ("x" * (LONGEST_LINE + 1), "1: a line of 141 characters"),
        ("Rows are many. What is left is a row.", "1: a sentence whose subject is no noun: What is left"),
        ("| a | b |\n|---|---|\n| it is seldom | b |\n", "3: “seldom”, better: rarely"),
        ("# Whoever asks\n", "1: “Whoever”"),
    ],
    ids=["sentence", "item", "line", "subject", "cell", "heading"],
)
def test_what_is_read_twice_is_found(tmp_path: Path, written: str, said: str) -> None:
    """With its page and line."""
    assert any(finding.startswith(said) for finding in _found(tmp_path, written))


@pytest.mark.parametrize(
    "written",
    [
        "```sql\nSELECT thrice\n```\n\nIt costs nothing.\n",
        "What does it cost?\n",
        "`what is known` is a name.\n",
        "One sentence. " * LONGEST_SENTENCE,
        "| " + " | ".join(["word " * 20] * 3) + " |\n",
        "![A picture](a/" + "long" * LONGEST_LINE + ".png)\n",
    ],
    ids=["code", "question", "name", "short ones", "cells", "picture"],
)
def test_what_reads_well_is_not_found(tmp_path: Path, written: str) -> None:
    """Code is no prose, and each cell of a table is a sentence of its own."""
    assert [finding for finding in _found(tmp_path, written) if "a line of" not in finding] == []
