"""Kharkovskii, Dai & Low 2020 (PO-GP-UCB): a dataset released through a Gaussian projection.

The curator centres X (n × d), and releases Z = r^{−1/2}XM, M with d × r standard Gaussian entries, if the
least singular value is at least ω; else every singular value is first lifted to √(σ² + ω²).  Neighbours
differ in one row by at most 1.

*n ≥ d + 2.*  The columns of Z are Gaussian in col(X_c), in either branch, so they lie in a proper subspace
of it with probability 0.  X_c′ − X_c = (e_i − 1/n)vᵀ; the vectors e_i − 1/n span n − 1 > d dimensions, so for
data of full rank some i has e_i − 1/n outside col(X_c), and a small v gives another column space of the
same dimension.  Then P(Z ∈ col(X_c)) is 1 on one side and 0 on the other: δ = 1 at every ε.

*n = d + 1.*  Centred data of rank d share one column space, and only the branch distinguishes them: with
all singular values at ω on one side, just below on the other, each of the r·d samples doubles its
variance in the limit.  Data of lower rank leave the lifted directions to the SVD's choice.

*n ≤ d.*  Centring makes the least singular value 0, so the data are always lifted, and as X_cX_cᵀ + ω²I is
the covariance, Z has the law of r^{−1/2}(X_cM + ωG).  One row's v moves X_cM by (e_i − 1/n)(vᵀM), of squared
length at most q ~ χ²_r, so δ ≤ E δ_G(ε; √q/ω) even if M were public: an upper bound, M is secret.

*ω.*  The reading 16√(r ln(2/δ)) ln(16r/δ)/ε is the one that meets the thresholds on r that the paper reports.
"""

from collections.abc import Callable
from fractions import Fraction

from scipy.stats import chi2

from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball, assume_rare, despite, linear, to_approximate
from dpaccount.proof import centred as centred_rows
from dpaccount.proof import gaussian as gaussian_noise
from papers.claims.claim_check import Cost, PaperClaim, Scales
from papers.claims.derivations import LikelyEvent, lower, short_above, telling_event, upper
from papers.claims.enclosures import (
    EXACTLY_ONE,
    INFINITE,
    ZERO,
    enclose,
    exactly,
    falling,
    gaussian_delta,
    gaussian_epsilon,
    of,
    permitted_mu2,
    ratio,
    root,
)
from papers.claims.kharkovskii.chi_square import doubled_variance, mixed_shift, telling_edge
from papers.claims.kharkovskii.projection import branch_energy, column_space, published_omega
from papers.claims.parameters import Exact, Parameter, Values, count, positive, probability

QUERY = "projection"


def theorem1(p: Values) -> Cost:
    """Theorem 1, Z is (ε, δ)-private: the three cases of n against d."""
    rows, features = int(p["n"]), int(p["d"])
    omega = published_omega(p["epsilon"], p["delta"], int(p["r"]))
    if rows >= features + 2:
        return _separated(p, omega, rows, features)
    if rows == features + 1:
        return _branch(
            p, int(p["r"]) * features, "one row moved so that all singular values fall below omega"
        )
    return _always_lifted(p, omega)


def _separated(p: Values, omega: Enclosure, rows: int, features: int) -> Cost:
    point = p["epsilon"], p["delta"]
    because = "the columns of Z lie in the column space of the first data"
    return Cost(
        claimed=point,
        epsilon=INFINITE,
        loss_delta=EXACTLY_ONE,
        noise=Scales(omega, None),
        refutation=lambda: telling_event(QUERY, LikelyEvent("certain"), point, because),
        witness={
            "neighbours": "centred data of full rank; row i moved by v, e_i - 1/n outside their columns",
            "statistic": "whether the columns of Z lie in the column space of the first data",
            "event": LikelyEvent("certain").as_json(),
            # an example of the same shape, no larger than an exact elimination takes
            "rows": min(features, 20) + min(rows - features, 3),
            "features": min(features, 20),
            "printed_omega": float(published_omega(*point, int(p["r"]), printed=True).upper),
        },
    )


def _always_lifted(p: Values, omega: Enclosure) -> Cost:
    epsilon, delta, columns = p["epsilon"], p["delta"], int(p["r"])
    least = least_sketch_noise(epsilon, delta, columns)
    low = Fraction(omega.lower or 0)  # less noise than published, so what it costs is an upper bound
    short = Fraction(int(low * 2**60), 2**60) if low > 1 else low
    loss = mixed_shift(epsilon, short**2, columns)
    return Cost(
        claimed=(epsilon, delta),
        epsilon=Enclosure(None, sketch_epsilon(delta, short, columns).upper),
        loss_delta=Enclosure(None, ceil_of(loss)),
        noise=Scales(omega, least),
        factor=ratio(omega, least),
        proof=lambda: _lifted_proof(epsilon, delta, columns, lower(omega)),
        witness={
            "neighbours": "any two; one row of the centred data moves by at most 1",
            "statistic": "upper bound: shift of squared length chi^2_r against noise omega, M seen",
        },
    )


