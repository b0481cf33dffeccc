"""MCP's reference server for PostgreSQL, of npm: its resources are tables' columns, its tool runs a statement."""

# mypy: ignore-errors

import asyncio
import json
import os
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from told import tried, url

SERVER = Path(os.environ["TOOLS_NODE"]) / "node_modules" / ".bin" / "mcp-server-postgres"


async def _with(work: object) -> object:
    address = f"{url('postgresql')}?sslmode=disable"
    async with Client(stdio_client(StdioServerParameters(command=str(SERVER), args=[address]))) as client:
        return await work(client)


def through(work: object) -> object:
    try:
        return asyncio.run(_with(work))
    except BaseExceptionGroup as failed:
        while isinstance(failed, BaseExceptionGroup):
            failed = failed.exceptions[0]
        raise failed from None


async def resources(client: Client) -> object:
    return sorted(resource.name for resource in (await client.list_resources()).resources)


async def columns(client: Client) -> object:
    every = (await client.list_resources()).resources
    (trips,) = [relation for relation in every if "trips" in relation.name]
    (content,) = (await client.read_resource(str(trips.uri))).contents
    return json.loads(content.text)


def query(statement: str) -> object:
    async def work(client: Client) -> object:
        result = await client.call_tool("query", {"sql": statement})
        text = "\n".join(part.text for part in result.content)
        if result.is_error:
            raise RuntimeError(text)
        return json.loads(text)

    return through(work)


tried("resources", "list", lambda: through(resources))
tried("resources", "columns of a table", lambda: through(columns))
for statement in (
    "SELECT count(*) FROM trips",
    "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY 1;",
    "SELECT borough, avg(fare) FROM trips JOIN zones ON zone_id = pickup_zone GROUP BY 1 ORDER BY 1",
    "SELECT column_name FROM information_schema.columns WHERE table_name = 'trips' ORDER BY 1",
):
    tried("query", statement, lambda s=statement: query(s))
tried("rows", "SELECT *", lambda: len(query("SELECT * FROM trips LIMIT 3")))
