"""Where randomness meets data: noise, private choices and thresholds."""
