"""Run deep tests by slices: `make deep`, `make deep SLICE=7/20`, and what .ci/run has of them.

    python -m tests.deep                     every slice that has not passed on this state of the tree
    python -m tests.deep --since REF         or on any commit after REF: an issue is resolved when all have passed
    python -m tests.deep --slice 7/20        one slice
    python -m tests.deep --ci                first what the change reaches, then the slices that the tree draws

build/deep has a log of each slice on each state, so that a run that was stopped goes on where it ended; build/deep/log
a line for each run of a slice, of which the last one counts; and build/deep/failed.jsonl what failed, which is tried
again with the same seed whenever its slice is run.  What fails is tried once more on the code of the base, to say
whether it is an old fault; it is red all the same (tests/known_faults.toml).
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import depth, reach, seconds

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "deep"
LOG = BUILD / "log"
FAILED = BUILD / "failed.jsonl"
SLICES = 20  #: each takes at most ten minutes of two cores; tests/seconds.py turns red above that
DRAWN = 2  #: slices of a run of .ci/run
NEAR = 300  #: seconds of .ci/run for what the change reaches
RED, MISUSED, NOTHING = 1, 4, 5  #: exit codes of pytest: items failed, there is no such item, or none is left
THE_RUN = "the run"  #: stands for an item where pytest itself ended otherwise
ITEMS_ALONE = ", of which some failed"  #: a run that was whole but for these


def drawn(tree: str) -> list[int]:
    """Return the slices that a tree draws."""
    order = sorted(range(1, SLICES + 1), key=lambda number: depth.number(f"{tree} {number}"))
    return order[:DRAWN]


def pytest(*words: str, folder: Path = ROOT) -> int:
    """Run pytest in two workers, one thread of linear algebra each; return its exit code.

    In another folder than this one, the processes that tests start find the packages of that folder too.
    """
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", *words]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""}
    if folder != ROOT:
        environment["PYTHONPATH"] = str(folder)
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def where() -> str:
    """Return which files are tested, and on which commit."""
    return f"{reach.state()} of {reach.git('rev-parse', '--short', 'HEAD')}"


def run(name: str, log: Path, seed: str, *words: str, may_be_empty: bool = False) -> bool:
    """Run deep items, write a line of it, and say whether all passed.

    What failed once stays red on the same files and seed, though it passes when the run goes on.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    begun = where()
    again = failed_again(name)
    code = pytest("--deep", "--seed", seed, f"--log={log}", *words)
    if code not in (0, RED, NOTHING):
        with log.open("a") as file:
            file.write("\n" + json.dumps({"item": THE_RUN, "outcome": "failed", "seconds": 0}))
    every_row = seconds.read(log)
    failed = list(dict.fromkeys(row["item"] for row in every_row if row["outcome"] == "failed"))
    too_long = any(row["outcome"] == seconds.TOO_LONG for row in every_row)
    # the last row of an item
    rows = {row["item"]: row for row in every_row if row["outcome"] != seconds.TOO_LONG}
    left = sum(row["outcome"] == "skipped" for row in rows.values())
    same = where() == begun
    good = code in (0, NOTHING) and not (failed or again or too_long) and same and bool(rows or may_be_empty)
    taken = sum(row["seconds"] for row in rows.values())
    items = [item for item in failed if item != THE_RUN]
    else_whole = same and not too_long and code in (0, RED, NOTHING) and len(items) == len(failed)
    note(
        f"{'passed' if good else 'FAILED'} {name} on {begun}: "
        f"{len(rows)} items, {left} skipped, {taken:.0f} s of processors, seed {seed}"
        + ("" if good or not else_whole else ITEMS_ALONE)
    )
    sys.stdout.write("" if same else "files changed while it ran\n")
    with FAILED.open("a") as file:
        file.writelines(json.dumps({"run": name, "item": item, "seed": seed}) + "\n" for item in items)
    if items:
        on_the_base(items, seed)
    return good


def note(line: str) -> None:
    """Write a line of the log, and say it."""
    with LOG.open("a") as file:
        file.write(line + "\n")
    sys.stdout.write(line + "\n")


def failed_again(name: str) -> bool:
    """Try what failed in earlier runs of this name, each with its seed, and forget what passes or is gone."""
    rows = seconds.read(FAILED)
    others = [row for row in rows if row["run"] != name]
    left = [row for row in rows if row["run"] == name and _fails(row)]
    unique: list[dict[str, Any]] = [
        json.loads(line) for line in dict.fromkeys(map(json.dumps, [*others, *left]))
    ]
    FAILED.write_text("".join(json.dumps(row) + "\n" for row in unique))
    return bool(left)


def _fails(row: dict[str, Any]) -> bool:
    return pytest("--deep", "--seed", row["seed"], row["item"]) not in (0, MISUSED, NOTHING)


def run_slice(number: int, seed: str, *words: str, name: str = "slice") -> bool:
    """Run one slice, from where a run on the same files ended."""
    which = f"{number}/{SLICES}"
    log = BUILD / f"{reach.state()}-{seed}-{name}-{number}-of-{SLICES}.jsonl"
    return run(f"{name} {which}", log, seed, "--slice", which, *words)


