"""Metadata that pyproject.toml cannot state: the README as an index shows it, addresses, and packages outside a wheel.

On an index there is no folder beside the README. Built with CROSSWARP_REPOSITORY (in a workflow of GitHub that is known
without), every link and picture gets the whole address of the file at the release's tag, and the project its URLs.
Built without, no address is made up: such a link stays as its words, and a picture is left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

HERE = Path(__file__).parent
# A picture or a link in Markdown whose goal is a file of the repository; [![picture](…)](…) is both.
_PICTURE = re.compile(r"!\[(?P<words>[^\]]*)\]\((?P<goal>(?!https?:|#)[^)\s]+)\)")
_LINK = re.compile(
    r"(?<!!)\[(?P<words>(?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\((?P<goal>(?!https?:|#|mailto:)[^)\s]+)\)"
)
_CODE = re.compile(r"(^```.*?^```|^(?: {4}|\t)[^\n]*$)", re.M | re.S)


def repository() -> str:
    """Its address without a slash at the end, or an empty text."""
    found = os.environ.get("CROSSWARP_REPOSITORY")
    if not found and os.environ.get("GITHUB_REPOSITORY"):
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        found = f"{server}/{os.environ['GITHUB_REPOSITORY']}"
    return (found or "").rstrip("/")


def for_an_index(text: str, home: str, tag: str) -> str:
    """`text` of README.md with whole addresses below `home`, or without addresses."""

    def picture(found: re.Match[str]) -> str:
        return f"![{found['words']}]({home}/raw/{tag}/{found['goal']})" if home else ""

    def link(found: re.Match[str]) -> str:
        words = found["words"]
        return f"[{words}]({home}/blob/{tag}/{found['goal']})" if home else words

    def prose(part: str) -> str:
        return _LINK.sub(link, _PICTURE.sub(picture, part))

    # Every second part is code, and stays as it is.
    parts = _CODE.split(text)
    parts[::2] = map(prose, parts[::2])
    return "".join(parts)


def addresses(home: str, tag: str) -> dict[str, str]:
    if not home:
        return {}
    return {
        "Repository": home,
        "Documentation": f"{home}/tree/{tag}/docs",
        "Changelog": f"{home}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }


def for_developers(package: str) -> bool:
    return package.startswith("crosswarp.laboratory")


def release() -> str:
    found = re.search(
        r'^__version__ = "(.+)"$', (HERE / "compat" / "copies.py").read_text("utf-8"), re.M
    )
    assert found is not None
    return found[1]


if __name__ == "__main__":
    # Here, so that the tests can read the rest where there is no setuptools.
    from setuptools import setup
    from setuptools.command.build_py import build_py

    class BuildForUsers(build_py):
        """Leaves out the laboratory, which an editable install has: it is for work on crosswarp itself."""

        def finalize_options(self) -> None:
            super().finalize_options()
            self.packages = [name for name in self.packages if not for_developers(name)]

    tag = f"v{release()}"
    setup(
        cmdclass={"build_py": BuildForUsers},
        long_description=for_an_index((HERE / "README.md").read_text("utf-8"), repository(), tag),
        long_description_content_type="text/markdown",
        project_urls=addresses(repository(), tag),
    )
