"""How much of the true ε audits certify, how many runs refute a false claim, and how often bounds are wrong.

The part of the true ε that 95 % lower bounds reach with n runs on either side, training included: counts of
one event (Clopper-Pearson) and the coin with the known likelihood ratio, the coin with a learned score;
beside the limit of any threshold test, had nothing to be learned.  What a Gaussian fit says is an estimate
and no bound.  Then the runs on both sides until bets refute a claim that is too small, beside those that
counts need; and how often bounds are wrong, beside the 5 % that they may be.

In the environment of peers, mechanisms of diffprivlib and OpenDP are audited as black boxes, and
DP-Auditorium and StatDP test the same claims on the same runs (from checkouts on its path: they are not
published as packages).
"""

import json
import math
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import nct

from audits.attack.bets import Bettor, plan_bet
from audits.attack.rules import (
    Planner,
    largest_rejected,
    plan_guess,
    plan_known_guess,
    plan_known_threshold,
    plan_threshold,
)
from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import best_score
from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]  #: generator, side (0 left), runs: a row a run
RISK = Fraction(1, 20)
SURE = 50.0  #: the log-likelihood ratio of what one side alone shows


@dataclass(frozen=True)
class Case:
    """A mechanism on its worst pair: how to run it, its log-likelihood ratio, its ε at δ.

    `moved`, left less right, is the movement between two runs with the same noise; None without added noise.
    """

    name: str
    draw: Draw
    ratio: Callable[[Floats], Floats]
    epsilon: float
    delta: Fraction = Fraction(0)
    moved: Floats | None = None

    @property
    def whole(self) -> float:
        """Return what bounds are a part of: ε, or 1 if it is infinite."""
        return self.epsilon if math.isfinite(self.epsilon) else 1.0


def shifted_laplace(name: str, scale: float, *shift: float) -> Case:
    """Return Laplace noise on entries that move: L1 sensitivity over scale is ε."""
    moved = np.array(shift)
    return Case(
        name,
        lambda rng, side, n: rng.laplace(side * moved, scale, (n, len(moved))),
        lambda x: ((np.abs(x - moved) - np.abs(x)) / scale).sum(axis=1),
        float(np.abs(moved).sum()) / scale,
        moved=-moved,
    )


