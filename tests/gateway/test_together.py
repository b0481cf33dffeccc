"""Two processes that share a ledger and ask the same at once: what each is told belongs together."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from threading import Barrier

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.policy.model import Policy
from dpsql.question import Cancellation
from tests.gateway.engines import Watched
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient, answered, noon
from tests.support.memory import Memory
from tests.support.records import Maker

FOUND = "SELECT note, count(*), median(fare), count(DISTINCT rider) FROM rides GROUP BY note"


def crowded(policy: Policy) -> Memory:
    """Return an engine with 60 notes, many of which are shown in some draws and not in others."""
    engine, maker = Memory(policy), Maker(5)
    notes = [f"n{note}" for note in range(60) for _ in range(note)]
    rows = [maker.row(policy.tables["rides"]) | {"rider": n, "note": note} for n, note in enumerate(notes)]
    engine.fill("rides", rows)
    return engine


@pytest.mark.usefixtures("unclaimed")
def test_two_gateways_on_one_ledger_never_mix_what_they_found(
    policy: Policy, new_client: NewClient, tmp_path: Path
) -> None:
    """Both find keys and measure what depends on them; they and whoever comes later get the same keys and numbers."""
    policy = with_epsilon(policy, Fraction(20))
    memory, together = crowded(policy), Barrier(2)

    def meet(_: Cancellation) -> None:
        together.wait(30)

    def asked(client: Client, engine: Watched) -> str:
        question = client.gateway.examine(FOUND, client.asker)
        assert question is not None
        request = client.request(question)
        engine.before = meet
        return answered(client.gateway, request)

    for _ in range(5):
        engines = [Watched(memory) for _ in range(2)]
        ledgers = [SqliteLedger(tmp_path / "shared.db", noon) for _ in engines]
        clients = [
            new_client(e, "eve", policy=policy, ledger=ledger) for e, ledger in zip(engines, ledgers, strict=True)
        ]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(asked, clients, engines))
        assert [engine.runs for engine in engines] == [4, 4]
        alone = Watched(memory)
        later = new_client(alone, "eve", policy=policy, ledger=ledgers[0])
        question = later.gateway.examine(FOUND, later.asker)
        assert question is not None
        assert {later.text(question), *answers} == {answers[0]}
        assert (alone.runs, "n59" in answers[0]) == (0, True)
        ledgers[0].advance("once more")
        for ledger in ledgers:
            ledger.close()
