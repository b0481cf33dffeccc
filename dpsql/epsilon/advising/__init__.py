"""From a promise to people to the budgets of a policy: rules, periods, and the advice in words."""
