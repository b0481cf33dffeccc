"""Being an ordinary user, for tests that root runs."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

NOBODY = 65534
_NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"


@cache
def ordinary_python() -> str:
    """Return this Python, or one of the same release, that everybody may run: where root alone may, a copy of it."""
    places = (sys.executable, f"/usr/bin/{_NAME}", f"/usr/local/bin/{_NAME}")
    return next(filter(_serves, places), None) or _copy()


def _serves(program: str) -> bool:
    same = f"import sys; sys.exit(sys.version_info != {tuple(sys.version_info)})"
    try:
        done = subprocess.run([program, "-c", same], check=False, user=NOBODY, group=NOBODY, cwd="/")  # noqa: S603
    except OSError:
        return False
    return done.returncode == 0


def _copy() -> str:
    """Return a program that runs this Python from a place that everybody may enter, its files linked if they can be."""
    directory, base = Path(tempfile.mkdtemp(prefix="dpsql-python-")), Path(sys.base_prefix)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)  # what all tests write may be gone already
    directory.chmod(0o755)
    shutil.copytree(base / "lib" / _NAME, directory / "lib" / _NAME, copy_function=_linked, ignore=_left_out)
    for library in (base / "lib").glob("libpython*.so*"):
        _linked(library, directory / "lib" / library.name)
    (directory / "bin").mkdir()
    _linked(base / "bin" / _NAME, directory / "bin" / _NAME)
    program = directory / "python"
    program.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={directory}/lib exec {directory}/bin/{_NAME} "$@"\n')
    program.chmod(0o755)
    return str(program)


def _linked(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


def _left_out(_: str, names: list[str]) -> set[str]:
    return {"site-packages", "test", "idlelib", "tkinter", "ensurepip"} & set(names)
