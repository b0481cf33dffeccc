"""What the shadow holds and what its roles may do: tables without records, guards, operators that end."""
