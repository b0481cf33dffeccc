"""Answers on a terminal."""

import io
import json
from decimal import Decimal

import pytest
from rich.console import Console

from dpsql.cli.support.show import Form, print_blocks, table_of
from dpsql.policy.model import yaml_name


def test_a_table() -> None:
    """Numbers stand right, NULL is named, and square brackets are no markup."""
    console = Console(file=io.StringIO(), width=60)
    console.print(table_of(["[red]kind", "n"], [("cash", 10), ("[b]x", Decimal("2.5")), (None, None)]))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.strip() for line in lines if "│" in line] == [
        "│ cash      │   10 │",
        "│ [b]x      │  2.5 │",
        "│ NULL      │ NULL │",
    ]
    assert "[red]kind" in lines[1]
    assert lines[-1].strip() == "(3 rows)"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ana", "ana"),
        ("Ana_2", "Ana_2"),
        ("no", '"no"'),
        ("NULL", '"NULL"'),
        ("a b", '"a b"'),
        ("1", '"1"'),
        ('a"b', '"a\\"b"'),
    ],
)
def test_names_are_quoted_where_yaml_needs_it(name: str, written: str) -> None:
    """A plain name can only be read as itself."""
    assert yaml_name(name) == written


def test_nothing_is_cut_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    """A line a row, however long; as programs read them too."""
    long = "a statement " * 40
    table = table_of(("time (UTC)", "ε", "statement"), [("2026-11-28 16:19:48", 0.5, long.strip()), ("", None, "[b]")])
    for form in Form:
        print_blocks(table, "a sentence", form=form)
    plain, *_ = printed = capsys.readouterr().out.splitlines()
    assert plain.split() == ["time", "(UTC)", "ε", "statement"]
    assert printed[1] == f"2026-11-28 16:19:48   0.5  {long.strip()}"
    assert printed[3:5] == [
        "a sentence",
        json.dumps(dict(zip(_NAMES, ("2026-11-28 16:19:48", "0.5", long.strip()), strict=True)), ensure_ascii=False),
    ]
    assert printed[6] == "time (UTC),ε,statement"


def test_no_column_is_lost_in_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Two of one name have different ones, none of which is another column's own."""
    print_blocks(table_of(("a", "a", "a_2", "", "4"), [(1, 2, 3, 4, 5)]), form=Form.JSON)
    assert list(json.loads(capsys.readouterr().out).values()) == ["1", "2", "3", "4", "5"]


_NAMES = ("time (UTC)", "ε", "statement")
