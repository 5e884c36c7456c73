"""The same numbers by other formulas and routes: mpmath at 60 digits, optimisation, quadrature, enumeration."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import minimize

from papers import claims as papers
from papers.claims.dubey import rank_one
from papers.claims.enclosures import exactly
from tests.depth import deep
from tests.looped import looped

mp.mp.dps = 60  # as in every test that sets it: one process runs them all


def check(name, **settings):
    return papers.claim(
        name, {k: v if k in ("mode", "users", "laws") else Fraction(v) for k, v in settings.items()}
    )


def gaussian_delta(epsilon, mu):
    """P(L > ε) − e^ε Q(L > ε) for the pair N(μ, 1), N(0, 1): the loss exceeds ε beyond x = ε/μ + μ/2."""
    edge = mp.mpf(epsilon) / mu + mu / 2
    return (mp.erfc((edge - mu) / mp.sqrt(2)) - mp.exp(epsilon) * mp.erfc(edge / mp.sqrt(2))) / 2


def crossing(function, target, low, high):
    """Bisection for a decreasing function."""
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > target else (low, middle)
    return (low + high) / 2


def inside(bounds, value, slack=1e-9):
    low, high, value = mp.mpf(bounds["lower"]), mp.mpf(bounds["upper"]), mp.mpf(value)
    assert low - slack * abs(value) <= value <= high + slack * abs(value), (bounds, value)


@deep
@pytest.mark.parametrize("reward", [0.0, 0.4, 1.3, 2.2, 2.4, 7.5])
def test_sensitivity_by_optimisation(reward):
    """Many starts over both records, in three features, with and without the corner."""
    rng = np.random.default_rng(1)

    def matrix(x, corner):
        phi = x[:3] / max(1.0, np.linalg.norm(x[:3]))
        v = np.append(phi, np.clip(x[3], -1, 1) * reward)
        whole = np.outer(v, v)
        if not corner:
            whole[3, 3] = 0
        return whole

    for corner, supremum in ((True, rank_one.with_corner), (False, rank_one.without_corner)):

        def minus_square(x, corner=corner):
            return -np.sum((matrix(x[:4], corner) - matrix(x[4:], corner)) ** 2)

        starts = [rng.normal(size=8) * rng.choice([0.3, 1, 3]) for _ in range(8)]
        best = max(
            -minimize(minus_square, x, method="Nelder-Mead", options={"maxiter": 1500}).fun for x in starts
        )
        exact = float(supremum(exactly(Fraction(reward) ** 2)).square.upper)
        assert best <= exact * (1 + 1e-9)
        assert best == pytest.approx(exact, rel=2e-3)


@looped("reward", ["0.5", "1.7", "2.5", "9"])
def test_sensitivity_witness_reaches_the_supremum(reward):
    movement = rank_one.with_corner(exactly(Fraction(reward) ** 2))
    c, (y, other) = float(movement.cosine), movement.rewards
    v, w = np.array([1, 0, y]), np.array([c, math.sqrt(max(0, 1 - c * c)), other])
    assert np.sum((np.outer(v, v) - np.outer(w, w)) ** 2) == pytest.approx(
        float(movement.square.upper), rel=1e-12
    )


@pytest.mark.parametrize(
    ("alpha", "beta", "rounds", "reward", "rho"),
    [
        ("3", "0.05", 300, "2.5", 0),
        ("0.7", "1e-6", 2, "0.3", 0),
        ("12", "0.2", 4096, "30", 0),
        ("2", "0.01", 1000, "1", "0.5"),
    ],
)
@deep
def test_lemma2(alpha, beta, rounds, reward, rho):
    answer = check("dubey-lemma2", alpha=alpha, beta=beta, T=rounds, B=reward, rho=rho)
    a, b = mp.mpf(alpha), mp.mpf(beta)
    clip2 = mp.mpf(reward) ** 2 + 2 * mp.mpf(rho) ** 2 * mp.log(8 * rounds / b)
    levels = 1 + math.ceil(math.log2(rounds))
    sigma = mp.sqrt(16 * levels * (1 + clip2)) * mp.log(10 / b) / a
    c = mp.sqrt(clip2)
    grid = [c * k / 20000 for k in range(20001)]
    square = max((1 + clip2) ** 2 + (1 + x * x) ** 2 - 2 * max(0, c * x - 1) ** 2 for x in grid)
    mu = mp.sqrt((math.floor(math.log2(rounds - 1)) + 1) * square / 2) / sigma
    assert answer["mu"] == pytest.approx(float(mu), rel=1e-7)
    assert answer["noise"]["published"] == pytest.approx(float(sigma), rel=1e-12)
    exact = crossing(lambda e: gaussian_delta(e, mu), b, mp.mpf(0), mp.mpf(2000))
    inside(answer["proved"]["epsilon"], float(exact), 1e-5)
    inside(answer["delta_at_claimed_epsilon"], gaussian_delta(a, mu), 1e-3)
    allowed = crossing(lambda s: gaussian_delta(a, 1 / s), b, mp.mpf("1e-4"), mp.mpf(10) ** 6)
    assert answer["noise"]["needed"] == pytest.approx(float(mu * sigma * allowed), rel=1e-7)
    assert answer["verdict"] == ("REFUTED" if exact > a else "LOOSE")


@deep
@pytest.mark.parametrize(
    ("alpha", "beta", "reward"), [("9", "0.05", "2"), ("2", "1e-4", "0.5"), ("15", "0.5", "7")]
)
def test_lemma5_by_search_over_angles(alpha, beta, reward):
    """A scan over unit vectors in the plane and both rewards, noise iid on and above the diagonal."""
    a, b, y = float(alpha), float(beta), float(reward)
    x2, u2 = 8 * math.log(5 / (2 * b)) / a**2, 8 * y**2 * math.log(5 / b) / a**2
    angle = np.linspace(0, math.pi, 721)
    left, right = np.meshgrid(angle, angle)
    shift = [
        np.cos(left) ** 2 - np.cos(right) ** 2,
        np.sin(left) ** 2 - np.sin(right) ** 2,
        np.cos(left) * np.sin(left) - np.cos(right) * np.sin(right),
    ]
    reward_part = y**2 * (2 + 2 * np.abs(np.cos(left - right)))
    square = float(np.max(sum(part**2 for part in shift) / x2 + reward_part / u2))
    answer = check("dubey-lemma5", alpha=alpha, beta=beta, B=reward)
    assert answer["mu"] ** 2 == pytest.approx(square, rel=1e-4)
    assert answer["mu"] ** 2 >= square * (1 - 1e-12)
    exact = crossing(lambda e: gaussian_delta(e, mp.mpf(answer["mu"])), mp.mpf(beta), mp.mpf(0), mp.mpf(300))
    inside(answer["proved"]["epsilon"], float(exact), 1e-9)


@deep
@pytest.mark.parametrize(("epsilon", "delta", "regret"), [("0.4", "1e-3", "0.5"), ("2", "0.01", "1")])
def test_two_laplace_messages_by_quadrature(epsilon, delta, regret):
    """The composition curve against the integral of one curve over the other's loss."""
    from papers.claims.zhou import cost_of_messages

    e0 = mp.mpf(epsilon)

    def single(x):
        return mp.mpf(0) if x >= e0 else 1 - mp.exp(x) if x <= -e0 else 1 - mp.exp((x - e0) / 2)

    def double(x):
        edges = sorted({-e0, e0, min(e0, max(-e0, x - e0))})
        middle = mp.quad(lambda t: single(x - t) * mp.exp((t - e0) / 2) / 4, edges)
        return single(x - e0) / 2 + mp.exp(-e0) / 2 * single(x + e0) + middle

    exact = crossing(double, mp.mpf(delta), mp.mpf(0), 2 * e0)
    inside(cost_of_messages(Fraction(epsilon), 2, Fraction(delta)).as_json(), float(exact), 1e-8)
    assert check("zhou-moma", regret_delta=regret, T=100)["witness"]["replays"] == math.ceil(
        24 * math.log(4 * math.e * 100 / float(regret))
    )


