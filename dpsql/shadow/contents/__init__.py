"""The contents of the shadow and the rights of its roles: tables without records, guards, operators that end."""
