"""Fixtures that several rooms share; hypothesis draws the same examples every time, but for `make test-all`.

It times none of them: how busy a machine is says nothing about the code.
"""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

pytest_plugins = (
    "tests.fix_policy",
    "tests.fix_world",
    "tests.fix_dirty",
    "tests.fix_engines",
    "tests.fix_wide",
    "tests.fix_ledger",
)
