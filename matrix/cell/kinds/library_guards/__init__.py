"""What `crosswarp guards` runs in a column: a suite's cases as they are, and with one test of a library turned round.

forcing     an import hook: compiles the library's files with each guard's test told of, and one of them turned
__main__    each case as it is, then once for each guard that it reached; told as lines of JSON
"""
