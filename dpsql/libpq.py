"""What libpq is told about dpsql's own servers, whose address is nobody's to set.

PGCLIENTENCODING, PGOPTIONS, PGSSLMODE and others in the environment are meant for the owner's servers.
"""

import os
from collections.abc import Mapping

# Each undoes a variable of the environment: PGHOSTADDR would lead to another machine than `host` says, PGSSLMODE=require
# would fail where no TLS is spoken, and PGREQUIREAUTH=none refuse our own log-in.
OWN: Mapping[str, str] = {
    "client_encoding": "UTF8",
    "options": " ",
    "sslmode": "disable",
    "gssencmode": "disable",
    "target_session_attrs": "any",
    "channel_binding": "prefer",
    "require_auth": "password,scram-sha-256",
    "hostaddr": "",
}
"""Words of a connection to a server on this machine; what stands in a connection string counts, and not the environment."""
_SENT = ("PGDATESTYLE", "PGTZ", "PGGEQO")


def forget_sent_settings() -> None:
    """Take out of the environment what libpq sends to every server, and what no connection string takes back."""
    for name in _SENT:
        os.environ.pop(name, None)
