"""Settings shared by all tests."""

from hypothesis import settings

settings.register_profile("nslimb", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("nslimb")
