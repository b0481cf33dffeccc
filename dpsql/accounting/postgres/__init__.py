"""The ledger on a PostgreSQL server, which several dpsql servers may share."""
