"""Conclusions from public facts alone: intervals, domains, group keys."""
