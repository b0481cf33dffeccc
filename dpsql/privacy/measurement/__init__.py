"""The measurements of a scope, how much of them one unit can be, and their cost."""
