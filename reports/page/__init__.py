"""The page: a static site of one stored run, that opens from disk and asks no network for anything."""

from crosswarp.reports.page.folder import write
from crosswarp.reports.page.ir import Entry
from crosswarp.reports.page.model import Model
from crosswarp.reports.page.site import site

__all__ = ["Entry", "Model", "site", "write"]
