"""What runs inside a column's environment: Python 3.9 syntax, and no dependency but what every column has."""
