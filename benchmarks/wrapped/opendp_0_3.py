"""OpenDP 0.3.0: a histogram of unknown categories; both pass `check(1, (claimed epsilon, delta))`."""

from opendp.meas import make_base_stability
from opendp.mod import enable_features
from opendp.trans import make_count_by
from opendp.typing import L1Distance

enable_features("contrib", "floating-point")
NORM = L1Distance["f64"]


def _histogram(scale, threshold):
    counts = make_count_by(30, NORM, "i32", "i32")
    return counts >> make_base_stability(30, scale, threshold, NORM, "i32", "i32")


NARROW = _histogram(0.1, 2.0)
WIDE = _histogram(2.0, 18.0)


def _rounded(measurement, data):
    found = measurement(data.tolist())
    return [round(found.get(key, 0) * 1024) for key in range(4)]


def stability_histogram(data):
    return _rounded(NARROW, data)


def enough_noise(data):
    return _rounded(WIDE, data)
