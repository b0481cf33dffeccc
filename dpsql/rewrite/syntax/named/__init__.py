"""What names in a tree mean: columns, sources, outputs, keys, and whose rows a source has."""
