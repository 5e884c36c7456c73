"""Dubey 2021, joint differential privacy: the noisy tree of Lemma 2 and its repairs.

Every node of a binary tree over rounds 1 … N publishes its sum of vvᵀ, v = (φ, y), with the symmetric
Gaussian noise (ν + νᵀ)/√2, ν iid N(0, σ²).  Its density falls as exp(−‖N‖_F²/(4σ²)), so a shift A costs
μ = ‖A‖_F/(√2σ).  Prefix sums use nodes of even position only; a round lies in at most ⌊log₂N⌋ + 1
of them, conditional on the transcript the same A moves each, and squares of μ add.  All costs are exact
(Balle & Wang 2018).  The server reads the prefixes of rounds 1 … T−1; Remark 1 releases that of T too.

The observer reads the released statistics.  What other users' actions show is less: they never
read the y² corner (`dubey-lemma2-actions`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from bandits.statistics.published_noise import nodes_published
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball
from dpaccount.proof import (
    Theorem,
    assume_covers,
    assume_tree,
    compose,
    gaussian,
    linear,
    nodes,
    to_approximate,
)
from papers.claims.claim_check import Cost, PaperClaim, Scales
from papers.claims.derivations import lower, noisy_pair, settled, short_above, upper
from papers.claims.dubey import rank_one
from papers.claims.dubey.noisy_tree import tree_attack
from papers.claims.dubey.rank_one import FarthestPair, full_statistics, rational_pair
from papers.claims.enclosures import (
    enclose,
    exactly,
    gaussian_delta,
    gaussian_epsilon,
    log,
    of,
    permitted_mu2,
    ratio,
    root,
)
from papers.claims.parameters import Exact, Parameter, Values, Word, at_least, count, positive, probability

QUERY = "statistics"
STATISTIC = "sum over the record's nodes of <node, vv' - ww'>: Gaussian, mean apart by mu, variance 1"


@dataclass(frozen=True)
class Lemma:
    """The numbers of Lemma 2: L² = 1 + C² and the square of σ as the proof reads."""

    square: Enclosure
    variance: Enclosure

    @property
    def clip2(self) -> Enclosure:
        """Return C², where rewards are clipped."""
        return enclose(lambda: of(self.square) - 1)


def lemma(p: Values) -> Lemma:
    """Return σ² = 16 n L² ln²(10/β)/α² with n = 1 + ⌈log₂T⌉, L² = 1 + B² + 2ρ² ln(8T/β)."""
    alpha, beta, rounds, reward = p["alpha"], p["beta"], int(p["T"]), p["B"]
    rho = p.get("rho", Fraction(0))
    # The paper counts one node more than a prefix of T − 1 rounds has; the noise it prints is for that count.
    levels = nodes_published(rounds)
    square = (
        enclose(lambda: ball(1 + reward**2) + 2 * ball(rho**2) * log(8 * rounds / beta))
        if rho
        else exactly(1 + reward**2)
    )
    variance = enclose(lambda: 16 * levels * of(square) * log(10 / beta) ** 2 / ball(alpha**2))
    return Lemma(square, variance)


def met(rounds: int) -> int:
    """Return how many released nodes a round may lie in: ⌊log₂N⌋ + 1 of a tree over N rounds, 0 for none."""
    return rounds.bit_length()


@dataclass(frozen=True)
class ReleasedNodes:
    """The nodes that are released, as derivations state them.

    `times` is how many of them one record meets; `covers` lists at least those, and `release` makes a
    theorem about all of them from one about a node, which it makes for every key of noise.
    """

    times: int
    covers: Callable[[], Theorem]
    release: Callable[["Node"], Theorem]


Node = Callable[[str], Theorem]  #: of the key that a node's noise is drawn under


def tree(rounds: int) -> ReleasedNodes:
    """Return the nodes of one binary tree."""

    def covers() -> Theorem:
        return assume_tree(QUERY, rounds, "fresh noise for every node")

    return ReleasedNodes(met(rounds), covers, lambda node: nodes(node("node"), covers()))


def gaussian_finding(
    p: Values, movement: FarthestPair, released: ReleasedNodes, variance: Enclosure | None, **remarks: Any
) -> Cost:
    """Return the exact cost of the nodes that one record meets, all moved alike, against (α, β).

    Without a published `variance` the least that meets the claim is used.
    """
    alpha, beta = p["alpha"], p["beta"]
    moved = enclose(lambda: released.times * of(movement.square) / 2)  # μ²σ²
    allowed = permitted_mu2(alpha, beta)
    least = enclose(lambda: of(moved) / of(allowed))
    used = variance or exactly(Fraction(least.upper))
    mu2 = enclose(lambda: of(moved) / of(used))
    cost, loss = gaussian_epsilon(mu2, beta), gaussian_delta(mu2, alpha)
    if variance is None:  # δ(α) ≤ β is proved for μ² at the lower end of `allowed`, and μ² is at most that
        cost, loss = _at_most(cost, alpha), _at_most(loss, beta)
    needed = root(least)
    published = None if variance is None else root(variance)
    return Cost(
        claimed=(alpha, beta),
        epsilon=cost,
        loss_delta=loss,
        mu=root(mu2),
        noise=Scales(published, needed),
        factor=None if published is None else ratio(published, needed),
        witness={
            "neighbours": "one record: unit features with this inner product, rewards y and y_prime",
            **movement.pair(),
            "nodes_met": released.times,
            "movement_squared": float(movement.square.upper),
            "statistic": STATISTIC,
            **remarks,
        },
    )


def full_finding(p: Values, released: ReleasedNodes, numbers: Lemma, **remarks: Any) -> Cost:
    """Return the cost of the full matrix, rewards within C, with its derivations."""
    variance, clip2 = numbers.variance, numbers.clip2
    movement, point = rank_one.with_corner(clip2), (p["alpha"], p["beta"])

    def proof() -> Theorem:
        reward = upper(root(clip2)) if clip2.upper else Fraction(0)
        moved = full_statistics(QUERY, reward)
        return settled(released.release(lambda key: gaussian(moved, lower(variance), key)), *point)

    def refutation() -> Theorem:
        pair = rational_pair(movement, clip2)
        law = "gaussian", upper(variance)
        return noisy_pair("outer", pair, released.covers(), law, point, "both lie within the clipped domain")

    cost = gaussian_finding(p, movement, released, variance, **remarks)
    return replace(cost, proof=proof, refutation=refutation)


def _at_most(value: Enclosure, limit: Fraction) -> Enclosure:
    return Enclosure(min(value.lower or 0, limit), min(value.upper, limit))


# ------------------------------------------------------------------ the checks


def lemma2(p: Values) -> Cost:
    """Lemma 2 as its proof reads, full matrix, rewards clipped, rounds 1 … T−1."""
    numbers = lemma(p)
    # over the whole ball |v|² ≤ L², and with the n nodes that the paper counts
    ball_mu = enclose(lambda: ball(p["alpha"]) * of(numbers.square).sqrt() / (4 * log(10 / p["beta"])))
    remarks = {"observer": "released statistics", "mu_if_variance_had_one_L2": float(ball_mu.upper)}
    return full_finding(p, tree(int(p["T"]) - 1), numbers, **remarks)


def lemma2_literal(p: Values) -> Cost:
    """Lemma 2 with the printed number taken as the standard deviation."""
    numbers = lemma(p)
    # The statement and the proof print one number, in one as the deviation and in the other as the variance:
    # both readings are checked.
    variance = enclose(lambda: of(numbers.variance) ** 2)
    return full_finding(p, tree(int(p["T"]) - 1), replace(numbers, variance=variance))


def lemma2_unclipped(p: Values) -> Cost:
    """Lemma 2 without clipping, at a reward y against −B and equal features: the cost of this pair."""
    square = rank_one.at_pair(p["y"], -p["B"])
    if square.upper == 0:
        raise InputError("y equals -B, the same record", "give another reward")
    movement = FarthestPair(square, 1, (float(p["y"]), -float(p["B"])))
    released, variance, point = tree(int(p["T"]) - 1), lemma(p).variance, (p["alpha"], p["beta"])

    def refutation() -> Theorem:
        pair = [Fraction(1), p["y"]], [Fraction(1), -p["B"]]
        return noisy_pair(
            "outer", pair, released.covers(), ("gaussian", upper(variance)), point, "no reward is clipped"
        )

    def proof() -> Theorem:
        both = full_statistics(QUERY, max(abs(p["y"]), p["B"]))
        return settled(released.release(lambda key: gaussian(both, lower(variance), key)), *point)

    scope = "at these two rewards only: the cost grows without bound in y, so no noise is enough for all"
    cost = gaussian_finding(p, movement, released, variance, scope=scope)
    return replace(cost, proof=proof, refutation=refutation)


def remark1(p: Values) -> Cost:
    """Remark 1: the final sums are released too, so the tree has N = T rounds."""
    return full_finding(p, tree(int(p["T"])), lemma(p))


def remark5(p: Values) -> Cost:
    """Remark 5: doubling epochs 1, 1, 2, …, T/2, with the noise of Lemma 2 for this T throughout.

    Restart: a record lies in one epoch's tree, at worst the last of T/2 rounds.  Carry: the tree of
    epoch k is built anew over the first 2^k records, and record 1 meets k + 1 nodes of each.  Fewer are
    met where fewer prefixes are released: `met_by_rounds` by those that rounds read, `with_last_sums`
    with each epoch's last one too.
    """
    rounds = int(p["T"])
    if rounds & (rounds - 1):
        raise InputError(f"T is {rounds}", "give a power of two, as the epochs are 1, 1, 2, ..., T/2")
    last = rounds.bit_length() - 1
    restart = p.words["mode"] == "restart"
    return full_finding(
        p,
        _restarted(rounds) if restart else _carried(last),
        lemma(p),
        mode=p.words["mode"],
        met_by_rounds=met(rounds // 2 - 1) if restart else last,
        with_last_sums=met(rounds // 2) if restart else 2 * last + 1,
    )


def _restarted(rounds: int) -> ReleasedNodes:
    """Return the trees of epochs 1, 1, 2, …, T/2: the nodes of the tree over T rounds that cross no epoch.

    Beyond 1024 rounds the list is too long to write; the whole tree, one node more, is stated instead.
    """
    if rounds > 1024:
        whole, largest = tree(rounds), tree(rounds // 2)
        return ReleasedNodes(largest.times, largest.covers, whole.release)
    spans = [(1, 1)]
    for size in (1 << k for k in range(rounds.bit_length() - 1)):
        widths = [1 << k for k in range(size.bit_length())]
        spans += [(size + at, size + at + w - 1) for w in widths for at in range(1, size + 1, w)]

    def covers() -> Theorem:
        return assume_covers(QUERY, spans, "the nodes of every epoch's tree")

    return ReleasedNodes(met(rounds // 2), covers, lambda node: nodes(node("node"), covers()))


def _carried(last: int) -> ReleasedNodes:
    """Return the trees over the first 1, 2, 4, …, 2^last records, and those of their nodes with record 1."""
    # Record 1 is the worst: it is carried into every later tree.
    mine = [(1, 1 << level) for k in range(last + 1) for level in range(k + 1)]

    def release(node: Node) -> Theorem:
        return compose(*(nodes(node(f"node of tree {k}"), tree(1 << k).covers()) for k in range(last + 1)))

    return ReleasedNodes(
        len(mine), lambda: assume_covers(QUERY, mine, "the nodes that record 1 meets"), release
    )


def repair(p: Values) -> Cost:
    """Lemma 2 repaired by us: release Σ and u only, with the least noise that is proved to meet (α, β)."""
    movement = rank_one.without_corner(exactly(p["B"] ** 2))
    published = float(root(lemma(p).variance).upper)
    cost = gaussian_finding(p, movement, tree(int(p["T"]) - 1), None, lemma2_publishes=published)
    least = cost.noise.needed.upper if cost.noise and cost.noise.needed else 0

    def proof() -> Theorem:
        return to_approximate(releases(p, p["B"], short_above(Fraction(least) ** 2)), p["alpha"], p["beta"])

    return replace(cost, proof=proof)


def releases(p: Values, reward: Fraction, variance: Fraction) -> Theorem:
    """Rank-one sensitivity without the corner, symmetric noise per node, the tree over rounds 1 … T−1."""
    moved = linear(rank_one.person(QUERY, reward))
    return tree(int(p["T"]) - 1).release(lambda key: gaussian(moved, variance, key))


# ------------------------------------------------------------------ runs


def run_lemma2(p: Values, seed: int) -> dict[str, Any]:
    """Run Lemma 2's nodes at the worst pair of the full matrix."""
    numbers = lemma(p)
    sigma = math.sqrt(numbers.variance.upper)
    return tree_attack(p, rank_one.with_corner(numbers.clip2), met(int(p["T"]) - 1), sigma, seed)


