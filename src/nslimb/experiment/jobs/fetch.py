"""The step `fetch`: get an image source and verify it."""

from __future__ import annotations

from nslimb.data import SOURCES, fetch
from nslimb.experiment.jobs.recipe import Host, Recipe


def fetch_source(recipe: Recipe, host: Host) -> None:
    """Make or download a built-in source into the data folder; one's own is where it is."""
    spec = recipe["source"]["spec"]
    if spec in SOURCES:
        source = fetch(spec, host.data, host.hwf_path)
        print(f"{source.name}: {len(source.images)} images from {source.origin}")
    else:
        print(f"{spec}: a source of the user's own")
