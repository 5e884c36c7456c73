"""Known faults of released libraries, and a sound neighbour of each, audited as a user would.

    python -m benchmarks.libraries --cache FOLDER [--only NAME …] [--peers PYTHON] [--out TABLE.md]

Every release gets an environment of its own in FOLDER, made by pip once.  A case is one command
`dpaccount audit … --python FOLDER/…/bin/python` (or `sensitivity`) on a function of benchmarks/wrapped:
no pair, no hint, 50 seconds of runs.  A fault is *found* if the claim is refuted.  A sound neighbour is
asked at an error probability of 1e-3, and must not be refuted.

With --peers, an interpreter that has DP-Auditorium, StatDP and jax-privacy, these judge a found fault of an
(ε, δ) claim, from the runs of 50 seconds, at most 4,000, on each side of the pair that our audit found: none
of them looks for a pair.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WRAPPED = Path(__file__).with_name("wrapped")
SECONDS = 50
ERROR = "1e-3"  #: of a sound neighbour; of a fault it is the default, .05
RUNS = 4_000  #: on each side, that peers are given at most
PEER_TESTERS = ("hockey-stick", "histogram", "jax-privacy", "StatDP")
PEERS = Path(__file__).with_name("audit_peers.py")
#: what a release's interpreter runs: a failed run is NaN, and results are padded to the longest
DRAW = """
import importlib, inspect, json, sys, time
import numpy as np
module, name, pair, runs, seconds, out = sys.argv[1:]
sys.path.insert(0, "")
function = getattr(importlib.import_module(module), name)
seeded = len(inspect.signature(function).parameters) > 1
sides, ends = {0: [], 1: []}, time.monotonic() + float(seconds)
for run in range(int(runs)):
    if time.monotonic() > ends:
        break
    for number, side in enumerate(json.loads(pair)):
        data = np.array(side)
        try:
            found = function(data, np.random.default_rng([number, run])) if seeded else function(data)
            sides[number].append(np.ravel(np.asarray(found, dtype=float)))
        except Exception:
            sides[number].append(np.full(1, np.nan))
most = max(len(row) for rows in sides.values() for row in rows)
padded = {
    number: np.nan_to_num(
        [np.pad(row, (0, most - len(row)), constant_values=np.nan) for row in rows], nan=-1e6
    )
    for number, rows in sides.items()
}
np.savez(out, left=padded[0], right=padded[1])
print(len(sides[0]))
"""


@dataclass(frozen=True)
class Release:
    """A release and what pip installs for it; `alone`: without what it asks for itself."""

    name: str
    needs: tuple[str, ...]
    alone: tuple[str, ...] = ()


OPENDP = Release("OpenDP 0.16.0", ("opendp[polars]==0.16.0", "scikit-learn==1.7.2"))
NOISY_MAX = Release("OpenDP 0.15.1", ("opendp==0.15.1", "numpy==2.2.6"))
FIRST_OPENDP = Release("OpenDP 0.3.0", ("opendp==0.3.0", "numpy==2.2.6"))
DIFFPRIVLIB = Release("diffprivlib 0.6.6", ("diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.1.3"))
OLD_DIFFPRIVLIB = Release("diffprivlib 0.3.0", ("numpy==1.23.5",), ("diffprivlib==0.3.0",))
SMARTNOISE = Release(
    "smartnoise-synth 1.0.4", ("numpy==2.2.6", "pandas==2.3.3"), ("smartnoise-synth==1.0.4",)
)
TWO_COLUMNS = "--shape 20,2 --low 0 --high 3"
USERS = "--relation add-remove --columns {wrapped}/users.toml"
SOUND = "sound"
RANGES = "--relation add-remove --shape 20,2 --low 0 --high 100"
SCORES = "--relation add-remove --shape 5,2 --low=-1 --high 1 --dtype int"
COUNTED = "--shape 30 --low 0 --high 3 --dtype int"
VECTOR = "--shape 20 --low 0 --high 3"
SIGNED = "--shape 20 --low=-1 --high 1"
WIDE = "--shape 20,2 --low 0 --high 10"
WHOLE = f"--norm linf --shape 1024 --low {2**50} --high {2**50 + 1}"


@dataclass(frozen=True)
class LibraryCase:
    """One function: what is claimed of it, and where its fault is described.

    `thread` is `SOUND` where no fault is known; any other must be found.
    """

    release: Release
    function: str
    claim: str
    data: str
    thread: str

    @property
    def name(self) -> str:
        """Return the name by which `--only` chooses it."""
        return self.function.partition(":")[2]

    def words(self, cache: Path) -> list[str]:
        """Return the command's words."""
        verb = "sensitivity" if "--bound" in self.claim else "audit"
        asked = f"{self.claim} {self.data}".format(wrapped=WRAPPED).split()
        level = ["--confidence", str(1 - float(ERROR))] if verb == "audit" and self.thread == SOUND else []
        python = ["--python", str(interpreter(cache, self.release))]
        limit = ["--seconds", str(SECONDS), "--json"]
        return [
            str(Path(sys.executable).with_name("dpaccount")),
            verb,
            self.function,
            *asked,
            *level,
            *python,
            *limit,
        ]


