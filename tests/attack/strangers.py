"""Log-ins of several roles on one server: who asks, and those to whom the answers are none of their business."""

from pathlib import Path

import psycopg

from tests.clients.site import Site
from tests.support.schema import APART, SCHEMA, configured, said_apart

STRANGERS = ("dan", "nora", "vic", "olga")
"""Of another unit kind; without a right to fares; of one view only; an owner."""

_ROLES = """\
  drivers: {protects: driver, budget: {epsilon: 1000}, per_query: {epsilon: 1}}
  narrow:
    protects: passenger
    budget: {epsilon: 1000}
    per_query: {epsilon: 1}
    columns: {trips: [passenger_id, payment_type, tip]}
  viewer: {protects: passenger, budget: {epsilon: 1000}, per_query: {epsilon: 1}, tables: [tips]}
  owner: {protects: passenger, budget: {epsilon: 1000}, per_query: {epsilon: 1}, owner: true}
"""
_VIEW = """\
table: tips
view: SELECT tip FROM trips
"""
_OF = {"dan": "drivers", "nora": "narrow", "vic": "viewer", "olga": "owner"}


def with_strangers(config: Path) -> Path:
    """Add them to what `configure` has written; all have the one password."""
    text = config.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("  ana:"))
    text = text.replace(
        "budget: {passenger: {epsilon: 10000000}}", "budget: {passenger: {epsilon: 10000000}, driver: {epsilon: 1000}}"
    )
    text = text.replace("users:\n", f"{configured(_ROLES)}users:\n")
    for user, role in _OF.items():
        text += line.replace("ana", user, 1).replace("role: analyst", f"role: {role}") + "\n"
    config.write_text(text, encoding="utf-8")
    (config.parent / "declared" / (APART * SCHEMA) / "tips.yaml").write_text(said_apart(_VIEW), encoding="utf-8")
    return config


def log_in(site: Site, user: str) -> psycopg.Connection:
    """Return a session of a user's, in autocommit."""
    return psycopg.connect(site.dsn.replace("user=ana", f"user={user}"), autocommit=True)
