"""A number for a key, where locks have numbers for names."""

from hashlib import sha256


def place_of_key(key: str) -> int:
    """Return a number from 0 to 2⁶² − 1; that two keys share one costs no more than a wait."""
    return int.from_bytes(sha256(key.encode()).digest()[:8]) >> 2
