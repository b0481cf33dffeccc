"""All small databases that an attacker may take for the true one, and what statistics say of each."""
