"""Bandits: a round beside the least that it takes, private learners beside each other, and feature maps.

An update is one `tell` of GP-UCB; beside it reading and writing the triangle once.  An `ask` scores 25
candidates; beside it the product of their features with a square matrix, alone.  A round of `jdp-gp-ucb` (64
features, 25 candidates, mean over 1024) stands beside one fit of scikit-learn's Gaussian process at 1000
points.  The learners of local privacy (100 points, ε = 1) stand beside ATA in the same run, which is what the
paper calls reduced complexity, and beside a naive refit, which solves anew, from all plays, what they keep.
Random Fourier features do not meet what a regret bound needs (an error of o(T^-4) from o(sqrt T) features),
while quadrature features do.  With --long whole runs of a million rounds, proof and people included.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, product
from tempfile import TemporaryDirectory

import numpy as np
from scipy.optimize import linprog
from scipy.special import rel_entr

from bandits.arm_phases import ArmPhases
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.ldp_ata_gp_ucb import AdaptivelyTruncatedGpUcb
from bandits.ldp_moma_gp_ucb import MedianOfMeansGpUcb, median_choice, replays
from bandits.ldp_tgp_ucb import TruncatedGpUcb
from bandits.learning.features import FourierFeatures, quadrature_features, squared_exponential
from bandits.learning.gp_ucb import GpUcb
from bandits.learning.nystrom import embedding
from bandits.learning.shuffled_bits import ShuffledBits
from bandits.local_posterior import LocalPosterior
from bandits.local_privacy.payoffs import Payoffs
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.simulation.simulated_people import simulated_people
from bandits.space.points import grid, of_matrix
from benchmarks.bandit_limits import clicks, late_and_silent, needle_told, public_arms, wrong_kernels
from benchmarks.chosen_bandits import chosen, played_share, regret_row
from benchmarks.context_cells import real_contexts
from benchmarks.projected_bandits import projections
from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows, in_turn
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.receipt import Receipt, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import Theorem

SIZES = (64, 256, 1024)
CORNERS = np.random.default_rng(0).uniform(-1, 1, (200, 2))
REFIT = """
import json, time
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
rng = np.random.default_rng(1)
points, values = rng.uniform(0, 1, (1001, 2)), rng.random(1000)
took = []
for _ in range(4):
    begun = time.process_time()
    model = GaussianProcessRegressor(RBF(1.0), alpha=.25, optimizer=None).fit(points[:1000], values)
    model.predict(points[1000:], return_std=True)
    took.append(time.process_time() - begun)
