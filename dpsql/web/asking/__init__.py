"""The page Ask: statements that a visitor writes, their price before they are asked, and their answers."""
