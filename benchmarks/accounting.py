"""Our accounting beside dp-accounting, prv-accountant, random-allocation and riskcal: time at equal width.

Errors are distances from our enclosure, which is proved; it contains the worse direction of add-remove.
Peers but prv-accountant give an upper value only.  Ours is the time where no more than the peer's error is
asked for; times are of the processor.  No lower end of ours may be above a peer's upper one; a row
where our upper end is says so.
"""

import json
import math
import time
from collections.abc import Iterable
from fractions import Fraction

from benchmarks.account_rows import REALISTIC, trained
from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.calibrate import calibrate
from dpaccount.accounting.risk import REPORTED_RATES
from dpaccount.exact import Enclosure
from dpaccount.plan.events import (
    BandedPoisson,
    Event,
    Gaussian,
    Laplace,
    Plan,
    PoissonExamples,
    PoissonSubsampled,
    RandomizedResponse,
    Relation,
)

REPEATS = 3
PATIENCE = 10  #: processor seconds in which dp-accounting must have done a row
LONG = 2.0  #: seconds after which nothing is timed again
Found = dict[str, dict[str, list[float]]]  #: row → peer → [lower, upper, seconds]

SGM = PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1))
MIXED = tuple(Gaussian(sigma=50 + i) for i in range(100)) + tuple(Laplace(scale=100 + i) for i in range(100))
DIFFERENT = {
    "1000 different sampled Gaussians": tuple(
        PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1 + Fraction(k, 1000))) for k in range(1000)
    ),
    "1000 samples at different rates": tuple(
        PoissonSubsampled(rate=Fraction(1000 + k, 10**5), of=Gaussian(sigma=1 + Fraction(k, 1000)))
        for k in range(1000)
    ),
    "1000 different sampled Laplaces": tuple(
        PoissonSubsampled(rate=Fraction(1000 + k, 10**5), of=Laplace(scale=1 + Fraction(k, 1000)))
        for k in range(1000)
    ),
}
USERS = PoissonExamples(rate="256/60000", examples=8, of=Gaussian(sigma=8), count=14063)
BANDS = BandedPoisson(rounds=2340, sigma=4, rate="128/1875", parts=16)
SHAPED: dict[str, tuple[Relation, tuple[Event, ...], str]] = {
    "8 examples of a user": (Relation.ADD_REMOVE, (USERS,), "1e-5"),
    "16 bands on cyclic samples": (Relation.ADD_REMOVE, (BANDS,), "1e-5"),
}
FEW: dict[str, tuple[Relation, tuple[Event, ...], str]] = {
    f"{steps} steps at rate {rate}, σ {sigma}": (
        Relation.ADD_REMOVE,
        (trained(rate, sigma, steps),),
        "1e-5",
    )
    for rate, sigma, steps in (
        ("0.001", "0.7", 2),
        ("0.001", "0.7", 5),
        ("0.001", "0.7", 25),
        ("0.0001", "1", 2),
        ("0.01", "0.5", 10),
        ("0.1", "1", 2),
    )
} | {
    f"{count} different sampled Gaussians": (
        Relation.ADD_REMOVE,
        tuple(trained(f"{(10 + k) / 10**4}", f"{0.7 + k / 100:.2f}", 1) for k in range(count)),
        "1e-5",
    )
    for count in (2, 3, 30)
}
ROWS = (
    REALISTIC
    | SHAPED
    | FEW
    | {name: (Relation.ADD_REMOVE, each, "1e-6") for name, each in DIFFERENT.items()}
    | {
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
        "100 + 100 unequal": (Relation.REPLACE_ONE, MIXED, "1e-6"),
        "200 randomised responses": (
            Relation.REPLACE_ONE,
            (RandomizedResponse(epsilon="0.1", count=200),),
            "1e-6",
        ),
    }
)

