"""A library's checkout: its settings for crosswarp, its requirements, and the facts in its files."""
