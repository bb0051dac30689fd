"""Images, long tails and weak samples."""

from nslimb.data.catalogue import SOURCES, available, fetch, load
from nslimb.data.samples import Samples, draw_samples
from nslimb.data.source import ImageSource
from nslimb.data.tails import thin

__all__ = ["SOURCES", "ImageSource", "Samples", "available", "draw_samples", "fetch", "load", "thin"]
