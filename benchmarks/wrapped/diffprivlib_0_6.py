"""diffprivlib 0.6.6: models and statistics; a result on a grid of 1/1024 unless it is raw."""

import warnings

import numpy as np
from diffprivlib import tools
from diffprivlib.models import GaussianNB, LinearRegression

warnings.simplefilter("ignore")


def _seed(rng):
    return int(rng.integers(0, 2**31))


def _grid(values):
    return np.round(np.asarray(values) * 1024) / 1024


def linear_regression(data, rng):
    bounds = {"bounds_X": (0, 3), "bounds_y": (0, 3)}
    model = LinearRegression(epsilon=1, fit_intercept=False, random_state=_seed(rng), **bounds)
    return _grid(model.fit(data[:, :1], data[:, 1]).coef_)


def naive_bayes(data, rng):
    model = GaussianNB(epsilon=1, bounds=(0, 3), random_state=_seed(rng))
    model.fit(data[:, :1], (data[:, 1] > 1.5).astype(int))
    return _grid(model.theta_)


def column_means(data, rng):
    return _grid(tools.mean(data, epsilon=1, bounds=(0, 3), axis=0, random_state=_seed(rng)))


def histogram(data, rng):
    bins = {"bins": 4, "range": (0, 3)}
    return tools.histogram(data[:, 0], epsilon=1, random_state=_seed(rng), **bins)[0]


def raw_mean(data, rng):
    return tools.mean(data, epsilon=1, bounds=(0, 3), random_state=_seed(rng))


def mean_on_a_grid(data, rng):
    return float(_grid(raw_mean(data, rng)))
