"""How far a query moves between neighbours, and how public transformations change that."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, product

from flint import arb, fmpq, fmpq_poly

from dpaccount.errors import RuleError
from dpaccount.precision import certified
from dpaccount.relation import REPLACE_ONE, bounded_row, radius_of

from .decide import ANYONE, at_most, ball, brief, need, neighbouring, number, positive, whole
from .hypotheses import assume_rounds
from .judgements import Contribution, Lipschitz, Rounds, Shift, Shifts, Stable
from .theorem import Theorem, conclusion_of, contribution_of, plain_vector, proved

Matrix = Sequence[Sequence[int]]
Buffers = Sequence[tuple[int, int]]
MOST_ROWS = 256  #: of a matrix whose columns are compared in pairs
Entered = int | Theorem  #: a number of rounds, or the hypothesis which unit enters which


def linear(contribution: Theorem, bound_squared: Fraction | None = None) -> Theorem:
    """Bound the movement of a sum of per-unit contributions: two (replace-one) or one (add-remove) (R2).

    An interval gives its ℓ1 bound (width, or largest magnitude), cells their number or twice that, a ball
    4r² or r².  Rank one: D² = 2(1+B²)² for B ≤ 1, then 8B², a verified `bound_squared` (docs/proofs.md).
    """
    fact = contribution_of(contribution, rule := "linear")
    near, high = neighbouring(fact.relation, rule), fact.high
    norm, bound, witness = "frobenius-squared", 2 * (1 + high**2) ** 2, dict[str, str]()
    match fact.kind:
        case "interval":
            norm, bound = "l1", max(abs(x - y) for (x,), (y,) in near.moves([(fact.low,), (high,)]))
        case "ball":
            norm, bound = "l2-squared", near.contributions**2 * high
        case "cell":
            norm, bound = "l1", near.contributions * high
        case "points":
            norm, bound = "l2-squared", Fraction(max(sum(v * v for v in s) for s in _moves(fact, rule)))
        case "rank-one" if high >= 1:
            bound = 8 * high**2
        case "outer" if high > 1:
            bound = number(bound_squared or 0, rule, "bound_squared")
            need(_bounds_outer(high, bound), rule, f"{brief(bound)} is not shown to be a bound")
            witness["bound_squared"] = str(bound)
        case kind if kind not in ("rank-one", "outer"):
            raise RuleError(f"{rule}: no bound is known for contributions of kind {kind!r}")
    return proved(rule, Stable(fact.query, norm, bound, fact.relation), (contribution,), **witness)


@certified
def _bounds_outer(b: Fraction, bound: Fraction) -> bool:
    """Decide h(t) = (1+B²)²+(1+t²)²−2(Bt−1)² < bound on [1/B, B], B > 1: so it is at 1, and never equal."""
    gap = [bound - (1 + b * b) ** 2 + 1, -4 * b, 2 * b * b - 2, Fraction(0), Fraction(-1)]
    roots = fmpq_poly([fmpq(c.numerator, c.denominator) for c in gap]).complex_roots()
    real = [r.real for r, _ in roots if r.imag.overlaps(arb(0))]
    return sum(gap) > 0 and all(bool(r < ball(1 / b)) or bool(r > ball(b)) for r in real)


def moved(rows: Theorem, radius: Fraction | None) -> Theorem:
    """Bound how far a query's answer moves if a row moves by at most `radius`, or (None) is replaced (R2)."""
    fact = conclusion_of(rows, rule := "moved")
    if not isinstance(fact, Lipschitz):
        raise RuleError(f"{rule}: needed how a query follows a row, found {fact}")
    if radius is None:
        return proved(rule, Stable(fact.query, "l2-squared", fact.reach**2, REPLACE_ONE), (rows,))
    radius = positive(radius, rule, "radius")
    bound = min(fact.factor * radius + fact.slack, fact.reach) ** 2
    out = Stable(fact.query, "l2-squared", bound, bounded_row(radius))
    return proved(rule, out, (rows,), radius=str(radius))


def differences(contribution: Theorem) -> Theorem:
    """List every way in which a sum of integer contributions can move, up to order and signs (R2)."""
    fact = contribution_of(contribution, rule := "differences", "points", "cell")
    return proved(rule, Shifts(fact.query, _moves(fact, rule), fact.relation), (contribution,))


def _moves(fact: Contribution, rule: str) -> tuple[Shift, ...]:
    near = neighbouring(fact.relation, rule)
    if fact.kind == "cell":  # entries 1 or −1
        return tuple((1,) * n for n in range(near.contributions * int(fact.high) + 1))
    pairs = near.moves(fact.points)
    moves = {tuple(sorted((abs(x - y) for x, y in zip(a, b, strict=True)), reverse=True)) for a, b in pairs}
    return tuple(sorted(tuple(v for v in move if v) for move in moves))


