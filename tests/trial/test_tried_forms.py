"""What has passed is remembered: by the process, by the next one, and by one that runs beside."""

from pathlib import Path

import pytest

from dpsql.trial.tried_forms import TriedForms

ONE, OTHER = "a" * 64, "b" * 64


def test_what_passed_is_kept_for_later_and_for_others(tmp_path: Path) -> None:
    """One that is open already sees what another one adds; nobody else may read the file."""
    file = tmp_path / "state" / "tried"
    first, beside = TriedForms(file), TriedForms(file)
    first.add(ONE)
    assert ONE in first
    assert ONE in beside
    assert OTHER not in beside
    beside.add(OTHER)
    assert OTHER in first
    assert OTHER in TriedForms(file)
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_rows_are_kept_with_the_form(tmp_path: Path) -> None:
    """For this process, a later one and one beside; of another form there are none, and those of too many are not kept."""
    file = tmp_path / "tried"
    beside, rows = TriedForms(file), [["cash", "12", None, 3], [None, "0", 'a "b"', 4]]
    forms = TriedForms(file)
    forms.add(ONE, rows)
    forms.add(OTHER, [[n * 1234567, str(n * 7654321)] for n in range(20_000)])
    for known in (forms, TriedForms(file), beside):
        assert ONE in known
        assert OTHER in known
        assert [known.rows(form) for form in (ONE, OTHER, "c" * 64)] == [rows, (), ()]
    alone = TriedForms(None)
    alone.add(ONE, rows)
    assert alone.rows(ONE) == rows


def test_rows_that_are_damaged_are_none(tmp_path: Path) -> None:
    """A plan is then run through with none."""
    file = tmp_path / "tried"
    file.write_text(f"{ONE} not base64!\n{OTHER} aGVsbG8=\n")
    file.chmod(0o600)
    forms = TriedForms(file)
    assert [form in forms for form in (ONE, OTHER)] == [True, True]
    assert [forms.rows(form) for form in (ONE, OTHER)] == [(), ()]


def test_a_line_that_was_cut_off_counts_for_nothing(tmp_path: Path) -> None:
    """As by a machine that stopped; what follows is a line of its own again or is tried anew."""
    file = tmp_path / "tried"
    TriedForms(file).add(ONE)
    with file.open("a") as opened:
        opened.write(OTHER[:30])
    later = TriedForms(file)
    assert ONE in later
    assert OTHER not in later


@pytest.mark.parametrize("what", ["a directory", "nothing that may be written"])
def test_without_a_file_all_is_tried_again(what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The process that tried it remembers, and the log says that others do not."""
    file = tmp_path / "tried"
    if what == "a directory":
        file.mkdir()
    else:
        file.symlink_to("/dev/full")
    forms = TriedForms(file)
    forms.add(ONE)
    assert ONE in forms
    assert ONE not in TriedForms(file)
    assert "will be tried again" in caplog.text


def test_in_memory_alone() -> None:
    """Where there is no file."""
    forms = TriedForms(None)
    forms.add(ONE)
    assert ONE in forms


def test_memory_has_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms that cost nothing to explain can be thought of without end; what is forgotten is tried again."""
    monkeypatch.setattr("dpsql.trial.tried_forms._MOST", 3)
    forms = TriedForms(None)
    every = [f"{n:064}" for n in range(10)]
    for form in every:
        forms.add(form)
    assert every[-1] in forms
    assert sum(form in forms for form in every) <= 3
