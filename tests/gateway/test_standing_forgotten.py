"""Who was erased: no account names them any more, and who comes back by their name weighs nothing."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.engines.snapshot.accounts import AccountStore
from dpsql.errors import EngineNotReady
from dpsql.secret import read_or_make_secret, secret_file
from tests.gateway.growing_ward import DAILY, FOURTH, Visit, Ward

WHO = "patient-4711"
OTHERS: list[Visit] = [("q", 1, "a", 1.0), ("q", 2, "a", 1.0)]
LATER: list[Visit] = [*OTHERS, ("q", 3, "b", 1.0), *[(WHO, 3, "b", 1.0)] * 2]


@pytest.fixture
def erased(ward: Ward) -> Ward:
    """Somebody was counted three times, and is erased then."""
    ward.copy([*OTHERS, *[(WHO, 1, "a", 1.0)] * 3])
    assert ward.told() == {1: 4, 2: 1}
    assert WHO.encode() in _written(ward)
    ward.copy(OTHERS)
    return ward


def _written(ward: Ward) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(ward.place.iterdir()))


def _store(ward: Ward, key: bytes = b"key") -> AccountStore:
    assert ward.config.snapshot is not None
    return AccountStore(ward.place, Path(), ward.config.snapshot.resources, key)


def test_nothing_that_is_kept_names_who_was_erased(erased: Ward) -> None:
    """Nor is a plain hash of the name there; others have their accounts still, and what was told stays."""
    assert _store(erased).forget("patient", WHO) == 1
    assert WHO.encode() not in _written(erased)
    assert _store(erased).forget("patient", WHO) == 0
    assert erased.told() == {1: 4, 2: 1}
    erased.copy([*OTHERS, *[("q", 3, "b", 1.0)] * 9], FOURTH)
    assert erased.told() == {1: 4, 2: 1, 3: 3, 4: 0}


def test_who_comes_back_weighs_nothing(erased: Ward) -> None:
    """In the questions that they were in: an account that began anew would be a second C."""
    _store(erased).forget("patient", WHO)
    erased.copy(LATER, FOURTH)
    assert erased.told() == {1: 4, 2: 1, 3: 1, 4: 0}
    other = erased.told(DAILY.replace("count(*)", "sum(cost)"))
    assert round(float(str(other[3]))) == 3


def test_the_next_copy_has_nobody_who_was_erased(ward: Ward) -> None:
    """Though days that are closed are kept else: it reads all of the records once more."""
    ward.key = read_or_make_secret(secret_file(ward.config.shadow, ward.config.file.parent))
    ward.copy([*OTHERS, *[(WHO, 1, "a", 1.0)] * 3])
    ward.ask()
    ward.copy(OTHERS, whole=False)
    assert WHO.encode() in _copied(ward)
    done = CliRunner().invoke(app, ["forget", "patient", WHO, "--config", str(ward.directory / "config.yaml")])
    assert done.exit_code == 0, done.output
    assert "of all periods" in done.output
    ward.copy(LATER, FOURTH, whole=False)
    ward.copy([visit for visit in LATER if visit[0] != WHO], FOURTH, whole=False)
    assert WHO.encode() in _copied(ward)  # who came back
    assert ward.told() == {1: 4, 2: 1, 3: 1, 4: 0}
    ward.copy(OTHERS, FOURTH)
    assert WHO.encode() not in _copied(ward)


def _copied(ward: Ward) -> bytes:
    assert ward.config.snapshot is not None
    return b"".join(file.read_bytes() for file in ward.config.snapshot.directory.glob("*.duckdb"))


def test_others_of_another_kind_are_not_meant(erased: Ward) -> None:
    """And nobody who has no account."""
    assert _store(erased).forget("driver", WHO) == 0
    assert _store(erased).forget("patient", "nobody") == 0
    erased.copy(LATER, FOURTH)
    assert erased.told() == {1: 4, 2: 1, 3: 3, 4: 0}


def test_without_the_key_nothing_is_measured(erased: Ward) -> None:
    """Nobody could tell who may not begin anew; what was told is told on."""
    _store(erased).forget("patient", WHO)
    erased.key = b"another"
    erased.copy(LATER, FOURTH)
    with pytest.raises(EngineNotReady):
        erased.ask(DAILY.replace("count(*)", "sum(cost)"))
    assert erased.charges == 1
    assert erased.told() == {1: 4, 2: 1}


def test_the_command_says_what_it_has_done(erased: Ward) -> None:
    """With the server's own secret, and what can't be undone."""
    erased.key = read_or_make_secret(secret_file(erased.config.shadow, erased.config.file.parent))
    config = ["--config", str(erased.directory / "config.yaml")]
    done = CliRunner().invoke(app, ["forget", "patient", WHO, *config])
    assert done.exit_code == 0, done.output
    assert "had accounts in 1 standing questions" in done.output
    assert "can't be taken back" in done.output
    erased.copy(LATER, FOURTH)
    assert erased.told() == {1: 4, 2: 1, 3: 1, 4: 0}
    assert "has no account" in CliRunner().invoke(app, ["forget", "patient", "nobody", *config]).output
    assert CliRunner().invoke(app, ["forget", "driver", WHO, *config]).exit_code == 1
