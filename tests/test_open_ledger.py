"""Which ledger a configuration has: its own, or the one of a time when all data sets of a directory had the same."""

import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, OpeningWay
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.accounting.zcdp import rho_of
from dpsql.cli.commands.check import rehearse_start
from dpsql.errors import ConfigError
from dpsql.open_ledger import open_books, open_ledger, require_fitting_budgets
from dpsql.policy.config import Config, PostgresLedgerConfig, SqliteLedgerConfig
from dpsql.policy.load import load
from dpsql.policy.model import Privacy
from tests.accounting.sqlite.test_file import as_of_version_one
from tests.policy.fix_config import write_files
from tests.support.connected import connections
from tests.support.fix_ledger import ask


def config(directory: Path, dataset: str = "taxi", database: str = "taxi.duckdb") -> Config:
    """Return a configuration that says nothing of its ledger."""
    changes = {"config.yaml": ("ledger: sqlite:///ledger.db\n", "")}
    file = write_files(directory, changes)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("taxi\n", f"{dataset}\n", 1).replace("taxi.duckdb", database), encoding="utf-8")
    return load(file, {})


def opened(configuration: Config) -> tuple[Path, int]:
    """Open the ledger; return where it is and how many lines are in it."""
    with open_ledger(configuration) as ledger:
        assert isinstance(ledger, SqliteLedger)
        lines = len(ledger.entries(None, 9))
        return Path(ledger.path), lines


def test_each_data_set_has_a_ledger_of_its_own(tmp_path: Path) -> None:
    """Two of one directory share nothing."""
    assert opened(config(tmp_path)) == (tmp_path / ".dpsql" / "taxi" / "ledger.db", 0)
    assert opened(config(tmp_path, "bikes")) == (tmp_path / ".dpsql" / "bikes" / "ledger.db", 0)


def test_two_sources_of_one_name_are_two_data_sets(tmp_path: Path) -> None:
    """The second is not answered from the first one's releases, whatever they are called."""
    opened(config(tmp_path))
    with pytest.raises(ConfigError, match=r"is that of duckdb .*/taxi.duckdb, not of duckdb .*/other.duckdb"):
        opened(config(tmp_path, database="other.duckdb"))


def test_a_ledger_where_it_used_to_be_stays_in_use(tmp_path: Path) -> None:
    """What was spent is not forgotten by an upgrade."""
    old = tmp_path / ".dpsql" / "ledger.db"
    old.parent.mkdir()
    as_of_version_one(old)
    assert [opened(config(tmp_path)) for _ in range(2)] == [(old, 1)] * 2


def test_a_second_data_set_does_not_start_afresh_beside_an_old_ledger(tmp_path: Path) -> None:
    """It may have spent what the first has taken over; its owner decides."""
    old = tmp_path / ".dpsql" / "ledger.db"
    old.parent.mkdir()
    as_of_version_one(old)
    opened(config(tmp_path))
    bikes = config(tmp_path, "bikes")
    with pytest.raises(
        ConfigError, match='kept before ledgers belonged to data sets, and is now that of "taxi"'
    ) as caught:
        opened(bikes)
    assert "ledger: sqlite:///" in (caught.value.hint or "")
    assert isinstance(bikes.ledger, SqliteLedgerConfig)
    bikes.ledger.path.parent.mkdir()
    bikes.ledger.path.write_bytes(old.read_bytes())
    with open_ledger(bikes, OpeningWay.ADOPTED) as ledger:
        assert len(ledger.entries(None, 9)) == 1
    assert opened(bikes) == (bikes.ledger.path, 1)


def test_what_is_no_ledger_is_told(tmp_path: Path) -> None:
    """A file in the old place that can't be read is not passed over in silence."""
    old = tmp_path / ".dpsql" / "ledger.db"
    old.parent.mkdir()
    old.write_text("no database, though longer than a header of one hundred bytes" * 9)
    with pytest.raises(ConfigError, match="can't be read"):
        opened(config(tmp_path))
    old.unlink()
    sqlite3.connect(old).close()
    assert opened(config(tmp_path))[1] == 0


_BEFORE = """\
dataset: hospital
engine: {kind: duckdb, tables: {labs: labs.parquet, core_labs: core.parquet}}
schemas: before
listen: {host: 127.0.0.1, port: 0}
budget: {person: {epsilon: 10}}
roles: {owner: {protects: person, budget: {epsilon: 5}, per_query: {epsilon: 1}}}
users: {}
"""
_TABLE = (
    "table: {}\nprivacy_units: {{person: {{column: person, max_rows: 1}}}}\ncolumns: {{person: {{type: integer}}}}\n"
)


