"""Crews without processes or clocks."""

import numpy as np
import pytest

from audits.datasets.forms import Given
from audits.sandbox import crew
from audits.sandbox.outcomes import Ending, Outcome, run_outcome
from tests.loading import import_subject


class InProcess(crew.Crew):
    """A crew that runs functions in this process, on a clock that only runs move: `cost` seconds each.

    A function whose name begins with `hangs` gives no answer.
    """

    cost = 0.0

    def __init__(self, code, *, seconds, jobs=1):
        self.code, self.seconds, self.jobs = code, seconds, 1
        self.tally, self.used = crew.Tally(), 0.0
        self._processes, self._chunk_size = [None], 100
        self.function = import_subject(code.use, list(code.folders))
        self.kind = "function" if callable(self.function) else type(self.function).__name__

    def _delayed(self):
        return 0.0

    def allow(self, seconds):
        self.used -= seconds

    def _seconds_left(self):
        return self.seconds - self.used

    def set_datasets(self, datasets):
        made = np.array if self.layout is None else self.layout.dataset
        self._datasets = [Given(made(data)) for data in datasets]

    def run_afresh(self, plays):
        return self.run(plays)

    def _chunk(self, worker, plays):
        done = []
        for which, *seed in plays:
            hangs = self.code.use.partition(":")[2].startswith("hangs")
            cost = self.seconds * crew.PATIENCE if hangs else self.cost
            if self.seconds_left() < max(cost, 1e-300):
                self.used = self.seconds
                break
            self.used += cost
            if hangs:
                done.append(Outcome("gives no answer within x seconds", (), np.zeros(0), Ending.FAILED))
            else:
                done.append(run_outcome(self.function, self._datasets[which], seed or None))
        return done

    def unmet(self, relation):
        return []

    def close(self):
        pass


@pytest.fixture
def in_process(monkeypatch):
    """Let commands and fixtures use crews without processes; return their class, to set `cost` on."""
    from audits import pytest_plugin
    from audits.api.on_code import certify, processes, sensitivity

    monkeypatch.setattr(InProcess, "cost", 0.0)
    for module in (certify, processes, sensitivity, pytest_plugin):
        monkeypatch.setattr(module, "Crew", InProcess)
    return InProcess
