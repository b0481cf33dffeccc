"""The pages: what ε does, how to choose it, and what was spent. They are a client of the server like any other.

Promise: a page knows what its visitor's own connection to the server was answered, what the policy declares, the
ledger's lines that the visitor may see, and the built-in samples. Nothing here can reach a record.
"""
