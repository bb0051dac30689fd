"""The kinds of numpy arrays that everything else speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
WeakArray = IntArray | BoolArray | FloatArray  # weak labels [m] or [m, L], or sets or log-weights [m, S]
