"""Our accounting beside dp-accounting and prv-accountant: time at equal width, widths and errors.

Errors are distances from our enclosure, which is proved; it contains the worse direction of add-remove.
dp-accounting gives an upper value only.  Ours is the time where no more than the peer's error is asked for.
"""

import time
from fractions import Fraction

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows
from dpaccount.accounting.accountant import Accountant
from dpaccount.exact import Enclosure
from dpaccount.plan.events import (
    Event,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    RandomizedResponse,
    Relation,
)

REPEATS = 3
Found = dict[str, dict[str, list[float]]]  #: row → peer → [lower, upper, seconds]

SGM = PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1))
MIXED = tuple(Gaussian(sigma=50 + Fraction(i, 5)) for i in range(500)) + tuple(
    Laplace(scale=100 + Fraction(i, 5)) for i in range(500)
)
ROWS = {
    "Gaussian 1, 1e-5": (Relation.REPLACE_ONE, (Gaussian(sigma=1),), "1e-5"),
    "Gaussian 1, 1e-12": (Relation.REPLACE_ONE, (Gaussian(sigma=1),), "1e-12"),
    "10000 Gaussian 100": (Relation.REPLACE_ONE, (Gaussian(sigma=100, count=10000),), "1e-5"),
    "1000 Laplace 100": (Relation.REPLACE_ONE, (Laplace(scale=100, count=1000),), "1e-6"),
    "1000 sampled Gaussian": (
        Relation.ADD_REMOVE,
        (PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1), count=1000),),
        "1e-5",
    ),
    "10000 sampled Gaussian": (
        Relation.ADD_REMOVE,
        (PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1), count=10000),),
        "1e-5",
    ),
    "500 + 500 unequal": (Relation.REPLACE_ONE, MIXED, "1e-6"),
    "200 randomised responses": (
        Relation.REPLACE_ONE,
        (RandomizedResponse(epsilon="0.1", count=200),),
        "1e-6",
    ),
}

THEIRS = """
import json, sys, time
import dp_accounting as dp
from dp_accounting.pld import pld_privacy_accountant as pld
from dp_accounting.pld import privacy_loss_distribution as pl

G, L = dp.GaussianDpEvent, dp.LaplaceDpEvent
sgm = lambda n: dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(.01, G(1.)), n)
mixed = dp.ComposedDpEvent([G(50 + .2 * i) for i in range(500)] + [L(100 + .2 * i) for i in range(500)])
rows = {
    "Gaussian 1, 1e-5": (G(1.), 1e-5), "Gaussian 1, 1e-12": (G(1.), 1e-12),
    "10000 Gaussian 100": (dp.SelfComposedDpEvent(G(100.), 10000), 1e-5),
    "1000 Laplace 100": (dp.SelfComposedDpEvent(L(100.), 1000), 1e-6),
    "1000 sampled Gaussian": (sgm(1000), 1e-5), "10000 sampled Gaussian": (sgm(10000), 1e-5),
    "500 + 500 unequal": (mixed, 1e-6),
}
def account(event, delta):
    accountant = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(event)
    return accountant.get_epsilon(delta)
def responses(_, delta):
    import math
    one = pl.from_randomized_response(2 / (1 + math.exp(.1)), 2)
    return one.self_compose(200).get_epsilon_for_delta(delta)
found = {}
for name, work in [*rows.items(), ("200 randomised responses", (None, 1e-6))]:
    run = responses if name.startswith("200") else account
    times = []
    for _ in range(int(sys.argv[1])):
        begun = time.perf_counter()
        epsilon = float(run(*work))
        times.append(time.perf_counter() - begun)
    found[name] = {"dp-accounting": [epsilon, epsilon, min(times)]}
try:
    from prv_accountant import PRVAccountant
    from prv_accountant import privacy_random_variables as kinds
    G, L = kinds.GaussianMechanism, kinds.LaplaceMechanism
    sampled = kinds.PoissonSubsampledGaussianMechanism(sampling_probability=.01, noise_multiplier=1.)
    unequal = [G(50 + .2 * i) for i in range(500)] + [L(mu=1 / (100 + .2 * i)) for i in range(500)]
    prvs = {
        "Gaussian 1, 1e-5": ([G(1.)], 1, 1e-5),
        "Gaussian 1, 1e-12": ([G(1.)], 1, 1e-12),
        "10000 Gaussian 100": ([G(100.)], 10000, 1e-5),
        "1000 Laplace 100": ([L(mu=.01)], 1000, 1e-6),
        "1000 sampled Gaussian": ([sampled], 1000, 1e-5),
        "10000 sampled Gaussian": ([sampled], 10000, 1e-5),
        "500 + 500 unequal": (unequal, 1, 1e-6),
        "200 randomised responses": ([kinds.PureDPMechanism(.1)], 200, 1e-6),
    }
    for name, (prv, count, delta) in prvs.items():
        try:
            begun = time.perf_counter()
            wide = .1 if len(prv) > 1 else .01
            made = PRVAccountant(
                prvs=prv, max_self_compositions=[count] * len(prv), eps_error=wide, delta_error=delta / 1000)
            low, _, high = made.compute_epsilon(delta, [count] * len(prv))
            found[name]["prv-accountant"] = [float(low), float(high), time.perf_counter() - begun]
        except Exception as error:
            print(name, "prv-accountant:", error, file=sys.stderr)
except ImportError as error:
    print(error, file=sys.stderr)
print(json.dumps(found))
"""


def timed(
    events: tuple[Event, ...], relation: Relation, delta: str, gap: Fraction
) -> tuple[Enclosure, float]:
    """Return the enclosure and the least of a few times."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        bounds = Accountant(Plan(relation, events)).epsilon(delta, gap)
        times.append(time.perf_counter() - begun)
    return bounds, min(times)


def rows(setting: BenchmarkSetting) -> Rows:
    """Yield every row beside each peer."""
    why = setting.lacks("dp_accounting")
    theirs: Found = {} if why else setting.asked(THEIRS, REPEATS)
    for name, (relation, events, delta) in ROWS.items():
        bounds, seconds = timed(events, relation, delta, Fraction(1, 10**6))
        width = f"width {float(bounds.upper - bounds.lower):.0e}"
        for peer in ("dp-accounting", "prv-accountant"):
            if peer not in theirs.get(name, {}):
                yield BenchmarkRow(name, seconds, "s", peer, None, f"{width}; {why or 'not installed'}")
                continue
            below, above, spent = theirs[name][peer]
            error = abs(above - float(bounds.upper))
            if peer == "prv-accountant":  # it gives both ends
                error = max(error, abs(below - float(bounds.lower)))
            _, seconds = timed(events, relation, delta, Fraction(max(error, 1e-12)))
            yield BenchmarkRow(name, seconds, "s", peer, spent, f"{width}, its error {error:.0e}")
