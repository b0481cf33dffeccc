"""Messages of the PostgreSQL protocol, and the bytes they travel in."""
