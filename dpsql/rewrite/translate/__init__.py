"""From a client's tree to expressions and relations."""
