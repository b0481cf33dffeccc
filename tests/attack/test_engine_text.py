"""SQL into the engine, where its server reads a backslash in a text as an escape."""

from collections.abc import Iterator

import pytest

from dpsql.engines.postgres import pool
from dpsql.errors import EngineNotReady
from dpsql.policy.model import Policy
from tests.support.dialects import POSTGRES
from tests.support.fix_world import NewClient, World
from tests.support.records import Maker
from tests.support.schema import of
from tests.support.served import Served

NOTES = 40
ATTACK = r"SELECT count(*) FROM rides WHERE note = '\' OR note <> ' OR s0.rider = 3 --'"
"""Read with escapes, the first text ends where the second begins, and what is left of the second is a condition."""


@pytest.fixture(params=["as it is", "without literals of ours", "without settings of ours", "without both"])
def loose(
    policy: Policy, world: World, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    """Some rides on a server with `standard_conforming_strings = off`; each of the two defences may be away."""
    if request.param in {"without literals of ours", "without both"}:
        monkeypatch.setattr(type(POSTGRES), "text", lambda _, text: "'" + text.replace("'", "''") + "'")
    if request.param in {"without settings of ours", "without both"}:
        monkeypatch.setattr(pool, "session_options", lambda given: given)
        monkeypatch.setattr(pool, "differing_settings", lambda _: None)
    engine, maker = Served(world, "loose", standard_conforming_strings="off"), Maker(5)
    engine.fill("rides", [maker.row(policy.tables[of("rides")]) | {"rider": n, "note": "x"} for n in range(NOTES)])
    yield engine
    engine.close()


def test_a_text_with_a_backslash_stays_a_text(
    loose: Served, new_client: NewClient, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """Every note is another than the second text, so all rides count; without both the server reads that text as SQL."""
    client = new_client(loose)
    if "without both" not in request.node.name:
        assert client.ask(ATTACK).rows == [(NOTES,)]
        return
    with pytest.raises(EngineNotReady):
        client.ask(ATTACK)
    assert "syntax error at end of input" in caplog.text
