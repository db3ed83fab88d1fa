"""The sides of the laboratory that run inside a column, one package a kind of work."""