def _entered(
    query: Stable, rounds: Entered, rule: str, times: int = 1, apart: int = 1
) -> tuple[Theorem, Rounds]:
    """Return the hypothesis of which unit enters which round: as given, or for a number of rounds."""
    entered = rounds
    if not isinstance(entered, Theorem):
        entered = assume_rounds(query.query, entered, "movement", times, apart if times > 1 else 1)
    fact = conclusion_of(entered, rule)
    if not isinstance(fact, Rounds):
        raise RuleError(f"{rule}: needed which unit enters which round, found {fact}")
    need(fact.query == query.query, rule, f"the rounds are of {fact.query!r}, not of {query.query!r}")
    return entered, fact


def _one_round(query: Stable, rounds: Entered, rule: str) -> tuple[Theorem, Rounds]:
    entered, fact = _entered(query, rounds, rule)
    need(fact.times == 1, rule, f"a unit enters one round, found {fact}")
    return entered, fact


def centred(query: Theorem, rows: Entered) -> Theorem:
    """Subtract the mean of `rows` rows, a public number: row i moves by v − v/n, every other by −v/n (R2)."""
    fact = plain_vector(query, rule := "centred")
    stay = fact.relation == REPLACE_ONE or radius_of(fact.relation) is not None
    need(stay, rule, f"the number of rows must stay, found {fact.relation}")
    entered, span = _one_round(fact, rows, rule)
    need(span.last == span.rounds, rule, f"a unit is a row, found {span}")
    bound = fact.bound * (1 - Fraction(1, span.rounds))
    return proved(rule, replace(fact, bound=bound, units=(1, span.last)), (query, entered))


def joint(person: Theorem, weight: Fraction) -> Theorem:
    """Stack the upper triangle of Σφφᵀ and √`weight`·Σφy into one vector, for noise of one deviation (R4).

    Its movement is the supremum of the sum (docs/proofs.md): 2 − 2c² + 2B²w(1 + c), c = min(1, B²w/2).
    """
    fact, w = contribution_of(person, rule := "joint", "rank-one"), positive(weight, rule, "weight")
    cosine = min(Fraction(1), fact.high**2 * w / 2)
    bound = 2 - 2 * cosine**2 + 2 * fact.high**2 * w * (1 + cosine)
    return proved(rule, Stable(fact.query, "l2-squared", bound, fact.relation), (person,), weight=str(w))


