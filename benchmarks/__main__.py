"""All benchmarks but that of the peers, or those that are named: `python -m benchmarks [name …]`."""

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Annotated

import typer


def run(names: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Run the named benchmarks, or all of them, one after the other; end with 1 if a claim of one does not hold."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    known = sorted(m.name for m in modules if not m.ispkg and m.name != "__main__")
    unknown = sorted(set(names or []) - set(known))
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(known)}")
    missed = False
    for name in names or known:
        typer.echo(f"\n{name}: {(importlib.import_module(f'benchmarks.{name}').__doc__ or '').splitlines()[0]}")
        try:
            importlib.import_module(f"benchmarks.{name}").main()
        except SystemExit as end:
            missed |= bool(end.code)
    sys.exit(missed)


if __name__ == "__main__":
    typer.run(run)
