"""Settings shared by all tests."""

import torch
from hypothesis import Phase, settings

# The tensors here are small: threads that wait for each other cost more than they save.
torch.set_num_threads(1)

# No shrinking: a failure prints its draw at once, and these problems are small as they are.
settings.register_profile(
    "nslimb", deadline=None, max_examples=100, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("nslimb")
