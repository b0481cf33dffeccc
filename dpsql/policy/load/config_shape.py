"""The shape of `config.yaml`: which keys there are; `table_shapes` are those of schema files."""

from typing import Annotated, ClassVar

from pydantic import Field

from dpsql.policy.choices import TrialMode
from dpsql.policy.config import SandboxNeed
from dpsql.policy.load import scalars
from dpsql.policy.load.shapes import (
    Dataset,
    DatasetBudgetShape,
    EngineShape,
    Name,
    Port,
    Refresh,
    RoleShape,
    Scalar,
    StrictShape,
    UserShape,
    scalar_text,
    shown_to_editors,
)
from dpsql.policy.model import Period


class TlsShape(StrictShape):
    """The server's certificate."""

    required: ClassVar = ("certificate", "key")

    certificate: Scalar | None = None
    """A PEM file with the certificate chain."""
    key: Scalar | None = None
    """A PEM file with the private key."""


class AddressShape(StrictShape):
    """Where somebody connects."""

    host: Annotated[str, scalar_text(scalars.host), shown_to_editors("string", minLength=1)] = "127.0.0.1"
    """The address to listen on."""
    port: Port = 0
    """The port; 0 is any free one."""
    tls: TlsShape | None = None
    """The certificate; without one connections are not encrypted."""


class ListenShape(AddressShape):
    """Where clients connect."""

    port: Port = 5439
    """The port; 0 is any free one."""
    processes: Annotated[int, scalar_text(scalars.processes), shown_to_editors("integer", minimum=1, maximum=64)] = 1
    """How many processes accept clients there, 1 to 64; each has an engine and a shadow of its own."""


class WebShape(AddressShape):
    """Where the pages are."""

    port: Port = Field(8439, description="The port; 0 is any free one.")


class MetricsShape(AddressShape):
    """Where Prometheus reads the figures of the server, of several processes each at the next port."""

    port: Port = Field(9439, description="The port; 0 is any free one.")


class ShadowShape(StrictShape):
    """Where the PostgreSQL is that holds the declared tables without records."""

    directory: Scalar | None = None
    """A directory in which dpsql runs its own."""
    account: Name | None = None
    """The account that it runs as when dpsql is root; dpsql-shadow, made if there is none, unless given."""
    sandbox: SandboxNeed = SandboxNeed.AVAILABLE
    """Whether it may run where the kernel has no sandbox: available or required."""
    dsn: Scalar | None = None
    """The connection string of a dedicated server."""


class LdapShape(StrictShape):
    """The directory that knows the passwords of users with `ldap: true`."""

    required: ClassVar = ("url", "user_dn")

    url: Scalar | None = None
    """ldaps://host, or ldap://host, where TLS begins by StartTLS; a port may follow."""
    user_dn: Scalar | None = None
    """The name that users bind as: "uid={user},ou=people,dc=example,dc=org", or "{user}@example.org"."""
    ca: Scalar | None = None
    """A PEM file with the certificates that are believed to be an authority's; the system's unless given."""


class ConfigShape(StrictShape):
    """The configuration of one data set."""

    required: ClassVar = ("dataset", "engine", "schemas", "budget", "roles")

    dataset: Dataset | None = None
    """The data set's name, which clients give as the database."""
    engine: EngineShape | None = None
    """Where the records are."""
    schemas: Scalar | None = None
    """The directory of the schema files, one a table."""
    search_path: list[Name] | None = None
    """The schemas in which names without one are looked for; public unless given."""
    trial: TrialMode = TrialMode.FORMS
    """The statements that are tried on synthetic data before they run on records: forms, always, or off."""
    refresh: Refresh = Period.NEVER
    """When the epoch advances, and stored answers expire and cost ε again: daily, weekly, monthly or never (UTC)."""
    listen: ListenShape = ListenShape()
    """Where clients connect; 127.0.0.1:5439 unless given."""
    metrics: MetricsShape | None = None
    """Where Prometheus reads the figures of the server (the extra `metrics`); off unless given."""
    web: WebShape | None = None
    """Where the pages are; off unless given."""
    state: Scalar | None = None
    """The directory for what dpsql writes itself: ledger, shadow and spills; .dpsql beside the configuration unless given."""
    shadow: ShadowShape | None = None
    """The PostgreSQL without records; shadow in the state's directory unless given."""
    ledger: Scalar | None = None
    """The record of spending: sqlite:///file or postgresql://…; <dataset>/ledger.db in the state's directory unless given."""
    audit: Scalar | None = None
    """The directory of the audit trail, a line for each statement and log-in; beside the ledger unless given."""
    budget: dict[str, DatasetBudgetShape] | None = None
    """The budget of all roles together, per unit kind."""
    roles: dict[str, RoleShape] | None = None
    """The askers."""
    ldap: LdapShape | None = None
    """The directory that knows the passwords of users with `ldap: true`."""
    users: dict[str, UserShape] = Field(default_factory=dict)
    """The people who may log in."""
