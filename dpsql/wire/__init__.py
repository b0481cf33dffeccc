"""The PostgreSQL protocol between clients and the shadow."""
