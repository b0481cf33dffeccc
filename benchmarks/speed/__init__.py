"""How long questions take beside the plain queries: on each engine, with and without a snapshot, and as the records grow."""
