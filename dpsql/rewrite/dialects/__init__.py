"""How each engine writes what engines write differently: one file an engine, and one class that says all of it."""
