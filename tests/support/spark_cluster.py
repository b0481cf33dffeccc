"""A cluster of Apache Spark on this machine: a master, two workers and a Spark Connect server, which end with the tests."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dpsql.engines.spark.client import SparkConnection
from tests.clients.site import free_port

_HOST = "127.0.0.1"
_WORKERS = 2
_PATIENCE = 240.0
_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
"""Six programs of a few minutes: to compile them thoroughly takes longer than it saves."""
_SETTINGS = {
    "spark.connect.grpc.binding.address": _HOST,
    "spark.driver.host": _HOST,
    # What is kept of hundreds of statements, for pages that there are not, fills a gigabyte.
    "spark.driver.memory": "2g",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.executor.memory": "900m",
    "spark.locality.wait": "0s",
    "spark.log.level": "WARN",
    # A job a statement, and not one a shuffle: of a few thousand rows nothing is learnt between them.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@contextmanager
def spark_cluster(home: Path) -> Iterator[str]:
    """Start what an installation of Spark at `home` has; give the server's address."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-cluster-"))
    master, port = f"spark://{_HOST}:{free_port()}", free_port()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)

        def start(name: str, *command: str) -> subprocess.Popen[bytes]:
            return stack.enter_context(_running(directory, name, [str(home / "bin" / command[0]), *command[1:]]))

        node = ("--host", _HOST, "--webui-port", "0")
        start("master", "spark-class", "org.apache.spark.deploy.master.Master", *node, "--port", master.split(":")[2])
        for number in range(_WORKERS):
            own = ("--cores", "1", "--memory", "1g", "--work-dir", str(directory / f"{number}"))
            start(f"worker{number}", "spark-class", "org.apache.spark.deploy.worker.Worker", *node, *own, master)
        settings = _SETTINGS | {
            "spark.connect.grpc.binding.port": f"{port}",
            "spark.sql.warehouse.dir": f"{directory / 'warehouse'}",
        }
        server = start(
            "server",
            *("spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", master),
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        )
        _wait_for(server, port, directory / "server.log")
        _ask_once(f"sc://{_HOST}:{port}")
        yield f"sc://{_HOST}:{port}"


@contextmanager
def _running(directory: Path, name: str, command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that is killed with us, whatever becomes of us."""
    with (
        (directory / f"{name}.log").open("wb") as log,
        subprocess.Popen(  # noqa: S603
            ["setpriv", "--pdeathsig", "KILL", *command],  # noqa: S607
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env={"PATH": "/usr/bin:/bin", "SPARK_LOCAL_IP": _HOST, "JAVA_TOOL_OPTIONS": _JAVA},
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def _ask_once(address: str) -> None:
    """Have the workers' programs started and a shuffle done: on a busy machine longer than tests give a statement."""
    connection = SparkConnection.of(address)
    connection.bind(
        "SELECT id % 7 AS i, CAST(count(*) AS STRING) AS n FROM range(0, 100, 1, 2) GROUP BY id % 7"
    ).toArrow()
    connection.close()


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the server listens."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        with socket.socket() as tried:
            if tried.connect_ex((_HOST, port)) == 0:
                return
        assert server.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
