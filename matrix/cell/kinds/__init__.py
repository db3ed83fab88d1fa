"""One package a kind of work: what a column runs for it."""
