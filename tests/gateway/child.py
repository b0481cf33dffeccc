"""What the killed process does: a gateway over an engine, without a shadow, asking count(*) questions."""

import os
import signal
import sys
from pathlib import Path

from dpsql.accounting.ledger import Ledger
from dpsql.clock import StageTimes
from dpsql.errors import InternalError
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.gateway import Gateway
from dpsql.gateway.request import Request
from dpsql.policy.model import Period
from dpsql.question import Asker, Cancellation, ColumnDescription, Settings
from tests.gateway.engines import Watched
from tests.gateway.no_shadow import NoShadow
from tests.support.fix_policy import read_policy
from tests.support.fix_world import answered
from tests.support.memory import Memory
from tests.support.records import Maker

_NUMBER = ColumnDescription("count", 20, -1, "bigint")
_ASKER = Asker("ana", "owner")


def answer(directory: Path, ledger: Ledger, stop: str) -> None:
    """Ask one question after another; say when the engine works, when an answer is there, and wait where told."""
    policy = read_policy(directory)
    memory = Memory(policy)
    memory.fill("rides", [Maker(n).row(policy.tables["rides"]) | {"rider": n} for n in range(9)])
    engine = Watched(memory, before=lambda _: say_and_wait("working") if stop == "in the engine" else None)
    public = read_public(policy, memory)
    gateway = Gateway(
        GatewayDependencies(
            policy,
            engine,
            ledger,
            lambda _settings, _user: NoShadow(_NUMBER),
            public.declared,
            public.rows,
            os.urandom,
            Period.NEVER,
            timeout=9.0,
            trail=tuple,
            times=StageTimes(),
        )
    )
    for number in range(10**6):
        question = gateway.examine(
            f"SELECT count(*) AS count FROM public.rides WHERE rides.fare > {number / 10**6:.6f}", _ASKER
        )
        if question is None:
            raise InternalError
        answered(gateway, Request(question, (), Settings(), _ASKER, Cancellation()))
        if stop == "after the first answer":
            say_and_wait("answered")
        sys.stdout.write("answered\n")
        sys.stdout.flush()


def say_and_wait(word: str) -> None:
    """Write a word, and wait to be killed."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
    signal.pause()
