"""What a right configuration becomes: exact values."""

from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.errors import ConfigError
from dpsql.policy.config import (
    CopiedDatabase,
    CsvWords,
    DecimalMark,
    DuckDbFile,
    DuckDbTables,
    EmbeddedShadow,
    Listen,
    PostgresLedgerConfig,
    PostgresServer,
    Resources,
    SandboxNeed,
    SqliteLedgerConfig,
    User,
)
from dpsql.policy.interval import Interval
from dpsql.policy.load import load
from dpsql.policy.model import (
    DatasetBudget,
    NoiseLevel,
    Period,
    Privacy,
    Reference,
    Role,
    RoleBudget,
    SqlType,
    UnitBound,
    periods_touched,
)
from tests.policy.fix_config import FILES, VERIFIER, load_changed, write_files

ROOT = Path(__file__).parent.parent.parent
DAY = 86_400_000_000


def test_owners_are_marked(tmp_path: Path) -> None:
    """No role is an owner unless it says so, whatever its name."""
    roles = [
        load_changed(tmp_path, "config.yaml", "    tables: [trips]\n", f"    tables: [trips]\n{line}").policy.roles[
            "owner"
        ]
        for line in ("", "    owner: true\n", "    owner: false\n")
    ]
    assert [role.owner for role in roles] == [False, True, False]


def test_shadow_has_account_and_sandbox(tmp_path: Path) -> None:
    """Both have a default; a word that is no answer is refused."""
    path = write_files(tmp_path)
    text = path.read_text()
    path.write_text(f"{text}shadow: {{account: apart, sandbox: required}}\n")
    assert load(path, {}).shadow == EmbeddedShadow(tmp_path / ".dpsql/shadow", "apart", SandboxNeed.REQUIRED)
    path.write_text(f"{text}shadow: {{sandbox: off}}\n")
    with pytest.raises(ConfigError, match=r"shadow\.sandbox"):
        load(path, {})


def test_the_operational_part(tmp_path: Path) -> None:
    """Paths start from the configuration's directory; what is not given has its documented value."""
    config = load(write_files(tmp_path), {})
    assert config.engine == DuckDbFile(tmp_path / "taxi.duckdb", Resources(spill=tmp_path / ".dpsql/spill"))
    assert config.ledger == SqliteLedgerConfig(tmp_path / "ledger.db")
    assert config.shadow == EmbeddedShadow(tmp_path / ".dpsql/shadow")
    assert config.listen == Listen("127.0.0.1", 5439)
    assert config.web is None
    assert config.refresh is Period.DAY
    assert config.users == {"ana": User("ana", "owner", VERIFIER)}
    assert config.base == tmp_path


def test_a_role(tmp_path: Path) -> None:
    """ε and δ are exact; a statement's δ is the budget's in proportion to ε."""
    policy = load(write_files(tmp_path), {}).policy
    assert policy.roles == {
        "owner": Role(
            name="owner",
            protects="passenger",
            budget=RoleBudget(Privacy(Fraction(5), Fraction(1, 10**6)), Period.WEEK),
            per_query=Privacy(Fraction(1, 10), Fraction(1, 50 * 10**6)),
            tables=frozenset({"trips"}),
            noise=NoiseLevel.LOW,
        )
    }
    assert policy.budgets == {"passenger": DatasetBudget(Privacy(Fraction(10), Fraction(1, 10**5)))}


def test_the_risk_of_a_stay_is_divided_among_its_periods(tmp_path: Path) -> None:
    """As `dpsql epsilon advise` divides it: 30 days touch 6 weeks, and 31 days; a budget for good has it whole."""
    risk = "disclosure_risk: 0.33, population: 10000"
    for written, periods in ((f"{risk}, stay: 30 days,", 6), (f"{risk}, stay: 1 day,", 2)):
        role = load_changed(tmp_path, "config.yaml", "epsilon: 5,", written).policy.roles["owner"]
        assert role.budget == RoleBudget(Privacy(Fraction("1.0986") / periods, Fraction(1, 10**6)), Period.WEEK)
        assert periods == periods_touched(Period.WEEK, 30 if periods == 6 else 1)


