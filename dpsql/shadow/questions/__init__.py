"""The questions of planning to the shadow: what a query means, and which values its constants have."""
