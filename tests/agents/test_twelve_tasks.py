"""Twelve tasks of an analyst, by a model without a model that reads nothing but replies, each of whose characters costs.

What tables, columns, bounds and values there are it reads in `describe`, what is wrong in a refusal, and what to write
instead. What it knows of a task are the words that somebody has asked it with. The same calls had replies of 53,508
characters when replies were indented and said what says nothing; they have about 22,000 now.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from mcp import Client
from mcp_types import TextContent

from tests.agents.scripted import solved
from tests.agents.test_mcp import agent, over_stdio
from tests.clients.data import LONG_TRIPS, TRIPS
from tests.clients.site import Site

_BEFORE = 53_508
"""Characters of the replies to the same calls when each reply was indented JSON, and each plan had EXPLAIN's lines."""
_NUMBERS = ("integer", "bigint", "double precision", "numeric")


class RefusedTask(AssertionError):
    """A tool said no."""


class Analyst:
    """Calls tools, counts what it has to read, and finds its way by that."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.characters = 0
        self.calls: list[tuple[str, Mapping[str, object]]] = []
        self.tables: Mapping[str, Any] = {}

    async def call(self, tool: str, **arguments: object) -> Any:
        """Return what a tool says."""
        given = {name: value for name, value in arguments.items() if value is not None}
        self.calls.append((tool, given))
        result = await self._client.call_tool(tool, given)
        (text,) = (part.text for part in result.content if isinstance(part, TextContent))
        self.characters += len(text)
        if result.is_error:
            raise RefusedTask(text)
        return json.loads(text)

    async def look(self) -> None:
        """Read which tables there are."""
        self.tables = {table["name"]: table for table in (await self.call("describe"))["tables"]}

    @property
    def records(self) -> Mapping[str, Any]:
        """Return the table whose rows are somebody's."""
        (table,) = (table for table in self.tables.values() if table["kind"] == "protected")
        return dict(table)

    def column(self, word: str) -> tuple[str, Mapping[str, Any]]:
        """Return the column of the records whose name or description has a word."""
        return next(
            (name, column)
            for name, column in self.records["columns"].items()
            if word in name or word in column.get("description", "")
        )

    async def solve(self, statement: str, **arguments: Any) -> Any:
        """Plan a statement, write it anew where it is refused, and ask it."""
        answer, _ = await solved(self.call, RefusedTask, statement, **arguments)
        return answer


async def how_many(analyst: Analyst) -> None:
    """How many trips were there?"""
    assert (await analyst.solve(f"SELECT count(*) FROM {analyst.records['name']}"))["rows"] == [[TRIPS]]


async def how_paid(analyst: Analyst) -> None:
    """How do people pay, and how sure is that?"""
    name, column = analyst.column("payment")
    answer = await analyst.solve(f"SELECT {name}, count(*) AS n FROM {analyst.records['name']} GROUP BY 1 ORDER BY 1")
    assert answer["rows"] == [[value, 1000] for value in [*column["values"], None]]
    assert len(answer["margins"]["n"]) == 3


async def how_many_people(analyst: Analyst) -> None:
    """How many people is that?"""
    (unit,) = analyst.records["unit_columns"]
    assert (await analyst.solve(f"SELECT count(DISTINCT {unit}) FROM {analyst.records['name']}"))["rows"] == [[500]]


async def averages(analyst: Analyst) -> None:
    """What is the average of everything that is a number?"""
    bounded = {n: c["bounds"] for n, c in analyst.records["columns"].items() if "bounds" in c and c["type"] in _NUMBERS}
    outputs = ", ".join(f"avg({name}) AS {name}" for name in bounded)
    answer = await analyst.solve(f"SELECT {outputs} FROM {analyst.records['name']}")
    for (low, high), value, name in zip(bounded.values(), answer["rows"][0], bounded, strict=True):
        assert low <= value <= high
        assert answer["margins"][name][0] < high - low


async def by_borough(analyst: Analyst) -> None:
    """From which borough do most start?"""
    joined = re.fullmatch(r"\((\w+)\) REFERENCES (\w+)\((\w+)\)", analyst.records["references"][0])
    assert joined is not None
    own, other, key = joined.groups()
    assert "borough" in analyst.tables[other]["columns"]
    answer = await analyst.solve(
        f"SELECT borough, count(*) FROM {analyst.records['name']} JOIN {other} ON {own} = {key} GROUP BY 1 ORDER BY 2 DESC"
    )
    assert answer["rows"] == [["Bronx", 1800], ["Queens", 1200]]


