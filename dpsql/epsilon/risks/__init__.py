"""What an attacker knows after an answer: posteriors, and the largest ε that keeps them below a risk."""
