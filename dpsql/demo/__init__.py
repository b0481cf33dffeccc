"""The demo: made-up taxi trips in the shape of real ones, and a configuration that serves them."""
