"""The owner's declarations: tables, bounds, domains, privacy units, roles."""
