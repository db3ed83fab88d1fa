"""A run on many machines: an existing engine runs shards, whose parts are gathered and merged."""
