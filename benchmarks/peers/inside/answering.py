"""The conversation with the benchmark: a line of JSON in, a line of JSON out; what fails is told, and does not end it."""

import json
import os
import sys
import time
from collections.abc import Callable

System = Callable[[dict], Callable[[], tuple[list[str], list]]]


def serve(open_system: Callable[[dict], System]) -> None:
    """Answer requests: the first tells of the tables, each that follows is a question, prepared once and run often."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no part of the conversation
    system = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if system is None:
                system, answer = open_system(request), {"ready": True}
            else:
                answer = {"runs": _runs(system(request), request["repetitions"], request["seconds"])}
        except BaseException as failed:  # noqa: BLE001 # a panic in Rust is no Exception
            answer = {"refused": f"{type(failed).__name__}: {failed}"}
        out.write(json.dumps(answer, default=str) + "\n")
        out.flush()


def _runs(run: Callable[[], tuple[list[str], list]], repetitions: int, seconds: float) -> list[dict]:
    """Run it that often, or as often as fits into the time; at least once."""
    runs, begin = [], time.perf_counter()
    while len(runs) < repetitions and (not runs or time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        columns, rows = run()
        runs.append(
            {
                "seconds": time.perf_counter() - start,
                "columns": columns,
                "rows": [list(map(_plain, row)) for row in rows],
            }
        )
    return runs


def _plain(value: object) -> object:
    """Return what JSON can say of a value."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
