"""Draw outsourced.svg: pipe `dpaccount reproduce kharkovskii2020-figure2a --json` into this."""

import json
import math
import sys
from pathlib import Path

import matplotlib as mpl

LENGTH = 5.0
CURVES = {
    "po-gp-ucb published": "published (refuted)",
    "po-gp-ucb published, with our width": "published (refuted), our width",
    "k-norm, noise-aware": "ours (certified)",
}
PLAIN = "gp-ucb, not private"


def main() -> None:
    """Write the picture beside this file: simple regret after the last query against ε, at length 5."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "outsourced"
    from matplotlib import pyplot as plt

    answer = json.load(sys.stdin)
    rows = [row for row in answer["rows"] if row["length"] == LENGTH]
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for name, label in CURVES.items():
        of = sorted((row for row in rows if row["algorithm"] == name), key=lambda row: row["log_epsilon"])
        at = [math.exp(row["log_epsilon"]) for row in of]
        error = [2 * row["standard_error"] for row in of]
        axes.errorbar(at, [row["value"] for row in of], error, marker="o", capsize=3, label=label)
    plain = next(row["value"] for row in rows if row["algorithm"] == PLAIN)
    axes.axhline(plain, linestyle="--", color="gray", label="GP-UCB, not private")
    axes.set(xscale="log", xlabel="epsilon (a point moves by one unit of 25)", ylim=(0, None))
    axes.set(ylabel=f"simple regret after {answer['rounds']} queries, sigma_y")
    axes.set_title(f"field of length 5, {answer['trials']} runs, two standard errors")
    axes.legend()
    figure.savefig(Path(__file__).with_name("outsourced.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
