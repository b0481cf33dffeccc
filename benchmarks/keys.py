"""How many pickup zones of the demo's million trips are shown, where the policy does not say which there are.

As roles with Gaussian noise for keys and without find them, at equal ε and δ, for COUNT(*) by zone.
"""

import shutil
import tempfile
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

import dpsql
from dpsql.demo.setting import packaged_config
from dpsql.demo.trips import generate

QUESTION = "SELECT pickup_zone, count(*) FROM trips GROUP BY pickup_zone"
EPSILONS = ("0.1", "0.5", "1", "2", "5")
DELTA = "1e-6"
WAYS = {"count of rows": ", mechanism: laplace", "number of units": ""}


def main() -> None:
    """Print the share of zones that is shown at each ε, in both ways."""
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        home = Path(name)
        home.chmod(0o711)
        data = home / "taxi.duckdb"
        generate(data)
        zones = _zones(data)
        table = Table("ε", *WAYS, title=f"zones shown of {zones}, δ = {DELTA}")
        shown = {way: _shown(home, data, way) for way in WAYS}
        for place, epsilon in enumerate(EPSILONS):
            table.add_row(epsilon, *(f"{shown[way][place] / zones:.0%}" for way in WAYS))
        Console().print(table)


def _zones(data: Path) -> int:
    with duckdb.connect(data, read_only=True) as own:
        return len(own.execute("SELECT DISTINCT pickup_zone FROM trips WHERE pickup_zone IS NOT NULL").fetchall())


def _shown(home: Path, data: Path, way: str) -> list[int]:
    """Return how many zones are shown at each ε."""
    with dpsql.connect(_config(home / way.replace(" ", "-"), data, WAYS[way]), role="bench") as connection:
        connection.autocommit = True
        found = []
        for epsilon in EPSILONS:
            connection.execute("SELECT set_config('dpsql.epsilon', %s, false)", [epsilon])
            found.append(len(connection.execute(QUESTION.encode()).fetchall()))
        return found


def _config(home: Path, data: Path, mechanism: str) -> Path:
    """Write a configuration whose zones are not declared."""
    demo = packaged_config()
    shutil.copytree(demo.parent / "schemas", home / "schemas")
    trips = home / "schemas" / "trips.yaml"
    trips.write_text(trips.read_text(encoding="utf-8").replace(", references: zones.zone_id", ""), encoding="utf-8")
    text = demo.read_text(encoding="utf-8").split("budget:")[0].replace(".dpsql/demo/taxi.duckdb", str(data))
    budget = "{epsilon: 1000, delta: 0.01}"
    each = f"{{epsilon: {EPSILONS[-1]}, delta: {DELTA}}}"
    role = f"{{protects: passenger, budget: {budget}, per_query: {each}{mechanism}}}"
    config = home / "config.yaml"
    config.write_text(
        f"{text}budget: {{passenger: {budget}}}\nroles:\n  bench: {role}\nusers: {{}}\n", encoding="utf-8"
    )
    return config


if __name__ == "__main__":
    main()
