"""One package for each kind of work that a column runs."""
