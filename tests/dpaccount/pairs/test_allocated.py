"""Random allocation against brute force: quadrature, exact rationals, and lower bounds."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from dpaccount import Accountant, Gaussian, Laplace, Plan, PoissonSubsampled, Pure, RandomAllocation, Zcdp
from dpaccount.documents import parse_json
from dpaccount.errors import InputError, NumericsError
from dpaccount.numerics.allocation import mean_powers
from dpaccount.numerics.allocation.mean_powers import LogNormals, MeanPowers
from dpaccount.numerics.allocation.score_sums import sum_laws
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.allocated import AllocatedGaussian, AllocatedMean, AllocatedResponse, AllocatedScores
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep
from tests.looped import looped

EXAMPLE = Plan("add-remove", RandomAllocation(steps=234, of=Gaussian(sigma="1.1"), count=60))


def normal_tail(z):
    return np.vectorize(math.erfc)(z / math.sqrt(2)) / 2


def call(mu, c):
    """E (Y − c)₊ of a log-normal Y of mean 1."""
    z = (np.log(np.where(c > 0, c, 1)) + mu * mu / 2) / mu
    return np.where(c > 0, normal_tail(z - mu) - c * normal_tail(z), 1 - c)


def by_quadrature(steps, mu, epsilon):
    """δ(ε) of one epoch, removed and added: all but one of the steps by the trapezoid rule."""
    x = np.linspace(-9.5, 9.5, 20001 if steps == 2 else 801)
    weight, y = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0]), np.exp(mu * x - mu * mu / 2)
    rest, mass = y, weight
    for _ in range(steps - 2):
        rest, mass = np.add.outer(rest, y).ravel(), np.multiply.outer(mass, weight).ravel()
    there = steps * math.exp(epsilon) - rest
    gone = steps * math.exp(-epsilon) - rest
    put = np.where(gone > 0, call(mu, gone) - 1 + gone, 0)
    return mass @ call(mu, there) / steps, math.exp(epsilon) * (mass @ put) / steps


@deep
@pytest.mark.parametrize(("steps", "mu2", "at"), [(2, Fraction(1), "1"), (3, Fraction(1, 4), "0.25")])
def test_one_epoch_beside_quadrature(steps, mu2, at):
    truth = max(by_quadrature(steps, math.sqrt(mu2), float(at)))
    noise = Gaussian(sigma=Fraction(1) if mu2 == 1 else 2)
    ends_of_delta = Accountant(Plan("add-remove", RandomAllocation(steps=steps, of=noise))).delta(at, "1e-5")
    assert float(ends_of_delta.lower) - 1e-9 <= truth <= float(ends_of_delta.upper) + 1e-9
    assert float(ends_of_delta.upper) < truth * (1 + 1e-4)


def powers(law, low, high, turn):
    return MeanPowers(law, low, high, turn, 100)


@deep
@pytest.mark.parametrize("turn", [0.0, 6.0, 60.0])
def test_the_powers_of_one_log_normal_are_known(turn):
    """E Y^a = e^{a(a−1)μ²/2}, at real powers, complex ones, and along a ray near the imaginary axis."""
    moments = powers(LogNormals(1, Fraction(1, 2)), -3.5, 4.0, turn)
    with precision(120):
        for at in (-3.5, -0.25, 0, 1, 2.5, 4):
            for n, value in enumerate(moments.line(arb(at), arb(turn) / 8, 9)):
                a = acb(at, turn * n / 8)
                assert value.overlaps((a * (a - 1) / 4).exp())
                assert float(abs(value - (a * (a - 1) / 4).exp()).upper()) < 1e-18 * math.exp(
                    at * (at - 1) / 4
                )


@deep
def test_whole_powers_of_a_mean():
    """E S, E S² and E S³ by the moments of the terms, which add up."""
    for steps, mu2 in ((2, Fraction(1)), (234, Fraction(100, 121)), (10**6, Fraction(4))):
        moments, e = powers(LogNormals(steps, mu2), 1.0, 3.0, 0.0), math.exp(mu2)
        square = 1 + (e - 1) / steps
        cube = (e**3 + 3 * (steps - 1) * e + (steps - 1) * (steps - 2)) / steps**2
        for at, truth in ((1, 1.0), (2, square), (3, cube)):
            moment = moments.line(arb(at), arb(0), 1)[0].real
            assert moment.rel_accuracy_bits() > 80
            assert math.isclose(float(moment), truth, rel_tol=1e-12)


@pytest.mark.parametrize("part", ["_tails", "aliases", "_InnerErrors"])
def test_each_error_term_is_needed(part, monkeypatch):
    """With too few nodes the errors are large; balls without them miss the truth, with them they hold it."""

    def coarse(*arguments):
        ray = designed(*arguments)
        changes = {
            "_tails": {"first": ray.first + 6.0},
            "aliases": {"step": ray.step * 6, "count": ray.count // 6 + 2, "fine": ray.fine * 6},
            "_InnerErrors": {"left": ray.left + 14.0},
        }[part]
        return replace(ray, **changes)

    designed, truth = mean_powers._designed, math.exp(2.5 * 1.5 / 4)
    monkeypatch.setattr(mean_powers, "_designed", coarse)

    def value():
        with precision(120):
            moments = MeanPowers(LogNormals(1, Fraction(1, 2)), 2.5, 2.5, 0.0, 100)
            return moments.line(arb("2.5"), arb(0), 1)[0].real

    with precision(120):
        exact = (arb("2.5") * arb("1.5") / 4).exp()
    assert value().contains(exact) or not value().is_finite()
    if part == "_tails":
        monkeypatch.setattr(MeanPowers, "_tails", lambda *_: arb(0))
    elif part == "aliases":
        monkeypatch.setattr(mean_powers, "aliases", lambda *_: arb(0))
    else:
        monkeypatch.setattr(mean_powers._InnerErrors, "at", lambda self, u: [arb(0)] * len(self.moments))
    assert math.isclose(truth, float(exact))
    assert not value().contains(exact)


@deep
def test_sixty_epochs_of_a_usual_run():
    """Both directions against a discrete convolution in doubles; the answer is narrow."""
    epsilon = Accountant(EXAMPLE).epsilon("1e-5")
    assert 2.3405207 < float(epsilon.lower) <= float(epsilon.upper) < 2.3405208
    assert epsilon.upper - epsilon.lower < Fraction(1, 10**9)
    poisson = PoissonSubsampled(rate="1/234", of=Gaussian(sigma="1.1"), count=60 * 234)
    assert epsilon.upper < Accountant(Plan("add-remove", poisson)).epsilon("1e-5").lower


def enumerated(steps, epsilon, count, at):
    """δ(ε) of randomised response in exact rationals but for the odds e^ε, which is a fraction here."""
    p = Fraction(1) / (1 + epsilon)
    once = {}
    for outcome in itertools.product((0, 1), repeat=steps):
        j = sum(outcome)
        mass = p**j * (1 - p) ** (steps - j)
        odds = (j * epsilon + (steps - j) / epsilon) / steps
        once[odds] = once.get(odds, 0) + mass
    total = {Fraction(1): Fraction(1)}
    for _ in range(count):
        total, before = {}, total
        for (a, m), (b, n) in itertools.product(before.items(), once.items()):
            total[a * b] = total.get(a * b, 0) + m * n
    removed = sum(m * max(s - at, 0) for s, m in total.items())
    return removed, sum(m * max(1 - at * s, 0) for s, m in total.items())


@looped(("steps", "count"), [(2, 1), (2, 3), (3, 2), (5, 2)])
def test_pure_beside_exact_rationals(steps, count):
    epsilon = Fraction(3)  # e^ε
    truth = enumerated(steps, epsilon, count, Fraction(7, 4))
    with precision(400):
        loss = arb(3).log()
    given = Fraction(round(float(loss) * 2**60), 2**60)
    at = Fraction(round(math.log(1.75) * 2**60), 2**60)
    plan = Plan("add-remove", RandomAllocation(steps=steps, of=Pure(epsilon=given), count=count))
    delta = Accountant(plan).delta(at)
    assert math.isclose(float(delta.upper), float(max(truth)), rel_tol=1e-12)
    assert math.isclose(float(delta.lower), float(max(truth)), rel_tol=1e-12)
    pair = AllocatedResponse(steps, given)
    for way, exact in zip((pair, pair.reversed()), truth, strict=True):
        if count == 1:
            with precision(128):
                assert math.isclose(float(way.curve(64)(at)), float(exact), rel_tol=1e-12)


def subset_deltas(steps, times, epsilon, at):
    """δ(ε) where each subset of `times` steps is drawn, in exact rationals."""
    p, subsets = Fraction(1) / (1 + epsilon), list(itertools.combinations(range(steps), times))
    removed = added = Fraction(0)
    for outcome in itertools.product((0, 1), repeat=steps):
        mass = math.prod((p if x else 1 - p) for x in outcome)
        odds = [math.prod((epsilon if outcome[i] else 1 / epsilon) for i in subset) for subset in subsets]
        s = sum(odds, Fraction(0)) / len(subsets)
        removed += mass * max(s - at, 0)
        added += mass * max(1 - at * s, 0)
    return max(removed, added)


@deep
def test_several_times_beside_all_subsets(monkeypatch):
    """Exact where outcomes are listed; beyond, blocks of ⌊t/k⌋ and ⌈t/k⌉ steps, one of each, bound them."""
    for steps, times, at in ((4, 2, "5/4"), (5, 2, "2"), (5, 3, "3"), (6, 2, "3/2"), (3, 3, "3/2")):
        truth = subset_deltas(steps, times, Fraction(3), Fraction(at))
        plan = RandomAllocation(steps=steps, times=times, of=Pure(epsilon=Fraction(math.log(3))))
        point = Fraction(math.log(Fraction(at)))
        exact = Accountant(Plan("add-remove", plan)).delta(point)
        assert math.isclose(float(exact.lower), float(truth), rel_tol=1e-9)
        assert math.isclose(float(exact.upper), float(truth), rel_tol=1e-9)
        if times < steps:
            monkeypatch.setattr("dpaccount.pairs.of_events.MAX_LISTED", 1)
            bound = Accountant(Plan("add-remove", plan)).delta(point)
            monkeypatch.undo()
            assert bound.lower is None
            assert float(truth) * (1 - 1e-9) <= float(bound.upper) < 1.6 * float(truth)


def two_of_three(mu, epsilon):
    """δ(ε) of noise in two of three steps, removed and added, by the trapezoid rule."""
    z = np.linspace(-8, 8, 161)
    weight, y = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0]), np.exp(mu * z - mu * mu / 2)
    a, b, c = y[:, None, None], y[None, :, None], y[None, None, :]
    odds, x = (a * b + a * c + b * c) / 3, math.exp(epsilon)
    over = (np.maximum(odds - x, 0), np.maximum(1 - x * odds, 0))
    return tuple(float(np.einsum("ijk,i,j,k", each, weight, weight, weight)) for each in over)


@pytest.mark.parametrize("at", [0.1, 0.7])
def test_sums_of_scores_lie_closely_below_two_of_three_steps(at):
    truth, pair = two_of_three(0.8, at), AllocatedScores(3, 2, Fraction(64, 100))
    for way, exact in zip((pair, pair.reversed()), truth, strict=True):
        assert 0.9 * exact < float(way.curve(60)(Fraction(at)).mid()) <= exact * (1 + 1e-4)
    more = AllocatedScores(3, 2, Fraction(81, 100))  # a pair that is none is seen
    assert float(more.curve(60)(Fraction(at)).mid()) > truth[0]


@deep
def test_noise_several_times_has_a_lower_end():
    """It is at most the true δ, which the bound by blocks exceeds; beside a mere upper bound there is none."""
    truth = max(two_of_three(0.8, 0.5))
    event = RandomAllocation(steps=3, times=2, of=Gaussian(sigma="1.25"))
    found = Accountant(Plan("add-remove", event)).delta("0.5", "1e-2")
    assert 0.9 * truth < float(found.lower) <= truth * (1 + 1e-4)
    assert truth * (1 - 1e-4) <= float(found.upper) < 1.5 * truth
    unknown = Accountant(Plan("add-remove", [event, Zcdp(rho="0.01")])).delta("0.5", "1e-2")
    assert unknown.lower is None


def test_samples_inside_samples_are_composed_once_each():
    """What a plan costs at least is asked of the plan alone: asked at every level, this would never end."""
    event = RandomAllocation(steps=3, times=2, of=Gaussian(sigma=1))
    for _ in range(40):
        event = PoissonSubsampled(rate="1/2", of=event)
    assert not composition_of([(event, 1)]).attained


@pytest.mark.parametrize(
    ("steps", "times", "mu2"), [(5, 4, 1), (1000, 10, 1), (10**5, 7, "1/4"), (40, 3, 25)]
)
def test_sums_of_scores_are_two_laws(steps, times, mu2):
    """Masses add up to 1, and each is known to many digits."""
    laws = sum_laws(steps, times, Fraction(mu2), 64)
    with precision(256):
        for law in zip(*laws, strict=True):
            assert abs(sum(law, arb(0)) - 1) < arb(2) ** -200
            assert min(mass.rel_accuracy_bits() for mass in law) > 64


def test_the_ends_of_the_family_are_plain_noise():
    noise, plain = Gaussian(sigma=2), Accountant(Plan("add-remove", Gaussian(sigma=2, count=6)))
    for event in (
        RandomAllocation(steps=1, of=noise, count=6),
        RandomAllocation(steps=3, times=3, of=noise, count=2),
    ):
        assert Accountant(Plan("add-remove", event)).epsilon("1e-6") == plain.epsilon("1e-6")


@deep
def test_more_steps_cost_less_and_more_epochs_more():
    costs = [
        Accountant(Plan("add-remove", RandomAllocation(steps=t, of=Gaussian(sigma=1), count=n))).epsilon(
            "1e-5"
        )
        for t, n in ((100, 20), (50, 20), (50, 40))
    ]
    assert costs[0].upper < costs[1].lower
    assert costs[1].upper < costs[2].lower


@deep
def test_beside_other_events():
    """Another release is added, in the transform: never less than either, never more than their sum."""
    allocated, other = RandomAllocation(steps=50, of=Gaussian(sigma=1), count=20), Laplace(scale=4)
    whole, first, second = (
        Accountant(Plan("add-remove", events)).epsilon("1e-5")
        for events in ([allocated, other], [allocated], [other])
    )
    assert first.upper < whole.lower
    assert whole.upper <= first.upper + second.upper
    assert whole.upper - whole.lower < Fraction(1, 10**6)


@looped(
    ("changes", "message"),
    [
        ({"times": 5}, "times exceeds steps"),
        ({"times": 0}, "times"),
        ({"steps": 0}, "steps"),
        ({"steps": 2.5}, "steps"),
        ({"of": {"event": "laplace", "scale": 2}}, "no bound is known for laplace"),
        ({"of": {"event": "pure", "epsilon": 1, "count": 2}}, "several releases in one step"),
        ({"of": {"event": "gaussian", "sigma": 1, "cover": [1, 2]}}, "cover"),
        ({"rate": 0.5}, "rate"),
    ],
)
def test_wrong_events_are_refused(changes, message):
    event = {"event": "random_allocation", "steps": 4, "of": {"event": "gaussian", "sigma": 1}, **changes}
    text = json.dumps({"schema": "dpaccount/events/1", "relation": "add-remove", "events": [event]})
    with pytest.raises(InputError, match=message):
        read_plan(parse_json(text.encode(), "plan.json"))


def test_the_other_relation_is_refused():
    with pytest.raises(InputError, match=r"not computed under replace-one.*--group 2"):
        Plan("replace-one", RandomAllocation(steps=4, of=Gaussian(sigma=1)))


def ends(sigma, steps, count, delta):
    """A run, its steps without allocation, and Poisson samples of one step an epoch."""
    noise = Gaussian(sigma=sigma)
    sampled = PoissonSubsampled(rate=Fraction(1, steps), of=noise, count=count)
    for events in (RandomAllocation(steps=steps, of=noise, count=count), noise * count, sampled):
        yield Accountant(Plan("add-remove", events)).epsilon(delta)


@deep
def test_an_epoch_lies_between_a_poisson_sample_of_one_step_and_a_sure_one():
    """Little noise and a tiny δ, where no method knows the epochs themselves."""
    cases = [("0.05", 1000, 1, "1e-6"), ("0.02", 40, 1, "1e-9")]
    for case in cases:
        epoch, plain, sampled = ends(*case)
        assert 0 < sampled.lower <= epoch.lower <= epoch.upper <= plain.upper, case


@deep
@pytest.mark.parametrize("case", [("0.5", 3, 1, "1e-9"), ("2", 10, 5, "1e-4"), ("1.1", 234, 60, "1e-5")])
def test_known_epochs_lie_there_too(case):
    epoch, plain, sampled = ends(*case)
    assert sampled.upper < epoch.lower <= epoch.upper < plain.lower


@deep
@pytest.mark.parametrize("added", [False, True])
def test_simpler_pairs_are_around_quadrature_in_both_directions(added):
    for steps, mu2, at in ((2, Fraction(1), 0.3), (3, Fraction(1, 4), 0.1), (2, Fraction(4), 1.0)):
        truth = by_quadrature(steps, math.sqrt(mu2), at)[added]
        pair = AllocatedGaussian(steps, mu2, added=added)
        less, more = (float(one.curve(60)(Fraction(at)).mid()) for one in pair.bracketing_pairs())
        assert less < truth < more


@deep
def test_simpler_pairs_that_are_none_are_seen(monkeypatch):
    """A sample at twice the rate costs more than an epoch."""

    def wrong(pair):
        sampled, sure = between(pair)
        return sure, sampled

    between = AllocatedGaussian.bracketing_pairs
    monkeypatch.setattr(AllocatedGaussian, "bracketing_pairs", wrong)
    with pytest.raises(NumericsError, match="must intersect"):
        next(ends("0.05", 1000, 1, "1e-6"))


@deep
def test_the_curve_of_a_pair_has_both_sides():
    """δ(t) = 1 − e^t + e^t δ_rev(−t) is how the curve is continued; its value at 0 is one number."""
    pair = AllocatedGaussian(3, Fraction(1))
    with precision(128):
        assert pair.curve(40)(Fraction(0)).overlaps(pair.reversed().curve(40)(Fraction(0)))


@deep
def test_a_replaced_unit_moved_both_ways_is_worst_and_a_group_of_two_covers_it(depth):
    """Of any movements up to μ in two steps, by the trapezoid rule (docs/numerics.md, Random allocation)."""
    z, mu, rng = np.linspace(-8, 8, 401), 0.8, depth.rng(5)
    weight = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    pair = Accountant(Plan("add-remove", RandomAllocation(steps=2, of=Gaussian(sigma="1.25"))), group=2)
    for epsilon in (0.1, 1.0):

        def cost(there, back, x=epsilon):
            moved = zip(there, back, strict=True)
            one, two = (np.exp(a * z - a * a / 2) - math.exp(x) * np.exp(b * z - b * b / 2) for a, b in moved)
            return float(weight @ np.maximum(one[:, None] + two[None, :], 0) @ weight / 2)

        worst = cost((mu, mu), (-mu, -mu))
        tried = [cost(*rng.uniform(-mu, mu, (2, 2))) for _ in range(20)]
        tried += [cost((mu, a), (-mu, b)) for a in (-mu, 0, mu) for b in (-mu, 0, mu)]
        assert max(tried) <= worst + 1e-4
        assert worst <= float(pair.delta(str(epsilon)).upper) + 1e-4


# ---- many steps: weights on places


@deep(quick_every=3)
@pytest.mark.parametrize("steps", [2, 3, 11])
def test_weights_lie_closely_above_every_outcome_enumerated(steps):
    """Both directions, at points from far below the mean to beyond every outcome (e^ε a fraction here)."""
    with precision(200):
        given = Fraction(int((arb(3).log() * 2**150).mid().floor().unique_fmpz()), 2**150)
    pair = AllocatedMean(steps, Fraction(0), given)
    for at in (Fraction(k, 8) for k in (1, 3, 6, 8, 9, 12, 17, 25)):
        truths = enumerated(steps, Fraction(3), 1, at)
        for way, truth in zip((pair, pair.reversed()), truths, strict=True):
            found = float(way.curve(64)(Fraction(math.log(at))).upper())
            assert truth - Fraction(1, 10**14) <= found <= float(truth) * 1.001 + 1e-3 / steps


def by_fourier(steps, mu, low, spacing, size):
    """δ(ε) of many steps in doubles: the law of the sum on one lattice, as a power of its transform."""
    y = np.arange(size) * spacing
    rest = np.append(call(mu, y), 0.0)
    cell = -np.diff(rest) / spacing
    law = np.append(1 - cell[0], -np.diff(cell))
    found = np.fft.irfft(np.fft.rfft(law) ** steps, size)
    first = round(low / spacing)
    s = (np.arange(first, first + size) * spacing) / steps
    return s, np.roll(found, -(first % size))


@deep
@pytest.mark.parametrize(("steps", "sigma"), [(1024, 1.0), (10**5, 2.0), (10**6, 1.0)])
def test_weights_lie_closely_above_a_transform_in_doubles(steps, sigma):
    """The truth is about this, and the bound at most one part in 100 above it (relative error of doubles)."""
    mu2, spread = Fraction(1) / Fraction(sigma) ** 2, math.sqrt(steps * math.expm1(sigma**-2))
    spacing = min(math.expm1(sigma**-2) ** 0.5 / 20, 0.05)
    s, law = by_fourier(steps, 1 / sigma, steps - 15 * spread - 5, spacing, 1 << 20)
    pair = AllocatedMean(steps, mu2, Fraction(0))
    for deviations in (0.5, 2.0, 4.0):
        epsilon = deviations * spread / steps
        x = math.exp(epsilon)
        truths = law @ np.maximum(s - x, 0), law @ np.maximum(1 - x * s, 0)
        for way, truth in zip((pair, pair.reversed()), truths, strict=True):
            found = float(way.curve(64)(Fraction(epsilon)).upper())
            assert truth * 0.995 - 1e-12 < found < truth * 1.01


@deep
@pytest.mark.statistical(3e-6)  # four means, five standard errors each
def test_weights_lie_above_simulated_means():
    """5·10^6 log-normals."""
    rng, steps = np.random.default_rng(7), 500
    s = np.exp(rng.standard_normal((10**4, steps)) - 0.5).mean(axis=1)
    pair = AllocatedMean(steps, Fraction(1), Fraction(0))
    for epsilon in (0.01, 0.05):
        for way, excess in (
            (pair, np.maximum(s - math.exp(epsilon), 0)),
            (pair.reversed(), np.maximum(1 - math.exp(epsilon) * s, 0)),
        ):
            error = excess.std() / math.sqrt(len(s))
            assert abs(excess.mean() - float(way.curve(64)(Fraction(epsilon)).upper())) < 5 * error


def cost(steps, delta="1e-6", **event):
    noise = Gaussian(sigma=event.pop("sigma")) if "sigma" in event else Pure(epsilon=event.pop("epsilon"))
    return Accountant(Plan("add-remove", RandomAllocation(steps=steps, of=noise, **event))).epsilon(delta)


def poisson(steps, delta="1e-6", count=1, **event):
    noise = Gaussian(sigma=event["sigma"]) if "sigma" in event else Pure(epsilon=event["epsilon"])
    sampled = PoissonSubsampled(rate=Fraction(1, steps), of=noise, count=steps * count)
    return Accountant(Plan("add-remove", sampled)).epsilon(delta)


@deep
def test_a_million_steps_cost_at_most_what_poisson_samples_do():
    """Before, all amplification was lost beyond some thousands of steps: 4.89 here."""
    assert cost(10**6, sigma=1).upper < Fraction(105, 100) * poisson(10**6, sigma=1).upper


MANY = 8000  #: steps: fewer are known closely, and may cost more than Poisson samples


@deep
@pytest.mark.parametrize(
    "event", [{"sigma": 1}, {"sigma": "0.8", "count": 3}, {"sigma": 3}, {"sigma": "0.3"}, {"epsilon": 2}]
)
def test_the_upper_end_never_rises_with_steps_and_stays_near_poisson(event):
    """Steps over six powers of ten, neighbours and doubles among them."""
    before = None
    for steps in (500, 4000, 7990, 8000, 8001, 8200, 16001, 30000, 10**5, 10**6, 1048577, 10**8):
        upper = cost(steps, **event).upper
        if steps >= MANY:
            assert upper <= Fraction(105, 100) * poisson(steps, **event).upper, (event, steps)
        if before is not None:
            assert upper <= before, (event, steps)
        before = upper


@deep
@looped(
    ("steps", "sigma", "at"), [(2, 10**162, "0.5"), (4, 10**9, "0.5"), (10**30, 1, "1"), (6, "1e-160", "1")]
)
def test_noise_of_any_size_is_answered(steps, sigma, at):
    found = Accountant(Plan("add-remove", RandomAllocation(steps=steps, of=Gaussian(sigma=sigma)))).delta(at)
    assert 0 <= found.lower <= found.upper <= Accountant(Gaussian(sigma=sigma)).delta(at).upper
