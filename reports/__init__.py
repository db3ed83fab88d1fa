"""Reports: pure functions of the store's contents, and the command line that shows them."""
