"""The small language between the client's SQL and the engine's: expressions, relations, and facts about them."""
