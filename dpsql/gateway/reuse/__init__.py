"""Answers from answers: the releases that a role has paid for, and all that follows from them."""