def test_what_was_spent_stays_spent_when_tables_get_their_schemas(tmp_path: Path) -> None:
    """The same files under names with schemas have the same ledger; what was told is asked anew, and paid again."""
    tmp_path.chmod(0o711)
    with duckdb.connect() as files:
        for name in ("labs", "core"):
            files.execute(f"COPY (SELECT n::INTEGER AS person FROM range(9) AS r (n)) TO '{tmp_path}/{name}.parquet'")
    for folder, names in (("before", ("labs", "core_labs")), ("now", ("clinical.labs", "core.labs"))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.yaml").write_text(_TABLE.format(name))
    config, spent = tmp_path / "config.yaml", "SELECT epsilon_spent FROM dpsql.budget"
    config.write_text(_BEFORE)
    with connections(config) as connect:
        connect("owner").execute("SELECT count(*) FROM core_labs")
        assert connect("owner").execute(spent).fetchone() == (1,)
    moved = (
        _BEFORE.replace("before", "now").replace("labs: labs", "clinical.labs: labs").replace("core_labs", "core.labs")
    )
    config.write_text(moved)
    with connections(config) as connect:
        asking = connect("owner")
        assert asking.execute(spent).fetchone() == (1,)
        asking.execute("SELECT count(*) FROM core.labs")
        asking.execute("SELECT count(*) FROM core.labs")
        assert asking.execute(spent).fetchone() == (2,)
    config.write_text(moved.replace("core.labs: core", "core.labs: labs"))
    with pytest.raises(ConfigError, match="is that of duckdb"):
        opened(load(config, {}))


@pytest.mark.parametrize("on_server", [False, True], ids=["SQLite", "PostgreSQL"])
def test_a_policy_that_goes_back_to_sums_is_not_served(
    tmp_path: Path, request: pytest.FixtureRequest, *, on_server: bool
) -> None:
    """While something counts that has a ρ and no ε: neither by `check`, which leaves no trace, nor by `serve`."""
    configuration = config(tmp_path)
    if on_server:
        configuration = replace(
            configuration, ledger=PostgresLedgerConfig(request.getfixturevalue("dsn"), tmp_path / "beside")
        )
        rehearse_start(configuration)
    role = next(iter(configuration.policy.roles.values()))
    budget, kind = role.budget, configuration.policy.budgets[role.protects]
    total = Privacy(Fraction(5), Fraction("1e-6"))
    counting = Account(
        "ana",
        replace(role, shares={}, budget=replace(budget, total=total, concentrated=total.delta)),
        replace(kind, total=total, concentrated=total.delta),
    )
    with open_ledger(configuration) as ledger:
        require_fitting_budgets(ledger, configuration.policy)
        ask(ledger, counting, ChargeItem("k", Privacy(Fraction("0.1"), Fraction(0), rho_of(Fraction("0.1"))), "sums"))
        with pytest.raises(ConfigError, match="adds up ε, and answers with Gaussian noise count in it"):
            require_fitting_budgets(ledger, configuration.policy)
    with pytest.raises(ConfigError, match="adds up ε") as refused, open_books(configuration, OpeningWay.AS_IT_IS):
        pass
    assert "accounting: zcdp" in (refused.value.hint or "")
    with pytest.raises(ConfigError, match="adds up ε"):
        rehearse_start(configuration)
    policy = configuration.policy
    counted = replace(
        policy, roles={role.name: counting.role}, budgets={**policy.budgets, role.protects: counting.dataset}
    )
    rehearse_start(replace(configuration, policy=counted))
    with open_ledger(configuration) as ledger:
        assert len(ledger.entries(None, 9)) == 1


@pytest.mark.parametrize("on_server", [False, True], ids=["SQLite", "PostgreSQL"])
def test_a_budget_below_what_is_spent_is_told(
    tmp_path: Path, request: pytest.FixtureRequest, *, on_server: bool
) -> None:
    """Nothing is left of it at once; it is no mistake, and one that is merely used up is not told of."""
    configuration = config(tmp_path)
    if on_server:
        configuration = replace(
            configuration, ledger=PostgresLedgerConfig(request.getfixturevalue("dsn"), tmp_path / "beside")
        )
    policy = configuration.policy
    role = next(iter(policy.roles.values()))
    with open_ledger(configuration) as ledger:
        account = Account("ana", replace(role, shares={}), policy.budgets[role.protects])
        ask(ledger, account, ChargeItem("k", Privacy(Fraction("0.5")), "sums"))

    def said(epsilon: str) -> list[str]:
        lowered = replace(role, budget=replace(role.budget, total=Privacy(Fraction(epsilon))))
        lines = rehearse_start(replace(configuration, policy=replace(policy, roles={role.name: lowered}))).splitlines()
        return [line for line in lines if line.startswith("note: ")]

    assert said("0.5") == []
    assert said("0.4") == [
        f"note: roles.{role.name}.budget.epsilon is 0.4, less than the 0.5 that is spent: nothing is left"
    ]
