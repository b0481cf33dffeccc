"""The page Choose: how large ε may be, what one answer could reveal, and what a month of questions comes to."""
