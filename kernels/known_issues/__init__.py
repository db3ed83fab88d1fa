"""One small kernel for each known upstream issue that no kernel of the suite shows by itself.

Without compat, each fails on the versions that its entry in ``matrix/facts/issues.toml`` names, and passes on all
others.
"""