PURE = "--epsilon 1"
CASES = (
    LibraryCase(OPENDP, "opendp_0_16:squared_deviations", "--bound 40.60094", WHOLE, "opendp#2923"),
    LibraryCase(OPENDP, "opendp_0_16:sized_sum", "--bound 5121.000001", WHOLE, SOUND),
    LibraryCase(OPENDP, "opendp_0_16:predictions_of_pairs", PURE, RANGES, "opendp#2950"),
    LibraryCase(OPENDP, "opendp_0_16:rows_on_two_sides", PURE, RANGES, SOUND),
    LibraryCase(OPENDP, "opendp_0_16:merged_groups", "--rho 0.125", USERS, "opendp#2949"),
    LibraryCase(OPENDP, "opendp_0_16:separate_groups", "--rho 0.5", USERS, SOUND),
    # the thread says permute-and-flip for rho = 0.5; releases 0.14.0 to 0.15.1 draw by the exponential
    # mechanism there (REPLACEMENT = true), so the fault is shown on the mechanism that the thread describes
    LibraryCase(NOISY_MAX, "opendp_0_15:permute_and_flip", "--rho 0.5", SCORES, "opendp#2911"),
    LibraryCase(NOISY_MAX, "opendp_0_15:concentrated_noisy_max", "--rho 0.5", SCORES, SOUND),
    LibraryCase(NOISY_MAX, "opendp_0_15:noisy_max", PURE, SCORES, SOUND),
    LibraryCase(
        FIRST_OPENDP, "opendp_0_3:stability_histogram", "--epsilon 1 --delta 1e-6", COUNTED, "opendp#369"
    ),
    LibraryCase(FIRST_OPENDP, "opendp_0_3:enough_noise", "--epsilon 1 --delta 1e-3", COUNTED, SOUND),
    LibraryCase(DIFFPRIVLIB, "diffprivlib_0_6:linear_regression", PURE, TWO_COLUMNS, "diffprivlib#104"),
    LibraryCase(DIFFPRIVLIB, "diffprivlib_0_6:column_means", PURE, TWO_COLUMNS, SOUND),
    LibraryCase(DIFFPRIVLIB, "diffprivlib_0_6:naive_bayes", PURE, TWO_COLUMNS, "arXiv 2602.17454"),
    LibraryCase(
        DIFFPRIVLIB, "diffprivlib_0_6:histogram", PURE, f"--relation add-remove {TWO_COLUMNS}", SOUND
    ),
    LibraryCase(DIFFPRIVLIB, "diffprivlib_0_6:raw_mean", PURE, VECTOR, "opacus#616"),
    LibraryCase(DIFFPRIVLIB, "diffprivlib_0_6:mean_on_a_grid", PURE, VECTOR, SOUND),
    LibraryCase(
        OLD_DIFFPRIVLIB, "diffprivlib_0_3:wishart", PURE, "--shape 20,2 --low=-1 --high 1", "diffprivlib#23"
    ),
    LibraryCase(OLD_DIFFPRIVLIB, "diffprivlib_0_3:geometric", PURE, SIGNED, SOUND),
    LibraryCase(SMARTNOISE, "smartnoise_1_0:covariance", PURE, WIDE, "smartnoise-sdk#622"),
    LibraryCase(SMARTNOISE, "smartnoise_1_0:clipped_before", PURE, WIDE, SOUND),
)


def interpreter(cache: Path, release: Release) -> Path:
    """Return the interpreter of a release's environment."""
    return cache / release.name.replace(" ", "-") / "bin" / "python"


def install(cache: Path, release: Release) -> None:
    """Make a release's environment; a stamp written last says that it is whole."""
    python = interpreter(cache, release)
    stamp = python.parent / "installed"
    wanted = repr(release)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", python.parent.parent], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *release.needs], check=True)
    if release.alone:
        subprocess.run([*pip, "--no-deps", *release.alone], check=True)
    stamp.write_text(wanted)


