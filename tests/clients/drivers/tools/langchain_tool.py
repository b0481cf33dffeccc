"""LangChain's SQLDatabase, with what its tools and chains call: tables, their definitions with sample rows, statements."""

# mypy: ignore-errors

from langchain_community.agent_toolkits import SQLDatabaseToolkit
from langchain_community.utilities import SQLDatabase
from langchain_core.language_models import FakeListChatModel
from told import tried, url

databases: list[SQLDatabase] = []


def connected() -> object:
    databases.append(SQLDatabase.from_uri(url()))
    return databases[0].dialect


tried("connection", "from_uri", connected)
(db,) = databases


def _info(of: SQLDatabase) -> str:
    told = of.get_table_info(["trips"])
    if "error" in told.lower():
        raise RuntimeError(told)
    return told


tried("tables", "get_usable_table_names", lambda: sorted(db.get_usable_table_names()))
tried(
    "tables", "get_table_info without samples", lambda: _info(SQLDatabase.from_uri(url(), sample_rows_in_table_info=0))
)
tried("sample rows", "get_table_info", lambda: _info(db))
tried("sample rows", "get_table_info of zones", lambda: db.get_table_info(["zones"]))


STATEMENTS = (
    "SELECT count(*) FROM trips",
    "SELECT payment_type, COUNT(*) AS n FROM trips GROUP BY payment_type ORDER BY n DESC, payment_type LIMIT 5;",
    'SELECT "borough", AVG("fare") AS "m" FROM trips JOIN zones ON "pickup_zone" = "zone_id" GROUP BY "borough" ORDER BY 1',
    "SELECT passenger_count, avg(fare) FROM trips WHERE payment_type = 'cash' GROUP BY 1 HAVING count(*) > 9 ORDER BY 1",
    "SELECT * FROM trips LIMIT 5",
)
for statement in STATEMENTS:
    tried("statements", statement, lambda s=statement: db.run(s))
tried("statements", "run_no_throw", lambda: db.run_no_throw("SELECT nothing FROM trips").count("does not exist"))


def _tools() -> object:
    checked = "SELECT count(*) FROM trips"
    tools = {
        tool.name: tool for tool in SQLDatabaseToolkit(db=db, llm=FakeListChatModel(responses=[checked])).get_tools()
    }
    return [
        sorted(tools),
        tools["sql_db_list_tables"].invoke(""),
        "CREATE TABLE trips" in tools["sql_db_schema"].invoke("trips"),
        tools["sql_db_query_checker"].invoke("SELECT count(*) FROM trips"),
        tools["sql_db_query"].invoke(checked),
    ]


tried("toolkit", "all tools", _tools)
