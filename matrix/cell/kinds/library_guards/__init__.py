"""The part of `crosswarp guards` in a column: run a suite's cases as they are, and with one version check inverted.

forcing     an import hook: compiles the library's files so that each version check is noted, and one is inverted
__main__    runs each case as it is, then once for each version check that it reached; writes lines of JSON
"""
