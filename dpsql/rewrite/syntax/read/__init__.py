"""Texts and trees: a text is read as PostgreSQL reads it, and trees are written again."""
