"""Numbers of one row, whose noisy sums all statistics are read off."""
