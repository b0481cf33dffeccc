"""From SQL text to facts about a relation, and from facts to the engine's SQL."""