THEIRS = """
import json, math, signal, sys, time
from fractions import Fraction
import dp_accounting as dp
from dp_accounting.pld import pld_privacy_accountant as pld
from dp_accounting.pld import privacy_loss_distribution as pl

G, L = dp.GaussianDpEvent, dp.LaplaceDpEvent
sgm = lambda n: dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(.01, G(1.)), n)
mixed = dp.ComposedDpEvent([G(50. + i) for i in range(100)] + [L(100. + i) for i in range(100)])
rows = {
    "Gaussian 1, 1e-5": (G(1.), 1e-5), "Gaussian 1, 1e-12": (G(1.), 1e-12),
    "10000 Gaussian 100": (dp.SelfComposedDpEvent(G(100.), 10000), 1e-5),
    "1000 Laplace 100": (dp.SelfComposedDpEvent(L(100.), 1000), 1e-6),
    "1000 sampled Gaussian": (sgm(1000), 1e-5), "10000 sampled Gaussian": (sgm(10000), 1e-5),
    "100 + 100 unequal": (mixed, 1e-6),
}
steps = range(1000)
sampled = dp.PoissonSampledDpEvent
rows["1000 different sampled Gaussians"] = (
    dp.ComposedDpEvent([sampled(.01, G(1 + k / 1000)) for k in steps]), 1e-6)
rows["1000 different sampled Laplaces"] = (
    dp.ComposedDpEvent([sampled((1000 + k) / 1e5, L(1 + k / 1000)) for k in steps]), 1e-6)
def known(event):
    # None where dp-accounting has no event that composes as ours
    kind, count = event["event"], event.get("count", 1)
    if kind == "gaussian":
        one = G(float(Fraction(str(event["sigma"]))))
    elif kind == "laplace":
        one = L(float(Fraction(str(event["scale"]))))
    elif kind == "discrete_laplace":
        one = dp.dp_event.DiscreteLaplaceDpEvent(1 / float(Fraction(str(event["scale"]))), 1)
    elif kind == "poisson_subsampled" and (inner := known(event["of"])):
        one = dp.PoissonSampledDpEvent(float(Fraction(str(event["rate"]))), inner)
    elif kind == "poisson_examples":
        rate, most = float(Fraction(str(event["rate"]))), event["examples"]
        drawn = [math.comb(most, k) * rate**k * (1 - rate) ** (most - k) for k in range(most + 1)]
        drawn[0] = 1 - sum(drawn[1:])
        sigma = float(Fraction(str(event["of"]["sigma"])))
        one = dp.dp_event.MixtureOfGaussiansDpEvent(sigma, [*range(most + 1)], drawn)
    elif kind == "banded_poisson":  # all columns as long as the longest
        turns = -(-event["rounds"] // event["parts"])
        longest = math.sqrt(sum((math.comb(2 * k, k) / 4**k) ** 2 for k in range(event["parts"])))
        noise = G(float(Fraction(str(event["sigma"]))) / longest)
        one = dp.SelfComposedDpEvent(sampled(float(Fraction(str(event["rate"]))), noise), turns)
    else:
        return None
    return one if count == 1 else dp.SelfComposedDpEvent(one, count)
for name, (events, delta) in json.loads(sys.argv[2]).items():
    made = [known(event) for event in events]
    if all(made):
        rows[name] = made[0] if len(made) == 1 else dp.ComposedDpEvent(made), float(delta)
def account(event, delta):
    accountant = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(event)
    return accountant.get_epsilon(delta)
def responses(_, delta):
    import math
    one = pl.from_randomized_response(2 / (1 + math.exp(.1)), 2)
    return one.self_compose(200).get_epsilon_for_delta(delta)
def stop(*_):
    raise TimeoutError
signal.signal(signal.SIGPROF, stop)
found = {}
for name, work in [*rows.items(), ("200 randomised responses", (None, 1e-6))]:
    run = responses if name.startswith("200") else account
    times = []
    signal.setitimer(signal.ITIMER_PROF, float(sys.argv[3]))
    try:
        for _ in range(int(sys.argv[1])):
            begun = time.process_time()
            epsilon = float(run(*work))
            times.append(time.process_time() - begun)
            if sum(times) > 2:
                break
    except TimeoutError:
        if not times:
            continue
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    found[name] = {"dp-accounting": [epsilon, epsilon, min(times)]}
begun = time.process_time()
sigma = dp.calibrate_dp_mechanism(
    lambda: pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE),
    lambda sigma: dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(.001, G(sigma)), 25),
    .18, 1e-5, dp.ExplicitBracketInterval(.5, 2))
found["calibrated"] = {"dp-accounting": [sigma, sigma, time.process_time() - begun]}
try:
    from riskcal.analysis import get_advantage_from_pld, get_beta_from_pld

    begun = time.process_time()
    accountant = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(rows["MNIST"][0])
    losses = accountant._pld
    rates = [1 - float(get_beta_from_pld(losses, at)) for at in (.001, .01, .1)]
    rates.append(float(get_advantage_from_pld(losses)))
    found["risk"] = {"riskcal": [*rates, time.process_time() - begun]}
except ImportError as error:
    print(error, file=sys.stderr)
try:
    import random_allocation as ra

    given = ra.PrivacyParams(sigma=1.1, num_steps=234, num_selected=1, num_epochs=60, delta=1e-5)
    begun = time.process_time()
    # its other methods take one epoch only, or integer orders: this is the least that it gives here
    least = float(ra.allocation_epsilon_RDP_DCO(given, ra.SchemeConfig()))
    found["random allocation"] = {"random-allocation": [least, least, time.process_time() - begun]}
except ImportError as error:
    print(error, file=sys.stderr)
try:
    from prv_accountant import PRVAccountant
    from prv_accountant import privacy_random_variables as kinds
    G, L = kinds.GaussianMechanism, kinds.LaplaceMechanism
    sampled = kinds.PoissonSubsampledGaussianMechanism(sampling_probability=.01, noise_multiplier=1.)
    unequal = [G(50. + i) for i in range(100)] + [L(mu=1 / (100 + i)) for i in range(100)]
    prvs = {
        "Gaussian 1, 1e-5": ([G(1.)], 1, 1e-5),
        "Gaussian 1, 1e-12": ([G(1.)], 1, 1e-12),
        "10000 Gaussian 100": ([G(100.)], 10000, 1e-5),
        "1000 Laplace 100": ([L(mu=.01)], 1000, 1e-6),
        "1000 sampled Gaussian": ([sampled], 1000, 1e-5),
        "10000 sampled Gaussian": ([sampled], 10000, 1e-5),
        "100 + 100 unequal": (unequal, 1, 1e-6),
        "200 randomised responses": ([kinds.PureDPMechanism(.1)], 200, 1e-6),
    }
    for name, (prv, count, delta) in prvs.items():
        try:
            begun = time.process_time()
            wide = .1 if len(prv) > 1 else .01
            made = PRVAccountant(
                prvs=prv, max_self_compositions=[count] * len(prv), eps_error=wide, delta_error=delta / 1000)
            low, _, high = made.compute_epsilon(delta, [count] * len(prv))
            spent = time.process_time() - begun
            found.setdefault(name, {})["prv-accountant"] = [float(low), float(high), spent]
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
        begun = time.process_time()
        bounds = Accountant(Plan(relation, events)).epsilon(delta, gap)
        times.append(time.process_time() - begun)
        if sum(times) > LONG:
            break
    return bounds, min(times)


def written() -> str:
    """Return the realistic rows for the peers: their events as documents have them, and δ."""
    found = {
        name: (json.loads(Plan(relation, events).to_json())["events"], delta)
        for name, (relation, events, delta) in (REALISTIC | SHAPED | FEW).items()
    }
    return json.dumps(found)


def rows(setting: BenchmarkSetting) -> Rows:
    """Yield every row against each peer; raise `AssertionError` where one is below our lower end."""
    why = setting.lacks("dp_accounting")
    theirs: Found = {} if why else setting.asked(THEIRS, REPEATS, written(), PATIENCE)
    for name, (relation, events, delta) in ROWS.items():
        bounds, seconds = timed(events, relation, delta, Fraction(1, 10**6))
        width = f"width {float(bounds.upper - (bounds.lower or 0)):.0e}"
        for peer in ("dp-accounting", "prv-accountant", "random-allocation"):
            if peer not in theirs.get(name, {}):
                if peer == "dp-accounting":
                    unknown = f"{width}; {why or f'no such row, or not done in {PATIENCE} s'}"
                    yield BenchmarkRow(name, seconds, "s", peer, None, unknown)
                continue
            below, above, spent = theirs[name][peer]
            if float(bounds.lower or 0) > above * (1 + 1e-9):
                raise AssertionError(f"{name}: {peer} has {above}, ours is in {bounds}")
            wider = float(bounds.upper) > above * (1 + 1e-9)
            own = f"{width}{', upper end above its' if wider else ''}"
            error = abs(above - float(bounds.upper))
            if peer == "prv-accountant":  # it gives both ends
                error = max(error, abs(below - float(bounds.lower or 0)))
            _, seconds = timed(events, relation, delta, Fraction(max(error, 1e-12)))
            yield BenchmarkRow(name, seconds, "s", peer, spent, f"{own}, its error {error:.0e}")
    begun = time.process_time()
    sought = calibrate(lambda sigma: Plan("add-remove", [trained("0.001", sigma, 25)]), "0.18", "1e-5")
    seconds = time.process_time() - begun
    sigma, _, most = theirs.get("calibrated", {}).get("dp-accounting", (None, None, None))
    note = f"{float(sought):.7f}, theirs {sigma:.7f}" if sigma else f"{float(sought):.7f}"
    yield BenchmarkRow("σ of 25 steps at rate 0.001", seconds, "s", "dp-accounting", most, note)
    yield _risk(theirs.get("risk", {}).get("riskcal"))
    for name, steps, limit in (("equal", [trained("0.01", "1", 1)] * 1000, 5), ("different", RISING, 30)):
        spent = fresh(steps)
        first = sum(spent[:FIRST])
        note = f"mean of the others; the first {FIRST} together {first:.1f} s"
        mean = 1000 * sum(spent[FIRST:]) / len(spent[FIRST:])
        yield BenchmarkRow(
            f"a fresh ε after each of {len(steps)} {name} steps", mean, "ms", "its limit", limit, note
        )


FIRST = 12  #: steps whose losses hardly decay
RISING = [trained("0.01", f"{1 + k / 1000}", 1) for k in range(100)]  #: of σ


def _risk(theirs: list[float] | None) -> BenchmarkRow:
    """Return the time of what an attacker learns from MNIST's plan, with its μ, rates and advantage."""
    relation, events, _ = REALISTIC["MNIST"]
    begun = time.process_time()
    found = Accountant(Plan(relation, events)).risk()
    seconds = time.process_time() - begun
    ours = [*(found.true_positives(at) for at in REPORTED_RATES), found.advantage.upper]
    mu = float(found.mu.upper) if found.mu else math.inf
    note = f"μ {mu:.4f}; TPR at .1, 1, 10 % FPR and advantage {_five(ours)}"
    *others, spent = theirs or (None,)
    note += f", theirs {_five(others)}, not proved" if others else ""
    return BenchmarkRow("risk of MNIST", seconds, "s", "riskcal", spent, note)


def _five(numbers: Iterable[float | Fraction]) -> str:
    return " ".join(f"{float(number):.5f}" for number in numbers)


def fresh(steps: list[Event]) -> list[float]:
    """Return the processor seconds that each step and its ε take in an accountant that grows."""
    accountant, spent = Accountant([], relation="add-remove"), []
    for event in steps:
        begun = time.process_time()
        accountant.compose(event)
        accountant.epsilon("1e-6")
        spent.append(time.process_time() - begun)
    return spent
