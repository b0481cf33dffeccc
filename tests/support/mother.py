"""The process that imports `dpsql` once and forks those that run it; `forked` asks it for them.

It forks for who started it alone, or for all processes that run tests: each of them talks to a child of its own, which ends
with it, and with that all that it was asked for.
"""

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from typer.main import get_command

MESSAGE = 2**20
"""The most bytes of what it is asked, and says."""

_Asked = tuple[list[str], str]
"""The arguments, and what is run before."""


def alone(number: int) -> None:
    """Fork for who is at the other end of a socket, until it is closed."""
    command = _imported()
    _run(_children(socket.socket(fileno=number)), command)


def shared(number: int, owner: int) -> None:
    """Fork for all who connect to a listening socket, until the process `owner` ends; nobody's child, and not waited for."""
    if os.fork():
        os._exit(0)
    ends = os.pidfd_open(owner)
    command = _imported()
    talk = _asker(socket.socket(fileno=number), ends)
    _run(None if talk is None else _children(talk), command)


def _imported() -> Callable[[], object]:
    """Import `dpsql`, and return its command line."""
    from dpsql.cli.main import app  # noqa: PLC0415  (nobody else needs it)
    from dpsql.policy.load import load  # noqa: PLC0415

    command = get_command(app)
    tuple(command.commands.values())  # type: ignore[attr-defined]  # each is imported when it is looked up
    load(Path(__file__).parents[2] / "config.yaml")  # so that its regular expressions are compiled
    gc.freeze()  # so that no child copies what it only looks through
    return command


def _run(child: _Asked | None, command: Callable[[], object]) -> NoReturn:
    """Run in a child what it is to; end where there is none."""
    if child is None:
        os._exit(0)
    arguments, before = child
    sys.argv = ["dpsql", *arguments]
    _leave(before, command)


def _asker(listener: socket.socket, ends: int) -> socket.socket | None:
    """Fork whenever somebody connects; return in each child the connection, and at last here None."""
    running: dict[int, int] = {}
    while True:
        for ready in select.select([listener.fileno(), ends, *running], [], [])[0]:
            if ready == ends:
                return None
            if ready in running:
                os.waitpid(running.pop(ready), 0)
                os.close(ready)
                continue
            talk, _ = listener.accept()
            pid = os.fork()
            if not pid:
                for inherited in (listener.detach(), ends, *running):
                    os.close(inherited)
                return talk
            talk.close()
            running[os.pidfd_open(pid)] = pid


def _leave(before: str, run: Callable[[], object]) -> NoReturn:
    """Run both, and leave as Python does, but for taking apart what was imported: that takes longer than to stop a server."""
    code: object = None
    try:
        exec(before, {})  # noqa: S102  (the tests' own)
        run()
    except SystemExit as ended:
        code = ended.code
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as every end of Python
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _children(talk: socket.socket) -> _Asked | None:
    """Fork until nobody asks any more; return in each child with what it is to run, and at last here with None."""
    running: dict[int, int] = {}
    while True:
        for ready in select.select([talk.fileno(), *running], [], [])[0]:
            if ready in running:
                pid = running.pop(ready)
                os.close(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                _say(talk, "code", pid, code)
                continue
            said, files, _, _ = socket.recv_fds(talk, MESSAGE, 2)
            if not said:
                for pid in running.values():
                    os.kill(pid, signal.SIGKILL)
                return None
            asked = json.loads(said)
            for module in asked[2]:
                importlib.import_module(module)
            pid = os.fork()
            if not pid:
                for inherited in (talk.detach(), *running):
                    os.close(inherited)
                return _begin(asked, files)
            for file in files:
                os.close(file)
            running[os.pidfd_open(pid)] = pid
            _say(talk, "pid", pid, 0)


def _say(talk: socket.socket, *said: object) -> None:
    """Tell who asked, who may have been killed: then the next that is heard of them is their end."""
    with suppress(BrokenPipeError):
        talk.send(json.dumps(said).encode())


def _begin(asked: tuple[list[str], str, list[str], str, dict[str, str]], files: list[int]) -> _Asked:
    """Become what was asked for; return its arguments, and what it runs before."""
    arguments, before, _, directory, environment = asked
    for file, place in zip(files, (1, 2), strict=True):
        os.dup2(file, place)
        os.close(file)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    return arguments, before
