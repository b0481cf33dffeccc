"""The figures themselves, by the names that Prometheus keeps them under."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from dpsql.accounting.balance import Account, Balance
from dpsql.clock import BOUNDS
from dpsql.errors import DpsqlError
from dpsql.metrics.sources import Sources
from dpsql.open_ledger import place_of_ledger, place_of_trail
from dpsql.policy.config import Listen, SqliteLedgerConfig
from dpsql.policy.model import Period


class ServerFigures(Collector):
    """Reads the figures of one process."""

    def __init__(self, sources: Sources) -> None:
        """Read them from `sources`."""
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        """Yield all of them; what can't be read now is left out."""
        for read in (_traffic, _statements, _stages, _budgets, _health, _disks):
            try:
                # To its end before anything is yielded: a reader that fails in the middle tells none of its figures, and the
                # others tell theirs.
                yield from list(read(self._sources))
            except (DpsqlError, OSError):
                continue


def _gauge(name: str, about: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=labels)
    for names, value in values:
        family.add_metric(names, value)
    return family


def _traffic(sources: Sources) -> Iterator[Metric]:
    seen = sources.listener.traffic()
    sessions = {"logging in": seen.unauthenticated, "logged in": seen.sessions, "in the shadow": seen.in_shadow}
    yield _gauge("dpsql_sessions", "Connections of SQL clients.", ("state",), (((k,), v) for k, v in sessions.items()))
    waiting = (((kind,), number) for kind, number in seen.waiting.items())
    yield _gauge("dpsql_waiting", "Statements that wait for their turn or a thread.", ("work",), waiting)


def _statements(sources: Sources) -> Iterator[Metric]:
    statements = CounterMetricFamily(
        "dpsql_statements", "Statements by their verdict in the audit trail.", labels=("role", "verdict")
    )
    log_ins = CounterMetricFamily("dpsql_log_ins", "Log-ins by their verdict.", labels=("verdict",))
    for (event, role, verdict), number in sources.trail.counts().items():
        if event == "statement":
            statements.add_metric((role, verdict), number)
        elif event == "log-in":
            log_ins.add_metric((verdict,), number)
    yield statements
    yield log_ins


def _stages(sources: Sources) -> Iterator[Metric]:
    family = HistogramMetricFamily(
        "dpsql_stage_seconds", "How long the stages of private statements take.", labels=("stage",)
    )
    for stage, seen in sorted(sources.times.seen().items()):
        upper = (*map(str, BOUNDS), "+Inf")
        # Prometheus' buckets add up: each has all that took no longer than its bound.
        buckets = [(bound, float(number)) for bound, number in zip(upper, accumulate(seen.counts), strict=True)]
        family.add_metric((stage,), buckets, seen.seconds)
    yield family


def _budgets(sources: Sources) -> Iterator[Metric]:
    config, engine = sources.serving()
    policy, read = config.policy, None if engine.edition is None else engine.edition.read
    # Of no user: a user's share of a budget is no figure here.
    balances = {
        name: sources.ledger.balance(Account("", role, policy.budgets[role.protects]), read=read)
        for name, role in policy.roles.items()
    }
    # The data set's part is the same in the balance of each role of a unit kind; any of them tells it.
    kinds = {balance.account.role.protects: balance for balance in balances.values()}
    for name, about, of_role, of_kind in (
        ("epsilon_spent", "ε that was charged", lambda b: b.role_spent.epsilon, lambda b: b.dataset_spent.epsilon),
        (
            "epsilon_budget",
            "ε that may be spent",
            lambda b: b.role_total.epsilon,
            lambda b: b.account.dataset.total.epsilon,
        ),
        ("delta_spent", "δ that was charged", lambda b: b.role_spent.delta, lambda b: b.dataset_spent.delta),
        ("delta_budget", "δ that may be spent", lambda b: b.role_total.delta, lambda b: b.account.dataset.total.delta),
    ):
        yield _amounts(f"dpsql_role_{name}", f"{about} by a role in its present period.", "role", balances, of_role)
        yield _amounts(f"dpsql_data_set_{name}", f"{about} by all roles of a unit kind.", "unit", kinds, of_kind)
    closed = (((name,), float(balance.closed)) for name, balance in balances.items())
    yield _gauge("dpsql_account_closed", "Whether a role's account is closed.", ("role",), closed)
    refused = (((name,), float(len(balance.broken))) for name, balance in balances.items())
    yield _gauge("dpsql_forms_refused", "Forms of statements that a bug has refused to a role.", ("role",), refused)


def _amounts(
    name: str, about: str, label: str, balances: Mapping[str, Balance], amount: Callable[[Balance], Fraction]
) -> Metric:
    return _gauge(name, about, (label,), (((of,), float(amount(balance))) for of, balance in balances.items()))


def _health(sources: Sources) -> Iterator[Metric]:
    _, engine = sources.serving()
    yield _gauge(
        "dpsql_ready", "Whether private questions would be answered.", (), [((), float(sources.ready().answers))]
    )
    yield _gauge(
        "dpsql_audit_writable", "Whether the audit trail is written.", (), [((), float(sources.trail.writable))]
    )
    epoch = sources.ledger.epoch(Period.NEVER)  # the last one: a look begins none
    yield _gauge("dpsql_epoch", "The number of the epoch.", (), [((), epoch)])
    if engine.edition is not None:
        taken = engine.edition.taken.timestamp()
        yield _gauge("dpsql_snapshot_timestamp_seconds", "When the snapshot was begun.", (), [((), taken)])
    ends = {"listen": sources.listener.certificate_ends, "web": sources.page_certificate()}
    values = [((address,), when.timestamp()) for address, when in ends.items() if when is not None]
    yield _gauge("dpsql_certificate_end_timestamp_seconds", "When a certificate ends.", ("address",), values)


def _disks(sources: Sources) -> Iterator[Metric]:
    config = sources.serving()[0]
    places = {"audit": place_of_trail(config)}
    if isinstance(config.ledger, SqliteLedgerConfig):
        places["ledger"] = place_of_ledger(config).parent
    free = (((of,), float(shutil.disk_usage(place).free)) for of, place in places.items())
    yield _gauge(
        "dpsql_disk_free_bytes", "What is free on the disk of the ledger, and of the audit trail.", ("of",), free
    )


# The address at which Prometheus reads the figures.


@contextmanager
def serving_figures(listen: Listen, number: int, sources: Sources) -> Iterator[None]:
    """Serve the figures of a process while it runs: of the `number`th of several at a port so much higher.

    Raises:
        OSError: the address is not free.
    """
    # A registry of our own: the library's would keep the figures of a server that has ended in this process. auto_describe
    # would read all figures to register them.
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    registry.register(ServerFigures(sources))
    certificate, key = (None, None) if listen.tls is None else (str(listen.tls.certificate), str(listen.tls.key))
    # Each process counts for itself, and is read at a port of its own.
    port = listen.port + number if listen.port else 0
    server, thread = start_http_server(port, listen.host, registry, certificate, key)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
