"""From exact measurements to what a client sees."""