def run_unclipped(p: Values, seed: int) -> dict[str, Any]:
    """Run them at a reward y that nothing clips, against −B."""
    rewards = (float(p["y"]), -float(p["B"]))
    movement = FarthestPair(rank_one.at_pair(p["y"], -p["B"]), 1, rewards)
    sigma = math.sqrt(lemma(p).variance.upper)
    return {"y": rewards[0], **tree_attack(p, movement, met(int(p["T"]) - 1), sigma, seed)}


def run_repaired(p: Values, seed: int) -> dict[str, Any]:
    """Run the repaired release, with the noise it needs, at its worst pair."""
    noise = repair(p).noise
    sigma = float(noise.needed.upper) if noise and noise.needed else 0.0
    movement = rank_one.without_corner(exactly(p["B"] ** 2))
    return tree_attack(p, movement, met(int(p["T"]) - 1), sigma, seed, corner=False)


# ------------------------------------------------------------------ the entries

ALPHA, BETA, ROUNDS, REWARD = positive("1"), probability("0.1"), count(1024, least=2), at_least(0, "1")
LEMMA2: dict[str, Parameter] = {"alpha": ALPHA, "beta": BETA, "T": ROUNDS, "B": REWARD}
WITH_RHO: dict[str, Parameter] = {**LEMMA2, "rho": at_least(0, "0")}

CLAIMS = (
    PaperClaim("dubey-lemma2", WITH_RHO, lemma2, run_lemma2),
    PaperClaim("dubey-lemma2-literal", WITH_RHO, lemma2_literal),
    PaperClaim(
        "dubey-lemma2-unclipped", {**LEMMA2, "y": Exact(Fraction(100))}, lemma2_unclipped, run_unclipped
    ),
    PaperClaim("dubey-remark1", WITH_RHO, remark1),
    PaperClaim("dubey-remark5", {**LEMMA2, "mode": Word(("restart", "carry"))}, remark5),
    PaperClaim("dubey-repair", LEMMA2, repair, run_repaired),
)
