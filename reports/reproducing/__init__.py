"""A red cell as something to hand on: one script, and a record for issues.toml."""
