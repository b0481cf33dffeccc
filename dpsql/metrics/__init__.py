"""Figures of a running server for Prometheus, from the extra `metrics`.

Promise: no statement, no user and no value of the data is in them. Budgets of all roles and the time that statements take
are, which owners and operators may see: they have an address of their own.
"""
