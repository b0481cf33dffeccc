"""dpsql beside SmartNoise SQL and Qrlew: 22 questions, the same records, equal ε; `make bench-peers`."""
