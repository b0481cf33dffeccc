"""Fixtures that several rooms share."""

pytest_plugins = ("tests.fix_policy", "tests.fix_world", "tests.fix_dirty")
