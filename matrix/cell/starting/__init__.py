"""What the process of every kind does first: read its specification, compare versions, import, and take its turn."""
