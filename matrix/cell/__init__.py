"""The code that runs inside a column's environment: Python 3.9 syntax, and only dependencies that every column has."""
