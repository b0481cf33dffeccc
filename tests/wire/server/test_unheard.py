"""When a session counts as one that does not hear: by what it has worked since two cancels of one statement."""

import os
from dataclasses import dataclass, field
from typing import cast

import pytest

from dpsql.shadow.watch.warden import SeenProcess
from dpsql.wire.backend.backend import Backend
from dpsql.wire.server import connection
from dpsql.wire.server.connection import UnheardCancel


@dataclass
class _Replies:
    is_working: bool = True
    since: float = 1.0


@dataclass
class _Backend:
    number: int = field(default_factory=os.getpid)
    replies: _Replies = field(default_factory=_Replies)


def test_a_first_cancel_may_have_come_before_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL forgets it then: another is sent before the session is ended, and no third puts that off."""
    worked, backend, cancels = [0.0], _Backend(), UnheardCancel()
    monkeypatch.setattr(connection, "read_process", lambda _process: SeenProcess(1, worked[0]))
    shadow = cast("Backend", backend)
    cancels.note(shadow)
    assert not cancels.is_of(shadow)
    worked[0] = 1.5
    assert cancels.is_of(shadow)
    assert not cancels.is_sure
    cancels.note(shadow)
    assert not cancels.is_of(shadow)
    worked[0] = 2.4
    cancels.note(shadow)
    worked[0] = 2.6
    assert cancels.is_of(shadow)
    assert cancels.is_sure
    backend.replies.since = 2.0  # the next statement
    assert not cancels.is_of(shadow)
    cancels.note(shadow)
    assert not cancels.is_sure
