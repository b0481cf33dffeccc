"""Where the records are: the only rooms that read them."""