def laplace(scale: float) -> Case:
    return shifted_laplace(f"Laplace, epsilon {1 / scale:g}", scale, 1.0)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return δ of Gaussian noise at ε (Balle and Wang 2018, theorem 8)."""
    tail = math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    return float(ndtr(mu / 2 - epsilon / mu) - tail)


def shifted_gaussian(name: str, *shift: float) -> Case:
    moved, delta = np.array(shift), Fraction(1, 100_000)
    mu = float(np.linalg.norm(moved))
    return Case(
        name,
        lambda rng, side, n: rng.normal(side * moved, 1, (n, len(moved))),
        lambda x: mu * mu / 2 - x @ moved,
        brentq(lambda epsilon: gaussian_delta(epsilon, mu) - float(delta), 0, 100),
        delta,
        -moved,
    )


def tree(rounds: int) -> Case:
    """Release every node of a tree; the first leaf changes; noise = levels, so that ε = 1."""
    levels = int(math.log2(rounds)) + 1
    ends = np.cumsum([0] + [rounds >> k for k in range(levels)])
    shift = np.zeros(ends[-1])
    shift[ends[:-1]] = 1
    return shifted_laplace(f"tree of {rounds} rounds, Laplace", levels, *shift)


def discrete(name: str, laws: Floats) -> Case:
    """Return a mechanism with one of a few outputs, by its two laws."""
    table = np.log(laws[0] / laws[1])
    return Case(
        name,
        lambda rng, side, n: rng.choice(len(table), size=(n, 1), p=laws[side]).astype(float),
        lambda x: table[x[:, 0].astype(int)],
        float(np.abs(table).max()),
    )


def choice(outputs: int) -> Case:
    """Exponential mechanism: one score rises and all others fall by one, ε = 1."""
    weights = np.exp(0.5 * np.array([np.eye(outputs)[0], 1 - np.eye(outputs)[0]]))
    return discrete(f"exponential mechanism, {outputs} outputs", weights / weights.sum(axis=1, keepdims=True))


def responses(outputs: int) -> Case:
    """Randomised response with ε = 1; the true values are the first two."""
    weights = np.exp(np.eye(outputs)[:2])
    name = "randomised response, epsilon 1" + (f", {outputs} outputs" if outputs > 2 else "")
    return discrete(name, weights / weights.sum(axis=1, keepdims=True))


def in_the_clear(chance: float) -> Case:
    """Laplace noise with ε = 1 that is missing with some chance."""

    def draw(rng: np.random.Generator, side: int, n: int) -> Floats:
        return side + np.where(rng.random((n, 1)) < chance, 0, rng.laplace(0, 1, (n, 1)))

    def ratio(x: Floats) -> Floats:
        clear = SURE * ((x[:, 0] == 0) * 1.0 - (x[:, 0] == 1))
        return clear + np.abs(x[:, 0] - 1) - np.abs(x[:, 0])

    return Case(f"Laplace, missing in {chance:.0%}", draw, ratio, math.inf)


def one_noise_twice() -> Case:
    """Two entries with the same noise, of which the first moves."""

    def draw(rng: np.random.Generator, side: int, n: int) -> Floats:
        return rng.laplace(0, 1, (n, 1)) + np.array([side, 0])

    moved = np.array([-1.0, 0.0])
    return Case(
        "one noise twice",
        draw,
        lambda x: SURE * (1 - 2 * (x[:, 0] - x[:, 1]).round()),
        math.inf,
        moved=moved,
    )


def cases() -> list[Case]:
    mu = brentq(lambda mu: gaussian_delta(1.0, mu) - 1e-5, 0.01, 1)
    return [
        laplace(1.0),
        laplace(10.0),
        shifted_gaussian("Gaussian, mu 1, delta 1e-5", 1.0),
        responses(2),
        choice(10),
        tree(16),
        shifted_gaussian("Gaussian, epsilon 1, delta 1e-5", mu),
        responses(10),
        shifted_laplace("Laplace, 5 entries, epsilon 1", 5.0, *[1.0] * 5),
        shifted_laplace("Laplace, scale too small by sqrt(2)", math.sqrt(0.5), 1.0),
        shifted_gaussian("Gaussian for 1 of 4 entries", *[mu] * 4),
        shifted_laplace("histogram, scale for add-remove", 1.0, 1.0, -1.0, 0.0, 0.0, 0.0),
        shifted_laplace("clipped in L2, Laplace, 20 entries", 1.0, *[20**-0.5] * 20),
        in_the_clear(0.01),
        one_noise_twice(),
    ]


def outcomes(values: Floats) -> list[Outcome]:
    """Return what a black box shows: on a grid, since low bits of floating-point noise would tell all."""
    return [Outcome("float", (), row) for row in np.round(values * 1024) / 1024]


def reached(case: Case, n: int, seed: int) -> dict[str, float]:
    """Return the part of ε that each estimator certifies with n runs a side in all.

    If ε is infinite: the bound.
    """
    rng = np.random.default_rng([seed, n])
    coins = rng.integers(0, 2, 2 * n)
    left, right = (case.draw(rng, side, int((coins == side).sum())) for side in (0, 1))
    known = [case.ratio(part).round(9) for part in (left, right)]
    found = {}
    cut = n // 20
    for name, planner in (("counts", plan_known_threshold), ("coin", plan_known_guess)):
        rule, _ = planner(known[0][:cut], known[1][:cut], case.delta, RISK, n - cut)
        found[name] = rule.measure(known[0][cut:], known[1][cut:], case.delta, RISK).epsilon_lower
    found["black box"] = black_box(outcomes(left), outcomes(right), case.delta, plan_guess, case.moved)[0]
    return {name: value / case.whole for name, value in found.items()}


def black_box(
    left: list[Outcome], right: list[Outcome], delta: Fraction, planner: Planner, moved: Floats | None = None
) -> tuple[float, str]:
    """Return the bound with a score learned on a third of the runs, and what is scored."""
    cut = min(len(left), len(right)) // 3
    runs = min(len(left), len(right)) - cut
    train = left[:cut], right[:cut]

    def judge(a: Floats, b: Floats) -> float:
        return planner(a, b, delta, RISK, runs)[1]

    found = best_score(*train, judge, moved, crossed=True)
    rule, _ = planner(found.left, found.right, delta, RISK, runs)
    held, out = found.score.of(left[cut:]), found.score.of(right[cut:])
    return rule.measure(held, out, delta, RISK).epsilon_lower, found.score.sentence()


def limit(case: Case, n: int) -> float:
    """Return what the coin reaches where its thresholds are known and the counts are those expected."""
    rng = np.random.default_rng(0)
    left, right = (
        np.concatenate([case.ratio(case.draw(rng, side, 100_000)).round(9) for _ in range(20)])
        for side in (0, 1)
    )
    rule, _ = plan_known_guess(left, right, case.delta, RISK, n)
    good = (left >= rule.upper).mean() + (right <= rule.lower).mean()
    bad = (left <= rule.lower).mean() + (right >= rule.upper).mean()
    one_sided = math.isinf(rule.upper) or math.isinf(rule.lower)
    spent = float(case.delta) / (2 if one_sided else 1)
    lower = largest_rejected(round(n * good), round(n * (good + bad)), 2 * n, spent, float(RISK))
    return lower / case.whole


def until_refuted(case: Case, claimed: float, seed: int, most: int = 400_000) -> int | None:
    """Return the runs, on both sides together, after which bets refute ε = `claimed`."""
    rng = np.random.default_rng([seed, 9])
    train = [case.ratio(case.draw(rng, side, 2000)).round(9) for side in (0, 1)]
    rule = plan_bet(*train, claimed, case.delta)[0]
    lefts = rng.integers(0, 2, most) == 0
    scores = np.empty(most)
    for side, here in ((0, lefts), (1, ~lefts)):
        scores[here] = case.ratio(case.draw(rng, side, int(here.sum()))).round(9)
    bettor = Bettor(rule, claimed, case.delta, RISK, (0.0, 0.0))
    bettor.follow(rule, *train)
    won = bettor.feed(scores, lefts)
    return None if won is None else won.runs


def wrong(case: Case, n: int, repeats: int) -> dict[str, float]:
    """Return how often each bound exceeds the truth, with n runs a side and thresholds from training."""
    failures = {"counts": 0, "coin": 0}
    rng = np.random.default_rng(17)
    for _ in range(repeats):
        coins = int(rng.binomial(2 * n, 0.5))
        sizes = (coins, 2 * n - coins)
        known = [case.ratio(case.draw(rng, side, sizes[side])).round(9) for side in (0, 1)]
        cut = n // 5
        for name, planner in (("counts", plan_known_threshold), ("coin", plan_known_guess)):
            rule, _ = planner(known[0][:cut], known[1][:cut], case.delta, RISK, n)
            bound = rule.measure(known[0][cut:], known[1][cut:], case.delta, RISK)
            failures[name] += bound.epsilon_lower > case.epsilon
    return {name: count / repeats for name, count in failures.items()}


@dataclass(frozen=True)
class Fitted:
    """μ = |difference of means|/σ is at least `mu_lower` at confidence 1 − `risk`, if scores are Gaussian.

    An estimate under an assumption, never a bound.
    """

    mu_lower: float
    risk: Fraction
    runs: int

    def said(self) -> str:
        """Return the statement with its assumption."""
        return (
            f"mu >= {self.mu_lower:.6g} from {self.runs} runs, if the scores are Gaussian with one variance"
        )


def fit(held: Floats, out: Floats, risk: Fraction) -> Fitted:
    """Return the lower end of μ, by inverting the noncentral t-distribution of the pooled statistic."""
    n, m = len(held), len(out)
    pooled = ((n - 1) * held.var(ddof=1) + (m - 1) * out.var(ddof=1)) / (n + m - 2)
    size = math.sqrt(n * m / (n + m))
    seen = abs(float(held.mean() - out.mean())) / math.sqrt(pooled) * size
    low, high = 0.0, seen / size
    # |T| exceeds what was seen with probability at least risk/2 in the direction that was seen
    if float(nct.sf(seen, n + m - 2, 0.0)) > float(risk) / 2:
        return Fitted(0.0, risk, n + m)
    while high - low > 1e-9 * max(high, 1e-9):
        middle = (low + high) / 2
        rejected = float(nct.sf(seen, n + m - 2, middle * size)) <= float(risk) / 2
        low, high = (middle, high) if rejected else (low, middle)
    return Fitted(low, risk, n + m)


def fitted(case: Case, n: int, repeats: int) -> float:
    """Return the median μ that a Gaussian fit to the log-likelihood ratios states, with n runs a side."""
    rng = np.random.default_rng(23)
    drawn = [[case.ratio(case.draw(rng, side, n)) for side in (0, 1)] for _ in range(repeats)]
    return float(np.median([fit(held, out, RISK).mu_lower for held, out in drawn]))


# ------------------------------------------------------------------ the peers, in their own environment

SUBJECTS = [  # claimed (ε, δ), tight
    ("diffprivlib Laplace", 1.0, Fraction(0)),
    ("diffprivlib geometric", 1.0, Fraction(0)),
    ("diffprivlib Gaussian", 1.0, Fraction(1, 100_000)),
    ("OpenDP Laplace", 1.0, Fraction(0)),
    ("OpenDP geometric", 1.0, Fraction(0)),
    ("OpenDP Gaussian", 1.0, Fraction(1, 100_000)),
]
SCRIPT = Path(__file__).with_name("audit_peers.py")
SIZES = (1000, 8000, 64_000)


def asked_of(setting: BenchmarkSetting, *words: object) -> str:
    """Return what the script says in the peers' environment."""
    said = subprocess.run([setting.python, SCRIPT, *map(str, words)], stdout=subprocess.PIPE, check=True)
    return said.stdout.decode()


