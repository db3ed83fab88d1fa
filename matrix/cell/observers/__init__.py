"""What looks on while a machine executes."""
