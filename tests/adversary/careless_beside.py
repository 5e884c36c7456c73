"""Careless outside the view: no test looks there, and every certificate says so."""

import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
from careless import Author

from mechanisms.subject import View


class Chatty(Author):
    """Prints, logs and keeps a file: the certificate says that it prints."""

    verdict: ClassVar[str] = "CERTIFIED"
    why: ClassVar[str] = "prints, logs or warns"

    def play(self, data, noise, coins):
        print("true total", self.total(data))
        logging.getLogger(__name__).debug("true total %s", self.total(data))
        file = Path(tempfile.gettempdir()) / f"careless-{os.getpid()}.txt"
        file.write_text(str(data.tolist()))
        file.unlink()
        return super().play(data, noise, coins)


LOG = logging.Logger("careless")
LOG.addHandler(logging.StreamHandler(sys.__stderr__))  # as of `logging.basicConfig` at import


class LogsFromTheStart(Author):
    """Logs to the stream that was standard error when the module was imported."""

    verdict: ClassVar[str] = "CERTIFIED"
    why: ClassVar[str] = "prints, logs or warns"

    def play(self, data, noise, coins):
        LOG.warning("true total %s", self.total(data))
        return super().play(data, noise, coins)


class Slow(Author):
    """Takes time in proportion to the sum."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        time.sleep(float(self.total(data)[0]) * 1e-8)
        return super().play(data, noise, coins)


class RarePlace(Author):
    """Shows a flag for a value in a band that only a computation finds."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        narrow = np.abs(np.sin(data[:, 0] * 12345) - 0.777) < 1e-7
        return View(public={"sum": self.noisy(data, noise), "flag": np.array([narrow.any()])})
