"""Images, long tails and weak samples."""

from nslimb.data.catalogue import SOURCES, available, fetch, load, open_source, source_digest
from nslimb.data.samples import Gold, Samples, draw_samples
from nslimb.data.source import ImageSource
from nslimb.data.tails import thin

__all__ = [
    "SOURCES",
    "Gold",
    "ImageSource",
    "Samples",
    "available",
    "draw_samples",
    "fetch",
    "load",
    "open_source",
    "source_digest",
    "thin",
]
