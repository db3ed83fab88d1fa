"""The results of runs: stored, compared, and judged by the known issues."""
