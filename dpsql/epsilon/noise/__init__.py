"""How far released values lie from exact ones, and the ε that a level of noise takes."""
