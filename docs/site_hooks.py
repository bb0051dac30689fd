"""What the site's theme would fetch from the network is taken from the site itself."""

from __future__ import annotations

from typing import Any

_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
_HERE = "assets/search_from_files.js"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Of each page, by a path relative to it."""
    return output.replace(_ELSEWHERE, "../" * page.file.dest_uri.count("/") + _HERE)


def on_post_template(output_content: str, **_: Any) -> str:
    """Of the page for addresses that do not exist, which only a server shows."""
    return output_content.replace(_ELSEWHERE, _HERE)
