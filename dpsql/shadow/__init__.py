"""The PostgreSQL without records that clients really talk to."""
