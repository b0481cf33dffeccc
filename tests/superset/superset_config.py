"""Superset for one test: its own SQLite file, no caches, no barriers between the test and its interface."""

import os

SECRET_KEY = "for as long as a test runs"  # noqa: S105 # nothing outlives it
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_HOME']}/superset.db"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
# Each load of a dashboard shall really ask.
CACHE_CONFIG = DATA_CACHE_CONFIG = {"CACHE_TYPE": "NullCache"}
FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {"CACHE_TYPE": "SimpleCache"}
LOG_LEVEL = "WARNING"
