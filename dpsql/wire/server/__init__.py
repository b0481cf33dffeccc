"""Connections: who may come in, and who is there."""
