"""From a question to a statement over released rows."""
