"""What follows from public facts alone: intervals, domains, group keys."""
