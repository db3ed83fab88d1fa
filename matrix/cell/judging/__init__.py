"""Judge one execution: compare its numbers, name an exception or a death, and make the message comparable."""