@pytest.mark.parametrize(
    ("columns", "epsilon", "delta"), [(3, "1", "1e-3"), (20, "5", "1e-6"), (1, "0.5", "0.01")]
)
@deep
def test_sketch_by_quadrature_over_the_square(columns, epsilon, delta):
    answer = check("kharkovskii-sketch", r=columns, epsilon=epsilon, delta=delta)
    omega, k = mp.mpf(answer["noise"]["needed"]), mp.mpf(columns)

    def integrand(q):
        density = q ** (k / 2 - 1) * mp.exp(-q / 2) / (2 ** (k / 2) * mp.gamma(k / 2))
        return gaussian_delta(mp.mpf(epsilon), mp.sqrt(q) / omega) * density

    value = mp.quad(integrand, [mp.mpf("1e-20"), 1, 5, 10, 20, 40, 80, 160, 400])
    assert float(value) == pytest.approx(float(delta), rel=1e-8)


@deep
@pytest.mark.parametrize(("columns", "epsilon"), [(4, "1.5"), (12, "0.2"), (30, "8")])
def test_branch_by_integrating_densities(columns, epsilon):
    answer = check("kharkovskii-branch", r=columns, epsilon=epsilon, delta="1e-5")
    k, e = mp.mpf(columns), mp.mpf(epsilon)

    def density(s, scale):
        return (
            (s / scale) ** (k / 2 - 1) * mp.exp(-s / (2 * scale)) / (2 ** (k / 2) * mp.gamma(k / 2) * scale)
        )

    edge = 4 * (e + k / 2 * mp.log(2))
    wider = mp.quad(
        lambda s: density(s, 2) - mp.exp(e) * density(s, 1),
        [edge, edge + 20, edge + 80, edge + 300, edge + 2000],
    )
    other = 4 * (k / 2 * mp.log(2) - e)
    narrower = (
        mp.quad(lambda s: density(s, 1) - mp.exp(e) * density(s, 2), [0, other / 2, other])
        if other > 0
        else mp.mpf(0)
    )
    inside(answer["delta_at_claimed_epsilon"], float(max(wider, narrower)), 1e-9)


