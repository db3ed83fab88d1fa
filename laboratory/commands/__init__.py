"""The commands that a checkout adds to the command line. Each module has the face of those in `reports.commands`."""
