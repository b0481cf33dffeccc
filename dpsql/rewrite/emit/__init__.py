"""Text for the engine."""
