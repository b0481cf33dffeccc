"""The check that `make check` makes of pages notices what it is for."""

from pathlib import Path

import pytest

from tests.docs.prose import LONGEST_LINE, LONGEST_SENTENCE, findings


def _found(tmp_path: Path, written: str) -> list[str]:
    page = tmp_path / "page.md"
    page.write_text(written, encoding="utf-8")
    return [str(finding).removeprefix("page.md:") for finding in findings(page)]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("word " * (LONGEST_SENTENCE + 1) + "\n", "1: a sentence of 33 words"),
        ("A short one.\n\n- " + "word\n  " * (LONGEST_SENTENCE + 1) + "\n", "3: a sentence of 33 words"),
        ("> A short one.\n\n" + "> word\n" * (LONGEST_SENTENCE + 1), "3: a sentence of 33 words"),
        ("x" * (LONGEST_LINE + 1), "1: a line of 141 characters"),
        ("> A quotation that ends. >\n> Another one.\n", "1: a mark of a quotation within a line"),
        ("> Of these > and of others.\n", "1: a mark of a quotation within a line"),
        (
            "> **Claim.** They may ask anything, and\n> their questions\n> may depend on it.\n",
            "2: a line of a quotation that ends early",
        ),
    ],
    ids=["sentence", "item", "quotation", "line", "mark", "mark within", "early end"],
)
def test_what_is_too_long_is_found(tmp_path: Path, written: str, said: str) -> None:
    """With its page and line."""
    assert any(finding.startswith(said) for finding in _found(tmp_path, written))


@pytest.mark.parametrize(
    "written",
    [
        "```sql\nSELECT thrice\n```\n\nIt costs nothing.\n",
        "One sentence. " * LONGEST_SENTENCE,
        "| " + " | ".join(["word " * 20] * 3) + " |\n",
        "![A picture](a/" + "long" * LONGEST_LINE + ".png)\n",
        "> Where `a > b` holds.\n> It does.\n",
    ],
    ids=["code", "short ones", "cells", "picture", "quotation"],
)
def test_what_reads_well_is_not_found(tmp_path: Path, written: str) -> None:
    """Code is no prose, and each cell of a table is a sentence of its own."""
    assert [finding for finding in _found(tmp_path, written) if "a line of" not in finding] == []