def test_columns(tmp_path: Path) -> None:
    """Bounds are exact and closed; dates are days, timestamps microseconds; a half-open end is one step lower."""
    trips = load(write_files(tmp_path), {}).policy.tables["trips"]
    columns = trips.columns
    assert columns["fare"].bounds == Interval(Fraction(-1, 10), Fraction(150))
    assert (columns["fare"].type, columns["fare"].declared) == (SqlType.NUMERIC, "numeric(10,2)")
    assert columns["day"].bounds == Interval.of(17_956, 17_986)
    assert columns["pickup_ts"].bounds == Interval.of(17_956 * DAY, 17_987 * DAY - 1)
    assert columns["payment"].values == ("cash", "no")
    assert columns["payment"].nullable
    assert columns["seats"].values == (1, 2)
    assert columns["zone"].references == Reference("zones", "zone_id")
    assert trips.units == {"passenger": UnitBound("passenger_id", 20)}
    assert trips.file == "schemas/trips.yaml"


def test_a_public_table(tmp_path: Path) -> None:
    """It has a key and no units; lengths of text are kept for the catalogue."""
    zones = load(write_files(tmp_path), {}).policy.tables["zones"]
    assert (zones.public, zones.key, zones.units) == (True, "zone_id", {})
    assert zones.columns["borough"].declared == "character varying(20)"


@pytest.mark.parametrize("word", ["no", "yes", "on", "1", "1.0", "2019-03-01", "~x", "0x1F"])
def test_words_stay_words(tmp_path: Path, word: str) -> None:
    """Text is what stands there: YAML 1.2, and never a number or a date on the way."""
    config = load_changed(tmp_path, "schemas/trips.yaml", 'cash, "no"', word)
    assert config.policy.tables["trips"].columns["payment"].values == (word,)


def test_epsilon_does_not_pass_through_a_float(tmp_path: Path) -> None:
    """More digits than a float has are kept."""
    config = load_changed(tmp_path, "config.yaml", "epsilon: 0.1", "epsilon: 0.1000000000000000000001")
    assert config.policy.roles["owner"].per_query.epsilon == Fraction(10**21 + 1, 10**22)


def test_disclosure_risk_instead_of_epsilon(tmp_path: Path) -> None:
    """The rule of choosing-epsilon gives ε = ln 3, rounded down, where the population is large."""
    risk = "disclosure_risk: 0.33, population: 10000, stay: 30 days,"
    config = load_changed(tmp_path, "config.yaml", "epsilon: 5,", risk)
    assert config.policy.roles["owner"].budget.total.epsilon == Fraction("1.0986") / 6


def test_secrets_come_from_the_environment_and_from_files(tmp_path: Path) -> None:
    """Both placeholders are filled in, and stay out of the representation."""
    path = write_files(
        tmp_path, {"config.yaml": ("kind: duckdb, database: taxi.duckdb", "kind: postgres, dsn: '${DSN}'")}
    )
    (tmp_path / "ledger.url").write_text("postgresql://me:hunter2@x/y\n")
    path.write_text(path.read_text().replace("sqlite:///ledger.db", "'${file:ledger.url}'"))
    config = load(path, {"DSN": "host=x password=hunter2"})
    assert config.engine == PostgresServer("host=x password=hunter2")
    assert config.ledger == PostgresLedgerConfig("postgresql://me:hunter2@x/y", tmp_path / ".dpsql/taxi/ledger")
    assert "hunter2" not in repr(config)
    assert VERIFIER not in repr(config)