def factorised(
    query: Theorem,
    rounds: Entered,
    matrix: Matrix,
    bits: int = 0,
    participations: int = 1,
    separation: int = 1,
    contribution: Theorem | None = None,
) -> Theorem:
    """Apply a public lower-triangular matrix C of integers over 2^bits to a stream (Li et al. 2015) (R11).

    `matrix` holds C's rows up to the diagonal, or one row: the coefficients of a Toeplitz C.  Rows are
    released in order with independent noise, so queries may be adaptive (Denisov et al. 2022).  A unit
    enters one round: the whole moves by at most the longest column; or up to k rounds at least b apart, as
    the relation then states: ‖Σ C e_i u_i‖² ≤ Σ_{i,j in S} |⟨C_i, C_j⟩| for the rounds S that it enters
    (Choquette-Choo et al. 2023), bounded over all S (docs/proofs.md).  A replaced unit may enter other rounds
    than before: its old and new additions are each within `contribution`, of a plain sum.
    """
    fact, coefficients = plain_vector(query, rule := "factorised"), [list(row) for row in matrix]
    entered, span = _entered(fact, rounds, rule, participations, separation)
    times, scale = min(span.times, -(-span.rounds // span.apart)), 4 ** whole(bits, rule, "bits", 0)
    need(all(type(c) is int for row in coefficients for c in row), rule, "coefficients must be integers")
    square = _squared_sensitivity(coefficients, span.rounds, times, span.apart, rule)
    premises: tuple[Theorem, ...] = (query, entered)
    bound, relation, units = fact.bound, fact.relation, (1, span.last)
    if span.times > 1:  # even if no more than one fits: a neighbour's may be another one
        person = contribution or next(iter(query.premises), query)
        premises, bound, units = (query, entered, person), _each_addition(query, person, rule), ANYONE
        if times > 1:
            relation = f"{fact.relation}, {times} rounds {span.apart} apart"
    out = replace(fact, bound=bound * Fraction(square, scale), relation=relation, units=units)
    return proved(rule, out, premises, matrix=coefficients, bits=bits)


def _squared_sensitivity(rows: list[list[int]], rounds: int, times: int, apart: int, rule: str) -> int:
    """Return the squared factor by which a matrix stretches unit vectors in `times` of its columns.

    Of the rounds S of one unit: Σ_{i in S} w_i, w_i at least the largest Σ_{j in S} |⟨C_i, C_j⟩|.  Of a
    Toeplitz matrix an inner product at lag d is a prefix sum of Σ_i c_i c_{i+d}; with l rounds before i and
    the others after it w_i is g₀ + h_l + h_{k−1−l}, h_m the most that m later rounds have.
    """
    # Written apart from `numerics.closed.toeplitz`, which bounds plans and which the kernel must not trust.
    if len(rows) != 1:
        shape = len(rows) == rounds and all(len(row) == i + 1 for i, row in enumerate(rows))
        need(shape, rule, f"row i of a matrix for {rounds} rounds holds i + 1 integers, up to its diagonal")
        columns = [[row[j] for row in rows[j:]] for j in range(rounds)]
        if times == 1 or rounds > MOST_ROWS:
            return times**2 * max(_meeting(column, column) for column in columns)
        met = [[abs(_meeting(u[-len(v) :], v)) for v in columns[i:]] for i, u in enumerate(columns)]
        sizes = [[met[min(i, j)][abs(i - j)] for j in range(rounds)] for i in range(rounds)]
        return _heaviest([_heaviest(each, times, apart)[-1] for each in sizes], times, apart)[-1]
    c = rows[0][:rounds]
    need(len(c) >= 1 and (times == 1 or len(c) <= 2048), rule, "needed 1 to 2048 coefficients")
    lags = range(len(c) if times > 1 else 1)
    gram = [max(map(abs, accumulate(x * y for x, y in zip(c, c[d:], strict=False)))) for d in lags]
    later = _heaviest(gram[apart:], times - 1, apart) if times > 1 else [0]
    return times * gram[0] + 2 * sum(later[min(m, len(later) - 1)] for m in range(times))


def _meeting(u: list[int], v: list[int]) -> int:
    return sum(x * y for x, y in zip(u, v, strict=True))


def _heaviest(weights: list[int], times: int, apart: int) -> list[int]:
    """Return the largest sums of 0, 1, … `times` weights, none negative, each `apart` after the last one."""
    sums, best = [0], [0] * (len(weights) + 1)
    for _ in range(times):
        now = [0]
        for n, weight in enumerate(weights):
            now.append(max(now[-1], best[max(0, n + 1 - apart)] + weight))
        if now[-1] == best[-1]:  # no more of them fit
            break
        sums.append(now[-1])
        best = now
    return sums


def _each_addition(query: Theorem, person: Theorem, rule: str) -> Fraction:
    """Return the squared bound on a unit's additions over its rounds and its neighbour's: (2r)²."""
    fact = contribution_of(person, rule, "ball", "points")
    plain = query.rule != "joint" and linear(person).conclusion == query.conclusion
    need(plain, rule, f"{fact} is not what {query.conclusion} sums")
    length = fact.high if fact.kind == "ball" else Fraction(max(sum(v * v for v in p) for p in fact.points))
    return neighbouring(fact.relation, rule).contributions ** 2 * length


def buffered(
    query: Theorem, rounds: Entered, width: int, pairs: Buffers, bits: int, step: Fraction, most: Fraction
) -> Theorem:
    """Add decaying buffers b ← ⌊λb⌋ + w·x to a stream x of vectors of `width` steps·2^bits (R11).

    Rows x + Σb are released in order, as `factorised` ones; `pairs` holds w and λ < 1, integers over 2^bits
    (Dvijotham et al. 2024).  A change of x moves the row k later by c_k = Σ w λ^(k−1) times it, c_0 = 1, and
    every number by up to Σ 1/(1−λ) steps more, one lost a round to floors.  `most` bounds its square by
    ((Σ c_k²)^½·before + step·(width·(rounds − 1))^½·Σ 1/(1−λ))² (docs/proofs.md).
    """
    rule = "buffered"
    fact, step, one = plain_vector(query, rule), positive(step, rule, "step"), 2 ** whole(bits, rule, "bits")
    buffers = [[whole(v, rule, "a weight or decay", 0) for v in pair] for pair in pairs]
    need(all(decay < one for _, decay in buffers), rule, f"decays are below 2^{bits}")
    entered, span = _one_round(fact, rounds, rule)
    later, numbers = span.rounds - 1, whole(width, rule, "width")
    lost = step * sum(Fraction(one, one - decay) for _, decay in buffers)

    def moved(_: int) -> arb:
        length = arb(1)
        for (v, f), (w, g) in product(buffers, repeat=2):
            ratio = ball(Fraction(f * g, one**2))
            length += ball(Fraction(v * w, one**2)) * (1 - ratio**later) / (1 - ratio)
        return ((length * ball(fact.bound)).sqrt() + ball(lost) * arb(later * numbers).sqrt()) ** 2

    bound = number(most, rule, "most")
    need(at_most(moved, bound), rule, f"{brief(bound)} is not shown to be a bound")
    given = {"width": width, "pairs": buffers, "bits": bits, "step": str(step), "most": str(bound)}
    return proved(rule, replace(fact, bound=bound, units=(1, span.last)), (query, entered), **given)
