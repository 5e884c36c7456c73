"""The inference rules about privacy: noise, composition, observers, conversion.

With `kernel` (theorems, hypotheses, sensitivity) and `curves` (certified numbers) this is the whole
trusted base.  Numbers R1, R2, … refer to the table of rules in docs/kernel.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from flint import arb

from dpaccount.curves import (
    Approximate,
    BoundedRange,
    Curve,
    Gdp,
    Lattice,
    Pure,
    Renyi,
    Zcdp,
    at_most,
    ball,
    delta_ball,
    normal_cdf,
    renyi_log_delta,
)
from dpaccount.errors import RuleError
from dpaccount.kernel import (
    ADD_REMOVE,
    CENTRAL,
    JOINT,
    LOCAL,
    REPLACE_ONE,
    Contribution,
    Cover,
    Covered,
    Private,
    Rare,
    Shifts,
    Theorem,
    View,
    conclusion_of,
    need,
    number,
    positive,
    proved,
    stable,
)


def _private(theorem: Theorem, rule: str) -> Private:
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Private):
        raise RuleError(f"{rule}: needed a privacy statement, found {type(fact).__name__}")
    return fact


# ------------------------------------------------------------------ leaves: one draw of noise


def _sampler(grid: Fraction | None, rule: str) -> dict[str, str]:
    # The values of the query lie on the grid by hypothesis; the receipt draws noise on the same grid.
    return {} if grid is None else {"grid": str(positive(grid, rule, "grid"))}


def laplace(query: Theorem, scale: Fraction, grid: Fraction | None, key: str) -> Theorem:
    """Laplace noise of `scale` on an ℓ1-stable query is (bound/scale)-DP (Dwork et al. 2006) (R5).

    On a `grid` of values γℤ the noise is γ times the discrete Laplace of scale/γ (Ghosh, Roughgarden
    & Sundararajan 2012), whose ratios obey the same bound; None means the continuous law.
    """
    rule = "laplace"
    fact, scale = stable(query, rule, "l1"), positive(scale, rule, "scale")
    noise = _sampler(grid, rule)
    out = Private(fact.query, Pure(fact.bound / scale), fact.relation, CENTRAL)
    return proved(rule, out, (query,), scale=str(scale), **noise, key=key)


def gaussian(query: Theorem, variance: Fraction, key: str) -> Theorem:
    """Gaussian noise N(0, variance) is μ-GDP, μ² = bound²/variance (Dong, Roth & Su 2022) (R3)."""
    rule = "gaussian"
    fact, variance = stable(query, rule, "l2-squared"), positive(variance, rule, "variance")
    out = Private(fact.query, Gdp(fact.bound / variance), fact.relation, CENTRAL)
    return proved(rule, out, (query,), variance=str(variance), key=key)


def symmetric_gaussian(query: Theorem, variance: Fraction, grid: Fraction | None, key: str) -> Theorem:
    """Symmetric Gaussian noise: `variance` off the diagonal, at least twice that on it (GOE) (R4).

    The Mahalanobis length of a symmetric shift A is ‖A‖_F²/(2·variance).  Continuous noise (no
    `grid`) is GDP with that μ².  Independent discrete Gaussians on a grid γℤ are zCDP with half of
    it: the divergence of each is at most the continuous one's (Canonne, Kamath & Steinke 2020).
    """
    rule = "symmetric_gaussian"
    fact, variance = stable(query, rule, "frobenius-squared"), positive(variance, rule, "variance")
    noise = _sampler(grid, rule)
    square = fact.bound / (2 * variance)
    curve: Curve = Gdp(square) if grid is None else Zcdp(square / 2)
    out = Private(fact.query, curve, fact.relation, CENTRAL)
    return proved(rule, out, (query,), variance=str(variance), **noise, key=key)


def joint_gaussian(person: Theorem, matrix: Fraction, vector: Fraction, key: str) -> Theorem:
    """Independent noise on φφᵀ (variance `matrix`, upper triangle) and on φy (variance `vector`): GDP (R4).

    A shift A of the matrix has Mahalanobis length (‖A‖_F² + ‖diag A‖²)/(2X) ≤ ‖A‖_F²/X, so with norms
    a, b ≤ 1 and cosine c, μ² ≤ (a⁴+b⁴−2a²b²c²)/X + B²(a²+b²+2abc)/U: the supremum of the sum.  It is
    concave in c; its free maximum grows with a and b: 2/X + 2B²/U + B⁴X/(2U²), at c = B²X/(2U) if that
    is at most 1.  Otherwise c = 1: (a²−b²)²/X + B²(a+b)²/U, largest at a = b = 1, since B²X > 2U.
    """
    rule = "joint_gaussian"
    fact = conclusion_of(person, rule)
    if not isinstance(fact, Contribution) or fact.kind != "rank-one":
        raise RuleError(f"{rule}: needed a person's statistics without corner, found {fact}")
    x, u = positive(matrix, rule, "matrix variance"), positive(vector, rule, "vector variance")
    square = fact.high**2
    free = 2 / x + 2 * square / u + square**2 * x / (2 * u**2)
    curve = Gdp(free if square * x <= 2 * u else 4 * square / u)
    out = Private(fact.query, curve, fact.relation, CENTRAL)
    return proved(rule, out, (person,), matrix=str(x), vector=str(u), key=key)


def discrete_gaussian(query: Theorem, variance: Fraction, grid: Fraction, key: str) -> Theorem:
    """Discrete Gaussian noise on a grid γℤᵈ is zCDP, ρ = bound²/(2·variance) (Canonne et al. 2020)."""
    rule = "discrete_gaussian"
    fact, variance = stable(query, rule, "l2-squared"), positive(variance, rule, "variance")
    noise = _sampler(positive(grid, rule, "grid"), rule)
    out = Private(fact.query, Zcdp(fact.bound / (2 * variance)), fact.relation, CENTRAL)
    return proved(rule, out, (query,), variance=str(variance), **noise, key=key)


def lattice_gaussian(shifts: Theorem, variance: Fraction, key: str) -> Theorem:
    """Discrete Gaussian noise on integer vectors with a known set of shifts: the exact curve.

    For each neighbouring pair and transcript the two output laws are the noise and the noise moved
    by one of the shifts; δ(ε) is the largest over them (`curves.lattice_delta`).
    """
    rule = "lattice_gaussian"
    fact, variance = conclusion_of(shifts, rule), positive(variance, rule, "variance")
    if not isinstance(fact, Shifts):
        raise RuleError(f"{rule}: needed a set of shifts, found {type(fact).__name__}")
    out = Private(fact.query, Lattice(variance, fact.shifts, 1), fact.relation, CENTRAL)
    return proved(rule, out, (shifts,), variance=str(variance), key=key)


def exponential(scores: Theorem, rate: Fraction, key: str) -> Theorem:
    """Draw o with weight ∝ exp(rate·score(o)): bounded range rate·width (Durfee & Rogers 2019) (R6)."""
    rule = "exponential"
    fact, rate = stable(scores, rule, "range"), positive(rate, rule, "rate")
    out = Private(fact.query, BoundedRange(rate * fact.bound), fact.relation, CENTRAL)
    return proved(rule, out, (scores,), rate=str(rate), key=key)


def permute_and_flip(scores: Theorem, rate: Fraction, key: str) -> Theorem:
    """Take the largest score after adding exponential noise of this rate: pure, not bounded range (R6).

    McKenna & Sheldon 2020; Ding et al. 2021.
    """
    rule = "permute_and_flip"
    fact, rate = stable(scores, rule, "range"), positive(rate, rule, "rate")
    out = Private(fact.query, Pure(rate * fact.bound), fact.relation, CENTRAL)
    return proved(rule, out, (scores,), rate=str(rate), key=key)


# ------------------------------------------------------------------ composition


def _alike(facts: Sequence[Private], rule: str) -> None:
    need(len(facts) >= 1, rule, "needed at least one premise")
    for name in ("relation", "observer"):
        found = sorted({getattr(fact, name) for fact in facts})
        need(len(found) == 1, rule, f"premises must share one {name}, found {', '.join(found)}")
    found = sorted({type(fact.curve).__name__ for fact in facts})
    need(len(found) == 1, rule, f"premises must share one measure, found {', '.join(found)}; convert first")
    orders = {tuple(order for order, _ in f.curve.points) for f in facts if isinstance(f.curve, Renyi)}
    need(len(orders) <= 1, rule, "Rényi bounds must be at the same orders")


def _hull(facts: Sequence[Private]) -> Cover | None:
    spans = [fact.units for fact in facts if fact.units is not None]
    whole = len(spans) == len(facts)
    return (min(first for first, _ in spans), max(last for _, last in spans)) if whole else None


def compose(*parts: Theorem) -> Theorem:
    """Release all parts on the same units, adaptively: pure ε, (ε, δ), ρ and μ² add (R7).

    Each part is private for every earlier transcript and its bound is fixed in advance.  Dwork et
    al. 2006 (pure, approximate), Bun & Steinke 2016 (zCDP), Dong, Roth & Su 2022 (GDP).
    """
    rule = "compose"
    facts = [_private(part, rule) for part in parts]
    _alike(facts, rule)
    need(not isinstance(facts[0].curve, BoundedRange), rule, "bounded range composes only once converted")
    columns = zip(*(_amounts(f.curve, rule) for f in facts), strict=True)
    totals = [sum(column, Fraction(0)) for column in columns]
    subject = " + ".join(fact.subject for fact in facts)
    out = Private(
        subject, _rebuilt(facts[0].curve, totals), facts[0].relation, facts[0].observer, _hull(facts)
    )
    return proved(rule, out, parts)


def _amounts(curve: Curve, rule: str) -> tuple[Fraction, ...]:
    """Return the numbers of a curve that grow with its cost and, but for bounded range, add."""
    match curve:
        case Renyi(points):
            return tuple(divergence for _, divergence in points)
        case Lattice():
            raise RuleError(f"{rule}: lattice curves are neither added nor ordered; convert to (ε, δ) first")
        case _:
            return tuple(vars(curve).values())


def _rebuilt(curve: Curve, amounts: Sequence[Fraction]) -> Curve:
    if isinstance(curve, Renyi):
        return Renyi(tuple((order, new) for (order, _), new in zip(curve.points, amounts, strict=True)))
    made: Curve = type(curve)(*amounts)  # type: ignore[arg-type]  # never a Lattice: `_amounts` refuses it
    return made


def nodes(leaf: Theorem, covered: Theorem) -> Theorem:
    """Release the query of `leaf` over each of its covers with independent noise (R7, R9, R10).

    Given the transcript up to a unit's contribution, the later law depends on that unit only through
    its one vector, added in the covers that contain it; all else is equal.  So the cost is that of
    `most` releases moved by the same vector, and covers that miss the unit are free.
    """
    rule = "nodes"
    fact, spread = _private(leaf, rule), conclusion_of(covered, rule)
    if not isinstance(spread, Covered):
        raise RuleError(f"{rule}: needed the covers of the releases, found {type(spread).__name__}")
    need(
        spread.query == fact.subject,
        rule,
        f"the covers are of {spread.query!r}, the leaf is of {fact.subject!r}",
    )
    need(fact.observer == CENTRAL, rule, f"the leaf must be centrally private, found {fact.observer}")
    curve = fact.curve
    if isinstance(curve, Lattice):
        total: Curve = replace(curve, count=curve.count * spread.most)
    else:
        many = spread.most == 1 or not isinstance(curve, BoundedRange)
        need(many, rule, "bounded range composes only once converted")
        total = _rebuilt(curve, [spread.most * amount for amount in _amounts(curve, rule)])
    out = Private(fact.subject, total, fact.relation, CENTRAL, spread.units)
    return proved(rule, out, (leaf, covered))


def parallel(*parts: Theorem) -> Theorem:
    """Release each part on units of its own; a unit pays for its part alone, so the worst counts (R9).

    The units are disjoint and told apart by public position, never by private value (McSherry 2009).
    """
    rule = "parallel"
    facts = [_private(part, rule) for part in parts]
    _alike(facts, rule)
    spans = sorted(fact.units for fact in facts if fact.units is not None)
    need(len(spans) == len(facts), rule, "every part must say which units it reads")
    for (_, last), (first, _) in pairwise(spans):
        need(last < first, rule, f"units must be disjoint, found one part up to {last} and one from {first}")
    worst = _worst(facts, rule)
    subject = " | ".join(fact.subject for fact in facts)
    out = Private(subject, worst, facts[0].relation, facts[0].observer, _hull(facts))
    return proved(rule, out, parts)


def _worst(facts: Sequence[Private], rule: str) -> Curve:
    columns = zip(*(_amounts(fact.curve, rule) for fact in facts), strict=True)
    return _rebuilt(facts[0].curve, [max(column) for column in columns])


def mixture(*parts: Theorem) -> Theorem:
    """Let a public coin choose among parts that run on the same units: the worst of them (R16).

    δ would average at a common ε only; the worst is right for every measure.
    """
    rule = "mixture"
    facts = [_private(part, rule) for part in parts]
    _alike(facts, rule)
    subject = " or ".join(fact.subject for fact in facts)
    return proved(
        rule, replace(facts[0], subject=subject, curve=_worst(facts, rule), units=_hull(facts)), parts
    )


def group(part: Theorem, size: int, delta: Fraction | None = None) -> Theorem:
    """Protect `size` units at once: kε, k²μ², k²ρ; (kε, δ(e^{kε} − 1)/(e^ε − 1)) with a witness δ (R15).

    The k-step path between the two datasets must stay in the domain.  Dwork & Roth 2014 (pure,
    approximate), Bun & Steinke 2016 (zCDP), Dong, Roth & Su 2022 (GDP).
    """
    rule = "group"
    fact = _private(part, rule)
    need(type(size) is int and size >= 2, rule, f"the size must be an integer of at least 2, found {size}")
    witness: dict[str, object] = {"size": size}
    match fact.curve:
        case Pure(epsilon):
            curve: Curve = Pure(size * epsilon)
        case Gdp(mu_squared):
            curve = Gdp(size**2 * mu_squared)
        case Zcdp(rho):
            curve = Zcdp(size**2 * rho)
        case Approximate(epsilon, spent):
            delta = number(delta if delta is not None else 1, rule, "delta")
            # δ Σ_{i<k} e^{iε}, which is δ(e^{kε} − 1)/(e^ε − 1) and holds at ε = 0 too
            enough = at_most(lambda _: ball(spent) * _geometric(ball(epsilon).exp(), size), delta)
            need(enough, rule, f"delta {float(delta):.6g} is below δ(e^kε − 1)/(e^ε − 1)")
            curve, witness = Approximate(size * epsilon, delta), {"size": size, "delta": str(delta)}
        case _:
            raise RuleError(f"{rule}: no group rule for {type(fact.curve).__name__}; convert it first")
    return proved(
        rule, replace(fact, curve=curve, relation=f"{fact.relation}, groups of {size}"), (part,), **witness
    )


def _geometric(ratio: arb, terms: int) -> arb:
    return sum((ratio**i for i in range(terms)), start=arb(0))


def replace_one(part: Theorem) -> Theorem:
    """Replace a record by removing and adding one: add-remove for groups of 2 covers replace-one (R0)."""
    rule = "replace_one"
    fact = _private(part, rule)
    wanted = f"{ADD_REMOVE}, groups of 2"
    need(fact.relation == wanted, rule, f"needed the relation {wanted!r}, found {fact.relation!r}")
    return proved(rule, replace(fact, relation=REPLACE_ONE), (part,))


def despite(part: Theorem, rare: Theorem, delta: Fraction) -> Theorem:
    """Add what a rare departure costs to a point (ε, δ₀) (R18).

    A bad event of probability p: δ ≥ δ₀ + p.  Total variation p on every input: δ ≥ δ₀ + (1 + e^ε)p.
    """
    rule = "despite"
    fact, depart, delta = _private(part, rule), conclusion_of(rare, rule), number(delta, rule, "delta")
    curve = fact.curve
    if not isinstance(curve, Approximate) or not isinstance(depart, Rare):
        raise RuleError(
            f"{rule}: needed (ε, δ) and a rare departure, found {curve} and {type(depart).__name__}"
        )
    need(depart.query == fact.subject, rule, f"the departure is of {depart.query!r}, not of {fact.subject!r}")
    need(delta <= 1, rule, f"delta must be at most 1, found {delta}")
    if depart.kind == "event":
        enough = curve.delta + depart.probability <= delta
    else:
        enough = at_most(
            lambda _: ball(curve.delta) + ball(depart.probability) * (1 + ball(curve.epsilon).exp()), delta
        )
    need(enough, rule, f"delta {float(delta):.6g} does not cover the departure")
    return proved(rule, replace(fact, curve=replace(curve, delta=delta)), (part, rare), delta=str(delta))


# ------------------------------------------------------------------ observers and post-processing


def _observed(part: Theorem, view: Theorem, audience: str, observer: str, rule: str) -> Theorem:
    fact, seen = _private(part, rule), conclusion_of(view, rule)
    if not isinstance(seen, View) or seen.audience != audience:
        raise RuleError(f"{rule}: needed what the subject shows to {audience}, found {seen}")
    need(fact.observer == CENTRAL, rule, f"the releases must be centrally private, found {fact.observer}")
    return proved(rule, replace(fact, subject=seen.query, observer=observer), (part, view))


def post_process(part: Theorem, view: Theorem) -> Theorem:
    """Show everyone functions of the releases, public values and fresh coins (R12)."""
    return _observed(part, view, "everyone", CENTRAL, "post_process")


def billboard(part: Theorem, view: Theorem) -> Theorem:
    """Show each person a function of their own data and the private releases: joint DP (R13).

    For unit t the view of all others is a post-processing of the releases: their outputs read their
    own data, the releases, and coins apart from the noise (Hsu et al. 2014, billboard lemma).
    """
    return _observed(part, view, "others", JOINT, "billboard")


def local(message: Theorem, covered: Theorem) -> Theorem:
    """Each person randomises their own messages, given what is public: local DP (R14).

    Every release reads one unit only, so it is that person's message; the messages of one person
    compose as in `nodes`.
    """
    rule = "local"
    fact, spread = _private(nodes(message, covered), rule), conclusion_of(covered, rule)
    need(isinstance(spread, Covered) and spread.widest == 1, rule, "a message reads one unit only")
    need(
        fact.relation == REPLACE_ONE,
        rule,
        f"a message has one record, which is replaced; found {fact.relation}",
    )
    return proved(rule, replace(fact, observer=LOCAL), (message, covered))


def local_view(part: Theorem, view: Theorem) -> Theorem:
    """Show functions of the private messages, and to each person of their own data too (R12, R14)."""
    rule = "local_view"
    fact, seen = _private(part, rule), conclusion_of(view, rule)
    if not isinstance(seen, View):
        raise RuleError(f"{rule}: needed what the subject shows, found {type(seen).__name__}")
    need(fact.observer == LOCAL, rule, f"the messages must be locally private, found {fact.observer}")
    return proved(rule, replace(fact, subject=seen.query), (part, view))


# ------------------------------------------------------------------ conversions (R17)


def to_zcdp(part: Theorem) -> Theorem:
    """Pure ε gives ε²/2 zCDP and μ-GDP gives μ²/2 (Bun & Steinke 2016; Gaussian divergence)."""
    rule = "to_zcdp"
    fact = _private(part, rule)
    match fact.curve:
        case Pure(epsilon):
            rho = epsilon**2 / 2
        case Gdp(mu_squared):
            rho = mu_squared / 2
        case Lattice(variance, shifts, count):
            rho = count * max(Fraction(sum(v * v for v in s)) for s in shifts) / (2 * variance)
        case BoundedRange(eta):
            rho = eta**2 / 8  # Cesar & Rogers 2021
        case _:
            raise RuleError(f"{rule}: {type(fact.curve).__name__} does not imply zCDP")
    return proved(rule, replace(fact, curve=Zcdp(rho)), (part,))


def to_pure(part: Theorem) -> Theorem:
    """η-bounded range is η-DP (Durfee & Rogers 2019)."""
    rule = "to_pure"
    fact = _private(part, rule)
    if not isinstance(fact.curve, BoundedRange):
        raise RuleError(f"{rule}: needed bounded range, found {type(fact.curve).__name__}")
    return proved(rule, replace(fact, curve=Pure(fact.curve.eta)), (part,))


def to_renyi(part: Theorem, orders: Sequence[Fraction]) -> Theorem:
    """ρ-zCDP bounds the Rényi divergence of every order α > 1 by αρ (Bun & Steinke 2016)."""
    rule = "to_renyi"
    fact = _private(part, rule)
    if not isinstance(fact.curve, Zcdp):
        raise RuleError(f"{rule}: needed zCDP, found {type(fact.curve).__name__}; convert to zCDP first")
    exact = [number(order, rule, "order") for order in orders]
    rising = all(a < b for a, b in pairwise([Fraction(1), *exact]))
    need(bool(exact) and rising, rule, "needed orders above 1, each once, in rising order")
    curve = Renyi(tuple((order, order * fact.curve.rho) for order in exact))
    return proved(rule, replace(fact, curve=curve), (part,), orders=[str(order) for order in exact])


def to_gdp(part: Theorem, mu_squared: Fraction) -> Theorem:
    """Pure ε gives μ-GDP for μ ≥ −2Φ⁻¹(1/(1+e^ε)), that is Φ(−μ/2) ≤ 1/(1+e^ε) (Dong et al. 2022)."""
    rule = "to_gdp"
    fact, mu_squared = _private(part, rule), number(mu_squared, rule, "mu_squared")
    curve = fact.curve
    if not isinstance(curve, Pure):
        raise RuleError(
            f"{rule}: a whole profile is needed, and only pure DP is converted; found {type(curve).__name__}"
        )
    need(mu_squared >= 0, rule, f"mu_squared must not be negative, found {mu_squared}")
    enough = curve.epsilon == 0 or at_most(
        lambda _: normal_cdf(-ball(mu_squared).sqrt() / 2) * (1 + ball(curve.epsilon).exp()), Fraction(1)
    )
    need(enough, rule, f"mu_squared {float(mu_squared):.6g} is too small for ε = {float(curve.epsilon):.6g}")
    return proved(rule, replace(fact, curve=Gdp(mu_squared)), (part,), mu_squared=str(mu_squared))


def to_approximate(
    part: Theorem, epsilon: Fraction, delta: Fraction, order: Fraction | None = None
) -> Theorem:
    """Any curve gives (ε, δ) where its exact δ(ε) is at most δ; zCDP at an order α > 1.

    GDP: Balle & Wang 2018.  zCDP: Canonne, Kamath & Steinke 2020.  Pure: its dominating randomised
    response.  Lattice: the exact finite sum.
    """
    rule = "to_approximate"
    fact = _private(part, rule)
    epsilon, delta = number(epsilon, rule, "epsilon"), number(delta, rule, "delta")
    need(epsilon >= 0, rule, f"epsilon must not be negative, found {epsilon}")
    need(0 <= delta <= 1, rule, f"delta must lie in [0, 1], found {delta}")
    witness = {"epsilon": str(epsilon), "delta": str(delta)}
    divergence = _divergence(fact.curve, order, rule)
    if divergence is not None and fact.curve != Zcdp(Fraction(0)):
        alpha = number(order or 0, rule, "order")
        need(alpha > 1 and delta > 0, rule, f"needed order > 1 and delta > 0, found {alpha} and {delta}")
        witness["order"] = str(alpha)
        enough = at_most(
            lambda _: renyi_log_delta(alpha, divergence, epsilon) - ball(delta).log(), Fraction(0)
        )
    elif isinstance(fact.curve, Approximate):  # one point: compare, no arithmetic
        enough = fact.curve.epsilon <= epsilon and fact.curve.delta <= delta
    else:
        free = divergence == 0  # equal outputs
        enough = free or at_most(lambda bits: delta_ball(fact.curve, epsilon, bits), delta)
    need(enough, rule, f"({float(epsilon):.9g}, {float(delta):.6g}) is not implied by {fact.curve}")
    return proved(rule, replace(fact, curve=Approximate(epsilon, delta)), (part,), **witness)


def _divergence(curve: Curve, order: Fraction | None, rule: str) -> Fraction | None:
    """Return the bound on the Rényi divergence at `order`, None for curves that need none."""
    match curve:
        case Zcdp(rho):
            need(rho == 0 or order is not None, rule, "zCDP is converted at an order, and none was given")
            return (order or Fraction(1)) * rho
        case Renyi(points):
            found = [divergence for listed, divergence in points if listed == order]
            need(len(found) == 1, rule, f"needed one of the listed orders, found {order}")
            return found[0]
        case _:
            return None
