"""Which tests are too slow for the default run: measured, and listed in slow_tests.txt.

    pytest -n 2 -m "not slow and not nightly" --durations=0 > log
    python tests/durations.py log SECONDS

adds to the list the functions whose cases take longer than SECONDS each, and leaves one case in n in the
default run of those that are quick but many.  A line is a function, or a function and n.
"""

import ast
import math
import re
import sys
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

TESTS = Path(__file__).parent
LIST = TESTS / "slow_tests.txt"
#: slow tests that wait for the night, in the same form
NIGHTLY = TESTS / "nightly_tests.txt"
#: a function's cases together may take as much as this many cases of the limit
CASES = 4
#: tests of the kernel and the checker stay in the default run, which must notice a slip in either (tests/mutation)
KEPT = (
    *("tests/dpaccount/proof/", "tests/dpaccount/checker/", "tests/dpaccount/rules/"),
    "tests/audits/consistency/",
)
TIME = re.compile(r"([0-9.]+)s (?:call|setup|teardown) +(tests/\S+?\.py)::([\w:]+)(.*)")


def listed(file: Path = LIST) -> dict[str, int]:
    """Return the functions that are listed, and of how many cases one stays in the quicker run (0: none)."""
    entries = {}
    for line in file.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, share = line.partition(" ")
            entries[name] = int(share or 0)
    return entries


@lru_cache
def tests_of(file: Path) -> set[str]:
    """Return the names of a file's functions, and of its classes of tests."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):  # the tests of a state machine
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def exists(name: str) -> bool:
    """Say whether a listed function is there."""
    file, first, *_ = name.split("::")
    path = TESTS.parent / file
    return path.exists() and first in tests_of(path)


def measured(log: str) -> dict[str, list[float]]:
    """Return the seconds of each case, by function, from pytest's list of durations."""
    cases: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for seconds, file, function, case in TIME.findall(log):
        cases[f"{file}::{function}"][case] += float(seconds)
    return {function: list(times.values()) for function, times in cases.items()}


def too_slow(times: list[float], limit: float) -> int | None:
    """Return of how many cases one may stay in the default run (0: none), or None where all may."""
    if max(times) > limit and sum(times) / len(times) > limit / 2:
        return 0
    if sum(times) > CASES * limit:
        return math.ceil(sum(times) / (CASES * limit))
    return None


def main(log: str, limit: str) -> None:
    """Add what is too slow to the list."""
    entries = {name: share for name, share in listed().items() if exists(name)}
    for function, times in measured(Path(log).read_text()).items():
        share = too_slow(times, float(limit))
        if share is not None and not function.startswith(KEPT):
            entries[function] = 0 if share == 0 else max(entries.get(function, 1), 1) * share
    head = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
    lines = [f"{name} {share}".removesuffix(" 0") for name, share in sorted(entries.items())]
    LIST.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
