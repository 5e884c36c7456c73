"""DP-SGD in NumPy, audited in one run with Dirac canaries.

`python canaries.py [BUG]` trains once, and writes scores and the claimed plan.  Each canary's gradient is one
coordinate of its own; half of the canaries, by a coin each, are in the training data.  Scores: `sum`
adds up the noisy gradient at that coordinate over all steps; `spread` is its deviation between steps, which
shows sampling itself where the same noise is used again.  What no score shows is a divisor that
changes with the batch: it says "VARIES" where the noise is not the same in every step.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np

CANARIES, RATE, SIGMA, STEPS, CLIP = 1000, 0.1, 1.0, 100, 1.0
GRADIENT = 5.0  #: norm of a canary's gradient before clipping
BUGS = ("no_clipping", "clipping_by_batch", "half_the_noise", "one_noise", "real_batch_size", "half_the_rate")
PLAN = {  # "half_the_rate" is a bug of the accountant: it trains as usual and claims less
    "schema": "dpaccount/events/1",
    "relation": "add-remove",
    "events": [
        {
            "event": "poisson_subsampled",
            "count": STEPS,
            "rate": str(RATE),
            "of": {"event": "gaussian", "sigma": SIGMA},
        }
    ],
}


def noisy_gradients(included, rng, bug=None):
    """Return what each step adds to the weights: a row a step, a column a canary."""
    sigma = SIGMA / 2 if bug == "half_the_noise" else SIGMA
    noise, steps = rng.normal(size=len(included)), []
    for _ in range(STEPS):
        taken = included & (rng.random(len(included)) < RATE)
        total = GRADIENT * taken  # a row's gradient is one coordinate
        if bug == "clipping_by_batch":
            total = total * min(1.0, CLIP * taken.sum() / max(np.linalg.norm(total), 1e-9))
        elif bug != "no_clipping":
            total = total * (CLIP / GRADIENT)
        if bug != "one_noise":
            noise = rng.normal(size=len(included))
        expected = RATE * len(included) / 2
        divisor = max(taken.sum(), 1) if bug == "real_batch_size" else expected
        steps.append((total + sigma * CLIP * noise) / divisor)
    return np.array(steps)


def scores(steps):
    """Return the scores of all canaries, by name: higher means "was included"."""
    return {"sum": steps.sum(axis=0), "spread": steps.std(axis=0)}


def unsteadiness(steps, included):
    """Return how much the noise varies between steps, in standard deviations of what chance explains.

    Coordinates of canaries that are not included are noise alone.  The log of its variance over n of
    them in a step has a variance of about 2/(n - 1); over T steps that gives a chi-square of T - 1.
    Above 5 for steady noise has probability 3e-5 at T = 100.
    """
    noise = steps[:, ~included]
    logs = np.log(noise.var(axis=1, ddof=1))
    freedom = len(steps) - 1
    chi_square = logs.var() * len(steps) * (noise.shape[1] - 1) / 2
    return float((chi_square - freedom) / np.sqrt(2 * freedom))


def write_canaries(name, included, values):
    """Write a file for `dpaccount audit-one-run`: a line for each canary."""
    with Path(name).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["included", "score"])
        rows.writerows(zip(np.asarray(included, int), values, strict=True))


def main(bug=None, seed=1):
    """Train once; write sum.csv, spread.csv and plan.json; say whether the noise is steady."""
    rng = np.random.default_rng(seed)
    included = rng.random(CANARIES) < 0.5
    steps = noisy_gradients(included, rng, bug)
    found = unsteadiness(steps, included)
    print(f"noise between steps: {'VARIES' if found > 5 else 'steady'} ({found:.1f} standard deviations)")
    for name, values in scores(steps).items():
        write_canaries(f"{name}.csv", included, values)
    claimed = json.loads(json.dumps(PLAN))
    if bug == "half_the_rate":
        claimed["events"][0]["rate"] = str(RATE / 2)
    Path("plan.json").write_text(json.dumps(claimed))


if __name__ == "__main__":
    main(*sys.argv[1:2])
