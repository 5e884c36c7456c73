"""The proof kernel: `Theorem` and the only functions that make one.

A theorem is `hypotheses ⊢ conclusion`.  Each rule matches its premises, checks its side conditions
and either returns a theorem or raises `RuleError` with what was needed and what was found.  Numbers
are exact fractions; an inequality between real numbers is decided by ball arithmetic (`curves`),
refusing whatever it cannot decide.  Search happens elsewhere: a rule is handed its witness.

Within one process the guard against made-up theorems stops accidents only.  What is trusted is the
written derivation (`derivation.write`), which the stand-alone checker infers again by other means.

A new rule costs three places on purpose: here, in `checker.py`, and a test that it refuses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, product
from typing import Any, Final, NoReturn

from flint import arb

from dpaccount.curves import Approximate, Curve, Gdp, Pure, Shift, Zcdp, at_most
from dpaccount.errors import RuleError

REPLACE_ONE: Final = "replace-one"
ADD_REMOVE: Final = "add-remove"
RELATIONS: Final = (REPLACE_ONE, ADD_REMOVE)
CENTRAL: Final = "central"
JOINT: Final = "joint"
LOCAL: Final = "local"

Cover = tuple[int, int]
MAX_NUMBER_BITS = 3000  #: so that every number of a derivation can be written and read


# ------------------------------------------------------------------ judgements


@dataclass(frozen=True)
class Contribution:
    """Each unit adds one vector of a known set to `query`.

    `kind` says which set: ``points`` (a finite set of integer vectors, `points`), ``interval``
    (`low` to `high`), ``ball`` (ℓ2 norm squared at most `high`), ``rank-one`` (the symmetric matrix
    of (φ, y) without its y² corner, ‖φ‖ ≤ 1, |y| ≤ `high`) or ``outer`` (the same with it).  The
    vector depends on the unit's own data, its own coins, public values and earlier releases only, and
    it is the same one in every release that covers the unit.
    """

    query: str
    kind: str
    low: Fraction
    high: Fraction
    points: tuple[Shift, ...]
    relation: str


@dataclass(frozen=True)
class Covered:
    """`query` is released `releases` times, each reading at most `widest` units.

    A unit of the interval `units` is read by at most `most` releases, others by none.
    """

    query: str
    releases: int
    most: int
    widest: int
    units: Cover


@dataclass(frozen=True)
class Stable:
    """Between neighbours, `query` moves by at most `bound` in `norm`.

    `norm` is ``l1`` (the bound as it is), ``l2-squared`` or ``frobenius-squared`` (a bound on the
    square, because the root is rarely rational).
    """

    query: str
    norm: str
    bound: Fraction
    relation: str


@dataclass(frozen=True)
class Shifts:
    """Between neighbours, `query` moves by one of these integer vectors, up to order and signs."""

    query: str
    shifts: tuple[Shift, ...]
    relation: str


@dataclass(frozen=True)
class Private:
    """`subject` has this privacy curve for this relation, as seen by this observer.

    It reads the units of the interval `units` only (None: any unit).
    """

    subject: str
    curve: Curve
    relation: str
    observer: str
    units: Cover | None = None


@dataclass(frozen=True)
class View:
    """What `query` shows to a person is a function of the releases, public values and coins.

    For the audience ``others`` it may read the person's own data too: nobody else sees it then.
    For ``everyone`` it may not.  The coins are independent of the noise.
    """

    query: str
    audience: str


@dataclass(frozen=True)
class Rare:
    """`query` departs with probability at most `probability` from what is proved of it.

    `kind` says how: ``event`` (except in an event over the mechanism's own coins, not over the
    data) or ``distance`` (its output law is within this total variation, on every input).
    """

    query: str
    kind: str
    probability: Fraction


Judgement = Contribution | Covered | Stable | Shifts | Private | View | Rare


# ------------------------------------------------------------------ theorems

_SEAL = object()


class Theorem:
    """A proved judgement with the rule, premises and witness that proved it; made by rules only."""

    __slots__ = ("conclusion", "premises", "rule", "witness")

    conclusion: Judgement
    rule: str
    premises: tuple["Theorem", ...]
    witness: dict[str, Any]

    def __new__(
        cls,
        seal: object,
        conclusion: Judgement,
        rule: str,
        premises: tuple["Theorem", ...],
        witness: dict[str, Any],
    ) -> "Theorem":
        """Refuse everyone but the rules of this file."""
        if seal is not _SEAL:
            raise RuleError("a Theorem comes from a rule of the kernel; call the rule instead")
        made = object.__new__(cls)
        for name, value in (
            ("conclusion", conclusion),
            ("rule", rule),
            ("premises", premises),
            ("witness", witness),
        ):
            object.__setattr__(made, name, value)
        return made

    def __init_subclass__(cls) -> None:
        """Refuse subclasses."""
        raise RuleError("Theorem cannot be subclassed")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse changes."""
        raise RuleError("a Theorem cannot be changed; apply a rule to it")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse changes."""
        raise RuleError("a Theorem cannot be changed; apply a rule to it")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling and copying: a theorem travels as a derivation, and is checked on arrival."""
        raise RuleError("a Theorem cannot be pickled or copied; write its derivation instead")

    def __repr__(self) -> str:
        """Show the conclusion and the rule."""
        return f"⊢ {self.conclusion}  [{self.rule}]"


