"""A failing cell, prepared to hand on: one script, and a draft entry for issues.toml."""
