"""`dpsql user`: who may log in."""

import json
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from dpsql.cli.main import app
from dpsql.policy.load import load
from dpsql.policy.load.document import Mistakes, parse_document
from dpsql.policy.load.scalars import verifier
from dpsql.wire.protocol.scram import Verifier
from tests.clients.site import configure, serving
from tests.policy.fix_config import write_files

RUN = CliRunner()
PASSWORD = "correct horse battery"  # noqa: S105


def _run(*words: str, said: str = PASSWORD) -> Result:
    return RUN.invoke(app, ["user", *words], input=f"{said}\n")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration with one user, ana."""
    return write_files(tmp_path)


def test_a_line_is_right_for_the_configuration(tmp_path: Path) -> None:
    """It holds a verifier that the loader accepts, and not the password; no file is needed or changed."""
    done = _run("add", "ana: no", "--role", "owner", "--print", "--config", str(tmp_path / "none.yaml"))
    assert done.exit_code == 0
    mistakes = Mistakes()
    document = parse_document(done.stdout, "-", mistakes)
    assert mistakes.gathered == []
    assert document is not None
    entry = document.root["ana: no"]
    assert isinstance(entry, dict)
    assert entry["role"] == "owner"
    assert verifier(str(entry["password"])) == entry["password"]
    assert PASSWORD not in done.output


def test_two_lines_differ() -> None:
    """The salt is new each time."""
    first, second = (_run("add", "ana", "--role", "owner", "--print").stdout for _ in range(2))
    assert first != second


def test_a_user_is_added_to_the_file(config: Path) -> None:
    """With a share of the role's budget; the file's mode stays."""
    config.chmod(0o640)
    done = _run("add", "bob", "--role", "owner", "--epsilon", "1/2", "--config", str(config))
    assert (done.exit_code, done.stdout) == (0, 'user "bob" may log in, for role "owner"; next: dpsql reload\n')
    loaded = load(config, {})
    assert Verifier.parse(loaded.users["bob"].verifier).is_of(PASSWORD)
    assert float(loaded.policy.roles["owner"].shares["bob"]) == 0.5
    assert set(loaded.users) == {"ana", "bob"}
    assert config.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in config.parent.iterdir() if path.name.startswith(".")] == []


def test_a_password_can_be_made_up(config: Path) -> None:
    """It is printed once."""
    done = _run("add", "bob", "--role", "owner", "--generate", "--config", str(config))
    made = done.stdout.splitlines()[0].removeprefix("password: ")
    assert Verifier.parse(load(config, {}).users["bob"].verifier).is_of(made)


def test_a_password_is_rotated(config: Path) -> None:
    """The old one is of no use."""
    done = _run("rotate", "ana", "--config", str(config))
    assert done.exit_code == 0, done.output
    assert Verifier.parse(load(config, {}).users["ana"].verifier).is_of(PASSWORD)


def test_a_user_is_disabled_whatever_else_is_wrong(config: Path) -> None:
    """And enabled, once the file is right."""
    config.write_text(config.read_text().replace("refresh: daily", "refresh: hourly"))
    assert _run("disable", "ana", "--config", str(config)).exit_code == 0
    assert _run("enable", "ana", "--config", str(config)).exit_code == 1
    config.write_text(config.read_text().replace("refresh: hourly", "refresh: daily"))
    assert load(config, {}).users == {}
    shown = json.loads(_run("list", "--json", "--config", str(config)).stdout)
    assert shown == {"ana": {"role": "owner", "state": "disabled", "epsilon": None, "last_log_in": None}}
    assert _run("enable", "ana", "--config", str(config)).exit_code == 0
    assert set(load(config, {}).users) == {"ana"}


@pytest.mark.parametrize(
    ("words", "password", "said"),
    [
        (("add", "a\tb", "--role", "owner"), PASSWORD, "must be a name of 1 to 63 bytes"),
        (("add", "ana", "--role", "owner"), PASSWORD, 'there is a user "ana" already'),
        (("add", "bob", "--role", "boss"), PASSWORD, 'there is no role "boss"\nHINT: Roles: owner'),
        (("add", "bob", "--role", "owner", "--epsilon", "0"), PASSWORD, "--epsilon 0 is no amount"),
        (("add", "bob", "--role", "owner"), "", "the password has less than 12 characters"),
        (("add", "bob", "--role", "owner"), "short", "the password has less than 12 characters"),
        (("add", "bob", "--role", "owner"), "aaaaaaaaaaaabbbb", "repeats too few characters"),
        (("add", "bob", "--role", "owner"), "i am Bob himself", "has the user's name in it"),
        (("rotate", "eve"), PASSWORD, 'there is no user "eve"\nHINT: Users: ana.'),
        (("disable", "eve"), PASSWORD, 'there is no user "eve"'),
    ],
)
def test_what_is_wrong_changes_nothing(config: Path, words: tuple[str, ...], password: str, said: str) -> None:
    """A sentence, exit 1; the password is not repeated."""
    before = config.read_text()
    done = _run(*words, "--config", str(config), said=password)
    assert (done.exit_code, said in done.stderr, config.read_text() == before) == (1, True, True), done.output
    assert not password or password not in done.output


def test_a_password_from_elsewhere_is_changed_there(config: Path) -> None:
    """The file only says where."""
    text = config.read_text()
    at = text.index('password: "') + len('password: "')
    config.write_text(text[:at] + "${ANAS}" + text[text.index('"', at) :])
    done = _run("rotate", "ana", "--config", str(config))
    assert (done.exit_code, "comes from ${ANAS}" in done.stderr) == (1, True)


def test_a_server_lets_in_whom_it_is_told_to(tmp_path: Path) -> None:
    """A user is added, spends a share of the role's budget, and is disabled in the midst of a session."""
    place = tmp_path / "served"
    place.mkdir(mode=0o711)
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o711)
    config = configure(place)

    def changed(*words: str) -> None:
        done = _run(*words, "--config", str(config))
        assert done.exit_code == 0, done.output
        assert RUN.invoke(app, ["reload", "--config", str(config)]).exit_code == 0

    with serving(config) as site:
        changed("add", "bob", "--role", "analyst", "--epsilon", "1500")
        dsn = site.words.replace("user=ana", "user=bob").replace("password='a pass:word'", f"password='{PASSWORD}'")
        with psycopg.connect(dsn, autocommit=True) as session:
            session.execute("SELECT count(*) FROM trips").fetchall()
            with pytest.raises(
                psycopg.Error, match=r'user "bob" has ε = 500 left of 1500 in the budget of role'
            ) as told:
                session.execute("SELECT count(*) FROM trips WHERE fare > 5").fetchall()
            assert told.value.sqlstate == "53400"
            left = "SELECT epsilon_left FROM dpsql.budget"
            assert session.execute(left).fetchone() == (500,)
            with psycopg.connect(site.dsn, autocommit=True) as other:  # whose share is all of the role's budget
                other.execute("SELECT count(*) FROM trips WHERE fare > 5").fetchall()
            changed("disable", "bob")
            with pytest.raises(psycopg.OperationalError):
                session.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(dsn)
        changed("enable", "bob")
        psycopg.connect(dsn).close()
        listed = json.loads(_run("list", "--json", "--config", str(config)).stdout)
    assert listed["bob"]["last_log_in"] is not None
    assert (listed["bob"]["epsilon"], listed["ana"]["state"]) == ("1500", "active")