def proved(rule: str, conclusion: Judgement, premises: Sequence[Theorem] = (), **witness: Any) -> Theorem:
    """Make a theorem: for the rules of this file and of `rules` only."""
    return Theorem(_SEAL, conclusion, rule, tuple(premises), witness)


def need(holds: bool, rule: str, needed: str) -> None:  # noqa: FBT001
    """Refuse unless a side condition is exactly True."""
    if holds is not True:
        raise RuleError(f"{rule}: {needed}")


def conclusion_of(theorem: Theorem, rule: str) -> Judgement:
    """Return what a premise says, refusing whatever is not a theorem."""
    need(type(theorem) is Theorem, rule, f"a premise must be a Theorem, found {type(theorem).__name__}")
    return theorem.conclusion


def number(value: Fraction | int, rule: str, name: str) -> Fraction:
    """Return an exact number; floats are refused."""
    need(type(value) in (int, Fraction), rule, f"{name} must be exact, found {type(value).__name__}")
    exact = Fraction(value)
    size = exact.numerator.bit_length() + exact.denominator.bit_length()
    need(size <= MAX_NUMBER_BITS, rule, f"{name} has {size} bits, more than derivations hold")
    return exact


def stable(theorem: Theorem, rule: str, norm: str) -> Stable:
    """Return a sensitivity in this norm, refusing any other premise."""
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Stable) or fact.norm != norm:
        raise RuleError(f"{rule}: needed a bound in {norm}, found {fact}")
    return fact


def positive(value: Fraction | int, rule: str, name: str) -> Fraction:
    """Return an exact number above 0."""
    found = number(value, rule, name)
    need(found > 0, rule, f"the {name} must be above 0, found {found}")
    return found


def _known(relation: str, rule: str) -> None:
    need(relation in RELATIONS, rule, f"the relation is one of {', '.join(RELATIONS)}, found {relation!r}")


# ------------------------------------------------------------------ hypotheses: what the code must do


def assume_points(query: str, points: Sequence[Shift], relation: str, because: str) -> Theorem:
    """Assume that every unit adds one of these integer vectors; `because` names the evidence.

    The hypothesis is attacked by property tests; it becomes part of every theorem built on it.
    """
    rule = "assume_points"
    _known(relation, rule)
    wide = {len(point) for point in points}
    need(
        len(wide) == 1 and 0 not in wide,
        rule,
        "points must be vectors of one dimension, at least one of them",
    )
    whole = all(type(v) is int for point in points for v in point)
    need(whole, rule, "points must be integer vectors")
    listed = tuple(sorted(set(map(tuple, points))))
    fact = Contribution(query, "points", Fraction(0), Fraction(0), listed, relation)
    return proved(
        rule, fact, query=query, points=[list(p) for p in listed], relation=relation, because=because
    )


def assume_clipped(query: str, low: Fraction, high: Fraction, relation: str, because: str) -> Theorem:
    """Assume that every unit adds one number in [low, high], clipped there with public constants (R1)."""
    rule = "assume_clipped"
    low, high = number(low, rule, "low"), number(high, rule, "high")
    _known(relation, rule)
    need(low <= high, rule, f"low must be at most high, found {low} > {high}")
    fact = Contribution(query, "interval", low, high, (), relation)
    return proved(rule, fact, query=query, low=str(low), high=str(high), relation=relation, because=because)


