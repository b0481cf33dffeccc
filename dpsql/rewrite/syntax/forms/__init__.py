"""Forms of SQL in other words: each module turns one form into one that is answered already."""
