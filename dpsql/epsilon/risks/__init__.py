"""An attacker's knowledge after an answer: posteriors, and the largest ε that keeps them below a risk."""