print(json.dumps({"us": min(took) * 1e6}))
"""


def rows(setting: BenchmarkSetting) -> Rows:
    yield from updates()
    yield refit(setting)
    yield from local_learners(10_000 if setting.long else 2000)
    for ours, theirs in ((quadrature_features(2, 8, 1.0), random_features(64)),):
        what = f"largest error of {ours.size} quadrature features on [-1, 1]^2"
        yield BenchmarkRow(what, error(ours), "in the kernel", "as many random features", error(theirs))
    if setting.long:
        yield from whole_runs(10**6)
        on_people = (public_arms, real_contexts, late_and_silent, clicks, chosen, projections)
        by_device = (wrong_kernels, needle_told)
        on_arms = (arms, shuffled_arms, linear_arms, best_arm, regret_bound, changing_arms)
        yield from chain.from_iterable(each() for each in (*on_people, *by_device, *on_arms))


def arms(seeds: range = range(7000, 7024)) -> Rows:
    """Yield regret at ten arms with means uniform in [.2, .8] and rewards of 0 or 1, at ε = 1."""
    half, few, many = Fraction(1, 2), ArmPhases(rounds=1024, arms=10), ArmPhases(rounds=4096, arms=10)
    apart = {"points": 10, "lengthscale": Fraction(1, 100), "bound": half, "noise_bound": half}
    local, found = LocalPosterior(rounds=4096, explore=Fraction(2, 5), **apart), []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        means = rng.uniform(0.2, 0.8, 10)
        data = (rng.random((4096, 10)) < means).astype(float)
        each = ((few, data[:1024]), (many, data), (local, data - 0.5))
        found.append([played_share(bandit, rows, means, seed) for bandit, rows in each])
    shares = np.array(found).T.tolist()
    for what, each in zip(("1024 people", "4096 people", "4096 people, local"), shares, strict=True):
        yield regret_row(f"10 arms, {what}", each, "4096 people, central", shares[1])


class LocalBits(ArmPhases):
    """The same bits, private by themselves, and blocks that are as small as they like."""

    noise_deviation = 4 / 3

    @property
    def bits(self) -> ShuffledBits:
        """Return bits of which two or more are private enough: no more than ε each."""
        return ShuffledBits(self.epsilon, self.delta, 2)


def shuffled_arms(seeds: range = range(7000, 7100), sizes: tuple[int, ...] = (4096, 65_536)) -> Rows:
    """Yield regret at ten arms where a shuffler is trusted, where nobody is, and where a curator is.

    All are (ε, 10⁻⁶)-DP for whoever sees what is released: one bit a person, shuffled or not; Laplace noise.
    """
    for people, epsilon in product(sizes, (Fraction(1, 10), Fraction(3, 10), Fraction(1))):
        common = {"rounds": people, "arms": 10, "epsilon": epsilon}
        bits = {"law": "shuffled", "delta": Fraction(1, 10**6)}
        runners = (ArmPhases(**common, **bits), LocalBits(**common, **bits), ArmPhases(**common))
        found = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            means = rng.uniform(0.2, 0.8, 10)
            data = (rng.random((people, 10)) < means).astype(float)
            found.append([played_share(bandit, data, means, seed) for bandit in runners])
        here, local, curator = np.array(found).T.tolist()
        what = f"10 arms, {people} people, epsilon {float(epsilon):g}"
        yield regret_row(f"{what}, shuffled", here, "local", local)
        yield regret_row(f"{what}, local", local, "a curator", curator)
        yield regret_row(f"{what}, a curator", curator, "shuffled", here)


class ProvedElimination(ArmPhases):
    """Elimination that is wrong with a chance of 1/T at most: for normal posteriors, all arms and times."""

    @property
    def within(self) -> float:
        """Return √(2 ln(2KT²)), a union bound."""
        return math.sqrt(2 * math.log(2 * self.arms * self.rounds**2))


def linear_arms(seeds: range = range(7000, 7100)) -> Rows:
    """Yield regret at 100 arms on the sphere in four dimensions, with means linear in them.

    Elimination is in the manner of Hanna, Girgis, Fragouli & Diggavi 2022 (arXiv 2207.03445), with our width
    or one that a proof would take.
    """
    bits = {"law": "shuffled", "delta": Fraction(1, 10**6)}
    for epsilon in (Fraction(1, 10), Fraction(3, 10), Fraction(1)):
        found = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            points, weights = rng.normal(size=(100, 4)), rng.normal(size=4)
            points /= np.linalg.norm(points, axis=1, keepdims=True)
            means = 0.5 + 0.4 * points @ weights / np.linalg.norm(weights)
            data = (rng.random((4096, 100)) < means).astype(float)
            common = {"rounds": 4096, "space": of_matrix(points @ points.T), "epsilon": epsilon}
            linear = ArmPhases(**common, belief="linear")
            proved = ProvedElimination(**common, belief="linear", index="elimination")
            runners = (
                linear, replace(linear, index="elimination"), proved, replace(linear, **bits),
                replace(linear, index="elimination", **bits), ArmPhases(**common),
            )  # fmt: skip
            found.append([played_share(bandit, data, means, seed) for bandit in runners])
        shares = np.array(found).T.tolist()
        what = f"100 arms in R^4, epsilon {float(epsilon):g}"
        yield regret_row(f"{what}, linear", shares[0], "arms apart", shares[5])
        names = (
            "elimination",
            "elimination with a proof's width",
            "shuffled",
            "elimination, shuffled",
            "arms apart",
        )
        for name, each in zip(names, shares[1:], strict=True):
            yield regret_row(f"{what}, {name}", each, "linear, by Thompson", shares[0])


BEST_OF = (
    (0.6, 0.4),
    (0.5, 0.4, 0.4, 0.3),
    (0.75, 0.7, 0.7, 0.7, 0.7),
    (0.8, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2, 0.2, 0.2, 0.2),
)


def best_arm(epsilon: Fraction = Fraction(1), seeds: range = range(7000, 7100)) -> Rows:
    """Yield how many people it takes to name the best arm, beside a lower bound, and a fixed budget.

    Of ε-DP algorithms that name a wrong arm with a chance of e at most, none needs fewer than
    T·kl(1 − e, e) people on average.  Let one run at means p, and let another arm be best at means u.  When
    arm a is played, draw its reward y by p_a, and a z by q_a that differs from it with chance |p_a − q_a|;
    the algorithm M reads the y.  Elsewhere, draw z by u_a, and y given z as before; M reads the z.  By the
    chain rule, the first law has KL divergence ΣE[N_a]·kl(q_a, u_a) + E ln M(y)/M(z) from the second, whose
    last term is at most ε times the expected number of people with y ≠ z, ε·ΣE[N_a]·|p_a − q_a|.  What is
    named tells the laws apart by kl(1 − e, e) at least (data processing).  The least over q is d_ε(p_a, u_a):
    so ΣE[N_a]·d_ε(p_a, u_a) ≥ kl(1 − e, e), for all such u (Jourdan & Azize 2025, arXiv 2510.17348).
    """
    for means in BEST_OF:
        least, what = 0.0, f"{len(means)} arms, the best is {means[0]}"
        common = {"arms": len(means), "epsilon": epsilon, "index": "top-two"}
        for error in (Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**6)):
            least = time_of(means, float(epsilon)) * float((1 - 2 * error) * math.log((1 - error) / error))
            search = ArmPhases(rounds=int(40 * least), level=1 - error, **common)
            runs = [named(search, means, seed, float(error)) for seed in seeds]
            people, wrong = zip(*runs, strict=True)
            mean, spread = float(np.mean(people)), np.std(people, ddof=1) / math.sqrt(len(people))
            note = f"± {spread:.0f}, {mean / least:.2f} times; {sum(wrong)} wrong of {len(wrong)}"
            row = f"people until an arm is named at an error of {float(error):g}, {what}"
            yield BenchmarkRow(row, mean, "people", "the lower bound", least, note)
            if error == Fraction(1, 1000):
                budget = ArmPhases(rounds=int(least), level=Fraction(1), **common)
                missed = sum(named(budget, means, seed, 0.0)[1] for seed in seeds)
                row, chance = f"wrong arms after {budget.rounds} people, {what}", 1 - 1 / len(means)
                many = len(seeds)
                yield BenchmarkRow(row, missed, f"of {many}", "at random", many * chance)


def regret_bound(people: int = 65_536, seeds: range = range(7000, 7024)) -> Rows:
    """Yield regret beside ln T·ΣΔ_a/d_ε(p_a, p*) (Azize et al. 2025, arXiv 2505.05613).

    An ε-DP algorithm that learns at all means is below it in finite runs only.
    """
    for means in ((0.5, *(0.3,) * 9), (0.8, *(0.6,) * 4)):
        best, many = max(means), len(means)
        for epsilon in (Fraction(3, 10), Fraction(1)):
            apart = [(best - p) / privately_apart(p, best, float(epsilon)) for p in means if p < best]
            bandit, found = ArmPhases(rounds=people, arms=many, epsilon=epsilon), []
            for seed in seeds:
                rewards = (np.random.default_rng(seed).random((people, many)) < means).astype(float)
                found.append(played_share(bandit, rewards, np.array(means), seed))
            least = math.log(people) * sum(apart) / people / (best - sum(means) / many)
            what, spread = f"{many} arms, {people} people, ε = {float(epsilon):g}", np.std(found, ddof=1)
            note = f"± {spread / math.sqrt(len(seeds)):.4f}; the bound is for people without end"
            yield BenchmarkRow(what, float(np.mean(found)), "of uniform", "asymptotic bound", least, note)


def named(bandit: ArmPhases, means: tuple[float, ...], seed: int, error: float) -> tuple[int, bool]:
    """Return after how many people an arm is named with this error, or all, and if it is wrong."""
    course = bandit.course(rehearse(bandit.proof(bandit.delta), Rehearsal(seed)), seed)
    rng = np.random.default_rng(seed)
    for first, last in course.batches:
        arm = max(int(course.ask()) for _ in range(first, last + 1))  # all are shown the same
        paid = (rng.random(last - first + 1) < means[arm]).astype(float)
        course.close(paid, np.ones(len(paid), dtype=bool))
        public = course.view().public
        if public["error"][0] <= error or last == bandit.rounds:
            return last, means[public["best"][0]] < max(means)
    raise ValueError("a run has no people")


def time_of(means: tuple[float, ...], epsilon: float) -> float:
    """Return T of the lower bound, or less.

    1/T is the largest, over shares w of arms, of the least of w*·d(m*, u) + w_a·d(m_a, u) over other
    arms a and u, with d(p, u) the least of ε|p − z| + kl(z, u) over z.  A linear program over w: u is
    on a grid, so that the least is not below the truth, and T not above.
    """
    best, rows = int(np.argmax(means)), []
    for arm in range(len(means)):
        for u in np.linspace(means[arm], means[best], 101)[1:-1] if arm != best else ():
            row = np.zeros(len(means) + 1)
            for each in (best, arm):
                row[each] = -privately_apart(means[each], u, epsilon)
            row[-1] = 1
            rows.append(row)
    aim, shares = np.eye(len(means) + 1)[-1], [[1.0] * len(means) + [0.0]]
    found = linprog(-aim, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=shares, b_eq=[1.0])
    return 1 / -found.fun


def privately_apart(p: float, u: float, epsilon: float) -> float:
    ends = [1 / (1 + (1 - u) / u * math.exp(way * epsilon)) for way in (1, -1)]
    z = min(max(p, ends[0]), ends[1])
    return epsilon * abs(p - z) + float(rel_entr(z, u) + rel_entr(1 - z, 1 - u))


def changing_arms(seeds: range = range(7000, 7024)) -> Rows:
    """Yield regret at five arms after their means changed, with a memory of 500 people or all."""
    shares: dict[int | None, list[float]] = {500: [], None: []}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        first, then = rng.uniform(0.2, 0.8, (2, 5))
        means = np.where(np.arange(8192)[:, None] < 4096, first, then)
        data = (rng.random(means.shape) < means).astype(float)
        for memory, found in shares.items():
            bandit = ArmPhases(rounds=8192, arms=5, memory=memory)
            noise = rehearse(bandit.proof(bandit.delta), Rehearsal(seed))
            late = bandit.play(data, noise, seed).public["arms"][4096:]
            found.append(float((then.max() - then[late]).mean() / (then.max() - then.mean())))
    what = "5 arms after a change, memory 500"
    yield regret_row(what, shares[500], "all remembered", shares[None])


def updates() -> Rows:
    rng = np.random.default_rng(1)
    for size in SIZES:
        phi, learner = rng.normal(size=size) / np.sqrt(size), GpUcb(size)
        candidates, square = rng.normal(size=(25, size)), np.eye(size)
        triangle = np.ones(size * (size + 1) // 2)
        found = in_turn(
            {
                "tell": partial(learner.tell, phi, 0.1),
                "triangle": partial(np.multiply, triangle, 1.0, out=triangle),
                "ask": partial(learner.ask, candidates),
                "product": partial(np.matmul, candidates, square),
            },
            rounds=20,
        )
        us = {name: 1e6 * each for name, each in found.items()}
        yield BenchmarkRow(f"update, {size} features", us["tell"], "µs", "its triangle once", us["triangle"])
        yield BenchmarkRow(f"ask, {size} features", us["ask"], "µs", "the product alone", us["product"])


def refit(setting: BenchmarkSetting) -> BenchmarkRow:
    """Return the mean time of a private round beside one refit."""
    subject = JdpGpUcb(rounds=1024, nodes_per_axis=8, sigma=Fraction(8))
    people = simulated_people(1024, 25, 2, 1)
    course = subject.course(rehearse(subject.proof(subject.delta), Rehearsal(1)), 1)
    records = people.records()
    spent = 0.0
    for first, last in course.batches:
        started = time.process_time()
        shown = [course.ask(records[t, :50]) for t in range(first - 1, last)]
        rewards = records[np.arange(first - 1, last), 50 + np.array(shown)]
        if last < 1024:
            course.close(rewards, np.ones(len(shown), dtype=bool))
        spent += time.process_time() - started
    what, why = f"round of jdp-gp-ucb, {subject.features.size} features", setting.lacks("sklearn")
    theirs = None if why else setting.asked(REFIT)["us"]
    beside = "a refit of scikit-learn at 1000"
    return BenchmarkRow(what, spent / 1024 * 1e6, "µs", beside, theirs, why or "")


@contextmanager
def noise_of(theorem: Theorem, *, secure: bool) -> Iterator[Receipt]:
    """Give simulated noise, or secure noise of a ledger made for it."""
    if not secure:
        yield rehearse(theorem, Rehearsal(1))
        return
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        facts = {"unit": "person", "relation": "replace-one", "measure": "approximate"}
        init(url, epsilon=2, delta=Fraction(1, 10**5), **facts)
        with Ledger.open(url) as ledger:
            yield ledger.charge(theorem, "a benchmark")


def whole_runs(rounds: int) -> Rows:
    """Yield a bandit's run over so many people with secure noise beside simulated noise."""
    subject = MomentGpUcb(
        rounds=rounds, candidates=4, nodes_per_axis=8, size=64, stream="buffered-toeplitz", refresh=16
    )
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (rounds, 8))
    mean = np.exp(-((points.reshape(rounds, 4, 2) - 0.3) ** 2).sum(axis=2))
    people = np.concatenate([points, rng.random((rounds, 4)) < mean], axis=1)
    phased = PhasedPosterior(surface="styblinski-tang-20", rounds=rounds)
    arrivals = np.random.default_rng(1).normal(0, 0.1, (rounds, 1))
    for name, made, data in (("moment-gp-ucb", subject, people), ("phased-posterior", phased, arrivals)):
        took = {}
        for secure in (False, True):
            started = time.process_time()
            with noise_of(made.proof(made.delta), secure=secure) as noise:
                made.play(data, noise, 1)
            took[secure] = time.process_time() - started
        what = f"{name}, {rounds} rounds, secure noise and a ledger that marks its draws"
        yield BenchmarkRow(what, took[True], "s", "the same with simulated noise", took[False])