def libraries(setting: BenchmarkSetting, n: int) -> Rows:
    """Yield what a black-box audit shows of other libraries on 0 against 1, with n runs a side."""
    for name, epsilon, delta in SUBJECTS:
        what, unit = f"shown of {name}, {n} runs a side, δ = {float(delta):g}", "ε (above 1: refuted)"
        if why := setting.lacks(name.partition(" ")[0].lower()):
            yield BenchmarkRow(what, None, unit, "its claim", epsilon, why)
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "samples.npz"
            asked_of(setting, "draw", name, n, 1, out)
            with np.load(out) as held:
                runs = [
                    [Outcome("float", (), np.array([x], dtype=float)) for x in held[s]]
                    for s in ("left", "right")
                ]
        lower, said = black_box(runs[0], runs[1], delta, plan_threshold)
        yield BenchmarkRow(what, lower, unit, "its claim", epsilon, said)


def testers(setting: BenchmarkSetting, case: Case, claimed: float) -> dict[str, int | str]:
    """Return with how many runs on both sides each tester refutes a claim, or why it does not."""
    found: dict[str, int | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for n in SIZES:
            rng = np.random.default_rng(n)
            left, right = case.draw(rng, 0, n), case.draw(rng, 1, n)
            if "counts" not in found and counted_bound(case, left, right) > claimed:
                found["counts"] = 2 * n
            files.append(Path(folder) / f"{n}.npz")
            np.savez(files[-1], left=left, right=right)
        said = (
            "{}" if setting.peers is None else asked_of(setting, "judge", claimed, float(case.delta), *files)
        )
    for name, each in json.loads(said.strip().splitlines()[-1]).items():
        if each is not None:
            found[name] = each if isinstance(each, str) else 2 * SIZES[each]
    return found


def counted_bound(case: Case, left: Floats, right: Floats) -> float:
    """Return the bound from counts with the known likelihood ratio; a twentieth of the runs plans."""
    a, b, cut = case.ratio(left).round(9), case.ratio(right).round(9), len(left) // 20
    rule, _ = plan_known_threshold(a[:cut], b[:cut], case.delta, RISK, len(a) - cut)
    return rule.measure(a[cut:], b[cut:], case.delta, RISK).epsilon_lower


def rows(setting: BenchmarkSetting) -> Rows:
    repeats = 31 if setting.long else 5
    for case in cases():
        for n in (10_000, 100_000) if setting.long else (10_000,):
            runs = [reached(case, n, seed) for seed in range(repeats)]
            most, unit = limit(case, n), "of the true ε (more is better)"
            if case.whole != case.epsilon:
                unit = "ε (the true one is infinite)"
            for name in runs[0]:
                median = float(np.median([run[name] for run in runs]))
                yield BenchmarkRow(f"{name}, {case.name}, {n} a side", median, unit, "the limit", most)
    gaussian = cases()[2]
    mu = fitted(gaussian, 10_000, repeats)
    yield BenchmarkRow("Gaussian fit, an estimate and no bound, 10000 a side", mu, "μ", "the truth", 1.0)
    for case, claims in ((cases()[0], (0.5, 0.8, 0.9)), (gaussian, (1.0, 2.0))):
        for claimed in claims:
            most_runs = [until_refuted(case, claimed, seed) for seed in range(repeats)]
            known = sorted(run if run is not None else 10**9 for run in most_runs)
            others = testers(setting, case, claimed)
            for name in ("counts", "hockey-stick", "histogram", "StatDP"):
                said = others.get(name, "no number of runs" if setting.peers else "no --peers")
                floor, note = (said, "") if isinstance(said, int) else (None, said)
                what = f"runs until bets refute {claimed:g}: {case.name}"
                yield BenchmarkRow(what, known[len(known) // 2], "runs", name, floor, note)
    for case in (each for each in cases() if math.isfinite(each.epsilon)):
        tried = 2000 if setting.long else 200
        for name, share in wrong(case, 1000, tried).items():
            what, note = f"wrong: {name}, {case.name}, 1000 a side", f"{tried} bounds"
            yield BenchmarkRow(what, share, "of bounds", "the 5 % allowed", 0.05, note)
    yield from libraries(setting, 20_000)
