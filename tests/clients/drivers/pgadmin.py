"""pgAdmin 4's own application, asked what its pages ask; runs in pgAdmin's environment and prints what came of each step."""

# mypy: ignore-errors

import builtins
import json
import os
import secrets
import sys
import time
from pathlib import Path

builtins.SERVER_MODE = False
ROOT = next(Path(place) / "pgadmin4" for place in sys.path if (Path(place) / "pgadmin4" / "pgAdmin4.py").is_file())
sys.path.insert(0, str(ROOT))
os.chdir(ROOT)

import config  # noqa: E402  pgAdmin's

config.MASTER_PASSWORD_REQUIRED = False
config.USE_OS_SECRET_STORAGE = False
config.UPGRADE_CHECK_ENABLED = False

import pgAdmin4  # noqa: E402

app = pgAdmin4.app
app.PGADMIN_INT_KEY = ""
app.config["WTF_CSRF_ENABLED"] = False
client = app.test_client()


DATABASE = json.loads(os.environ["DPSQL"])["database"]


def asked(method: str, path: str, **more: object) -> object:
    """Return what a page gets; an error is a text."""
    answer = client.open(path, method=method, **more)
    try:
        reply = answer.get_json()
    except Exception:  # noqa: BLE001  whatever it is that was sent
        return f"{answer.status_code} {answer.get_data(as_text=True)[:500]}"
    if answer.status_code != 200 or (isinstance(reply, dict) and reply.get("success") == 0):
        return f"{answer.status_code} {json.dumps(reply)[:800]}"
    return reply


def data(reply: object) -> object:
    """Return the part of an answer that pages show."""
    return reply.get("data", reply) if isinstance(reply, dict) else reply


def labels(reply: object) -> object:
    """Return the names of nodes of the tree."""
    nodes = data(reply)
    return [node.get("label") for node in nodes] if isinstance(nodes, list) else nodes


def polled(transaction: int) -> object:
    """Return the rows of a statement that runs, or its error."""
    for _ in range(200):
        reply = data(asked("GET", f"/sqleditor/poll/{transaction}"))
        if not isinstance(reply, dict) or reply.get("status") != "Busy":
            break
        time.sleep(0.05)
    if not isinstance(reply, dict) or reply.get("status") != "Success":
        return reply.get("result", reply) if isinstance(reply, dict) else reply
    return {"rows": reply.get("result"), "messages": reply.get("additional_messages")}


def queried(place: str, statement: str) -> object:
    """Return what the query tool shows."""
    transaction = secrets.randbelow(9_000_000) + 1
    opened = asked(
        "POST",
        f"/sqleditor/initialize/sqleditor/{transaction}/{place}",
        data=json.dumps({"dbname": DATABASE, "user": None}),
    )
    if isinstance(opened, str):
        return opened
    started = asked("POST", f"/sqleditor/query_tool/start/{transaction}", data=json.dumps({"sql": statement}))
    return started if isinstance(started, str) else polled(transaction)


def viewed(place: str, command: int, table: int) -> object:
    """Return what View Data shows: 1 is the first 100 rows, 3 all."""
    transaction = secrets.randbelow(9_000_000) + 1
    path = f"/sqleditor/initialize/viewdata/{transaction}/{command}/table/{place}/{table}"
    opened = asked("POST", path, data=json.dumps({"sql_filter": ""}))
    if isinstance(opened, str):
        return opened
    started = asked("GET", f"/sqleditor/view_data/start/{transaction}")
    return started if isinstance(started, str) else polled(transaction)


