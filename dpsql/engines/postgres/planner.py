"""The ways in which PostgreSQL may plan a statement: its oldest; all others are off.

Also what a later version brings is off. These settings are ours, also where a DSN has others.
"""

from collections.abc import Collection

ALLOWED_SWITCHES: Collection[str] = (
    "enable_seqscan",
    "enable_indexscan",
    "enable_indexonlyscan",
    "enable_bitmapscan",
    "enable_tidscan",
    "enable_nestloop",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_sort",
    "enable_hashagg",
    "enable_material",
    "enable_gathermerge",
    "enable_parallel_hash",
    "enable_parallel_append",
    "enable_partition_pruning",
)
PLAIN_SWITCHES: Collection[str] = ("enable_seqscan", "enable_nestloop", "enable_sort")
"""With which any statement can be run, by loops and by sorting."""
SWITCHES = """
SELECT pg_catalog.array_agg(name ORDER BY name) FROM pg_catalog.pg_settings
 WHERE name OPERATOR(pg_catalog.~~) 'enable\\_%' AND context OPERATOR(pg_catalog.=) 'user'
"""
"""The ways to plan that a server has and can switch off."""


def without_switches(switches: Collection[str], allowed: Collection[str]) -> str:
    """Return libpq's options that leave only what is allowed."""
    return "".join(f" -c {name}=off" for name in switches if name not in allowed)