def random_features(count: int) -> FourierFeatures:  # Rahimi & Recht 2008
    frequencies = np.random.default_rng(3).normal(size=(count, 2))
    return FourierFeatures(frequencies, np.full(count, 1 / count))


def error(features: FourierFeatures) -> float:
    """Return the largest error over pairs of points."""
    phi, exact = features(CORNERS), squared_exponential(CORNERS, CORNERS, 1.0)
    return float(np.abs(phi @ phi.T - exact).max())


# ------------------------------------------------------------------ learners of local privacy

POINTS, CLIP = 100, 5.0
BIT = CLIP * (math.e + 1) / (math.e - 1)  #: Duchi's answer at ε = 1
LAPLACE = 2 * CLIP
LAWS = {
    "duchi": Payoffs(bound=4.0, moment=BIT**2, noise_moment=BIT**2, start=BIT, tail_power=1.0, clip=CLIP),
    "laplace": Payoffs(
        bound=4.0, moment=17 + 2 * LAPLACE**2, noise_moment=1 + 2 * LAPLACE**2, start=CLIP, scale=LAPLACE,
        tail_power=1.0, clip=CLIP),
}  # fmt: skip
MEANS = 4 * np.sin(7 * np.linspace(0, 1, POINTS))


def learners(kernel, law: str, rounds: int, constants: str) -> dict:
    payoffs = LAWS[law]
    return {
        "TGP": TruncatedGpUcb(kernel, payoffs, constants, 1),
        "ATA": AdaptivelyTruncatedGpUcb(kernel, payoffs, rounds, constants, 1),
        "MoMA": MedianOfMeansGpUcb(kernel, payoffs, rounds, replays(rounds, constants), constants, 1),
    }