def _lifted_proof(epsilon: Fraction, delta: Fraction, columns: int, omega: Fraction) -> Theorem:
    """Derive (ε, δ) by cutting χ²_r where half of δ lies beyond: rows move by at most √q there.

    Weaker than the expectation over χ²_r, which the kernel has no rule for, and enough at the published ω.
    """
    with precision(200):
        cut = short_above(ceil_of(ball(Fraction(float(chi2.isf(float(delta) / 3, columns))))))
        beyond = ceil_of((ball(cut) / 2).gamma_upper(ball(columns) / 2, regularized=1))
    moved = _rows(short_above(Fraction(root(exactly(cut)).upper)))
    point = to_approximate(gaussian_noise(moved, omega**2, "sketch"), epsilon, delta - delta / 2)
    tail = assume_rare(
        QUERY, "event", short_above(beyond), f"chi^2 with {columns} degrees beyond {float(cut)}"
    )
    return despite(point, tail, delta)


def _rows(reach: Fraction) -> Theorem:
    """Bound the movement by `reach` of rows that differ by at most that: they lie around their middle."""
    return linear(assume_ball(QUERY, reach / 2, REPLACE_ONE, "measured from the middle of two rows"))


def _branch(p: Values, samples: int, neighbours: str) -> Cost:
    epsilon, delta, samples = p["epsilon"], p["delta"], min(samples, SAMPLES)
    loss = doubled_variance(epsilon, samples)
    tiny = ceil_of(doubled_variance(Fraction(0), samples)) <= delta
    cost = ZERO if tiny else falling(lambda x: doubled_variance(x, samples), delta)

    energy = "the sum of squares of the samples exceeds this many omega^2, next to the limiting pair"
    event = LikelyEvent("chi-square", (Fraction(samples), telling_edge(epsilon, samples)))

    return Cost(
        claimed=(epsilon, delta),
        epsilon=cost,
        loss_delta=Enclosure(max(Fraction(0), floor_of(loss)), ceil_of(loss)),
        witness={
            "neighbours": neighbours,
            "statistic": "sum of squares of the samples: omega^2 chi^2 against 2 omega^2 chi^2",
            "samples": samples,
            "event": event.as_json(),
        },
        refutation=lambda: telling_event(QUERY, event, (epsilon, delta), energy),
        covers_all=False,
    )


def branch(p: Values) -> Cost:
    """Algorithm 1 lifts below ω only: neighbours on either side of σ_min = ω, r samples along that direction.

    The cost is that of the limiting pair, N(0, ω²) against N(0, 2ω²); lifting always would avoid it.
    """
    return _branch(p, int(p["r"]), "one row moved so that the least singular value falls just below omega")


def gaussian(p: Values) -> Cost:
    """Ours: X + σG, then any function of it: μ = 1/σ for rows that move by at most 1, the least σ."""
    return _least_gaussian(p, Fraction(1), "one row moved by 1", lambda: _rows(Fraction(1)))


def centred(p: Values) -> Cost:
    """Ours: centre X first, and every row moves, by √(1 − 1/n) in all."""
    rows = int(p["n"])
    square, moved = 1 - Fraction(1, rows), "one row moved by 1, all rows centred"
    return _least_gaussian(p, square, moved, lambda: centred_rows(_rows(Fraction(1)), rows))


def fixed_map(p: Values) -> Cost:
    """XM + ωG with public M of largest singular value s: rows move by at most s (Kenthapadi et al. 2013)."""
    moved = "one row moved by 1 along the top singular direction of M"
    return _least_gaussian(p, p["s"] ** 2, moved, lambda: _rows(p["s"]))


def _least_gaussian(p: Values, square: Fraction, neighbours: str, moved: Callable[[], Theorem]) -> Cost:
    """Return the finding for Gaussian noise that just meets the claim, rows moving by √square."""
    epsilon, delta = p["epsilon"], p["delta"]
    allowed = permitted_mu2(epsilon, delta)
    used = exactly(Fraction(allowed.lower or 0))
    cost, loss = gaussian_epsilon(used, delta), gaussian_delta(used, epsilon)
    needed = enclose(lambda: ball(square) / of(allowed))
    return Cost(
        claimed=(epsilon, delta),
        epsilon=Enclosure(cost.lower, min(cost.upper, epsilon)),
        loss_delta=Enclosure(loss.lower, min(loss.upper, delta)),
        mu=root(used),
        noise=Scales(None, root(needed)),
        proof=lambda: to_approximate(gaussian_noise(moved(), upper(needed), "rows"), epsilon, delta),
        witness={
            "neighbours": neighbours,
            "statistic": "the noisy data along the move: Gaussian, mean apart by mu",
        },
    )


