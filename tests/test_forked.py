"""The processes in which tests run the command."""

import signal

from tests.support.forked import Forked


def test_process_that_ends_by_itself_can_be_signalled() -> None:
    """Between its end and the news of it, nothing has its number any more."""
    for _ in range(20):
        ended = Forked(["--version"])
        assert ended.stdout is not None
        with ended.stdout as said:
            said.read()
        ended.send_signal(signal.SIGTERM)
        assert ended.wait(10) in (0, -signal.SIGTERM)
