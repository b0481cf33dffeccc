"""Constants and queries over public rows, spelled by us for the shadow to evaluate."""
