"""The step `fetch`: get an image source and verify it."""

from __future__ import annotations

from nslimb.data.catalogue import SOURCES, fetch, open_source
from nslimb.experiment.jobs.recipe import Host, Recipe


def fetch_source(recipe: Recipe, host: Host) -> None:
    """Make or download a built-in source into the data folder; one's own is where it is, and is read once."""
    spec, own = recipe["source"]["spec"], recipe["source"]["spec"] not in SOURCES
    source = open_source(spec, base=host.base) if own else fetch(spec, host.data, host.hwf_path)
    print(f"{source.name}: {len(source.images)} images from {source.origin}")
