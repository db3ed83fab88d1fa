"""crosswarp.compat as files inside another package: which files a shim needs, and what lies there already."""
