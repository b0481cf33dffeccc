"""Money: charges of ε and δ, budgets, and the releases that were paid for."""