@deep
@pytest.mark.parametrize(
    ("uses", "epsilon", "delta"), [(2, "0.5", "1e-3"), (7, "1.5", "1e-4"), (30, "0.3", "1e-6")]
)
def test_multi_lower_end_by_enumeration(uses, epsilon, delta):
    """At the lower end some two-outcome mechanism still exceeds δ; zCDP holds at the upper end."""
    ends = check("pavlovic-multi", epsilon=epsilon, J=uses, delta=delta)["proved"]["epsilon"]
    eta, low = float(epsilon), ends["lower"] - 1e-8

    def delta_at(t):
        p, q = 1 / (1 + math.exp(-t)), 1 / (1 + math.exp(eta - t))
        terms = (
            math.comb(uses, k) * (p**k * (1 - p) ** (uses - k) - math.exp(low) * q**k * (1 - q) ** (uses - k))
            for k in range(uses + 1)
        )
        return sum(term for term in terms if term > 0)

    near = max(range(-600, 800), key=lambda t: delta_at(t / 50)) / 50
    assert max(delta_at(near + t / 50_000) for t in range(-1000, 1001, 5)) >= float(delta) * (1 - 1e-6)
    rho = uses * eta**2 / 8
    orders = [1 + x / 100 for x in range(1, 20000)]
    best = min(
        a * rho + math.log1p(-1 / a) - (math.log(float(delta)) + math.log(a)) / (a - 1) for a in orders
    )
    assert ends["upper"] == pytest.approx(min(best, uses * eta), rel=1e-5)
    assert ends["upper"] <= min(best, uses * eta) * (1 + 1e-12)


def test_single_prediction_by_scanning_two_outcomes():
    ends = check("pavlovic-multi", epsilon=2, J=1, delta="0.05")["proved"]["epsilon"]
    at = ends["upper"]

    def gap(t):
        return 1 / (1 + math.exp(-t)) - math.exp(at) / (1 + math.exp(2 - t))

    assert max(gap(t / 1000) for t in range(-5000, 8000)) == pytest.approx(0.05, rel=1e-6)


@deep
def test_actions_lower_end_by_mpmath():
    answer = check("dubey-lemma2-actions", alpha=800, beta="0.1", T=1024, B=20)
    sigma = mp.sqrt(16 * 11 * 401) * mp.log(100) / 800
    p, q = (mp.erfc(-s * 20 / sigma / mp.sqrt(2)) / 2 for s in (1, -1))
    signs = max(mp.log((p**k - mp.mpf("0.1")) / q**k) for k in range(1, 11))

    def tests(tau, k):  # of ũ against τ, after 2, 4, … rounds
        p, q = (mp.erfc(-(s * 20 - tau) / sigma / mp.sqrt(2)) / 2 for s in (1, -1))
        return mp.log((p**k - mp.mpf("0.1")) / q**k) if p**k > 0.1 else mp.mpf(0)

    best = max(tests(mp.mpf(20) * share / 200, k) for share in range(201) for k in range(1, 10))
    assert answer["proved"]["epsilon"]["lower"] == pytest.approx(float(max(best, signs)), rel=1e-9)
    assert answer["verdict"] == "REFUTED"


