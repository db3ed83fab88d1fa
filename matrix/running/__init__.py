"""A run, from its plan to its last record: processes, their streams, and the searches that are made of runs."""
