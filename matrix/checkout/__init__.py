"""A library's checkout: its settings for crosswarp, what its metadata asks for, and what is found in its files."""
