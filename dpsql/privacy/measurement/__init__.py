"""What is measured for a scope, how much of it one unit can be, and what it costs."""
