"""A run on many machines: shares handed to an engine that exists, their parts gathered and merged."""