def on_the_base(failed: list[str], seed: str) -> None:
    """Say which of the failed items fail with the code of the base and the tests of today, for information."""
    folder = BUILD / "base"
    subprocess.run(
        [reach.GIT, "worktree", "remove", "--force", str(folder)], cwd=ROOT, capture_output=True, check=False
    )
    reach.git("worktree", "add", "--force", "--detach", str(folder), reach.base())
    shutil.rmtree(folder / "tests")
    shutil.copytree(ROOT / "tests", folder / "tests")
    log = BUILD / "base.jsonl"
    log.unlink(missing_ok=True)
    pytest("--deep", "--seed", seed, "--seconds", "300", f"--log={log}", *failed, folder=folder)
    old = {row["item"] for row in seconds.read(log) if row["outcome"] == "failed"}
    for item in failed:
        sys.stdout.write(f"{'fails on the base too' if item in old else 'new'}: {item}\n")
    reach.git("worktree", "remove", "--force", str(folder))


LINE = re.compile(rf"(?m)^(passed|FAILED) slice (\d+)/{SLICES} on (\S+) of (\w+):.*$")


@dataclass(frozen=True)
class LastRun:
    """The last line of a slice, on which files and on which commit; none where these are the files of now."""

    word: str
    files: str
    commit: str
    line: str


def last_lines(ref: str) -> dict[int, LastRun]:
    """Return the last run of each slice on this state, or on a commit after `ref`."""
    commits = reach.git("rev-list", f"{ref}..HEAD").splitlines() if ref else []
    now, last = reach.state(), dict[int, LastRun]()
    for found in LINE.finditer(LOG.read_text() if LOG.exists() else ""):
        word, number, files, short = found.groups()
        commit = next((each for each in commits if each.startswith(short)), "")
        if files == now or ("+" not in files and commit):
            last[int(number)] = LastRun(word, files, "" if files == now else commit, found[0])
    return last


def passed_since(ref: str) -> dict[int, str]:
    """Return the slices that passed when they were last run on this state, or on a commit after `ref`, with it."""
    return {number: last.commit for number, last in last_lines(ref).items() if last.word == "passed"}


def run_all(ref: str, seed: str) -> bool:
    """Run every slice that has not passed, and write as the log's last line what has."""
    for number in range(1, SLICES + 1):
        if number not in passed_since(ref) and not is_mended(ref, number):
            run_slice(number, seed)
    done = passed_since(ref)
    missing = [number for number in range(1, SLICES + 1) if number not in done]
    good = not missing and tests_changed_since({commit for commit in done.values() if commit}, seed)
    line = f"{len(done)} of {SLICES} slices have passed" + (f"; not yet: {missing}" if missing else "")
    note(line + ("" if good or missing else "; not the tests that changed since"))
    return good


def is_mended(ref: str, number: int) -> bool:
    """Return whether of a slice that was run on a commit after `ref` only what failed was left, and passes now."""
    name = f"slice {number}/{SLICES}"
    last = last_lines(ref).get(number)
    if last is None or not last.line.endswith(ITEMS_ALONE) or failed_again(name):
        return False
    note(f"passed {name} on {where()}: what failed on {last.commit[:8] or last.files}")
    return True


def tests_changed_since(commits: set[str], seed: str) -> bool:
    """Run the deep items of test files that changed since the first of the commits, as no slice has them."""
    order = reach.git("rev-list", "--topo-order", "HEAD").splitlines() if commits else []
    first = max(commits, key=order.index, default="")
    files = [file for file in reach.changed_since(first) if reach.is_test(file)] if first else []
    there = [file for file in files if (ROOT / file).is_file()]
    log = BUILD / f"{reach.state()}-{seed}-changed.jsonl"
    return not there or run("changed tests", log, seed, *there, may_be_empty=True)


def run_for_ci(seed: str) -> bool:
    """Run for five minutes what the change reaches, then the slices that the tree draws.

    What is above its limit is said alone: on a machine that does other work, time is no fault of a change.
    """
    changed = reach.changed_since(reach.base())
    tests = reach.reached(changed)
    sys.stdout.write(f"{len(tests)} files of tests are near the {len(changed)} files that changed\n")
    log = BUILD / f"{reach.state()}-{seed}-near.jsonl"
    words = ("--no-limits", "--seconds", str(NEAR), *tests)
    near = not tests or run("near", log, seed, *words, may_be_empty=True)
    numbers = drawn(seed)
    sys.stdout.write(f"slices drawn by the tree {seed}: {numbers} of {SLICES}\n")
    return all([near, *(run_slice(number, seed, "--no-limits", name="drawn slice") for number in numbers)])


def main() -> int:
    """Run what the command line asks for; return 1 where something failed."""
    parser = argparse.ArgumentParser(description="Run deep tests by slices.")
    parser.add_argument("--slice", metavar=f"K/{SLICES}")
    parser.add_argument("--since", metavar="REF", default="", help="commits after this one count too")
    parser.add_argument("--seed", default="", help="draws fresh examples; by default the tree does")
    parser.add_argument("--ci", action="store_true")
    asked = parser.parse_args()
    seed = asked.seed or reach.state()
    if asked.ci:
        return not run_for_ci(seed)
    if asked.slice:
        number, _, of = asked.slice.partition("/")
        if of != str(SLICES) or not number.isdigit() or not 1 <= int(number) <= SLICES:
            raise SystemExit(f"error: {asked.slice} should be one of 1/{SLICES} to {SLICES}/{SLICES}")
        return not run_slice(int(number), seed)
    return not run_all(asked.since, seed)


if __name__ == "__main__":
    sys.exit(main())
