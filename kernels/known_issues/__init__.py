"""One small kernel for each known upstream issue that no kernel of the suite shows by itself.

Each is red, bare, on the versions that its record in ``matrix/facts/issues.toml`` names, and green on all others.
"""