def sketch(p: Values) -> Cost:
    """Ours: XM + ωG, Gaussian M of r columns, public or secret: E over χ²_r of the Gaussian curve."""
    epsilon, delta, columns = p["epsilon"], p["delta"], int(p["r"])
    least = least_sketch_noise(epsilon, delta, columns)
    top = Fraction(least.upper)
    cost, loss = sketch_epsilon(delta, top, columns), mixed_shift(epsilon, top**2, columns)
    return Cost(
        claimed=(epsilon, delta),
        epsilon=Enclosure(min(cost.lower or 0, epsilon), min(cost.upper, epsilon)),
        loss_delta=Enclosure(floor_of(loss), min(ceil_of(loss), delta)),
        noise=Scales(None, least),
        witness={
            "neighbours": "one row moved by a unit v",
            "statistic": "the noisy sketch along v'M, whose squared length is chi^2_r; M is seen",
            "lemma_omega": float(published_omega(epsilon, delta, columns).upper),
            **_utility(epsilon, delta, columns, least),
        },
    )


def _utility(epsilon: Fraction, delta: Fraction, columns: int, least: Enclosure) -> dict[str, float]:
    """Return how much noise adds to squared distances: 2ω² after a sketch, 2σ² a feature without one."""
    omega2 = enclose(lambda: of(least) ** 2)
    plain = enclose(lambda: 2 / of(permitted_mu2(epsilon, delta)))
    return {
        "lemma_omega_over_least": float(published_omega(epsilon, delta, columns).upper / least.upper),
        "distance_bias": 2 * float(omega2.upper),
        "distance_bias_per_feature_without": float(plain.upper),
        "features_from_which_it_pays": 2 * float(omega2.upper) / float(plain.upper),
    }


def omega_reading(p: Values) -> Cost:
    """Algorithm 1's printed ω against the reading that is used, and σ_min of the example of section 5.

    The uniform grid (5/14)·{0, …, s − 1}², s² = n: its centred columns are orthogonal, of squared length
    (5/14)²·s²(s² − 1)/12 each, which is σ_min².
    """
    columns, side = int(p["r"]), int(p["side"])
    used, printed = (
        published_omega(p["epsilon"], p["delta"], columns, printed=printed) for printed in (False, True)
    )
    least = enclose(lambda: ball(Fraction(25, 196) * side**2 * (side**2 - 1) / 12).sqrt())
    met = {"read": used, "printed": printed}
    below = {name: bool(value.upper < (least.lower or 0)) for name, value in met.items()}
    return Cost(
        claimed=(None, None),
        noise=Scales(printed, used),
        factor=ratio(printed, used),
        holds=below["printed"],
        witness={
            "least_singular_value": float(least.upper),
            "omega": float(used.upper),
            "printed_omega": float(printed.upper),
            "below_least_singular_value": below,
            "statistic": "omega against the least singular value of the paper's uniform grid",
            "step": {"of": "omega", **{key: str(p[key]) for key in ("epsilon", "delta", "r", "side")}},
        },
    )


def least_sketch_noise(epsilon: Fraction, delta: Fraction, columns: int) -> Enclosure:
    """Return the least ω with E δ_G(ε; √q/ω) ≤ δ, q ~ χ²_columns; integrals further out take too long."""
    if epsilon > 1000 or delta < Fraction(1, 10**60):
        raise InputError(
            "sketches are integrated for epsilon up to 1000 and delta from 1e-60 on", "use such ones"
        )
    return falling(lambda omega: mixed_shift(epsilon, omega**2, columns), delta)


def sketch_epsilon(delta: Fraction, omega: Fraction, columns: int) -> Enclosure:
    """Return the least ε with E δ_G(ε; √q/ω) ≤ δ."""
    if ceil_of(mixed_shift(Fraction(0), omega**2, columns)) <= delta:
        return ZERO
    return falling(lambda epsilon: mixed_shift(epsilon, omega**2, columns), delta)


SAMPLES = 500  #: of a branch that are looked at; more show at least as much
EPSILON, DELTA = positive("3"), probability("1e-5")
COLUMN_COUNT = count(10, most=200)
POINT: dict[str, Parameter] = {"epsilon": EPSILON, "delta": DELTA}
ROWS = Exact(Fraction(10_000), least=Fraction(1), whole=True)

CLAIMS = (
    PaperClaim(
        "kharkovskii-theorem1", {"n": ROWS, "d": count(2), "r": COLUMN_COUNT, **POINT}, theorem1, column_space
    ),
    PaperClaim("kharkovskii-branch", {"r": COLUMN_COUNT, **POINT}, branch, branch_energy),
    PaperClaim(
        "kharkovskii-omega",
        {
            "r": COLUMN_COUNT,
            **{**POINT, "epsilon": positive("3.004166023946433")},
            "side": count(100, least=2),
        },
        omega_reading,
    ),
    PaperClaim("kharkovskii-gaussian", {"n": ROWS, **POINT}, gaussian),
    PaperClaim(
        "kharkovskii-gaussian-centred",
        {"n": Exact(Fraction(10_000), least=Fraction(2), whole=True), **POINT},
        centred,
    ),
    PaperClaim("kharkovskii-fixed-map", {"s": positive("1"), **POINT}, fixed_map),
    PaperClaim("kharkovskii-sketch", {"r": COLUMN_COUNT, **POINT}, sketch),
)
