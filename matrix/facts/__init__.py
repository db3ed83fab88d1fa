"""The facts, as data with their sources, and what reads them: columns, targets, known issues, the language table."""
