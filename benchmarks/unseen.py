"""A second set of unseen mechanisms under the search, without a pair: how many are found, and accused.

    python -m benchmarks.unseen [--only NAME …] [--trials 50000] [--seed 1]

At 95 % and 50,000 runs, nine of ten broken ones are to be found, and of the sound ones no more accused
than the error allows.  Deep tests run them (tests/audits/attack/test_unseen_set.py).
"""

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from audits.attack.black_box import attack
from audits.attack.runs import Challenge, silent
from audits.datasets.named_pairs import candidates
from audits.datasets.shape import Shape
from audits.sandbox.crew import Crew
from audits.subjects.code import Code
from benchmarks.wrapped.unseen_set import LISTED

FOLDER = str(Path(__file__).with_name("wrapped"))


@dataclass(frozen=True)
class UnseenMechanism:
    """A mechanism, whether it is broken, its data, and its claimed δ beside ε = 1."""

    name: str
    broken: bool
    shape: Shape
    delta: Fraction = Fraction(0)


def _of(
    *,
    rows: int = 12,
    columns: int | None = None,
    low: float = 0,
    high: float = 3,
    real: bool = False,
    relation: str = "replace-one",
) -> Shape:
    ends = [(float(end),) * (columns or 1) for end in (low, high)]
    return Shape(rows, columns, ends[0], ends[1], not real, relation)


def mechanisms() -> list[UnseenMechanism]:
    """Return the set."""
    made = []
    for function, broken, given in LISTED:
        data = {name: value for name, value in given.items() if name != "delta"}
        delta = Fraction(given.get("delta", "0"))
        made.append(UnseenMechanism(function.__name__, broken, _of(**data), delta))
    return made


def found(mechanism: UnseenMechanism, trials: int, seed: int = 1) -> tuple[float, str]:
    """Return the bound that an audit shows at 95 %, and how it distinguishes the sides."""
    code = Code(f"unseen_set:{mechanism.name}", (FOLDER,))
    plan = Challenge(Fraction(1), mechanism.delta, trials, Fraction(1, 20), seed)
    with Crew(code, seconds=10**6, jobs=2) as crew:
        done = attack(crew, candidates(mechanism.shape, seed), plan, silent)
    return done.reached.epsilon_lower, f"{done.cause or done.score}; {done.candidate.base}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--trials", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    wrong_ones = accused = 0
    chosen_ones = [each for each in mechanisms() if not asked.only or each.name in asked.only]
    for each in chosen_ones:
        begun = time.monotonic()
        lower, how = found(each, asked.trials, asked.seed)
        wrong_ones += each.broken and lower > 1
        accused += not each.broken and lower > 1
        mark = "" if each.broken == (lower > 1) else "MISSED " if each.broken else "ACCUSED "
        print(f"{mark}{each.name}: {lower:.3f} in {time.monotonic() - begun:.0f} s; {how}", flush=True)
    broken = sum(each.broken for each in chosen_ones)
    print(f"{wrong_ones} of {broken} found, {accused} of {len(chosen_ones) - broken} accused")


if __name__ == "__main__":
    main()
