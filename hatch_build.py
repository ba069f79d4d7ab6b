"""Build hooks: make the project's addresses from one setting, `base-address` in pyproject.toml.

Without a base address the metadata names no address, the links of README.md stay relative, and schemas keep their `$id`.
"""

import json
import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURES = (".gif", ".jpg", ".png", ".svg", ".webp")
LINK = re.compile(r"""(\]\(|(?:src|srcset|href)=")(?![a-z][a-z+.-]*:|[#/])([^)\s"]+)""")
"""A relative link of Markdown, or of HTML in it."""


class ProjectMetadata(MetadataHookInterface):
    """Add the README and the project's addresses to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls`, the two dynamic fields of pyproject.toml."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        base = self.config["base-address"].rstrip("/")
        if base:
            tag = f"v{metadata['version']}"
            text = absolute_links(text, base, tag)
            metadata["urls"] = {
                "Homepage": base,
                "Documentation": f"{base}/blob/{tag}/docs/README.md",
                "Changelog": f"{base}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{base}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class AddressedSchemas(BuildHookInterface[Any]):
    """Replace the `$id` of each schema in the wheel by its address."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the schemas with addresses to a temporary folder, from which they are packed."""
        project = tomllib.loads((Path(self.root) / "pyproject.toml").read_text(encoding="utf-8"))
        base = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["base-address"].rstrip("/")
        if not base or version == "editable":
            return
        folder = Path(tempfile.mkdtemp(prefix="evalmark-schemas-"))
        for path in sorted((Path(self.root) / "src").rglob("*.schema.json")):
            place = path.relative_to(self.root).as_posix()
            schema = json.loads(path.read_text(encoding="utf-8"))
            address = {"$schema": schema["$schema"], "$id": f"{base}/raw/v{self.metadata.version}/{place}"}
            packed = folder / place.replace("/", "-")
            packed.write_text(
                json.dumps({**address, **schema, **address}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            build_data["force_include"][str(packed)] = place.removeprefix("src/")


def absolute_links(text: str, base: str, tag: str) -> str:
    """Return Markdown with its relative links made absolute: pages of the repository, and files for pictures."""

    def absolute(link: re.Match[str]) -> str:
        before, path = link.groups()
        view = "raw" if path.lower().endswith(PICTURES) else "blob"
        return f"{before}{base}/{view}/{tag}/{path}"

    return LINK.sub(absolute, text)
