"""What benchmarks/audits.py runs in the peers' own environment; nothing of ours is imported here.

    python audit_peers.py draw SUBJECT RUNS SEED OUT.npz
    python audit_peers.py judge EPSILON DELTA SAMPLES.npz …

`draw` runs a mechanism of diffprivlib or OpenDP on 0 and on 1.  `judge` prints, as JSON, whether the
testers of DP-Auditorium (hockey-stick, histogram), StatDP and jax-privacy (Clopper-Pearson) reject
(EPSILON, DELTA) from the samples on two neighbours, at 5 %, or why one cannot be used.  Of results of several
numbers the hockey-stick tester reads all, the others the first.
"""

import argparse
import json
from pathlib import Path

import numpy as np

LEVEL = 0.05


def subject(name: str, seed: int):
    """Return a function from a value to one noisy release."""
    library, _, kind = name.partition(" ")
    if library == "diffprivlib":
        from diffprivlib import mechanisms

        made = {
            "Laplace": lambda: mechanisms.Laplace(epsilon=1, delta=0, sensitivity=1, random_state=seed),
            "geometric": lambda: mechanisms.Geometric(epsilon=1, sensitivity=1, random_state=seed),
            "Gaussian": lambda: mechanisms.GaussianAnalytic(
                epsilon=1, delta=1e-5, sensitivity=1, random_state=seed
            ),
        }[kind]()
        return lambda value: made.randomise(int(value) if kind == "geometric" else float(value))
    import opendp.prelude as dp

    dp.enable_features("contrib")
    whole = kind == "geometric"
    type_ = int if whole else float
    domain = dp.atom_domain(T=int) if whole else dp.atom_domain(T=float, nan=False)
    space = domain, dp.absolute_distance(T=type_)
    made = (
        dp.m.make_gaussian(*space, scale=3.7307)
        if kind == "Gaussian"
        else dp.m.make_laplace(*space, scale=1.0)
    )
    return lambda value: made(type_(value))


def draw(name: str, runs: int, seed: int, out: Path) -> None:
    """Save the releases on 0 (`left`) and on 1 (`right`)."""
    release = subject(name, seed)
    np.savez(
        out, **{side: [release(value) for _ in range(runs)] for side, value in (("left", 0), ("right", 1))}
    )


def hockey_stick(left, right, epsilon: float, delta: float) -> bool:
    """Return what DP-Auditorium's classifier says."""
    from dp_auditorium.configs import privacy_property, property_tester_config
    from dp_auditorium.testers import hockey_stick_tester

    config = property_tester_config.HockeyStickPropertyTesterConfig(
        training_config=hockey_stick_tester.make_default_hs_training_config(),
        approximate_dp=privacy_property.ApproximateDp(epsilon=epsilon, delta=delta),
    )
    either = []
    for one, other in ((left, right), (right, left)):
        model = hockey_stick_tester.make_default_hs_base_model()
        tester = hockey_stick_tester.HockeyStickPropertyTester(config=config, base_model=model)
        bound = tester.estimate_lower_bound(one, other, LEVEL / 2)
        either.append(bool(tester.reject_property(bound)))
    return any(either)


def histogram(left, right, epsilon: float, delta: float) -> bool:
    """Return what DP-Auditorium's histogram says."""
    import inspect

    from dp_auditorium.configs import privacy_property, property_tester_config
    from dp_auditorium.testers import histogram_tester

    both = np.concatenate([left, right])
    settings = {
        "test_discrete_mechanism": False,
        "histogram_size": 20,
        "min_value": float(np.quantile(both, 0.01)),
        "max_value": float(np.quantile(both, 0.99)) + 1e-9,
        "approximate_dp": privacy_property.ApproximateDp(epsilon=epsilon, delta=delta),
        "use_original_tester": False,
    }
    made = property_tester_config.HistogramPropertyTesterConfig
    known = inspect.signature(made).parameters  # versions differ
    tester = histogram_tester.HistogramTester(made(**{k: v for k, v in settings.items() if k in known}))
    bounds = [tester.estimate_lower_bound(*pair, LEVEL / 2) for pair in ((left, right), (right, left))]
    return any(bool(tester.reject_property(bound)) for bound in bounds)


def statdp(left, right, epsilon: float) -> bool:
    """Return what StatDP says: half of the samples choose its event, the others give its p-value."""
    from statdp.core import run_algorithm
    from statdp.hypotest import test_statistics

    number = int if (np.concatenate([left, right]) % 1 == 0).all() else float
    half = min(len(left), len(right)) // 2

    def counted(part, event):
        streams = {0: iter(part[0]), 1: iter(part[1])}
        first = [True]

        def algorithm(_, side):  # the peer asks once for the type of a result
            if first[0]:
                first[0] = False
                return np.asarray(number(part[0][0]))[()]
            return np.asarray(number(next(streams[side])))[()]

        return run_algorithm(algorithm, 0, 1, {}, event, len(part[0]))

    counts, described = counted((left[:half], right[:half]), None)
    values = [test_statistics(a, b, epsilon, half) for a, b in counts]
    event = described[int(np.argmin(values))][3]
    [(a, b)], _ = counted((left[half : 2 * half], right[half : 2 * half]), event)
    return bool(min(test_statistics(a, b, epsilon, half), test_statistics(b, a, epsilon, half)) < LEVEL / 2)


def clopper_pearson(left, right, epsilon: float, delta: float) -> bool:
    """Return what jax-privacy says, with either side as the one that held the canary."""
    from jax_privacy.auditing import CanaryScoreAuditor

    pairs = (left, right), (right, left)
    bounds = [
        CanaryScoreAuditor(*pair).epsilon_clopper_pearson(LEVEL / 2, delta, one_sided=False) for pair in pairs
    ]
    return max(bounds) > epsilon


def judge(epsilon: float, delta: float, samples: list[Path]) -> None:
    """Print by which of the samples, in their order, each tester rejects first: null for none, or why not."""
    found = {}
    held = [np.load(each) for each in samples]
    pairs = [(each["left"], each["right"]) for each in held]
    first = [tuple(side.reshape(len(side), -1)[:, 0] for side in pair) for pair in pairs]
    testers = {
        "hockey-stick": (pairs, lambda left, right: hockey_stick(left, right, epsilon, delta)),
        "histogram": (first, lambda left, right: histogram(left, right, epsilon, delta)),
        "jax-privacy": (first, lambda left, right: clopper_pearson(left, right, epsilon, delta)),
    }
    if delta == 0:
        testers["StatDP"] = first, lambda left, right: statdp(left, right, epsilon)
    for name, (judged, tester) in testers.items():
        try:
            found[name] = next((place for place, pair in enumerate(judged) if tester(*pair)), None)
        except Exception as error:  # peers raise anything
            found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


def main() -> None:
    """Read the request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    does = parser.add_subparsers(dest="does", required=True)
    drawn = does.add_parser("draw")
    drawn.add_argument("subject")
    drawn.add_argument("runs", type=int)
    drawn.add_argument("seed", type=int)
    drawn.add_argument("out", type=Path)
    judged = does.add_parser("judge")
    judged.add_argument("epsilon", type=float)
    judged.add_argument("delta", type=float)
    judged.add_argument("samples", type=Path, nargs="+")
    asked = parser.parse_args()
    if asked.does == "draw":
        draw(asked.subject, asked.runs, asked.seed, asked.out)
    else:
        judge(asked.epsilon, asked.delta, asked.samples)


if __name__ == "__main__":
    main()
