"""What takes too long to find out is not read off: one statement does not hold the processor for others."""

import time
from typing import Any

import pytest

from dpsql.gateway.reuse import reading_off as module
from dpsql.gateway.reuse.reading_off import Lenses
from dpsql.interrupt import PROCESSOR_SECONDS


def test_what_takes_too_long_is_not_read_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended by what planning may take, and not tried again."""
    tried = []

    def endless(*of: object) -> None:
        tried.append(of)
        while True:
            pass

    monkeypatch.setattr(module, "lens", endless)
    declared: Any = None
    enforced: Any = None
    wanted: Any = None
    lenses, key = Lenses(declared, enforced), ("one", (), "another")
    since = time.thread_time()
    assert lenses.find(key, wanted, wanted) is None
    assert time.thread_time() - since < 2 * PROCESSOR_SECONDS
    assert lenses.remembered(key) == (None,)
    assert len(tried) == 1
