"""smartnoise-synth 1.0.4: the covariances of two columns, declared to lie within 0 and 1.

The file is run by itself: its package asks for PyTorch.
"""

import runpy
from importlib.metadata import distribution

import numpy as np
import pandas as pd

FILE = distribution("smartnoise-synth").locate_file("snsynth/models/dp_covariance.py")
DPcovariance = runpy.run_path(str(FILE))["DPcovariance"]


def covariance(data):
    bounds = pd.DataFrame([[0.0, 0.0], [1.0, 1.0]])
    made = DPcovariance(len(data), ["x", "y"], bounds, 1.0)
    released = made.release(pd.DataFrame(data, columns=["x", "y"]))
    return np.round(np.array(released) * 1024) / 1024


def clipped_before(data):
    return covariance(np.clip(data, 0.0, 1.0))
