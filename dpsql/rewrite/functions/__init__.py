"""The functions that may stand over private rows, each with all that is known of it."""
