"""What the runner of long work costs: a task that does nothing, and two commands on one store beside one.

Two commands should take half of one's time, and their starts: measure that where two cores are idle.  Tasks
that sleep tell what the commands do twice, whatever else the machine does.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows
from dpaccount.work.results import kept_in
from dpaccount.work.run import Floats, NamedPlay, Series, run

EMPTY, GROUPS, PAUSE = 1000, 80, 0.1
COMMAND = [sys.executable, "-m", "benchmarks.long_work"]


def naps(pause: float, seeds: range) -> Floats:
    """Sleep."""
    time.sleep(pause)
    return np.array(seeds, dtype=float)


def sums(pause: float, seeds: range) -> Floats:
    """Compute."""
    end = time.process_time() + pause
    while time.process_time() < end:
        sum(range(1000))
    return np.array(seeds, dtype=float)


TASKS = {"naps": naps, "sums": sums}


def work(folder: Path, task: str, pause: float, groups: int) -> None:
    """Do so many tasks of a kind, kept in the folder's store."""
    play = NamedPlay(f"{task} {pause}", partial(TASKS[task], pause))
    with kept_in(folder / f"{task}.db"):
        run([Series("benchmark", play, range(groups))])


def together(folder: Path, task: str, commands: int) -> tuple[float, float]:
    """Return the seconds, and processor seconds, that so many commands on a new store take."""
    for file in folder.glob("*.db*"):
        file.unlink()
    before, began = os.times(), time.monotonic()
    started = [subprocess.Popen([*COMMAND, str(folder), task]) for _ in range(commands)]
    ended = [each.wait() for each in started]
    if any(ended):
        raise SystemExit("a command failed")
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - began, spent


def rows(_: BenchmarkSetting) -> Rows:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        work(folder, "naps", 0, 1)
        before = resource.getrusage(resource.RUSAGE_SELF)
        work(folder, "naps", 0, EMPTY)
        after = resource.getrusage(resource.RUSAGE_SELF)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        yield BenchmarkRow("a task, kept", 1000 * spent / EMPTY, "ms", "its limit", 1.0)
        for task, act in (("naps", "sleep"), ("sums", "compute")):
            (one, alone), (two, both) = (together(folder, task, commands) for commands in (1, 2))
            note = f"{both / alone:.2f} of its processor time"
            what = f"two commands, {GROUPS} tasks that {act} {PAUSE} s"
            yield BenchmarkRow(what, two, "s", "one command", one, note)


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2], PAUSE, GROUPS)