def answers(law: str, rounds: int):
    """Return a function that answers for a round and point."""
    rng = np.random.default_rng(2)
    uniform, laplace = rng.random(rounds), rng.laplace(0, LAPLACE, rounds)
    if law == "laplace":
        return lambda t, point: MEANS[point] + laplace[t]
    return lambda t, point: BIT if uniform[t] < 0.5 + MEANS[point] / (2 * BIT) else -BIT


def played(learner, law: str, rounds: int) -> tuple[float, list[tuple[int, float]]]:
    """Return processor seconds of a whole run, and what was played and told."""
    answer, history = answers(law, rounds), []
    started = time.process_time()
    for t in range(rounds):
        point = learner.ask().point
        value = answer(t, point)
        learner.tell(point, value, None)
        history.append((point, value))
    return time.process_time() - started, history


def naive(name: str, kernel, learner, history) -> float:
    """Return processor seconds of one refit from all plays."""
    points, values = (np.array(each) for each in zip(*history, strict=True))
    started = time.process_time()
    if name == "TGP":
        seen = kernel[np.ix_(points, points)] + learner.table.ridge * np.eye(len(points))
        np.linalg.solve(seen, np.column_stack([values, kernel[points]]))
    else:
        people = 1 if name == "ATA" else learner.people
        epochs = len(points) // people
        whole = points[: epochs * people : people]
        phi = embedding(kernel, np.isin(np.arange(POINTS), whole))
        rows = phi[whole]
        inner = rows.T @ rows + np.eye(phi.shape[1])
        if name == "ATA":
            eigen, vectors = np.linalg.eigh(inner)
            products = ((vectors / np.sqrt(eigen)) @ (vectors.T @ rows.T)) * values
            np.where(np.abs(products) <= learner.cut(), products, 0.0).sum(axis=1)
        else:
            theta = np.linalg.solve(inner, rows.T @ values[: epochs * people].reshape(epochs, people))
            median_choice(theta.T @ np.linalg.cholesky(inner), np.zeros(people))
    return time.process_time() - started


def local_learners(rounds: int) -> Rows:
    kernel = grid(POINTS).kernel("squared-exponential", 0.2)
    for law in LAWS:
        for constants in ("practical", "theory"):
            found = {}
            for name, learner in learners(kernel, law, rounds, constants).items():
                seconds, history = played(learner, law, rounds)
                found[name] = (1e6 * seconds / rounds, 1e6 * naive(name, kernel, learner, history[:2000]))
            for name, (us, again) in found.items():
                beside, other = (
                    ("ATA", found["ATA"][0]) if name != "ATA" else ("a refit from all plays", again)
                )
                note = f"a refit from {min(rounds, 2000)} plays {again / us:.0f} rounds"
                what = f"round of {name}, {rounds} rounds, {law}, {constants}"
                yield BenchmarkRow(what, us, "µs", beside, other, note)
