"""Being an ordinary user, for tests that root runs."""

import subprocess
import sys
from functools import cache

import pytest

NOBODY = 65534


@cache
def ordinary_python() -> str:
    """Return a Python of this version that everybody may run."""
    own = f"python3.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{own}", f"/usr/local/bin/{own}"):
        try:
            subprocess.run([program, "-c", ""], user=NOBODY, group=NOBODY, cwd="/", check=True)  # noqa: S603
        except OSError:
            continue
        return program
    pytest.skip("no Python of this version that an ordinary user may run")
