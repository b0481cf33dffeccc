"""Any database that Python reads: what its catalogue says, and its rows on their way into dpsql's own copy."""
