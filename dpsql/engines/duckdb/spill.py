"""Where DuckDB puts what does not fit into memory: a private directory a process, which does not outlive it for long.

Spilled data are records. The directory is emptied when the engine closes; after a kill the next one to open there does it.
"""

import tempfile
from pathlib import Path

from dpsql.errors import ConfigError
from dpsql.private_files import make_directory
from dpsql.scratch import Scratch


def spill(place: Path | None) -> Scratch:
    """Make a directory below `place` that nobody else may enter; None: where the system has such things.

    Raises:
        ConfigError: it can't be made.
    """
    try:
        if place is None:
            return Scratch("dpsql-spill-")
        make_directory(place)
        return Scratch("spill-", place)
    except OSError as error:
        raise ConfigError(
            f"spilled records have no place at {place or tempfile.gettempdir()}: {error.strerror}",
            hint="state names a directory that dpsql may make and write to; engine.spill names one for spills alone.",
        ) from None
