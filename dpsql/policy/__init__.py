"""What the data's owner declares: tables, bounds, domains, privacy units, roles."""