def assume_ball(query: str, radius: Fraction, relation: str, because: str) -> Theorem:
    """Assume that every unit adds a vector of ℓ2 norm at most `radius`, a public constant (R1)."""
    rule = "assume_ball"
    radius = number(radius, rule, "radius")
    _known(relation, rule)
    need(radius >= 0, rule, f"the radius must not be negative, found {radius}")
    fact = Contribution(query, "ball", Fraction(0), radius**2, (), relation)
    return proved(rule, fact, query=query, radius=str(radius), relation=relation, because=because)


def assume_rank_one(
    query: str, reward: Fraction, relation: str, because: str, kind: str = "rank-one"
) -> Theorem:
    """Assume that every unit adds [φφᵀ, φy; yφᵀ, 0], ‖φ‖ ≤ 1 and |y| ≤ `reward`, public constants (R1).

    With the kind ``outer`` the corner is y² instead of 0.
    """
    rule = "assume_rank_one"
    reward = number(reward, rule, "reward")
    need(relation == REPLACE_ONE, rule, f"the closed form is for {REPLACE_ONE}, found {relation!r}")
    need(reward >= 0, rule, f"the reward bound must not be negative, found {reward}")
    need(kind in ("rank-one", "outer"), rule, f"the kind is rank-one or outer, found {kind!r}")
    fact = Contribution(query, kind, Fraction(0), reward, (), relation)
    return proved(rule, fact, query=query, reward=str(reward), kind=kind, relation=relation, because=because)


def assume_covers(query: str, covers: Sequence[Cover], because: str) -> Theorem:
    """Assume that release i of `query` sums the units of covers[i] = [first, last] and no others."""
    rule = "assume_covers"
    spans = [(first, last) for first, last in covers]
    need(bool(spans), rule, "needed at least one cover")
    for first, last in spans:
        fine = type(first) is int and type(last) is int and 1 <= first <= last
        need(fine, rule, f"a cover is [first, last] with 1 <= first <= last, found [{first}, {last}]")
    # at one position the end (-1, standing at last + 1) sorts before a start (+1)
    edges = sorted([(first, 1) for first, _ in spans] + [(last + 1, -1) for _, last in spans])
    most = max(accumulate(change for _, change in edges))
    units = (min(first for first, _ in spans), max(last for _, last in spans))
    widest = max(last - first + 1 for first, last in spans)
    fact = Covered(query, len(spans), most, widest, units)
    return proved(rule, fact, query=query, covers=[list(span) for span in spans], because=because)


def assume_tree(query: str, rounds: int, because: str) -> Theorem:
    """Assume that `query` is released once for every complete node of a binary tree over `rounds` rounds.

    There are 2N − (ones of N) such nodes, and a round lies in at most ⌊log₂ N⌋ + 1 of them, one per
    level (Chan, Shi & Song 2011; Dwork, Naor, Pitassi & Rothblum 2010).
    """
    rule = "assume_tree"
    need(
        type(rounds) is int and rounds >= 1, rule, f"rounds must be an integer of at least 1, found {rounds}"
    )
    levels = rounds.bit_length()
    fact = Covered(query, 2 * rounds - rounds.bit_count(), levels, 2 ** (levels - 1), (1, rounds))
    return proved(rule, fact, query=query, rounds=rounds, because=because)


def assume_view(query: str, audience: str, because: str) -> Theorem:
    """Assume that what `query` shows to a person is a function as `View` says (R12, R13, R21)."""
    rule = "assume_view"
    need(audience in ("everyone", "others"), rule, f"the audience is everyone or others, found {audience!r}")
    return proved(rule, View(query, audience), query=query, audience=audience, because=because)


def assume_rare(query: str, kind: str, probability: Fraction, because: str) -> Theorem:
    """Assume that `query` departs from what is proved of it with small probability, as `Rare` says (R18)."""
    rule = "assume_rare"
    probability = number(probability, rule, "probability")
    need(kind in ("event", "distance"), rule, f"the kind is event or distance, found {kind!r}")
    need(0 <= probability <= 1, rule, f"the probability must lie in [0, 1], found {probability}")
    fact = Rare(query, kind, probability)
    return proved(rule, fact, query=query, kind=kind, probability=str(probability), because=because)


