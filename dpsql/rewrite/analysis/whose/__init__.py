"""The owners of a relation's rows: columns that name a unit, and rows that find others."""
