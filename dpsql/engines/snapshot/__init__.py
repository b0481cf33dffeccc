"""dpsql's own copy of the records, which answers for them."""
