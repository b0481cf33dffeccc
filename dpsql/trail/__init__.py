"""The audit trail: a line for each statement and log-in, chained by hashes, in files that only grow.

Promise: no line holds a value of the data; and no private answer and no log-in goes out before its line is on the disk.
"""
