"""What every client is made to ask."""

TABLES = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
COLUMNS = (
    "SELECT table_name, column_name, ordinal_position, data_type, is_nullable, col_description(c.oid, ordinal_position)"
    " FROM information_schema.columns JOIN pg_class c ON relname = table_name AND relnamespace = 'public'::regnamespace"
    " WHERE table_schema = 'public' ORDER BY 1, 3"
)
GROUPED = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY payment_type"
LONG = "SELECT count(*) FROM trips WHERE fare > "
"""To be followed by a parameter: 20 gives `LONG_TRIPS`."""
ROWS = "SELECT trip_id, fare FROM trips"
REFUSED = "42501"
"""The SQLSTATE of `ROWS`."""
