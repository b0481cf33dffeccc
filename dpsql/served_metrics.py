"""The figures beside a server, if its configuration wants them, and the extra is installed."""

from contextlib import AbstractContextManager, nullcontext

from dpsql.errors import ConfigError
from dpsql.metrics.sources import Sources
from dpsql.policy.config import Listen


def served_metrics(listen: Listen | None, number: int, sources: Sources) -> AbstractContextManager[None]:
    """Return what serves them while it is entered; nothing where there is no address.

    Raises:
        ConfigError: the extra is not installed.
    """
    if listen is None:
        return nullcontext()
    see_that_there_is_a_client()
    from dpsql.metrics.collecting import serving_figures  # noqa: PLC0415  (which most servers do without)

    return serving_figures(listen, number, sources)


def see_that_there_is_a_client() -> None:
    """See that Prometheus's client is installed.

    Raises:
        ConfigError: it is not.
    """
    try:
        import prometheus_client  # noqa: F401, PLC0415
    except ImportError as missing:
        raise ConfigError(
            f"metrics needs Prometheus's client, which can't be imported: {missing.name}",
            hint="in a checkout of dpsql: pip install '.[metrics]'",
        ) from None
