"""The demo: synthetic taxi trips in the shape of real ones, and a configuration that serves them."""
