"""Waiting for an engine that starts later than dpsql does."""

import logging
import time
from contextlib import closing

from dpsql.engines.base import NoEngine
from dpsql.engines.connect import connect_engine
from dpsql.notify import notify
from dpsql.policy.config import Config

_LOG = logging.getLogger("dpsql.server")
_PAUSE = 2.0  # seconds


def wait_for_engine(config: Config) -> None:
    """Return once the engine can be asked; say why not, once for each reason.

    Raises:
        ConfigError: waiting would not help.
    """
    said = ""
    while True:
        try:
            with closing(connect_engine(config)):
                return
        except NoEngine as away:
            why = f"{away.message}: {away.hint}"
        if why != said:
            said = why
            _LOG.warning("the engine is waited for: %s", why)
            notify(STATUS=f"waiting: {' '.join(why.split())}")
        time.sleep(_PAUSE)
