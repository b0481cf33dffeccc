"""The connection to a Spark server, every call of which has a deadline; gRPC is imported with Spark's client only."""

from collections.abc import Callable
from typing import Any

import grpc
from pyspark.sql.connect.client import DefaultChannelBuilder

from dpsql.engines.spark.settings import seconds_left

_OPTIONS = (("grpc.keepalive_time_ms", 310_000), ("grpc.keepalive_timeout_ms", 20_000))
"""A server that vanishes is noticed in less than six minutes: it allows no ping within five."""


class _Deadlines(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]  # untyped
    """Gives calls, which have no deadline by themselves, the rest of their caller's time."""

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return continuation(details._replace(timeout=seconds_left()), request)

    def intercept_unary_stream(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return continuation(details._replace(timeout=seconds_left()), request)


def channel_to(remote: str) -> DefaultChannelBuilder:
    """Return what connects to an address."""
    builder = DefaultChannelBuilder(remote, list(_OPTIONS))
    builder.add_interceptor(_Deadlines())
    return builder
