"""`dpsql mcp` as agents use it: the SDK's own client, over standard input and output and over HTTP."""

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx2
import psycopg
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent, TextResourceContents

from dpsql.agents.session import AgentRefused, Conversation, Conversations, Login
from dpsql.agents.tools import LONGEST_STATEMENT, Wishes, tell_answer
from tests.clients.data import LONG_TRIPS, TRIPS
from tests.clients.site import Site, free_port

COUNT = "SELECT count(*) FROM trips"
Call = Callable[..., Coroutine[Any, Any, Any]]
_DPSQL = [sys.executable, "-c", "from dpsql.cli.main import app; app()", "mcp"]


class Refused(AssertionError):
    """A tool said no."""


@asynccontextmanager
async def agent(transport: Any) -> AsyncIterator[tuple[Client, Call]]:
    """Give a client, and what calls a tool and returns what it says."""
    async with Client(transport) as client:

        async def call(tool: str, **arguments: object) -> Any:
            result = await client.call_tool(tool, arguments)
            if result.is_error:
                raise Refused("\n".join(part.text for part in result.content if isinstance(part, TextContent)))
            (text,) = (part.text for part in result.content if isinstance(part, TextContent))
            assert json.loads(text) == result.structured_content
            return result.structured_content

        yield client, call


def over_stdio(site: Site, user: str = "ana", password: str | None = None) -> Any:
    """Return the way to a server that is started for one agent."""
    address = f"host={site.host} port={site.port} user={user} dbname={site.database} sslmode=disable"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PGPASSWORD": password or site.password}
    assert sys.__stderr__ is not None  # not what pytest has put in its place
    started = StdioServerParameters(command=_DPSQL[0], args=[*_DPSQL[1:], address], env=environment)
    return stdio_client(started, errlog=sys.__stderr__)


