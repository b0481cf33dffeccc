"""The address at which Prometheus reads the figures."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, start_http_server

from dpsql.metrics.collecting import ServerFigures
from dpsql.metrics.sources import Sources
from dpsql.policy.config import Listen


@contextmanager
def serving_figures(listen: Listen, number: int, sources: Sources) -> Iterator[None]:
    """Serve the figures of a process while it runs: of the `number`th of several at a port so much higher.

    Raises: OSError: the address is not free.
    """
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    registry.register(ServerFigures(sources))
    certificate, key = (None, None) if listen.tls is None else (str(listen.tls.certificate), str(listen.tls.key))
    port = listen.port + number if listen.port else 0
    server, thread = start_http_server(port, listen.host, registry, certificate, key)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
