"""What a benchmark gives: rows, each a figure of ours beside a peer's or beside the least that it takes.

Figures of a row are measured in one process and in turn, so that other programs slow both alike.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BenchmarkRow:
    """What was measured: `value` in `unit`, and `floor` of what it stands `beside`, in the same unit.

    Either is None where it was not measured; `note` says why, or what else is known.
    """

    what: str
    value: float | None
    unit: str
    beside: str
    floor: float | None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Return ours over the other, None where one of them was not measured."""
        return None if self.value is None or not self.floor else self.value / self.floor


@dataclass(frozen=True)
class BenchmarkSetting:
    """`peers` is the folder of an environment in which peers are installed; `long`: at the largest sizes."""

    peers: Path | None = None
    long: bool = False

    def lacks(self, *modules: str) -> str | None:
        """Return why peers cannot be measured, None where they can."""
        if self.peers is None:
            return "no --peers"
        words = [self.python, "-c", f"import {', '.join(modules)}"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"{self.python}: {error.strerror}"
        return done.stderr.strip().splitlines()[-1] if done.returncode else None

    @property
    def python(self) -> Path:
        """Return the interpreter of the peers' environment."""
        return (self.peers or Path()) / "bin" / "python"

    def asked(self, code: str, *words: object) -> dict:
        """Return the last line, in JSON, that code prints in the peers' environment."""
        done = subprocess.run(
            [self.python, "-c", code, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True
        )
        return json.loads(done.stdout.splitlines()[-1])


Rows = Iterator[BenchmarkRow]


def spent(act: Callable[[], object], least: float = 0.0) -> float:
    """Return the processor seconds of one call, of as many calls as take `least` seconds together."""
    calls, begun = 0, time.process_time()
    while not calls or time.process_time() - begun < least:
        act()
        calls += 1
    return (time.process_time() - begun) / calls


def in_turn(acts: dict[str, Callable[[], object]], rounds: int = 5, least: float = 0.02) -> dict[str, float]:
    """Return the least processor seconds of a call of each, of a few rounds of all."""
    found: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            found[name].append(spent(act, least))
    return {name: min(each) for name, each in found.items()}
