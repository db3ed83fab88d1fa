"""Reads a file's kernels from its text: parameters, launches and the types of arguments. Nothing is imported."""