def asked(case: LibraryCase, cache: Path) -> dict[str, Any]:
    """Return what the command says of a case, and in how many seconds."""
    begun = time.monotonic()
    done = subprocess.run(
        case.words(cache), cwd=WRAPPED, capture_output=True, text=True, check=False, env=one_thread()
    )
    seconds = time.monotonic() - begun
    row: dict[str, Any] = {"name": case.name, "seconds": round(seconds, 1), "exit": done.returncode}
    if done.returncode not in (0, 1, 3):
        return {**row, "said": done.stderr.strip().splitlines()[-1:]}
    said = json.loads(done.stdout)
    lower = next((said[key] for key in ("rho_lower", "epsilon_lower", "worst") if key in said), None)
    pair = [said["witness"][side] for side in ("left", "right")] if "--epsilon" in case.claim else None
    return {**row, "lower": lower, "said": said.get("attack", ""), "pair": pair}


def drawn_on(case: LibraryCase, cache: Path, pair: object, out: Path) -> int:
    """Save results on a pair of arrays, drawn by the release's interpreter; return how many a side."""
    python, function = interpreter(cache, case.release), case.function.split(":")
    words = [str(python), "-c", DRAW, *function, json.dumps(pair), str(RUNS), str(SECONDS), str(out)]
    done = subprocess.run(words, cwd=WRAPPED, check=True, env=one_thread(), capture_output=True, text=True)
    return int(done.stdout.split()[-1])


def by_peers(case: LibraryCase, cache: Path, pair: object, peers: str) -> dict[str, object]:
    """Return what each peer says of a claim of (ε, δ), given the pair, and from how many runs a side."""
    _, epsilon, *rest = case.claim.split()
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.npz"
        runs = drawn_on(case, cache, pair, samples)
        words = [peers, str(PEERS), "judge", epsilon, rest[1] if rest else "0", str(samples)]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = json.loads(said.strip().splitlines()[-1])
    words_of = {0: "found", None: "missed"}
    return {"runs": runs, **{name: words_of.get(each, each) for name, each in found.items()}}


def one_thread() -> dict[str, str]:
    """Return the environment in which no library starts threads of its own."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


def right(case: LibraryCase, row: dict[str, Any]) -> bool:
    """Return whether a fault was found, or a sound function left alone."""
    return row["exit"] == (0 if case.thread == SOUND else 1)


def rows(cache: Path, only: list[str]) -> Iterator[tuple[LibraryCase, dict[str, Any]]]:
    """Yield every case with what was said of it."""
    for case in CASES:
        if not only or case.name in only:
            install(cache, case.release)
            yield case, asked(case, cache)


def table(answers: Sequence[tuple[LibraryCase, dict[str, Any]]]) -> str:
    """Return the answers as a Markdown table: a fault, what peers say of it, its sound neighbour."""
    peers = [name for name in PEER_TESTERS if any(name in row.get("peers", ()) for _, row in answers)]
    head = ("release", "function", "claim", "thread", "answer", "s", *peers)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for case, row in answers:
        words = {0: ("MISSED", "not refuted"), 1: ("**found**", "ACCUSED")}
        word = words.get(int(str(row["exit"])), ("MISSED", "not measured"))[case.thread == SOUND]
        shown_is = f"{float(str(row.get('lower') or 0)):.3g}"
        moved = "moves by" if "--bound" in case.claim else "shown"
        answer = f"{word}, {moved} {shown_is}"
        claim = case.claim.replace("--bound", "moves by").replace("--", "")
        beside = [row.get("peers", {}).get(name, "") for name in peers]
        cells = (case.release.name, case.name, claim, case.thread, answer, row["seconds"], *beside)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--peers", help="an interpreter that has DP-Auditorium, StatDP and jax-privacy")
    parser.add_argument("--out", type=Path, help="a file for the answers as a Markdown table")
    words = parser.parse_args()
    answers = []
    for case, row in rows(words.cache.absolute(), words.only):
        pair = row.pop("pair", None)
        if words.peers and pair is not None and case.thread != SOUND:
            row["peers"] = by_peers(case, words.cache.absolute(), pair, words.peers)
        answers.append((case, row))
        mark = "right" if right(case, row) else "WRONG"
        print(mark, json.dumps(row, ensure_ascii=False), flush=True)
    if words.out:
        words.out.write_text(table(answers))
    return 0 if all(right(case, row) for case, row in answers) else 1


if __name__ == "__main__":
    raise SystemExit(main())
