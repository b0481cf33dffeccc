"""How far off released values are."""
