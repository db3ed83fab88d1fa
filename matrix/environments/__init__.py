"""A column's environment: which versions it asks for, and uv building it."""
