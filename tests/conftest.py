"""Settings shared by all tests."""

from hypothesis import Phase, settings

# No shrinking: a failure prints its draw at once, and these problems are small as they are.
settings.register_profile(
    "nslimb", deadline=None, max_examples=100, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("nslimb")