async def first_days(analyst: Analyst) -> None:
    """How many were there on each of the first days?"""
    name, column = analyst.column("when")
    first = column["bounds"][0]
    answer = await analyst.solve(
        f"SELECT date_trunc('day', {name}) AS day, count(*) FROM {analyst.records['name']}"
        f" WHERE {name} < timestamp '{first}' + interval '7 days' GROUP BY 1 ORDER BY 1"
    )
    assert len(answer["rows"]) == 7
    assert all(abs(n - 24 * 60 / 13) < 2 for _, n in answer["rows"])


async def steps(analyst: Analyst) -> None:
    """How are fares spread?"""
    name, column = analyst.column("fare")
    low, high = column["bounds"]
    answer = await analyst.solve(
        f"SELECT width_bucket({name}, {low}, {high}, 5) AS step, count(*) FROM {analyst.records['name']} GROUP BY 1"
    )
    assert sum(n for _, n in answer["rows"]) == TRIPS


async def share(analyst: Analyst) -> None:
    """Which share pays by the second way that there is?"""
    name, column = analyst.column("payment")
    of = f"100.0 * count(*) FILTER (WHERE {name} = '{column['values'][1]}') / count(*) AS percent"
    answer = await analyst.solve(f"SELECT {of} FROM {analyst.records['name']}")
    assert round(answer["rows"][0][0]) == 33
    assert answer["margins"]["percent"][0] < 1


async def middle(analyst: Analyst) -> None:
    """How long is a trip in the middle, and how sure is that?"""
    name, column = analyst.column("miles")
    asked = f"SELECT median({name}), dpsql.margin(median({name})) FROM {analyst.records['name']}"
    ((value, margin),) = (await analyst.solve(asked))["rows"]
    assert column["bounds"][0] < value < column["bounds"][1]
    assert margin < 2


async def rows(analyst: Analyst) -> None:
    """Show me the trips above 20."""
    name, _ = analyst.column("fare")
    answer = await analyst.solve(f"SELECT * FROM {analyst.records['name']} WHERE {name} > 20")
    assert answer["rows"] == [[LONG_TRIPS]]


async def for_nothing(analyst: Analyst) -> None:
    """How many are there in all, once their kinds are known? And once more, for a hundredth of the price."""
    name, _ = analyst.column("payment")
    tip, _ = analyst.column("tip")
    where = f"FROM {analyst.records['name']} WHERE {tip} > 1.5"
    known = f"SELECT {name}, count(*) {where} GROUP BY 1"
    await analyst.solve(known)
    plan = await analyst.call("plan", statement=f"SELECT count(*) {where}")
    assert (plan["epsilon"], plan["free"][0]["read_off"]) == (0, known)
    answer = await analyst.call("ask", statement=f"SELECT count(*) {where}")
    argument = re.search(r"the argument (\w+)='(\w+)'", answer["notices"][0])
    assert argument is not None
    budget = await analyst.call("budget")
    again = await analyst.call(
        "ask",
        statement=f"SELECT count(*) {where}",
        epsilon=budget["per_query_epsilon"] / 100,
        **{argument[1]: argument[2]},
    )
    assert (answer["epsilon_paid"], again["epsilon_paid"]) == (0, 10)
    assert again["epsilon_left"] == budget["epsilon_left"] - 10


async def kept(analyst: Analyst) -> None:
    """Which hours are busiest, which quietest, and how many are above the mean?"""
    name, _ = analyst.column("when")
    await analyst.call(
        "ask",
        statement=f"CREATE TEMP TABLE hours AS SELECT extract(hour FROM {name}) AS hour, count(*) AS n"
        f" FROM {analyst.records['name']} GROUP BY 1",
    )
    for order in ("DESC", "ASC"):
        answer = await analyst.call("ask", statement=f"SELECT hour, n FROM hours ORDER BY n {order}, hour LIMIT 1")
        assert (len(answer["rows"]), answer["epsilon_paid"]) == (1, 0)
    above = await analyst.call("ask", statement="SELECT count(*) FROM hours WHERE n > (SELECT avg(n) FROM hours)")
    assert 0 < above["rows"][0][0] < 24


TASKS: tuple[Callable[[Analyst], Awaitable[None]], ...] = (
    how_many, how_paid, how_many_people, averages, by_borough, first_days, steps, share, middle, rows, for_nothing, kept,
)  # fmt: skip


def _read(site: Site) -> Iterator[Analyst]:
    """Yield each analyst once their task is solved."""

    async def run() -> list[Analyst]:
        analysts = []
        async with agent(over_stdio(site)) as (client, _):
            for task in TASKS:
                analyst = Analyst(client)
                await analyst.look()
                await task(analyst)
                analysts.append(analyst)
        return analysts

    yield from asyncio.run(run())


def test_twelve_tasks_take_half_of_the_characters(served: Site) -> None:
    """Each is solved, from replies that are half as long in all as those that there were."""
    assert sum(analyst.characters for analyst in _read(served)) <= _BEFORE / 2
