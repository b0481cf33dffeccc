"""The pages: what ε does, how to choose it, and what was spent. They are a client of the server like any other.

Promise: a page knows only the answers to its visitor's own connection, the policy, the ledger's lines that the
visitor may see, and the built-in samples. Nothing here can reach a record.
"""
