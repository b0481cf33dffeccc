"""The page for developers lists the modules that a statement really enters."""

import subprocess
import sys

from tests.docs.entered import of_page
from tests.docs.pages import ROOT


def test_the_page_has_the_modules_that_are_entered() -> None:
    """In a process of its own, where nothing was asked before; `python -m tests.docs.entered` writes them anew."""
    print_it = "from tests.docs.entered import written; print(written())"
    done = subprocess.run([sys.executable, "-c", print_it], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    assert of_page() == done.stdout.strip() + "\n"


def test_there_are_few_of_them() -> None:
    """A reader can follow a plain statement; it was through 224 once."""
    assert of_page().count("`") // 2 - 1 <= 110
