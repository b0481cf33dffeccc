"""Figures of a server as it is run: what Prometheus reads, and that nothing is in them which is nobody's business."""

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import psycopg
import pytest
import ruamel.yaml
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from dpsql.cli.main import app
from tests.clients.site import Site, configure, free_port, serving

_ALERTS = Path(__file__).parent.parent.parent / "docs" / "alerts"
_OPERATIONS = (_ALERTS.parent / "operations" / "watching.md").read_text(encoding="utf-8")
_SECRET = "SELECT count(*) AS secret_wish FROM trips WHERE fare > 7"  # noqa: S105
Figures = Mapping[tuple[str, str], float]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that the shadow's account can enter."""
    made = tmp_path_factory.mktemp("metrics")
    for parent in (made, *made.parents[:2]):
        parent.chmod(0o711)
    return made


@pytest.fixture(scope="module")
def port() -> int:
    """A port that nobody has."""
    return free_port()


@pytest.fixture(scope="module")
def site(place: Path, port: int) -> Iterator[Site]:
    """A server that has answered, refused, failed and let somebody wait outside."""
    config = configure(place)
    config.write_text(f"metrics: {{port: {port}}}\n" + config.read_text())
    with serving(config) as site:
        with psycopg.connect(site.dsn, autocommit=True) as session:
            for text in (_SECRET, _SECRET, "SELECT zone FROM zones"):
                session.execute(text).fetchall()
            with pytest.raises(psycopg.Error):
                session.execute("SELECT * FROM trips")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(site.words.replace("user=ana", "user=mallory"))
        yield site


def _text(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:  # our own address
        return str(answer.read(), "utf-8")


def _figures(text: str) -> Figures:
    return {
        (sample.name, ",".join(sorted(sample.labels.values()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_happened_is_counted(site: Site, port: int) -> None:
    """Statements by role and verdict, log-ins, budgets, stages, sessions."""
    with psycopg.connect(site.dsn, autocommit=True) as session:
        session.execute("SELECT 1")
        figures = _figures(_text(port))
    assert figures["dpsql_statements_total", "analyst,answered"] == 1
    assert figures["dpsql_statements_total", "analyst,free"] == 1
    assert figures["dpsql_statements_total", "analyst,public"] >= 1
    assert figures["dpsql_statements_total", "analyst,refused"] == 1
    assert figures["dpsql_log_ins_total", "refused"] == 1
    assert figures["dpsql_log_ins_total", "accepted"] >= 2
    assert (figures["dpsql_role_epsilon_spent", "analyst"], figures["dpsql_role_epsilon_budget", "analyst"]) == (
        1000,
        1e7,
    )
    assert (figures["dpsql_data_set_epsilon_spent", "passenger"], figures["dpsql_account_closed", "analyst"]) == (
        1000,
        0,
    )
    assert figures["dpsql_stage_seconds_count", "ready and charge"] == 1
    assert figures["dpsql_stage_seconds_count", "run"] == figures["dpsql_stage_seconds_count", "release"] >= 1
    assert figures["dpsql_stage_seconds_count", "bind"] >= 2
    assert figures["dpsql_sessions", "logged in"] == figures["dpsql_sessions", "in the shadow"] == 1
    assert (figures["dpsql_ready", ""], figures["dpsql_audit_writable", ""], figures["dpsql_epoch", ""]) == (1, 1, 1)
    assert figures["dpsql_waiting", "measuring"] == 0
    assert figures["dpsql_disk_free_bytes", "audit"] > 0
    assert figures["process_resident_memory_bytes", ""] > 0


def test_no_statement_and_no_user_is_in_them(site: Site, port: int) -> None:
    """Nor anything else that a client has said."""
    said = _text(port)
    assert site.user == "ana"
    for word in ("secret", "wish", "mallory", '"ana"', "SELECT", "cash"):
        assert word not in said


def _rules() -> list[tuple[str, Mapping[str, object]]]:
    yaml = ruamel.yaml.YAML(typ="safe")
    return [
        (path.name, rule)
        for path in sorted(_ALERTS.glob("*.yaml"))
        for group in yaml.load(path.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
    ]


@pytest.mark.parametrize(("file", "rule"), _rules(), ids=[name for name, _ in _rules()])
def test_rules_ask_for_figures_that_there_are(file: str, rule: Mapping[str, object], site: Site, port: int) -> None:
    """With the labels that they have; each is described, and in the list of operations/watching.md."""
    assert site.port
    families = {family.name: family for family in text_string_to_metric_families(_text(port))}
    elsewhere = {"dpsql_snapshot_timestamp_seconds"}  # where there is a snapshot
    for name in re.findall(r"\bdpsql_\w+", str(rule["expr"])):
        family = name.removesuffix("_total").removesuffix("_bucket")
        assert family in families or family in elsewhere
        labels = set(re.findall(r"\{\{ \$labels\.(\w+) \}\}", str(rule["annotations"])))
        samples = families[family].samples if family in families else []
        assert not samples or labels - {"le"} <= set(samples[0].labels)
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert f"[`{file}`](../alerts/{file})" in _OPERATIONS


def test_every_figure_is_described(site: Site, port: int) -> None:
    """In operations/watching.md."""
    assert site.port
    names = {family.name for family in text_string_to_metric_families(_text(port)) if family.name.startswith("dpsql")}
    shown = set(re.findall(r"`(dpsql_\w+)", _OPERATIONS))
    missing = {name for name in names if name not in shown and f"{name}_total" not in shown}
    assert missing == set()


def test_of_several_processes_each_has_a_port(place: Path) -> None:
    """The next one."""
    place = place / "several"
    place.mkdir(mode=0o711)
    port = free_port()
    config = configure(place)
    config.write_text(f"metrics: {{port: {port}}}\n" + config.read_text().replace("port: 0}", "port: 0, processes: 2}"))
    with serving(config):
        assert [_figures(_text(each))["dpsql_ready", ""] for each in (port, port + 1)] == [1, 1]


def test_a_port_that_is_taken_is_told_by_check(place: Path) -> None:
    """As of the others; exit 1."""
    place = place / "taken"
    place.mkdir(mode=0o711)
    config = configure(place)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config.write_text(f"metrics: {{port: {taken.getsockname()[1]}}}\n" + config.read_text())
        done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert (done.exit_code, "ddress already in use" in done.stderr) == (1, True), done.output


def test_the_end_of_a_certificate_is_a_figure(place: Path) -> None:
    """That of the address that clients connect to; the figures have TLS, too, where that is said."""
    place = place / "tls"
    place.mkdir(mode=0o711)
    files = Path(__file__).parent.parent / "wire"
    tls = f"tls: {{certificate: {files / 'localhost.crt'}, key: {files / 'localhost.key'}}}"
    port, config = free_port(), configure(place, tls=f", {tls}")
    config.write_text(f"metrics: {{port: {port}, {tls}}}\n" + config.read_text())
    trusting = ssl.create_default_context(cafile=files / "localhost.crt")
    with serving(config), urlopen(f"https://localhost:{port}/", context=trusting) as answer:  # our own
        figures = _figures(answer.read().decode())
    assert figures["dpsql_certificate_end_timestamp_seconds", "listen"] > 1e9