def main() -> None:
    """Take all steps."""
    told: dict[str, object] = {}
    wanted = json.loads(os.environ["DPSQL"])
    words = {"name": "dpsql", "db": wanted["database"], "username": wanted["user"], "port": wanted["port"]}
    more = {"host": wanted["host"], "connection_params": {"sslmode": "disable"}, "comment": "", "connect_now": False}
    made = asked("POST", "/browser/server/obj/1/", data=json.dumps({**words, **more, "role": "", "shared": False}))
    told["registered"] = made if isinstance(made, str) else "yes"
    server = made["node"]["_id"]
    opened = asked("POST", f"/browser/server/connect/1/{server}", data=json.dumps({"password": wanted["password"]}))
    told["connect"] = opened if isinstance(opened, str) else bool(data(opened)["connected"])
    nodes = data(asked("GET", f"/browser/database/nodes/1/{server}/"))
    told["databases"] = [each["label"] for each in nodes] if isinstance(nodes, list) else nodes
    database = next(each["_id"] for each in nodes if each["label"] == wanted["database"])
    joined = asked("POST", f"/browser/database/connect/1/{server}/{database}")
    told["database"] = joined if isinstance(joined, str) else "connected"
    place = f"1/{server}/{database}"
    schemas = data(asked("GET", f"/browser/schema/nodes/{place}/"))
    told["schemas"] = [each["label"] for each in schemas] if isinstance(schemas, list) else schemas
    schema = next(each["_id"] for each in schemas if each["label"] == "public")
    tables = data(asked("GET", f"/browser/table/nodes/{place}/{schema}/"))
    told["tables"] = [each["label"] for each in tables] if isinstance(tables, list) else tables
    table = next(each["_id"] for each in tables if each["label"] == "trips")
    for node in ("column", "foreign_key", "row_security_policy", "primary_key", "trigger", "rule", "index"):
        told[f"tree {node}"] = labels(asked("GET", f"/browser/{node}/nodes/{place}/{schema}/{table}/"))
    properties = asked("GET", f"/browser/table/obj/{place}/{schema}/{table}")
    told["properties"] = properties if isinstance(properties, str) else data(properties).get("name")
    source = asked("GET", f"/browser/table/sql/{place}/{schema}/{table}")
    told["SQL"] = source if isinstance(source, str) and source[:4].isdecimal() else "CREATE TABLE" in str(source)
    for node in ("view", "function", "sequence", "type", "domain", "mview"):
        told[f"tree {node}s"] = labels(asked("GET", f"/browser/{node}/nodes/{place}/{schema}/"))
    for node in ("extension", "language", "event_trigger", "cast", "foreign_data_wrapper", "publication"):
        told[f"tree {node}s"] = labels(asked("GET", f"/browser/{node}/nodes/{place}/"))
    for node in ("role", "tablespace"):
        told[f"tree {node}s"] = labels(asked("GET", f"/browser/{node}/nodes/1/{server}/"))
    statistics = asked("GET", f"/browser/table/stats/{place}/{schema}/{table}")
    told["statistics"] = statistics if isinstance(statistics, str) else "shown"
    charts = "session_stats,tps_stats,ti_stats,to_stats,bio_stats"
    for name in (
        f"dashboard_stats/{server}?chart_names={charts}",
        f"dashboard_stats/{server}/{database}?chart_names={charts}",
        f"activity/{server}",
        f"activity/{server}/{database}",
        f"locks/{server}",
        f"locks/{server}/{database}",
        f"prepared/{server}",
        f"prepared/{server}/{database}",
        f"config/{server}",
        f"replication_stats/{server}",
        f"replication_slots/{server}",
    ):
        reply = asked("GET", f"/dashboard/{name}")
        kind = name.replace(f"/{server}/{database}", " of the database").replace(f"/{server}", "").partition("?")[0]
        told[f"dashboard {kind}"] = reply if isinstance(reply, str) else "shown"
    told["query"] = queried(place, "SELECT payment_type, count(*) FROM trips GROUP BY 1 ORDER BY 1")
    told["refused"] = queried(place, "SELECT * FROM trips")
    told["explained"] = queried(place, "EXPLAIN (FORMAT JSON) SELECT count(*) FROM trips")
    told["first rows"] = viewed(place, 1, table)
    told["all rows"] = viewed(place, 3, table)
    sys.stdout.write(json.dumps(told, default=str, indent=1))


main()