def assume_range(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that neighbours' scores differ by d(o) with max d − min d ≤ `width` over all outputs o (R6)."""
    rule = "assume_range"
    width = number(width, rule, "width")
    _known(relation, rule)
    need(width >= 0, rule, f"the width must not be negative, found {width}")
    fact = Stable(query, "range", width, relation)
    return proved(rule, fact, query=query, width=str(width), relation=relation, because=because)


def assume_filter(
    query: str, measure: str, budget: Sequence[Fraction], relation: str, because: str
) -> Theorem:
    """Assume that charges may depend on the past, and none is admitted that would bring the sum over budget.

    The sum is then private as if it had been fixed (R8): pure and (ε, δ) by sums, zCDP and GDP by
    Σρ and Σμ² (Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Smith & Thakurta 2022).
    """
    rule = "assume_filter"
    _known(relation, rule)
    makers = {"pure": Pure, "approximate": Approximate, "zcdp": Zcdp, "gdp": Gdp}
    need(measure in makers, rule, f"the measure is one of {', '.join(makers)}, found {measure!r}")
    amounts = [number(amount, rule, "budget") for amount in budget]
    wanted = 2 if measure == "approximate" else 1
    need(len(amounts) == wanted and min(amounts) >= 0, rule, f"needed {wanted} amounts of at least 0")
    out = Private(query, makers[measure](*amounts), relation, CENTRAL)
    written = [str(amount) for amount in amounts]
    return proved(rule, out, query=query, measure=measure, budget=written, relation=relation, because=because)


# ------------------------------------------------------------------ sensitivity


def linear(contribution: Theorem, bound_squared: Fraction | None = None) -> Theorem:
    """Bound the movement of a sum of per-unit contributions (R2).

    Replace-one moves the sum by a difference of two contributions, add-remove by one of them.
    An interval gives its ℓ1 bound (width, or largest magnitude); a ball gives 4r² or r².
    Rank one without corner: D² = 2(1+B²)² for B ≤ 1, 8B² for B ≥ 1.  Proof: with norms a, b ≤ 1,
    cosine c and y = −y′ = B (the square is convex in (y, y′), and opposite signs are worst up to
    the sign of c), D² = a⁴+b⁴−2a²b²c²+2B²(a²+b²+2abc), concave in c with unconstrained maximum
    (a²+B²)²+(b²+B²)² ≤ 2(1+B²)², attained at a = b = 1, c = B² if B ≤ 1.  For B ≥ 1 its maximum
    over c ≤ 1 is at c = 1, (a+b)²((a−b)²+2B²), which is largest at a = b = 1.
    With corner (``outer``): |v|⁴+|w|⁴−2(v·w)² grows with both norms and with the larger reward, so
    D² = (1+B²)²+(1+t²)²−2((Bt−1)₊)² at its worst t ∈ [0, B]: 2(1+B²)² for B ≤ 1; beyond, a
    `bound_squared` is verified on [1/B, B] piece by piece, below 1/B the value is smaller.
    """
    rule = "linear"
    fact = conclusion_of(contribution, rule)
    if not isinstance(fact, Contribution):
        raise RuleError(f"{rule}: needed a contribution, found {type(fact).__name__}")
    swap = fact.relation == REPLACE_ONE
    norm, bound = "l2-squared", Fraction(0)
    witness: dict[str, str] = {}
    match fact.kind:
        case "interval":
            norm = "l1"
            bound = fact.high - fact.low if swap else max(abs(fact.low), abs(fact.high))
        case "ball":
            bound = 4 * fact.high if swap else fact.high
        case "rank-one":
            norm = "frobenius-squared"
            bound = 8 * fact.high**2 if fact.high >= 1 else 2 * (1 + fact.high**2) ** 2
        case "outer" if fact.high <= 1:
            norm, bound = "frobenius-squared", 2 * (1 + fact.high**2) ** 2
        case "outer":
            norm, bound = "frobenius-squared", number(bound_squared or 0, rule, "bound_squared")
            need(_bounds_outer(fact.high, bound), rule, f"{float(bound):.9g} is not shown to be a bound")
            witness["bound_squared"] = str(bound)
        case "points":
            bound = Fraction(max(sum(v * v for v in s) for s in _moves(fact)))
        case _:
            raise RuleError(f"{rule}: no bound is known for contributions of kind {fact.kind!r}")
    return proved(rule, Stable(fact.query, norm, bound, fact.relation), (contribution,), **witness)


def _bounds_outer(b: Fraction, bound: Fraction) -> bool:
    """Decide h(t) = (1+B²)²+(1+t²)²−2(Bt−1)² ≤ bound on [1/B, B], B > 1, by the mean value on pieces.

    h′ = 4p, p(t) = t³+(1−B²)t+B, and |p′| ≤ 4B²+1.  What takes too many pieces is refused.
    """
    pieces, budget = [(1 / b, b)], 4000
    while pieces and budget:
        low, high = pieces.pop()
        middle, half = (low + high) / 2, (high - low) / 2
        room = bound - (1 + b * b) ** 2 - (1 + middle**2) ** 2 + 2 * (b * middle - 1) ** 2
        if room < 0:
            return False
        if room < 4 * half * (abs(middle**3 + (1 - b * b) * middle + b) + (4 * b * b + 1) * half):
            pieces += [(low, middle), (middle, high)]
        budget -= 1
    return not pieces


def differences(contribution: Theorem) -> Theorem:
    """List every way in which a sum of integer contributions can move, up to order and signs (R2)."""
    rule = "differences"
    fact = conclusion_of(contribution, rule)
    if not isinstance(fact, Contribution) or fact.kind != "points":
        raise RuleError(f"{rule}: needed a finite set of integer contributions, found {fact}")
    return proved(rule, Shifts(fact.query, _moves(fact), fact.relation), (contribution,))


def _moves(fact: Contribution) -> tuple[Shift, ...]:
    zero = (0,) * len(fact.points[0])
    pairs = product(fact.points, fact.points if fact.relation == REPLACE_ONE else (zero,))
    moves = {tuple(sorted((abs(x - y) for x, y in zip(a, b, strict=True)), reverse=True)) for a, b in pairs}
    return tuple(sorted(tuple(v for v in move if v) for move in moves))


def centred(query: Theorem, rows: int) -> Theorem:
    """Subtract the mean of `rows` rows, a public number: a replaced row moves the whole by √(1 − 1/n) (R2).

    The rows stand in one vector; row i moves by v − v/n and every other row by −v/n.
    """
    rule = "centred"
    fact = stable(query, rule, "l2-squared")
    need(type(rows) is int and rows >= 1, rule, f"rows must be an integer of at least 1, found {rows}")
    need(fact.relation == REPLACE_ONE, rule, f"the number of rows must stay, found {fact.relation}")
    out = replace(fact, bound=fact.bound * (1 - Fraction(1, rows)))
    return proved(rule, out, (query,), rows=rows)


def sqrt_toeplitz(query: Theorem, rounds: int, norm_squared: Fraction) -> Theorem:
    """Apply the lower-triangular √Toeplitz factor, c_k = C(2k, k)/4^k, to a stream; one round a unit (R11).

    A unit enters one round, so the whole moves by at most the longest column, the first: Σ_{k<T} c_k²
    ≤ `norm_squared`.  Rows are released in order with independent noise, so queries may be adaptive
    (Fichtenberger, Henzinger & Upadhyay 2023; Denisov et al. 2022).
    """
    rule = "sqrt_toeplitz"
    fact, norm_squared = stable(query, rule, "l2-squared"), positive(norm_squared, rule, "norm")
    fine = type(rounds) is int and 1 <= rounds <= 2**20
    need(fine, rule, f"rounds must be an integer from 1 to 2^20, found {rounds}")

    def column(_: int) -> arb:
        total, term = arb(0), arb(1)
        for k in range(1, rounds + 1):
            total += term * term
            term *= arb(2 * k - 1) / (2 * k)
        return total

    need(at_most(column, norm_squared), rule, f"{float(norm_squared):.9g} is below the squared column norm")
    out = replace(fact, bound=fact.bound * norm_squared)
    return proved(rule, out, (query,), rounds=rounds, norm_squared=str(norm_squared))
