"""What the killed process does: a gateway over an engine, without a shadow, asking count(*) questions."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from dpsql.accounting.ledger import Ledger
from dpsql.errors import InternalError
from dpsql.gateway.gateway import Gateway, GatewayDependencies
from dpsql.gateway.public_tables import read_public
from dpsql.gateway.request import Request
from dpsql.policy.model import Period, SqlType, Value
from dpsql.question import Asker, Cancellation, ColumnDescription, Settings
from dpsql.rewrite.ir.evaluator import PublicAnswer
from dpsql.rewrite.ir.spelled import Spelled
from tests.gateway.engines import Watched
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
            lambda _settings, _user: _NoShadow(),
            public.declared,
            public.rows,
            os.urandom,
            Period.NEVER,
            timeout=9.0,
        )
    )
    for number in range(10**6):
        question = gateway.examine(f"SELECT count(*) FROM rides WHERE fare > {number / 10**6}", _ASKER)
        if question is None:
            raise InternalError
        answered(gateway, Request(question, ((_NUMBER,), (_NUMBER,)), (), Settings(), _ASKER, Cancellation()))
        if stop == "after the first answer":
            say_and_wait("answered")
        sys.stdout.write("answered\n")
        sys.stdout.flush()


def say_and_wait(word: str) -> None:
    """Write a word, and wait to be killed."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
    signal.pause()


class _NoShadow:
    """An oracle that is never asked: literals need none."""

    volatile: bool = False
    time_zone: str = "UTC"
    dates_in_iso: bool = True

    def constant(self, expression: Spelled) -> tuple[str | None, str]:
        """Refuse."""
        raise NotImplementedError(expression)

    def column(self, query: Spelled) -> tuple[tuple[str | None, ...], str]:
        """Refuse."""
        raise NotImplementedError(query)

    def rows(self, query: Spelled) -> PublicAnswer:
        """Refuse."""
        raise NotImplementedError(query)

    def over(
        self, expression: Spelled, values: Sequence[Value | None], type_: SqlType
    ) -> tuple[tuple[str | None, ...], str]:
        """Refuse."""
        raise NotImplementedError(expression, values, type_)
