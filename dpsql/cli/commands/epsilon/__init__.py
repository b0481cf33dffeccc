"""`dpsql epsilon`: its commands."""
