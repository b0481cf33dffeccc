"""The shadow's server: where it lies, how it starts and ends, and the walls around its process."""