# ------------------------------------------------------------------ every contract name at far parameters


def least_epsilon(mu, delta):
    """Return ε of μ-GDP at δ, 0 where δ(0) is within."""
    if gaussian_delta(mp.mpf(0), mu) <= delta:
        return mp.mpf(0)
    high = mp.mpf(1)
    while gaussian_delta(high, mu) > delta:
        high *= 2
    return crossing(lambda e: gaussian_delta(e, mu), delta, mp.mpf(0), high)


def largest_mu(epsilon, delta):
    high = mp.mpf(1)
    while gaussian_delta(epsilon, high) < delta:
        high *= 2
    return 1 / crossing(lambda s: gaussian_delta(epsilon, 1 / s), delta, 1 / high, mp.mpf(10) ** 12)


def full_square(c):
    """Return the supremum of ‖vvᵀ − wwᵀ‖² for |y| ≤ c."""
    if c <= 1:
        return 2 * (1 + c * c) ** 2
    least = mp.sqrt((c * c - 1) / 3)  # of b³ + (1 − c²)b + c
    if c < 2 or least**3 + (1 - c * c) * least + c > 0:
        return 8 * c * c
    b = crossing(lambda b: b**3 + (1 - c * c) * b + c, mp.mpf(0), 1 / c, least)
    return max(8 * c * c, (1 + c * c) ** 2 + (1 + b * b) ** 2 - 2 * (c * b - 1) ** 2)


def agrees(answer, alpha, beta, mu, sigma=None):
    """Compare cost, δ, μ, noise, factor and verdict with those of μ."""
    cost, loss, most = least_epsilon(mu, beta), gaussian_delta(alpha, mu), largest_mu(alpha, beta)
    inside(answer["proved"]["epsilon"], cost, 1e-9)
    ends = answer["delta_at_claimed_epsilon"]
    assert mp.mpf(ends["lower"]) <= loss * (1 + mp.mpf(10) ** -9) + mp.mpf(10) ** -28
    assert mp.mpf(ends["upper"]) >= loss * (1 - mp.mpf(10) ** -9)
    assert answer["mu"] == pytest.approx(float(mu), rel=1e-9)
    if sigma is not None:
        assert answer["noise"]["published"] == pytest.approx(float(sigma), rel=1e-9)
        assert answer["noise"]["needed"] == pytest.approx(float(mu * sigma / most), rel=1e-9)
        assert answer["factor"] == pytest.approx(float(most / mu), rel=1e-9)
    verdict = "REFUTED" if cost > alpha else "SOUND" if most / mu < 1.05 else "LOOSE"
    assert answer["verdict"] == verdict


FAR = [  # α, β, T, B
    ("0.001", "0.1", 1024, "5"),
    ("1000", "0.1", 1024, "5"),
    ("10", "0.999", 1024, "1"),
    ("10", "1e-12", 2, "0"),
    ("3", "0.2", 3, "0.7"),
    ("10", "0.1", 10**9, "12"),
    ("5", "0.01", 1000, "2"),
    ("5", "0.01", 1023, "2.3549"),
    ("0.5", "1e-6", 1025, "1000"),
]


@deep(quick_every=4)
@pytest.mark.parametrize(("alpha", "beta", "rounds", "reward"), FAR)
@pytest.mark.parametrize("name", ["dubey-lemma2", "dubey-lemma2-literal", "dubey-remark1"])
def test_trees_far_from_the_experiments(name, alpha, beta, rounds, reward):
    a, b, c = mp.mpf(alpha), mp.mpf(beta), mp.mpf(reward)
    variance = 16 * (1 + math.ceil(math.log2(rounds))) * (1 + c * c) * mp.log(10 / b) ** 2 / a**2
    sigma = variance if name.endswith("literal") else mp.sqrt(variance)
    levels = len(bin(rounds if name == "dubey-remark1" else rounds - 1)) - 2
    mu = mp.sqrt(levels * full_square(c) / 2) / sigma
    agrees(check(name, alpha=alpha, beta=beta, T=rounds, B=reward), a, b, mu, sigma)


@looped(("mode", "rounds", "nodes"), [("restart", 2, 1), ("restart", 2**20, 20), ("carry", 2, 3),
                                                       ("carry", 8, 10), ("carry", 2**20, 231)])  # fmt: skip
