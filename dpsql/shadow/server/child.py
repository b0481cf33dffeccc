"""Starts the shadow's server as a child process, with all its settings on the command line: it can't change them itself."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from dpsql.private_files import open_private
from dpsql.shadow.server import landlock, launch, seccomp
from dpsql.shadow.server.binaries import Binaries
from dpsql.shadow.server.cluster import FAST_SECRETS
from dpsql.shadow.server.place import Place
from dpsql.shadow.server.sandbox import Sandbox

_MEMORY = 2 * 1024**3  # address space of one session

_SETTINGS = """
listen_addresses =
unix_socket_permissions = 0700
shared_preload_libraries =
session_preload_libraries =
local_preload_libraries =
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_prepared_transactions = 0
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
huge_pages = off
wal_buffers = 1MB
min_wal_size = 32MB
max_wal_size = 64MB
temp_file_limit = 1GB
autovacuum = off
jit = off
max_parallel_workers = 0
max_parallel_workers_per_gather = 0
logging_collector = off
log_min_messages = fatal
log_min_error_statement = panic
track_activities = off
track_counts = off
timezone = UTC
"""


def start(place: Place, installed: Binaries, sandbox: Sandbox, connections: int) -> subprocess.Popen[bytes]:
    """Start the server; it may not be ready yet, nor live for long."""
    with os.fdopen(open_private(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as output:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", launch.__file__, json.dumps(_plan(place, installed, sandbox, connections))],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _plan(place: Place, installed: Binaries, sandbox: Sandbox, connections: int) -> launch.LaunchPlan:
    program = installed.directory / "postgres"
    rules = landlock.Ruleset(b"", ())
    if sandbox.landlock:
        read = (place.admitted, place.identities)
        rules = landlock.ruleset(sandbox.landlock, program, read=read, data=place.data, sockets=place.sockets)
    settings = [part for setting in _settings(place, installed, connections) for part in ("-c", setting)]
    return launch.LaunchPlan(
        uid=-1 if place.account is None else place.account.uid,
        gid=-1 if place.account is None else place.account.gid,
        parent=os.getpid(),
        memory=_MEMORY,
        ruleset=rules.attributes.hex(),
        rules=list(rules.rules),
        filter=seccomp.program(sandbox.landlock).hex() if sandbox.filtered else "",
        environment={},
        program=[str(program), "-D", str(place.data), *settings],
    )


def _settings(place: Place, installed: Binaries, connections: int) -> Iterator[str]:
    yield from (line.replace(" = ", "=").replace(" =", "=") for line in _SETTINGS.split("\n") if line)
    yield f"unix_socket_directories={place.sockets}"
    yield f"hba_file={place.admitted}"
    yield f"ident_file={place.identities}"
    yield f"max_connections={connections}"
    if installed.major >= FAST_SECRETS:
        yield "scram_iterations=1"
