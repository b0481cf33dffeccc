"""An audit by guessing: what answers give away about a made-up person, beside what was paid for them."""
