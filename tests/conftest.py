"""Fixtures that several rooms share; hypothesis draws the same examples every time, but for `make test-all`."""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

pytest_plugins = (
    "tests.fix_policy",
    "tests.fix_world",
    "tests.fix_dirty",
    "tests.fix_engines",
    "tests.fix_wide",
    "tests.fix_ledger",
)
