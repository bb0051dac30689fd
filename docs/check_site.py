"""``python docs/check_site.py``: whether the built site has every public name, and needs nothing from the network."""

from __future__ import annotations

import importlib
import re
import sys
import zlib
from pathlib import Path

SITE = Path(__file__).resolve().parents[1] / "site"
PACKAGES = ("sigma", "learning", "marginals", "adjustment", "theory", "diagnosis", "classifier", "data", "metrics")


def documented() -> set[str]:
    """The names in the site's inventory: four lines of text, then compressed lines that begin with a name."""
    content = (SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(content).decode().splitlines()}


def homes(package: str, name: str) -> set[str]:
    """Where a public name may stand: as it is imported, and as it is defined."""
    found = getattr(importlib.import_module(package), name)
    return {f"{package}.{name}", f"{getattr(found, '__module__', package)}.{name}"}


def missing_names() -> list[str]:
    """Public names that no page shows."""
    known = documented()
    public = [("nslimb", name) for name in importlib.import_module("nslimb").__all__ if not name.startswith("_")]
    for package in PACKAGES:
        module = f"nslimb.{package}"
        public += [(module, name) for name in importlib.import_module(module).__all__]
    packages = {*PACKAGES, "errors"}
    return [
        f"{package}.{name}"
        for package, name in public
        if not (package == "nslimb" and name in packages) and not homes(package, name) & known
    ]


def from_the_network() -> list[str]:
    """Scripts, styles and images of pages that a browser would have to fetch."""
    pattern = re.compile(r'<(?:script|img|link)[^>]+(?:src|href)="(https?://[^"]+)"')
    found = {
        (page.relative_to(SITE), url) for page in SITE.rglob("*.html") for url in pattern.findall(page.read_text())
    }
    return [f"{page}: {url}" for page, url in sorted(found) if "canonical" not in url]


def main() -> None:
    problems = [f"not documented: {name}" for name in missing_names()]
    problems += [f"needs the network: {line}" for line in from_the_network()]
    if problems:
        sys.exit("\n".join(problems))
    print(f"every public name is documented; {len(list(SITE.rglob('*.html')))} pages, none needs the network")


if __name__ == "__main__":
    main()