def test_a_database_that_is_copied_is_read_by_its_url(tmp_path: Path) -> None:
    """Its password stays out of the representation; a file of SQLite's starts from the configuration's directory."""
    path = write_files(
        tmp_path,
        {
            "config.yaml": (
                "kind: duckdb, database: taxi.duckdb",
                "kind: copy, from: '${URL}', snapshot: true, memory: 1GB",
            )
        },
    )
    config = load(path, {"URL": "mysql://reader:hunter2@x/y"})
    assert config.engine == CopiedDatabase("mysql://reader:hunter2@x/y")
    assert "hunter2" not in repr(config)
    assert config.snapshot is not None
    assert config.snapshot.resources.memory == "1GB"
    for given, url in (
        ("sqlite:///data/taxi.db", f"sqlite:///{tmp_path}/data/taxi.db"),
        ("sqlite:///taxi.db?timeout=5", f"sqlite:///{tmp_path}/taxi.db?timeout=5"),
        ("sqlite:////var/taxi.db", "sqlite:////var/taxi.db"),
    ):
        assert load(path, {"URL": given}).engine == CopiedDatabase(url)


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    """Editors on Windows write one."""
    path = write_files(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(path, {}).policy.dataset == "taxi"


def test_aliases_repeat_a_value(tmp_path: Path) -> None:
    """YAML's own way not to say a thing twice works."""
    old = "bounds: [2019-03-01, 2019-04-01]}\n  day: {type: date, bounds: [2019-03-01, 2019-04-01]"
    new = "bounds: &march [2019-03-01, 2019-04-01]}\n  day: {type: date, bounds: *march"
    assert old in FILES["schemas/trips.yaml"]
    columns = load_changed(tmp_path, "schemas/trips.yaml", old, new).policy.tables["trips"].columns
    assert columns["day"].bounds == Interval.of(17_956, 17_986)


def test_the_demo_configuration_is_right() -> None:
    """The configuration at the top of the source tree loads, and every role can ask hundreds of questions."""
    policy = load(ROOT / "config.yaml", {}).policy
    assert set(policy.tables) == {"trips", "zones"}
    assert set(policy.roles) == {"owner", "collaborator", "third_party"}
    assert all(role.budget.total.epsilon >= 300 * role.per_query.epsilon for role in policy.roles.values())


def test_files_may_stand_for_tables(tmp_path: Path) -> None:
    """Paths start from the configuration's directory; resources go with them."""
    new = "tables: {trips: data/*.parquet, zones: zones.csv}, memory: 4GB, threads: 2, spill: big"
    config = load_changed(tmp_path, "config.yaml", "database: taxi.duckdb", new)
    tables = {"trips": tmp_path / "data/*.parquet", "zones": tmp_path / "zones.csv"}
    assert config.engine == DuckDbTables(tables, Resources("4GB", 2, tmp_path / "big"))


def test_several_processes_share_the_memory_that_one_may_use(tmp_path: Path) -> None:
    """Unless it is said what each of them may."""
    config = load_changed(tmp_path, "config.yaml", "port: 5439}", "port: 5439, processes: 3}")
    assert config.listen.processes == 3
    assert isinstance(config.engine, DuckDbFile)
    assert config.engine.resources.memory == "26%"


def test_zcdp_has_a_part_of_delta(tmp_path: Path) -> None:
    """All of it where no charge has a δ of its own, else half; what a statement's is follows the square of its ε."""
    files = {"config.yaml": ("period: week}", "accounting: zcdp}")}
    role = load(write_files(tmp_path, files), {}).policy.roles["owner"]
    assert role.budget.concentrated == Fraction("5e-7")
    assert role.per_query.delta == Fraction("5e-7") / 2500
    path = write_files(tmp_path, files)
    text = path.read_text().replace("epsilon: 0.1}", "epsilon: 0.1, delta: 0}")
    path.write_text(text.replace("1e-5}", "1e-5, accounting: zcdp}"))
    policy = load(path, {}).policy
    assert (policy.roles["owner"].budget.concentrated, policy.budgets["passenger"].concentrated) == (
        Fraction("1e-6"),
        Fraction("1e-5"),
    )


def test_words_of_csv_files(tmp_path: Path) -> None:
    """YAML's own words are texts here."""
    files = "kind: duckdb, tables: {trips: t.csv}, csv: {nulls: [NA, no, '-'], decimal: ','}"
    config = load(write_files(tmp_path, {"config.yaml": ("kind: duckdb, database: taxi.duckdb", files)}), {})
    assert isinstance(config.engine, DuckDbTables)
    assert config.engine.csv == CsvWords(("NA", "no", "-"), DecimalMark.COMMA)
