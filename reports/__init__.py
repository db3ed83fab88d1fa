"""Reports: pure functions of what the store holds, and the command line that shows them."""
