"""What runs found: kept, compared, and held against what is known."""
