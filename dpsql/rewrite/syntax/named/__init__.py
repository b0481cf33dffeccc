"""The meaning of names in a tree: columns, sources, outputs, keys, and the owner of a source's rows."""
