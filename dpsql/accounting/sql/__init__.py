"""The ledger's lines in SQL: what is the same whichever database holds them."""
