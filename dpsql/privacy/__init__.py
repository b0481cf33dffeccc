"""Budgets, measurements, noise, releases: the noising layer."""
