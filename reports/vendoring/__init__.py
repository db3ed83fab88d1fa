"""crosswarp.compat as files inside another package: the files that a shim needs, and those already there."""
