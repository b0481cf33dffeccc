"""How often Python looks for objects that refer to each other and that nobody needs any more.

Planning makes thousands of objects for each statement, of which nearly all go as soon as nobody refers to them; those of the
parser's trees refer to each other and wait for the collector. It would look a dozen times a statement, at what was made just
now and every time at more, and now and then at all that was imported.
"""

import atexit
import gc
from importlib import import_module
from types import ModuleType

_YOUNG = 20_000
"""New objects, some megabytes of them, until it looks among these; by itself it would after 700."""
_TIMES, _ALL = 10, 3
"""How often it looks there until it looks among older ones, and there until it looks among all; by itself ten times: large
statements that are refused would leave hundreds of megabytes."""


def imported(module: str) -> ModuleType:
    """Import a module with all that it needs, and look for nothing meanwhile: nearly all that is made then stays."""
    before = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if before:
            gc.enable()


def collect_seldom() -> None:
    """Let the collector wait for more new objects, and leave alone what there is: nearly all of it stays until the end.

    At the end it is looked at again: the types of an extension's that remain by then, DuckDB's reports as leaked.
    """
    gc.freeze()
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)
    gc.set_threshold(_YOUNG, _TIMES, _ALL)
