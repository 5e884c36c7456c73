"""Run deep tests by slices: `make deep`, `make deep SLICE=7/20`, and what .ci/run has of them.

    python -m tests.deep                     every slice that has not passed on this state of the tree
    python -m tests.deep --since REF         or on any commit after REF: an issue is resolved when all have passed
    python -m tests.deep --slice 7/20        one slice
    python -m tests.deep --ci                first what the change reaches, then the slices that the tree draws

build/deep has a log of each slice on each state, so that a run that was stopped goes on where it ended, and
build/deep/log a line for each run of a slice. What fails is tried once more on the code of the base, to say
whether it is an old fault; it is red all the same (tests/known_faults.toml).
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests import depth, reach, seconds

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "deep"
LOG = BUILD / "log"
SLICES = 20  #: each takes at most ten minutes of two cores; tests/seconds.py turns red above that
DRAWN = 2  #: slices of a run of .ci/run
NEAR = 300  #: seconds of .ci/run for what the change reaches
NOTHING = 5  #: the exit code of pytest where a slice has no item


def state() -> str:
    """Return a digest of the files of the project; of a tree without changes, git's own."""
    changes = reach.git("status", "--porcelain")
    tree = reach.git("rev-parse", "HEAD^{tree}")[:12]
    if not changes:
        return tree
    files = reach.changed_since("HEAD")
    content = [(ROOT / file).read_bytes() if (ROOT / file).is_file() else b"" for file in files]
    return tree + "+" + hashlib.sha256(repr((files, content)).encode()).hexdigest()[:8]


def drawn(tree: str) -> list[int]:
    """Return the slices that a tree draws."""
    order = sorted(range(1, SLICES + 1), key=lambda number: depth.number(f"{tree} {number}"))
    return order[:DRAWN]


def pytest(*words: str, folder: Path = ROOT) -> int:
    """Run pytest in two workers, one thread of linear algebra each; return its exit code.

    In another folder than this one, the processes that tests start find the packages of that folder too.
    """
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", *words]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if folder != ROOT:
        environment["PYTHONPATH"] = str(folder)
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def run(name: str, log: Path, seed: str, *words: str) -> bool:
    """Run deep items, write a line of it, and say whether all passed.

    What failed once stays red on the same files and seed, though it passes when the run goes on.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    code = pytest("--deep", "--seed", seed, "--log", str(log), *words)
    every_row = seconds.read(log)
    failed = list(dict.fromkeys(row["item"] for row in every_row if row["outcome"] == "failed"))
    too_long = any(row["outcome"] == seconds.TOO_LONG for row in every_row)
    rows = {
        row["item"]: row for row in every_row if row["outcome"] != seconds.TOO_LONG
    }  # the last of an item
    left = sum(row["outcome"] == "skipped" for row in rows.values())
    good = code in (0, NOTHING) and not failed and not too_long
    taken = sum(row["seconds"] for row in rows.values())
    line = (
        f"{'passed' if good else 'FAILED'} {name} on {state()} of {reach.git('rev-parse', '--short', 'HEAD')}: "
        f"{len(rows)} items, {left} skipped, {taken:.0f} s of processors, seed {seed}"
    )
    with LOG.open("a") as file:
        file.write(line + "\n")
    sys.stdout.write(line + "\n")
    if failed:
        on_the_base(failed, seed)
    return good


def run_slice(number: int, seed: str, *words: str) -> bool:
    """Run one slice, from where a run on the same files ended."""
    name = f"{number}/{SLICES}"
    log = BUILD / f"{state()}-{seed}-slice-{number}-of-{SLICES}.jsonl"
    return run(f"slice {name}", log, seed, "--slice", name, *words)


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
    pytest("--deep", "--seed", seed, "--seconds", "300", "--log", str(log), *failed, folder=folder)
    old = {row["item"] for row in seconds.read(log) if row["outcome"] == "failed"}
    for item in failed:
        sys.stdout.write(f"{'fails on the base too' if item in old else 'new'}: {item}\n")
    reach.git("worktree", "remove", "--force", str(folder))


def passed_since(ref: str) -> set[int]:
    """Return the slices that have passed on this state, or on a commit after `ref`."""
    commits = set(reach.git("rev-list", f"{ref}..HEAD").splitlines()) if ref else set()
    passed = re.findall(
        rf"(?m)^passed slice (\d+)/{SLICES} on (\S+) of (\w+):", LOG.read_text() if LOG.exists() else ""
    )
    now = state()
    return {
        int(number)
        for number, where, commit in passed
        if where == now or ("+" not in where and any(each.startswith(commit) for each in commits))
    }


def run_all(ref: str, seed: str) -> bool:
    """Run every slice that has not passed, and write as the log's last line what has."""
    for number in range(1, SLICES + 1):
        if number not in passed_since(ref):
            run_slice(number, seed)
    done = passed_since(ref)
    missing = [number for number in range(1, SLICES + 1) if number not in done]
    line = f"{len(done)} of {SLICES} slices have passed" + (f"; not yet: {missing}" if missing else "")
    with LOG.open("a") as file:
        file.write(line + "\n")
    sys.stdout.write(line + "\n")
    return not missing


def run_for_ci(seed: str) -> bool:
    """Run for five minutes what the change reaches, then the slices that the tree draws.

    What is above its limit is said alone: on a machine that does other work, time is no fault of a change.
    """
    tests = reach.reached(reach.changed_since(reach.base()))
    log = BUILD / f"{state()}-{seed}-near.jsonl"
    near = run("near", log, seed, "--no-limits", "--seconds", str(NEAR), *tests) if tests else True
    numbers = drawn(seed)
    sys.stdout.write(f"slices drawn by the tree {seed}: {numbers} of {SLICES}\n")
    return all([near, *(run_slice(number, seed) for number in numbers)])


def main() -> int:
    """Run what the command line asks for; return 1 where something failed."""
    parser = argparse.ArgumentParser(description="Run deep tests by slices.")
    parser.add_argument("--slice", metavar=f"K/{SLICES}")
    parser.add_argument("--since", metavar="REF", default="", help="commits after this one count too")
    parser.add_argument("--seed", default="", help="draws fresh examples; by default the tree does")
    parser.add_argument("--ci", action="store_true")
    asked = parser.parse_args()
    seed = asked.seed or state()
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
