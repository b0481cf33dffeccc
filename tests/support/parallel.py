"""Tests in several processes, forked from the one that has collected them: collecting takes as long as a hundred tests.

A file's tests stay together in one process, in their order: many share a server that the first of them starts.
"""

import atexit
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any

import pytest

SOON = 0.01
"""Seconds; what takes longer is among the slowest that `--durations` names."""
_BYTES = 4
"""Of a file's number, which a process takes out of the queue."""
_FORK = multiprocessing.get_context("fork")

_File = list[pytest.Item]
_Told = tuple[str, Any]
"""What a process tells: that a test begins, by its name, or a report of it, or that all is done."""


def add_option(parser: pytest.Parser) -> None:
    """Let a run say in how many processes its tests run."""
    parser.addoption("--workers", default="1", help="processes that run tests; auto: two for each core")


def workers(config: pytest.Config) -> int:
    """Return how many processes run tests: two for each core, as tests wait for servers, clocks and each other."""
    asked = str(config.getoption("--workers"))
    return (os.cpu_count() or 1) * 2 if asked == "auto" else int(asked)


def run(session: pytest.Session) -> bool:
    """Run what was collected, in the order of its files; a process takes the next one when it has ended one."""
    files = [list(items) for _, items in groupby(session.items, lambda item: item.nodeid.partition("::")[0])]
    queue = _queue(len(files))
    running = dict(_begun(session, files, queue) for _ in range(min(workers(session.config), len(files))))
    os.close(queue)
    try:
        _listen(session, running)
    finally:
        for process in running.values():
            process.terminate()
            process.join()
    return True


def _queue(length: int) -> int:
    """Return a pipe with the numbers of all files: whoever reads gets the next one, and in the end nothing."""
    read, write = os.pipe()
    os.write(write, b"".join(number.to_bytes(_BYTES) for number in range(length)))
    os.close(write)
    return read


def _begun(session: pytest.Session, files: Sequence[_File], queue: int) -> tuple[Connection, ForkProcess]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_work, args=(session, files, queue, theirs))
    process.start()
    theirs.close()
    return ours, process


def _listen(session: pytest.Session, running: Mapping[Connection, ForkProcess]) -> None:
    """Report what the processes tell until the last one has ended."""
    hook, left = session.config.hook, dict.fromkeys(running, "")
    while left:
        for connection in wait(list(left)):
            assert isinstance(connection, Connection)
            try:
                what, value = connection.recv()
            except EOFError:
                what, value = "died", None
            match what:
                case "begins":
                    left[connection] = value
                case "report":
                    report = hook.pytest_report_from_serializable(config=session.config, data=value)
                    hook.pytest_runtest_logreport(report=report)
                case "done":
                    del left[connection]
                case _:
                    running[connection].join()
                    hook.pytest_runtest_logreport(report=_death(left.pop(connection), running[connection].exitcode))
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)


def _death(name: str, code: int | None) -> pytest.TestReport:
    """Return the report of a test whose process ended; those of its file that were to come are not run."""
    why = f"the process ended with {code}, and the rest of the file has not run"
    return pytest.TestReport(name, (name.partition("::")[0], 0, name), {}, "failed", why, "call")


class _Teller:
    """Tells the process that reports what happens in this one."""

    def __init__(self, config: pytest.Config, channel: Connection) -> None:
        self._config, self._channel = config, channel

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell that a test begins."""
        self._channel.send(("begins", nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of a test, only once if it passes: three messages take longer than most tests."""
        if report.when == "call" or not report.passed or report.duration > SOON:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._channel.send(("report", data))


def _work(session: pytest.Session, files: Sequence[_File], queue: int, channel: Connection) -> None:
    """Run files until there are no more, as a process of its own."""
    config = session.config
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Teller(config, channel))
    if (capture := config.pluginmanager.getplugin("capturemanager")) is not None:  # into files that nobody shares
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
    with suppress(BrokenPipeError, KeyboardInterrupt):  # the run was stopped
        for item, after in _with_next(files, queue):
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        channel.send(("done", None))
    atexit._run_exitfuncs()  # which a forked process skips


def _with_next(files: Sequence[_File], queue: int) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Give each test with the one after it; a file is taken before the last test of another, which keeps what both share."""
    file = _taken(files, queue)
    while file:
        yield from pairwise(file)
        after = _taken(files, queue)
        yield file[-1], after[0] if after else None
        file = after


def _taken(files: Sequence[_File], queue: int) -> _File:
    number = os.read(queue, _BYTES)
    return files[int.from_bytes(number)] if number else []