def test_doubling_far(mode, rounds, nodes):
    a, b, c = mp.mpf(4), mp.mpf("0.05"), mp.mpf("1.5")
    sigma = mp.sqrt(16 * (1 + math.ceil(math.log2(rounds))) * (1 + c * c)) * mp.log(10 / b) / a
    mu = mp.sqrt(nodes * full_square(c) / 2) / sigma
    agrees(check("dubey-remark5", alpha=4, beta="0.05", T=rounds, B="1.5", mode=mode), a, b, mu, sigma)


@looped(("y", "reward"), [("7", "2"), ("-7", "2"), ("1e6", "0"), ("0.1", "0.5"), ("-0.5", "3")])
def test_unclipped_far(y, reward):
    a, b = mp.mpf(2), mp.mpf("0.01")
    v, w = mp.mpf(y), -mp.mpf(reward)
    sigma = mp.sqrt(16 * 11 * (1 + w * w)) * mp.log(10 / b) / a
    square = (1 + v * v) ** 2 + (1 + w * w) ** 2 - 2 * (1 + v * w) ** 2
    answer = check("dubey-lemma2-unclipped", alpha=2, beta="0.01", T=1024, B=reward, y=y)
    agrees(answer, a, b, mp.sqrt(10 * square / 2) / sigma, sigma)


@looped(("alpha", "beta", "rounds", "reward"), FAR)
def test_repair_far(alpha, beta, rounds, reward):
    c = mp.mpf(reward)
    square = 2 * (1 + c * c) ** 2 if c <= 1 else 8 * c * c
    levels = len(bin(rounds - 1)) - 2
    needed = mp.sqrt(levels * square / 2) / largest_mu(mp.mpf(alpha), mp.mpf(beta))
    answer = check("dubey-repair", alpha=alpha, beta=beta, T=rounds, B=reward)
    assert answer["noise"] == {"published": None, "needed": pytest.approx(float(needed), rel=1e-9)}
    assert (answer["verdict"], answer["factor"]) == ("SOUND", None)
    assert answer["proved"]["epsilon"]["upper"] <= float(alpha)
    assert answer["proved"]["epsilon"]["upper"] == pytest.approx(float(alpha), rel=1e-6, abs=1e-9)


@looped(("alpha", "beta", "reward"), [("1e-4", "0.3", "9"), ("40", "1e-9", "0.1"), ("3", "0.97", "1")])
def test_lemma5_far(alpha, beta, reward):
    a, b = mp.mpf(alpha), mp.mpf(beta)
    x, u = mp.log(5 / (2 * b)), mp.log(5 / b)
    s = x / (2 * u)
    mu = mp.sqrt(a**2 / 8 * (2 * (1 - s**2) / x + 2 * (1 + s) / u))
    answer = check("dubey-lemma5", alpha=alpha, beta=beta, B=reward)
    agrees(answer, a, b, mu)
    assert answer["noise"] is None
    assert answer["factor"] == pytest.approx(float(largest_mu(a, b) / mu), rel=1e-9)


@looped(("epsilon", "distance", "reach"), [("0.01", "3", "1"), ("5", "1", "2"), ("1", "1e6", "0.5"),
                                                            ("2", "2", "1"), ("700", "9", "4")])  # fmt: skip
def test_far_rewards(epsilon, distance, reach):
    e, d, b = mp.mpf(epsilon), mp.mpf(distance), 2 * mp.mpf(reach) / mp.mpf(epsilon)
    answer = check("zhou-unbounded", epsilon=epsilon, B=reach, R=0, distance=distance)
    inside(answer["proved"]["epsilon"], d / b, 1e-12)
    loss = 1 - mp.exp((e - d / b) / 2) if d / b > e else mp.mpf(0)
    inside(answer["delta_at_claimed_epsilon"], loss, 1e-9)
    assert answer["noise"]["published"] == pytest.approx(float(b))
    assert answer["factor"] == pytest.approx(float(2 * mp.mpf(reach) / d))
    assert answer["verdict"] == (
        "REFUTED" if d / b > e else "SOUND" if 2 * mp.mpf(reach) / d < 1.05 else "LOOSE"
    )
    clipped = check("zhou-ctl", epsilon=epsilon, B=reach, R=reach)
    inside(clipped["proved"]["epsilon"], e, 1e-12)
    assert clipped["noise"]["needed"] == pytest.approx(float(2 * b))


