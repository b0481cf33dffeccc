"""What a statement would cost and be worth, in EXPLAIN and in notices."""
