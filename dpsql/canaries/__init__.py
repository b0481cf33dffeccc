"""An audit by guessing: what answers give away about a synthetic person, beside what was paid for them."""
