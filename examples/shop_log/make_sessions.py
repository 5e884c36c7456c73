"""Write sessions.csv: a made-up shop's log of 20,000 sessions, each shown one of four variants at random.

    python examples/shop_log/make_sessions.py                       # even shares
    python examples/shop_log/make_sessions.py --shares .2 .2 .2 .4

Conversions are .10, .11, .12 and .15; a session that converts spends about 40.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

VARIANTS = ("plain", "photos", "reviews", "bundle")
CONVERSIONS = (0.10, 0.11, 0.12, 0.15)
EVEN = (0.25, 0.25, 0.25, 0.25)


def sessions(seed: int, rows: int = 20_000, shares: Sequence[float] = EVEN) -> list[tuple[str, str, str]]:
    """Return (variant, converted, revenue) of `rows` sessions, as text."""
    rng = np.random.default_rng([seed, rows])
    arm = rng.choice(len(VARIANTS), rows, p=shares)
    converted = rng.random(rows) < np.array(CONVERSIONS)[arm]
    revenue = np.where(converted, np.minimum(rng.gamma(4.0, 10.0, rows), 500.0), 0.0)
    told = zip(arm, converted, revenue, strict=True)
    return [(VARIANTS[a], "true" if c else "false", f"{r:.2f}") for a, c, r in told]


def write(path: Path, seed: int, rows: int = 20_000, shares: Sequence[float] = EVEN) -> None:
    """Write the log as CSV."""
    lines = ["session,variant,converted,revenue"]
    lines += [f"{number},{','.join(row)}" for number, row in enumerate(sessions(seed, rows, shares), start=1)]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--shares", type=float, nargs=len(VARIANTS), default=EVEN)
    given = parser.parse_args()
    write(Path(__file__).parent / "sessions.csv", given.seed, given.rows, given.shares)
