"""The first steps of every kind of process: read its specification, compare versions, import, and take its turn."""

from crosswarp.compat import vendors

# Before anything imports Triton: a vendor's build may have another name.
vendors.serve()