@looped(("epsilon", "delta", "n"), [("0.01", "1e-9", 2), ("50", "1e-5", 10**6), ("1", "0.9", 3)])
def test_noise_on_the_data_far(epsilon, delta, n):
    needed = 1 / largest_mu(mp.mpf(epsilon), mp.mpf(delta))
    plain = check("kharkovskii-gaussian", n=n, epsilon=epsilon, delta=delta)
    assert plain["noise"]["needed"] == pytest.approx(float(needed), rel=1e-9)
    centred = check("kharkovskii-gaussian-centred", n=n, epsilon=epsilon, delta=delta)
    assert centred["noise"]["needed"] == pytest.approx(float(needed * mp.sqrt(1 - mp.mpf(1) / n)), rel=1e-9)
    assert plain["verdict"] == centred["verdict"] == "SOUND"


@deep
@pytest.mark.parametrize(
    ("n", "d", "r", "epsilon", "delta"), [(2, 2, 1, "1", "0.01"), (1, 9, 4, "0.5", "1e-3")]
)
def test_always_lifted_data(n, d, r, epsilon, delta):
    """The bound at the published ω by quadrature over χ."""
    answer = check("kharkovskii-theorem1", n=n, d=d, r=r, epsilon=epsilon, delta=delta)
    e, b = mp.mpf(epsilon), mp.mpf(delta)
    omega = 16 * mp.sqrt(r * mp.log(2 / b)) * mp.log(16 * r / b) / e
    assert answer["noise"]["published"] == pytest.approx(float(omega), rel=1e-9)

    def loss(at, noise):
        def integrand(x):
            law = 2 * x ** (r - 1) * mp.exp(-x * x / 2) / (2 ** (mp.mpf(r) / 2) * mp.gamma(mp.mpf(r) / 2))
            return gaussian_delta(at, x / noise) * law

        return mp.quad(integrand, [mp.mpf("1e-9"), 1, 2, 4, 7, 12])

    if answer["proved"]["epsilon"]["upper"] > 0:
        assert float(loss(mp.mpf(answer["proved"]["epsilon"]["upper"]), omega)) == pytest.approx(
            float(b), rel=1e-6
        )
    else:
        assert loss(mp.mpf(0), omega) <= b
    assert float(loss(e, mp.mpf(answer["noise"]["needed"]))) == pytest.approx(float(b), rel=1e-6)
    assert answer["verdict"] == "LOOSE"


@looped(("n", "d"), [(4, 2), (3, 1), (10**9, 5), (102, 100)])
@looped("delta", ["1e-9", "0.99"])
def test_projected_data_are_told_apart_at_every_epsilon(n, d, delta):
    answer = check("kharkovskii-theorem1", n=n, d=d, r=1, epsilon=1000, delta=delta)
    assert answer["proved"]["epsilon"] == {"lower": "inf", "upper": "inf"}
    assert answer["delta_at_claimed_epsilon"] == {"lower": 1.0, "upper": 1.0}
    assert answer["verdict"] == "REFUTED"


@looped(("epsilon", "reward", "spread", "rounds", "delta"), [
    ("0.01", "5", "0.5", 1, "0.5"), ("30", "1", "0.01", 10**9, "1e-9"), ("1", "1e-3", "1", 10, "0.9")])  # fmt: skip
def test_clipping_far(epsilon, reward, spread, rounds, delta):
    e, b = mp.mpf(epsilon), mp.mpf(reward)
    c = b + mp.mpf(spread) * mp.log(rounds / mp.mpf(delta))
    answer = check("pavlovic-clip", epsilon=epsilon, B=reward, R=spread, T=rounds, delta=delta)
    inside(answer["proved"]["epsilon"], e * c / b, 1e-9)
    eta = e * c / b
    inside(answer["delta_at_claimed_epsilon"], (mp.exp(eta / 2) - mp.exp(e / 2)) ** 2 / mp.expm1(eta), 1e-9)
    assert answer["noise"] == {"published": pytest.approx(float(b)), "needed": pytest.approx(float(c))}
    assert answer["factor"] == pytest.approx(float(b / c))
    assert answer["verdict"] == "REFUTED"
    same = check("pavlovic-theorem73", epsilon=epsilon)
    assert same["verdict"] == "SOUND"
    inside(same["proved"]["epsilon"], e, 1e-12)
    whole = check("pavlovic-multi", epsilon=epsilon, J=7, delta=0)["proved"]["epsilon"]
    inside(whole, 7 * e, 1e-12)