@pytest.fixture(scope="module")
def http(served: Site) -> Iterator[str]:
    """Give the address of a server for all agents."""
    port = free_port()
    address = f"host={served.host} port={served.port} dbname={served.database} sslmode=disable"
    command = [*_DPSQL, address, "--http", f"127.0.0.1:{port}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment) as process:  # noqa: S603 # ourselves
        url = f"http://127.0.0.1:{port}/mcp"
        try:
            while _status(url) == 0:
                assert process.poll() is None
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()


def _status(url: str, headers: Mapping[str, str] = {}, body: bytes | None = b"{}") -> int:
    try:
        with urlopen(Request(url, body, dict(headers)), timeout=5) as answer:  # noqa: S310 # our own address
            return int(answer.status)
    except HTTPError as failed:
        return failed.code
    except OSError:
        return 0


@asynccontextmanager
async def over_http(url: str, user: str, password: str) -> AsyncIterator[tuple[Client, Call]]:
    """Give an agent that brings a log-in with each request."""
    async with (
        httpx2.AsyncClient(auth=(user, password), timeout=240) as client,
        agent(streamable_http_client(url, http_client=client)) as opened,
    ):
        yield opened


def test_an_agent_finds_its_way_over_standard_input(served: Site, lure: str) -> None:
    """It sees tables, prices and the page about SQL, asks, and pays once."""

    async def run() -> None:
        async with agent(over_stdio(served)) as (client, call):
            assert sorted(tool.name for tool in (await client.list_tools()).tools) == [
                "ask",
                "budget",
                "describe",
                "plan",
            ]
            assert "differential privacy" in (client.instructions or "")
            tables = {table["name"]: table for table in (await call("describe"))["tables"]}
            assert (tables["trips"]["kind"], tables["zones"]["kind"]) == ("protected", "public")
            assert (tables["trips"]["unit"], tables["trips"]["unit_columns"]) == ("passenger", ["passenger_id"])
            assert (tables["trips"]["rows"], tables["zones"]["rows"]) == (1_000_000, 5)
            columns = tables["trips"]["columns"]
            assert columns["fare"] == {"type": "double precision", "bounds": [0, 150], "description": lure}
            assert columns["payment_type"] == {"type": "text", "values": ["cash", "credit card"], "nullable": True}
            assert tables["trips"]["references"] == ["(pickup_zone) REFERENCES zones(zone_id)"]
            assert 'did you mean "trips"? describe() lists them' in await _refusal(call, "describe", table="core.trip")
            planned = await call("plan", statement=f"{COUNT} WHERE fare > 20;", details=True)
            assert planned["epsilon"] == 1000
            assert planned["margins"][0]["output"] == "count(*)"
            assert any("Private answer" in line for line in planned["lines"])
            asked = await call("ask", statement=f"{COUNT} WHERE fare > 20;")
            assert asked["rows"] == [[LONG_TRIPS]]
            assert (asked["epsilon_paid"], asked["columns"]) == (1000, ["count"])
            planned = await call("plan", statement=f"{COUNT} WHERE fare > 20;")
            assert (planned["epsilon"], planned["free"]) == (0, "answered before in this epoch")
            again = await call("ask", statement=f"{COUNT} WHERE fare > 20;")
            assert (again["rows"], again["epsilon_paid"]) == (asked["rows"], 0)
            assert again["epsilon_left"] == asked["epsilon_left"] == (await call("budget"))["epsilon_left"]
            for name, title in (
                ("sql", "# The SQL that is answered"),
                ("sql/tables", "# Tables, joins"),
                ("answers", "# What is answered"),
            ):
                (page,) = (await client.read_resource(f"dpsql://{name}")).contents
                assert isinstance(page, TextResourceContents)
                assert page.text.startswith(title)
            assert {str(resource.uri) for resource in (await client.list_resources()).resources} == {
                "dpsql://answers",
                "dpsql://sql",
                "dpsql://sql/tables",
                "dpsql://sql/expressions",
                "dpsql://sql/prices",
                "dpsql://errors",
            }

    asyncio.run(run())


TASKS = [
    (COUNT, [[TRIPS]]),
    (
        "SELECT payment_type, count(*) FROM trips GROUP BY 1 ORDER BY 1",
        [["cash", 1000], ["credit card", 1000], [None, 1000]],
    ),
    ("SELECT count(DISTINCT passenger_id) FROM trips", [[500]]),
    (
        "SELECT borough, count(*) FROM trips JOIN zones ON zone_id = pickup_zone GROUP BY 1 ORDER BY 1",
        [["Bronx", 1800], ["Queens", 1200]],
    ),
    ("SELECT round(avg(passenger_count)::numeric, 1) FROM trips", [[2.5]]),
    (
        "SELECT passenger_count, count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
        [[n, 750] for n in range(1, 5)],
    ),
    ("SELECT date_trunc('month', pickup_ts), count(*) FROM trips GROUP BY 1", [["2019-03-01T00:00:00", TRIPS]]),
    ("SELECT width_bucket(fare, 0, 150, 3) AS third, count(*) FROM trips GROUP BY 1 HAVING count(*) > 100", None),
    ("SELECT count(*) * 100.0 / (SELECT count(*) FROM trips) FROM trips WHERE fare > 20", [[64]]),
    ("SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id) AS p", None),
]


def test_what_an_analyst_would_ask_is_planned_and_answered(served: Site) -> None:
    """What an analyst would ask; where the first try is refused, the refusal says what works."""

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            for statement, rows in TASKS:
                assert "epsilon" in await call("plan", statement=statement)
                answer = await call("ask", statement=statement)
                assert answer["rows"] == rows or (rows is None and answer["rows"]), statement
            with pytest.raises(Refused, match=r"ask for count\(\*\)"):
                await call("ask", statement="SELECT * FROM trips LIMIT 5")
            with pytest.raises(Refused, match="Instead: "):
                await call("plan", statement="SELECT fare, count(*) FROM trips GROUP BY fare")

    asyncio.run(run())


def test_each_row_has_its_own_margins(served: Site) -> None:
    """Those that `dpsql.margin` tells of the same answer, at no further price, and never what was thought before."""
    of = "count(*) AS n, avg(fare) AS mean, 100.0 * count(*) / sum(count(*)) OVER () AS share, median(fare) AS middle"
    margins = "dpsql.margin(count(*)), dpsql.margin(avg(fare)), dpsql.margin(100.0 * count(*) / sum(count(*)) OVER ())"
    end = "FROM trips WHERE tip > 1 GROUP BY 1 ORDER BY 1"

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            asked = await call("ask", statement=f"SELECT payment_type, {of} {end}")
            assert asked["columns"] == ["payment_type", "n", "mean", "share", "middle"]
            assert {len(row) for row in asked["rows"]} == {5}
            assert asked["epsilon_paid"] == 1000
            again = await call("ask", statement=f"SELECT payment_type, {margins} {end}")
            assert again["epsilon_paid"] == 0
            assert asked["margins"] == {
                name: [row[place + 1] for row in again["rows"]] for place, name in enumerate(("n", "mean", "share"))
            }
            assert all(margin > 0 for column in asked["margins"].values() for margin in column)
            for statement in ("SELECT count(*) FROM zones", "SHOW server_version"):
                assert "margins" not in await call("ask", statement=statement)

    asyncio.run(run())


def test_what_aims_at_an_error_has_its_margins_too(served: Site) -> None:
    """And is planned as free afterwards: how much it takes in all is known then."""
    statement = "SELECT payment_type, count(*) AS n FROM trips WHERE tip > 2 GROUP BY 1"

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            asked = await call("ask", statement=statement, error=0.05)
            assert asked["epsilon_paid"] > 0
            assert all(margin > 0 for margin in asked["margins"]["n"])
            planned = await call("plan", statement=statement, error=0.05)
            assert planned["epsilon"] == 0
            assert (await call("ask", statement=statement, error=0.05))["epsilon_paid"] == 0

    asyncio.run(run())


def test_a_plan_that_aims_at_an_error_says_what_it_may_pay(served: Site) -> None:
    """The most of all, with the error that this gives; not the first look's, whose noise the answer does not have."""
    statement = "SELECT payment_type, count(*) AS n FROM trips WHERE tip > 2.5 GROUP BY 1"

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            planned = await call("plan", statement=statement, error=0.05, empty_groups="hide")
            exact = await call("plan", statement=statement, epsilon=1000)
            assert planned["aims_at"] == 0.05
            assert planned["epsilon"] == planned["epsilon_at_most"] == 1000
            assert planned["epsilon_at_least"] < 1000
            (margin,) = planned["margins"]
            assert margin["half_width_95"] <= 2 * exact["margins"][0]["half_width_95"]
            assert margin["if"].startswith("all of epsilon_at_most is paid")
            (note,) = [note for note in planned["notes"] if note.startswith("Left out")]
            assert note.startswith("Left out with all of it: groups whose count is at most")
            asked = await call("ask", statement=statement, error=0.05, empty_groups="hide")
            assert planned["epsilon_at_least"] <= asked["epsilon_paid"] <= planned["epsilon"]

    asyncio.run(run())


def test_what_commands_pay_is_told(served: Site) -> None:
    """Whatever runs a query; COPY, whose rows go another way, is refused before anything is paid."""

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            left = (await call("budget"))["epsilon_left"]
            for sent in (
                "CREATE TEMP TABLE a AS SELECT count(*) FROM trips WHERE tip > 3.1",
                "SELECT count(*) INTO TEMP b FROM trips WHERE tip > 3.2",
                "DECLARE c CURSOR WITH HOLD FOR SELECT count(*) FROM trips WHERE tip > 3.3",
                "FETCH c",
                "PREPARE d AS SELECT count(*) FROM trips WHERE tip > 3.4",
                "EXECUTE d",
                "WITH e AS (INSERT INTO b VALUES (1) RETURNING 1) SELECT * FROM e",
            ):
                done = await call("ask", statement=sent)
                assert done["epsilon_paid"] == pytest.approx(left - done["epsilon_left"]), sent
                left = done["epsilon_left"]
            for before in ("", "/* */", "; "):
                sent = f"{before}COPY (SELECT count(*) FROM trips WHERE tip > 3.5) TO STDOUT"
                assert "Instead: ask the query" in await _refusal(call, "ask", statement=sent)
            assert (await call("budget"))["epsilon_left"] == left
            aged = await call("ask", statement="SELECT age(timestamp '2024-03-01', timestamp '2024-01-01')")
            assert aged["rows"] == [["2 mons"]]

    asyncio.run(run())


async def _refusal(call: Call, tool: str, **arguments: object) -> str:
    """Return how a tool refuses; nothing if it does not."""
    try:
        return f"answered: {await call(tool, **arguments)}"
    except Refused as refused:
        return str(refused)


REFUSED = [
    ("x" * 1_000_000, {}, f"1,000,000 characters, and may have {LONGEST_STATEMENT:,}"),
    (";".join([COUNT] * 10), {}, "one statement a call"),
    (COUNT, {"epsilon": "2"}, "must be a number from 0.1 to 1"),
    (COUNT, {"epsilon": "0.01"}, "must be a number from 0.1 to 1"),
    (COUNT, {"error": "most"}, "invalid value for parameter"),
    ("", {}, "write one SELECT"),
    ("SELECT '\0'", {}, "code 0"),
    ("SELECT nothing FROM trips", {}, 'column "nothing" does not exist'),
    ("SELECT * FROM trips", {}, "rows of trips are protected"),
    ("SELECT pg_read_file('/etc/passwd')", {}, "permission denied"),
    ("DELETE FROM trips", {}, "Refused"),
    ("COPY (SELECT * FROM trips) TO '/tmp/x'", {}, "Refused"),
    ("SET ROLE dpsql_owner", {}, "Refused"),
]


@pytest.mark.parametrize("tool", ["plan", "ask"])
def test_bad_statements_end_in_errors_to_act_on(served: Site, http: str, tool: str) -> None:
    """Whatever an agent sends, or is talked into; nothing is paid, and the next call is answered."""

    async def run() -> None:
        async with over_http(http, "bot", served.password) as (_, call):
            before = (await call("budget"))["epsilon_spent"]
            for statement, more, said in REFUSED:
                refused = await _refusal(call, tool, statement=statement, **more)
                assert said in refused, (statement[:80], refused)
                assert refused != f"Error executing tool {tool}"  # what the SDK says of a crash
            assert (await call("budget"))["epsilon_spent"] == before

    asyncio.run(run())


def test_an_agent_spends_its_own_budget(served: Site, http: str) -> None:
    """When that is used up it is told so, and what is left for others is as it was."""

    async def run() -> None:
        async with over_http(http, "bot", served.password) as (_, call):
            for place, left in enumerate((2, 1, 0)):
                assert (await call("ask", statement=f"{COUNT} WHERE tip > {place}"))["epsilon_left"] == left
            with pytest.raises(Refused, match=r"Refused \(53400\)"):
                await call("ask", statement=f"{COUNT} WHERE tip > 3")
            assert (await call("ask", statement=f"{COUNT} WHERE tip > 2"))["epsilon_paid"] == 0
        async with over_http(http, "ana", served.password) as (_, call):
            assert (await call("ask", statement="SELECT zone FROM zones", rows=2))["rows_left_out"] == 3

    asyncio.run(run())


def test_nobody_asks_without_a_log_in(served: Site, http: str) -> None:
    """Over HTTP there is none but a request's own; a wrong password is told of as one."""
    assert _status(http) == 401
    for header in ("", "Basic", "Basic !", "Bearer x", "Basic " + base64.b64encode(b"ana:").decode()):
        assert _status(http, {"Authorization": header}) == 401
    # Whoever waits for events is not kept, whatever password they send.
    assert _status(http, {"Authorization": "Basic " + base64.b64encode(b"ana:wrong").decode()}, None) == 405
    with pytest.raises(HTTPError) as failed:
        urlopen(Request(http, b"{}"))  # noqa: S310 # our own address
    assert "Authorization: Basic" in failed.value.read().decode()

    async def run(transport: Any) -> str:
        async with transport as (_, call):
            with pytest.raises(Refused) as refused:
                await call("budget")
            return str(refused.value)

    assert "Authorization: Basic" in asyncio.run(run(over_http(http, "ana", "wrong")))
    assert "PGPASSWORD" in asyncio.run(run(agent(over_stdio(served, password="wrong"))))  # noqa: S106


def test_numbers_are_numbers(served: Site) -> None:
    """As a model writes them, with quotes or without; prices are numbers, too."""

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            for epsilon in (1.5, "1.5", 15e-1):
                planned = await call("plan", statement=f"{COUNT} WHERE fare > 31", epsilon=epsilon)
                assert planned["epsilon"] == 1.5
            for error in (0.05, "0.05", "5 %"):
                planned = await call("plan", statement=f"{COUNT} WHERE fare > 31", error=error)
                assert (planned["aims_at"], planned["epsilon_at_most"]) == (0.05, 1000)
            asked = await call("ask", statement=f"{COUNT} WHERE fare > 31", epsilon=1, rows="1")
            assert asked["epsilon_paid"] == 1
            with pytest.raises(
                Refused, match=r"error is \"5\", it must be a share .*\nInstead: the argument error='5 %'"
            ):
                await call("ask", statement=f"{COUNT} WHERE fare > 31", error=5)

    asyncio.run(run())


def test_what_is_free_is_said_with_its_source(served: Site) -> None:
    """A plan says 0 and off which answer it is read; a notice names the argument that measures it, and that does."""
    groups = "SELECT payment_type, count(*) FROM trips WHERE tip > 2.5 GROUP BY payment_type"
    total = "SELECT count(*) FROM trips WHERE tip > 2.5"

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            await call("ask", statement=groups)
            planned = await call("plan", statement=total)
            assert (planned["epsilon"], planned["epsilon_if_measured"]) == (0, 1000)
            assert planned["free"] == [{"outputs": [1], "read_off": groups}]
            asked = await call("ask", statement=total)
            assert asked["epsilon_paid"] == 0
            (notice,) = asked["notices"]
            assert "the argument reuse='off'" in notice
            assert "SET" not in notice.replace(groups, "")
            assert (await call("plan", statement=total, reuse="off"))["epsilon"] == 1000
            assert (await call("ask", statement=total, reuse="off"))["epsilon_paid"] == 1000
            assert "notices" not in await call("ask", statement=f"{total} AND fare > 2", reuse="off")
            hidden = (
                "SELECT zone_id, count(*) FROM zones JOIN trips ON pickup_zone = zone_id WHERE tip > 5.5 GROUP BY 1"
            )
            shown = await call("ask", statement=hidden, empty_groups="hide")
            assert len(shown["rows"]) <= len((await call("ask", statement=hidden, empty_groups="show"))["rows"])

    asyncio.run(run())


def test_a_conversation_has_one_session(served: Site, http: str) -> None:
    """Temporary tables and settings last; what a call's arguments set does not, nor a transaction that it leaves open."""
    kept = "CREATE TEMP TABLE kept AS SELECT payment_type, count(*) AS n FROM trips WHERE tip > 0.5 GROUP BY 1"

    async def run(call: Call, **conversation: str) -> None:
        paid = (await call("ask", statement=kept, **conversation))["epsilon_paid"]
        assert paid in {0, 1000}  # which was asked before by the other way
        asked = await call("ask", statement="SELECT count(*) FROM kept", **conversation)
        assert (asked["rows"], asked["epsilon_paid"]) == ([[3]], 0)
        assert (await call("plan", statement="SELECT sum(n) FROM kept", **conversation))["epsilon"] == 0
        await call("ask", statement="SET dpsql.reuse = 'exact'", **conversation)
        await call("plan", statement=COUNT, reuse="off", epsilon=7, **conversation)
        for setting, value in (("reuse", "exact"), ("epsilon", "")):
            shown = await call("ask", statement=f"SHOW dpsql.{setting}", **conversation)
            assert shown["rows"] == [[value]]
        await call("ask", statement="BEGIN", **conversation)
        with pytest.raises(Refused):
            await call("ask", statement="SELECT nothing FROM trips", **conversation)
        assert (await call("ask", statement="SELECT sum(1) FROM kept", **conversation))["rows"] == [[3]]
        together = await asyncio.gather(
            *(call("ask", statement=f"SELECT {n} FROM kept LIMIT 1", **conversation) for n in range(5))
        )
        assert [each["rows"] for each in together] == [[[n]] for n in range(5)]

    async def both() -> None:
        async with agent(over_stdio(served)) as (_, call):
            await run(call)
        async with over_http(http, "ana", served.password) as (_, call):
            await run(call, conversation="mine")
            with pytest.raises(Refused, match="does not exist"):
                await call("ask", statement="SELECT * FROM kept", conversation="another")
            with pytest.raises(Refused, match="does not exist"):
                await call("ask", statement="SELECT * FROM kept")
        async with over_http(http, "bot", served.password) as (_, call):
            with pytest.raises(Refused, match="does not exist"):
                await call("ask", statement="SELECT * FROM kept", conversation="mine")
        async with over_http(http, "ana", "wrong") as (_, call):
            with pytest.raises(Refused, match="not logged in"):
                await call("ask", statement="SELECT * FROM kept", conversation="mine")

    asyncio.run(both())


def test_conversations_end(served: Site) -> None:
    """After a while without a call, or where there are too many; one that was lost begins anew and says so."""

    async def run() -> None:
        kept = Conversations(idle=0.2, most_of_one=2)
        login = Login(served.dsn)

        async def asked(name: str, statement: str) -> Any:
            return await tell_answer(Conversation(kept, login, name), statement)

        make = "CREATE TEMP TABLE kept AS SELECT 1 AS n"
        for name in "abc":
            await asked(name, make)
        assert len(kept._kept) == 2
        with pytest.raises(AgentRefused, match="does not exist"):
            await asked("a", "SELECT n FROM kept")
        assert (await asked("c", "SELECT n FROM kept"))["rows"] == [[1]]
        (session,) = [each.session for (_, name), each in kept._kept.items() if name == "c"]
        assert session is not None
        session.hang_up()
        assert any("was lost" in said for said in (await asked("c", "SELECT 1"))["notices"])
        assert "notices" not in await asked("c", "SELECT 1")
        await asyncio.sleep(0.5)
        assert not kept._kept

    asyncio.run(run())


def test_sessions_are_nobody_elses(served: Site, http: str) -> None:
    """What a call without a conversation sets or makes is gone in the next, and none is left open."""

    async def run() -> None:
        async with over_http(http, "ana", served.password) as (_, call):
            await call("ask", statement="CREATE TEMP TABLE kept AS SELECT 1 AS n")
            with pytest.raises(Refused, match="does not exist"):
                await call("ask", statement="SELECT * FROM kept")

    open_ones = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dpsql mcp'"
    with psycopg.connect(served.dsn, autocommit=True) as session:
        before = session.execute(open_ones).fetchone()  # those of conversations
        asyncio.run(run())
        end = time.monotonic() + 20
        while session.execute(open_ones).fetchone() != before:  # PostgreSQL ends a session after it was hung up on
            assert time.monotonic() < end
            time.sleep(0.05)


def test_questions_that_begin_alike_have_a_price_each(served: Site) -> None:
    """Also at the same time: what others pay is not told as one's own."""

    async def run() -> list[Mapping[str, Any]]:
        padded = f"SELECT /* {'alike ' * 20}*/ count(*) FROM trips WHERE tip > 4.25"
        asked = {padded: "1000", f"{padded}1": "500", f"{padded}12": "250"}
        return await asyncio.gather(*(tell_answer(Login(served.dsn), q, Wishes(paid), 1) for q, paid in asked.items()))

    assert [told["epsilon_paid"] for told in asyncio.run(run())] == [1000, 500, 250]


def test_a_large_answer_is_not_kept_whole(served: Site) -> None:
    """Of what is left out only the number is, or one call would take all memory of a server that others use too."""
    login = Login(served.dsn)

    def asked(statement: str) -> Mapping[str, Any]:
        return asyncio.run(tell_answer(login, statement, rows=1))

    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _peak()
    told = asked("/* all */ SELECT g, repeat('x', 1000) FROM generate_series(1, 200000) AS g")
    assert _peak() - before < 50_000  # KiB; all of them are four times as many
    assert (told["rows"][0][0], told["rows_left_out"]) == (1, 199_999)
    told = asked("SELECT g, 1 AS one FROM generate_series(1, 0) AS g -- none")
    assert (told["columns"], told["rows"], "rows_left_out" in told) == (["g", "one"], [], False)
    assert asked("SHOW application_name")["rows"] == [["dpsql mcp"]]
    with pytest.raises(AgentRefused, match="Cast it to text"):
        asked("SELECT '10000-01-01'::date")


def _peak() -> int:
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["postgresql://ana@127.0.0.1/taxi", "--http", "127.0.0.1:1"], "has a user"),
        (["postgresql://127.0.0.1/taxi", "--http", "0.0.0.0:1"], "in the clear"),
        (["postgresql://127.0.0.1/taxi", "--http", "1"], "127.0.0.1:8440"),
        (["nonsense"], "can't be read"),
    ],
)
def test_what_would_be_unsafe_does_not_start(arguments: list[str], said: str) -> None:
    """Before anything is served, with what to write instead."""
    ended = subprocess.run([*_DPSQL, *arguments], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert ended.returncode == 1
    assert said in ended.stderr
    assert ended.stdout == ""


def test_who_does_not_reach_dpsql_hears_where_it_was_looked_for() -> None:
    """The last line of what libpq says was kept alone: is the server running?"""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(
        AgentRefused, match=rf"port {port} failed: Connection refused Is the server running on that host"
    ):
        asyncio.run(Login(f"host=127.0.0.1 port={port} user=ana").opened())
