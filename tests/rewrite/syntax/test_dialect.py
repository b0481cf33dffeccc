"""Which sqlglot dpsql can work with."""

import asyncio
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

import _duckdb
import pytest
import sqlglot.parser

from dpsql.errors import ConfigError
from dpsql.policy.load import load
from dpsql.rewrite.syntax.dialect import check_parser
from dpsql.server import Server

CONFIG = Path(__file__).parents[3] / "config.yaml"


def test_sqlglot_in_python_is_taken() -> None:
    """As it is installed with dpsql."""
    check_parser()


def test_a_compiled_parser_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, before anything is opened, with the command that helps: no statement would be read."""
    assert isinstance(_duckdb.__spec__.loader, ExtensionFileLoader), "what a compiled module looks like"
    monkeypatch.setattr(sqlglot.parser, "__spec__", _duckdb.__spec__)

    async def start() -> None:
        async with Server(load(CONFIG)):
            pass

    with pytest.raises(ConfigError, match="compiled") as caught:
        asyncio.run(start())
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("pip uninstall sqlglotc")
