"""Expressions on one row: from the client's tree to ours, with the facts that are known of each."""
