"""A trial that will not be done in time ends when that is to be foreseen, and says little in the log."""
