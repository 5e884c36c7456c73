"""diffprivlib 0.3.0: mechanisms for a matrix of second moments and for a count.

Its models need an older scikit-learn, and are left out.
"""

import sys
import types
import warnings

import numpy as np

for name in ("models", "tools"):
    sys.modules["diffprivlib." + name] = types.ModuleType("diffprivlib." + name)
from diffprivlib.mechanisms import Geometric, Wishart  # noqa: E402

warnings.simplefilter("ignore")


def wishart(data):
    rows = data / np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1.0)
    noisy = Wishart().set_epsilon(1).set_sensitivity(1).randomise(rows.T @ rows)
    return np.round(noisy * 1024) / 1024


def geometric(data):
    return Geometric().set_epsilon(1).set_sensitivity(1).randomise(int((data > 0).sum()))
