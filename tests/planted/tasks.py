"""Tasks for the runner: pure ones, and twins that read more than their seeds."""

import builtins
import os
import time
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np

from dpaccount.work.version import libraries

_CALLS = count()


def squares(factor, seeds):
    return np.array([[factor * seed**2, seed] for seed in seeds], dtype=float)


def slow_squares(pause, log, seeds):
    """Note each call in a file, which no result depends on."""
    time.sleep(pause)
    with Path(log).open("a") as file:
        file.write(f"{os.getpid()} {seeds.start}\n")
    return squares(1.0, seeds)


def by_the_clock(seeds):
    return np.array([time.perf_counter() for _ in seeds])


def by_the_calls(seeds):
    return np.array([float(next(_CALLS)) for _ in seeds])


def by_its_process(seeds):
    return np.full(len(seeds), float(os.getpid()))


def too_few(seeds):
    return np.zeros(len(seeds) + 1)


def dies_once(mark, seeds):
    if seeds.start == 3 and not Path(mark).exists():
        Path(mark).touch()
        os._exit(9)
    return squares(1.0, seeds)


def fails_once(mark, error, seeds):
    if seeds.start == 3 and not Path(mark).exists():
        Path(mark).touch()
        raise getattr(builtins, error)("no room\nfor this")
    return squares(1.0, seeds)


def wide(factor, seeds):
    return np.outer(factor * np.array(seeds), np.ones(400))


def threads_of_algebra(seeds):
    return np.full(len(seeds), float(max(each["num_threads"] for each in libraries().info())))


WAIT = int  #: for others; a test replaces it


def threads_after(pause, seeds):
    WAIT()
    time.sleep(pause)
    return threads_of_algebra(seeds)


def releases(url, seeds):
    """Charge a ledger and draw noise of a release."""
    from dpaccount.ledger.ledger import Ledger
    from mechanisms.laplace_sum import LaplaceSum

    with Ledger.open(url) as ledger:
        receipt = ledger.charge(LaplaceSum(low=0, high=1).proof(Fraction(0)), "in a task")
        key = next(iter(receipt._leaves))
        return np.array([receipt.noisy(key, seed, np.array([0])) for seed in seeds], dtype=float)
