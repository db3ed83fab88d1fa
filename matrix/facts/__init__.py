"""The facts, as data with their sources, and their readers: columns, targets, known issues, the language table."""
