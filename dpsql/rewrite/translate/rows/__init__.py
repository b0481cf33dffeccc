"""Relations: what a scope reads, whose rows they are, and how many of each unit's there may be."""
