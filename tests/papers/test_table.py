"""Every row of our table of the papers' claims, to six digits."""

import math
from fractions import Fraction

import pytest

from papers import claims as papers
from tests.depth import deep
from tests.looped import looped

E11, E28, E29 = "3.004166023946433", "16.444646771097049", "18.174145369443060"


def check(name, **settings):
    return papers.claim(
        name,
        {
            k: v if k in ("mode", "users", "laws", "part", "kernel") else Fraction(v)
            for k, v in settings.items()
        },
    )


def epsilon(answer):
    ends = answer["proved"]["epsilon"]
    low = ends["upper"] if ends["lower"] is None else ends["lower"]
    assert ends["upper"] - low <= 1e-9 * max(1, ends["upper"])
    return ends["upper"]


def same(value, expected):
    assert value == pytest.approx(expected, rel=1e-6), (value, expected)


def test_the_contract_example():
    answer = check("dubey-lemma2", alpha=10, beta="0.1", T=1024, B=20)
    same(answer["mu"], 7.3291992314815)
    same(answer["noise"]["published"], 122.34161369626)
    same(answer["noise"]["needed"], 252.691320678374)
    same(answer["factor"], 0.4841544)
    same(answer["witness"]["mu_if_variance_had_one_L2"], 10 * 401**0.5 / (4 * math.log(100)))
    same(epsilon(answer), 35.333639)
    same(answer["delta_at_claimed_epsilon"]["lower"], 0.98385152)
    assert answer["verdict"] == "REFUTED"
    assert answer["claimed"] == {"epsilon": 10, "delta": 0.1}


LEMMA2 = [
    (1, "0.01", 1, 0.02365664),
    (1, "0.01", 5, 0.1310559),
    (10, "0.1", 1, 0.64928297),
    (10, "0.1", 5, 3.3947731),
    (10, "0.01", 1, 0.8901483),
    (10, "0.01", 5, 3.1166196),
    (10, "0.1", 10, 10.6316507),
    (10, "0.1", 20, 35.3336394),
]


@looped(("alpha", "beta", "reward", "expected"), LEMMA2)
def test_lemma2(alpha, beta, reward, expected):
    answer = check("dubey-lemma2", alpha=alpha, beta=beta, T=1024, B=reward)
    same(epsilon(answer), expected)
    assert answer["verdict"] == ("REFUTED" if expected > alpha else "LOOSE")


@deep
def test_lemma2_sets_of_the_experiments_are_sound():
    factors = []
    for alpha in ("0.1", "1", "10"):
        for beta in ("0.1", "0.01"):
            for rounds in (1024, 10_000):
                for reward in (1, 5):
                    settings = {"alpha": alpha, "beta": beta, "T": rounds, "B": reward}
                    answer = check("dubey-lemma2", **settings)
                    assert answer["verdict"] == "LOOSE"
                    if alpha == "0.1":
                        assert epsilon(answer) == 0
                    factors.append(answer["factor"])
    assert (round(min(factors), 3), round(max(factors), 2)) == (1.875, 47.99)


@pytest.mark.parametrize(("alpha", "expected"), [("0.1", 41459.885), (10, 41.883642)])
def test_lemma2_literal(alpha, expected):
    answer = check("dubey-lemma2-literal", alpha=alpha, beta="0.1", T=1024, B=1)
    same(answer["factor"], expected)
    assert answer["verdict"] == "LOOSE"


# the largest rewards for which Lemma 2 holds, as the table gives them
LIMITS = [
    ("0.1", "0.1", "95.97"),
    ("0.1", "0.01", "42.94"),
    (1, "0.1", "25.14"),
    (1, "0.01", "21.80"),
    (10, "0.1", "9.643"),
    (10, "0.01", "11.66"),
]


@looped(("alpha", "beta", "limit"), LIMITS)
def test_largest_reward(alpha, beta, limit):
    step = Fraction(1, 10 ** len(limit.split(".")[1]))
    verdicts = [
        check("dubey-lemma2", alpha=alpha, beta=beta, T=1024, B=Fraction(limit) + side * step)["verdict"]
        for side in (-1, 1)
    ]
    assert verdicts[0] in ("SOUND", "LOOSE")
    assert verdicts[1] == "REFUTED"


@deep
@pytest.mark.parametrize(("alpha", "beta", "limit"), LIMITS)
def test_largest_reward_is_printed(alpha, beta, limit):
    low, high = check("dubey-lemma2-rewards", alpha=alpha, beta=beta)["witness"]["largest_B"]
    assert high - low < 1e-8 * high
    assert f"{low:.{len(limit.split('.')[1])}f}" == limit


# part of Lemma 5, β, the α beyond which it is false
ALPHAS = [
    ("joint", "0.1", "7.7783"),
    ("joint", "0.01", "7.8967"),
    ("joint", "1e-5", "7.8374"),
    ("joint", "1e-6", "7.7163"),
    ("matrix", "0.1", "4.591"),
    ("matrix", "0.01", "3.372"),
    ("matrix", "1e-5", "0.5781"),
    ("reward", "0.1", "2.280"),
    ("reward", "0.01", "0.9032"),
]


@deep
@pytest.mark.parametrize(("part", "beta", "limit"), ALPHAS)
def test_largest_alpha_is_printed(part, beta, limit):
    low, high = check("dubey-lemma5-alphas", part=part, beta=beta)["witness"]["largest_alpha"]
    assert high - low < 1e-8 * high
    assert f"{low:.{len(limit.split('.')[1])}f}" == limit


def test_exact_curve_of_the_ten_node_tree():
    answer = check("dubey-lemma2", alpha=10, beta="0.1", T=1024, B=10)
    same(answer["delta_at_claimed_epsilon"]["upper"], 0.1326771)


def test_sensitivity():
    answer = check("dubey-sensitivity", B=5)
    same(answer["noise"]["needed"], 26.0208613)
    same(answer["noise"]["published"], 36.7695526)
    same(answer["factor"], 1.413080)
    same(answer["witness"]["y_prime"], -0.2087122)
    same(answer["witness"]["without_corner"], 10 * 2**0.5)
    whitened = answer["witness"]["whitened"]
    assert [round(whitened[key], 4) for key in ("without_corner", "exact", "published_ball")] == [
        10,
        18.3995,
        26,
    ]
    for side, inner in ((-1, False), (1, True)):  # the two candidates cross at 2.3548004101992883
        reward = Fraction("2.3548004101992883") + side * Fraction(1, 10**12)
        y = check("dubey-sensitivity", B=reward)["witness"]["y_prime"]
        assert (abs(y) < 1) is inner


def test_nodes():
    assert check("dubey-nodes", T=1024)["witness"] == {
        "published": 11,
        "server_reads": 10,
        "with_final_sum": 11,
    }
    assert check("dubey-nodes", T=10_000)["witness"] == {
        "published": 15,
        "server_reads": 14,
        "with_final_sum": 14,
    }
    assert check("dubey-nodes", T=1024)["factor"] < 1.049


def test_brute_force_of_nodes_met():
    for rounds in (1, 2, 3, 7, 8, 100, 255, 256, 1023):
        used = set()
        for t in range(1, rounds + 1):
            start = 0
            for level in reversed(range(t.bit_length())):
                if t >> level & 1:
                    used.add((start, start + 2**level))
                    start += 2**level
        most = max(sum(a < r <= b for a, b in used) for r in range(1, rounds + 1))
        assert most == rounds.bit_length()


@deep
def test_remark5():
    carry = check("dubey-remark5", alpha=1, beta="0.1", T=1024, B=1, mode="carry")
    restart = check("dubey-remark5", alpha=1, beta="0.1", T=1024, B=1, mode="restart")
    assert (carry["witness"]["nodes_met"], restart["witness"]["nodes_met"]) == (66, 10)
    same(carry["mu"] / restart["mu"], 2.5690465)
    assert check("dubey-remark1", T=1024)["witness"]["nodes_met"] == 11


def test_unclipped_and_chernoff():
    answer = check("dubey-lemma2-unclipped", alpha=1, beta="0.1", T=1024, B=1, y=100)
    assert round(answer["mu"], 1) == 258.8
    assert round(epsilon(answer)) == 33820
    assert answer["verdict"] == "REFUTED"
    tail = check("dubey-chernoff", B=1, rho="0.5", T=1024, beta="0.1")
    same(tail["delta_at_claimed_epsilon"]["upper"], 0.5541271)
    same(tail["witness"]["with_cross_term"], 0.001006603)
    assert tail["claimed"]["delta"] == 0.025
    assert check("dubey-chernoff", B=5)["delta_at_claimed_epsilon"]["upper"] == 1.0


def test_steps():
    assert check("dubey-lemma2-chain", beta="0.1", T=1024)["verdict"] == "REFUTED"
    weights = check("dubey-definition4", nodes=4)["witness"]
    assert round(weights["least_printed_weight"], 2) == -5.85
    assert weights["sum_of_printed_weights"] == 0
    same(weights["sum_of_right_weights"], 1.0)
    assert check("dubey-lemma4-sketch")["proved"]["epsilon"] == {"lower": "inf", "upper": "inf"}


@looped(("beta", "expected"), [("0.1", 11.9204), ("0.01", 11.1336), ("1e-5", 10.5550)])
def test_lemma5(beta, expected):
    answer = check("dubey-lemma5", alpha=10, beta=beta, B=3)
    assert round(epsilon(answer), 4) == expected
    assert answer["verdict"] == "REFUTED"
    assert answer["noise"] is None
    assert answer["factor"] < 1


# claim, β, the α beyond which it is false, as rounded in the table
THRESHOLDS = [
    ("dubey-lemma5", "0.1", "7.7783"),
    ("dubey-lemma5", "0.01", "7.8967"),
    ("dubey-lemma5", "1e-5", "7.8374"),
    ("dubey-lemma5", "1e-6", "7.7163"),
    ("dubey-lemma5-matrix", "0.1", "4.591"),
    ("dubey-lemma5-matrix", "0.01", "3.372"),
    ("dubey-lemma5-matrix", "1e-5", "0.5781"),
    ("dubey-lemma5-reward", "0.1", "2.280"),
    ("dubey-lemma5-reward", "0.01", "0.9032"),
]


@looped(("name", "beta", "limit"), THRESHOLDS)
def test_lemma5_thresholds(name, beta, limit):
    step = Fraction(1, 10 ** len(limit.split(".")[1]))
    below, above = (check(name, alpha=Fraction(limit) + s * step, beta=beta)["verdict"] for s in (-1, 1))
    assert (below, above) == ("SOUND", "REFUTED")


def test_lemma5_other_parts():
    assert check("dubey-lemma5-reward", alpha="0.05", beta="1e-5")["verdict"] == "REFUTED"
    answer = check("dubey-lemma5-same", alpha=10, beta="0.1")
    same(epsilon(answer), 10.127876)
    assert answer["verdict"] == "REFUTED"


def test_repair():
    answer = check("dubey-repair", alpha=1, beta="0.1", T=1024, B=5)
    same(answer["noise"]["needed"], 34.33847)
    same(check("dubey-lemma2", alpha=1, beta="0.1", T=1024, B=5)["noise"]["needed"], 63.18116)
    assert round(answer["witness"]["lemma2_publishes"], 2) == 311.52
    assert answer["verdict"] == "SOUND"
    assert answer["derivation"][-1]["gives"][2] == ["approximate", "1", "1/10"]


def test_zhou():
    answer = check("zhou-ctl", epsilon="0.5", B=2, R=1)
    assert (answer["verdict"], answer["proved"]["epsilon"]) == ("SOUND", {"lower": 0.5, "upper": 0.5})
    assert answer["noise"]["published"] == 12
    far = check("zhou-unbounded", epsilon=1, B=1, R=1, distance=12)
    same(far["delta_at_claimed_epsilon"]["lower"], 0.6321206)
    assert far["verdict"] == "REFUTED"
    same(epsilon(check("zhou-unbounded-distributional", p="0.01", laws="different")), 1.01005034)


@deep
def test_moma():
    users = check("zhou-moma", epsilon=1, T=10_000, regret_delta="0.01", delta=0, users="distinct")
    assert (users["verdict"], users["witness"]["replays"]) == ("SOUND", 389)
    one = check("zhou-moma", epsilon=1, T=10_000, regret_delta="0.01", delta=0, users="same")
    assert (one["verdict"], epsilon(one)) == ("REFUTED", 389)
    at = check("zhou-moma", epsilon=1, T=10_000, regret_delta="0.01", delta="1e-6", users="same")
    assert 215.567 <= epsilon(at) <= 215.596
    same(at["witness"]["renyi_epsilon"], 221.4742484)
    small = check("zhou-moma", epsilon="0.1", T=1000, regret_delta="0.01", delta="1e-6", users="same")
    assert small["witness"]["replays"] == 334
    assert 9.59571 <= epsilon(small) <= 9.59610
    same(small["witness"]["renyi_epsilon"], 10.1885437)


@deep
def test_kharkovskii_theorem1():
    for epsilon_, delta in ((E11, "1e-5"), ("1e6", "0.9")):
        answer = check("kharkovskii-theorem1", n=10_000, d=2, r=10, epsilon=epsilon_, delta=delta)
        assert answer["verdict"] == "REFUTED"
        assert answer["proved"]["epsilon"] == {"lower": "inf", "upper": "inf"}
        assert answer["delta_at_claimed_epsilon"] == {"lower": 1.0, "upper": 1.0}
    few = check("kharkovskii-theorem1", n=2, d=3, r=10, epsilon=1, delta="1e-5")
    same(few["proved"]["epsilon"]["upper"], 0.0022901096)
    assert (few["verdict"], round(few["factor"])) == ("LOOSE", 202)


# the largest r that the paper reports below σ_min = 1030.9, and the next one that it tried
@looped(("power", "columns"), [("3.0041660", 10), ("3.6692967", 15), ("4.4816891", 20)])
def test_omega_reading(power, columns):
    from papers.claims.kharkovskii.projection import published_omega

    at = Fraction(power), Fraction("1e-5")
    assert published_omega(*at, columns).upper < 1030.9 < published_omega(*at, columns + 5).lower
    assert published_omega(*at, columns, printed=True).lower > 1030.9


@looped(("power", "columns"), [("3.0041660", 10), ("3.6692967", 15), ("4.4816891", 20)])
def test_only_the_reading_meets_the_thresholds(power, columns):
    answer = check("kharkovskii-omega", r=columns, epsilon=power)
    same(answer["witness"]["least_singular_value"], 1030.931073)
    assert answer["witness"]["below_least_singular_value"] == {"read": True, "printed": False}
    assert answer["verdict"] == "REFUTED"


def test_kharkovskii_branch():
    near = check("kharkovskii-branch", r=10, epsilon=E11, delta="1e-5")
    same(near["delta_at_claimed_epsilon"]["upper"], 0.14828489)
    far = check("kharkovskii-branch", r=15, epsilon=E29, delta="1e-5")
    assert round(far["delta_at_claimed_epsilon"]["upper"], 7) == 2.32e-5
    assert near["verdict"] == far["verdict"] == "REFUTED"


REPAIRS = [
    (10, E11, "1e-5", 1.388894150, 5.608346383, 976.1, 174, 16.3),
    (15, E29, "1e-5", 0.3119845052, 1.579596498, 202.4, 128, 25.6),
    (15, E28, "1e-4", 0.3113136600, 1.513241653, 174.2, 115, 23.6),
]


@pytest.mark.parametrize(
    ("columns", "eps", "delta", "sigma", "omega", "published", "times", "features"), REPAIRS
)
@deep
def test_kharkovskii_repairs(columns, eps, delta, sigma, omega, published, times, features):
    plain = check("kharkovskii-gaussian", epsilon=eps, delta=delta)
    sketch = check("kharkovskii-sketch", r=columns, epsilon=eps, delta=delta)
    same(plain["noise"]["needed"], sigma)
    same(sketch["noise"]["needed"], omega)
    assert round(sketch["witness"]["lemma_omega"], 1) == published
    assert plain["verdict"] == sketch["verdict"] == "SOUND"
    same(sketch["witness"]["lemma_omega_over_least"], sketch["witness"]["lemma_omega"] / omega)
    assert int(sketch["witness"]["lemma_omega_over_least"]) == times
    assert round(sketch["witness"]["features_from_which_it_pays"], 1) == features
    same(sketch["witness"]["distance_bias"], 2 * omega**2)
    same(sketch["witness"]["distance_bias_per_feature_without"], 2 * sigma**2)
    ratio = (sketch["noise"]["needed"] / plain["noise"]["needed"]) ** 2
    assert columns < ratio < 2 * columns  # squared distances: the sketch pays only where d exceeds this
    centred = check("kharkovskii-gaussian-centred", n=4, epsilon=eps, delta=delta)
    same(centred["noise"]["needed"], sigma * 0.75**0.5)
    same(check("kharkovskii-fixed-map", s=3, epsilon=eps, delta=delta)["noise"]["needed"], 3 * sigma)


def test_pavlovic():
    answer = check("pavlovic-theorem73", epsilon=2)
    assert (answer["verdict"], answer["proved"]["epsilon"]) == ("SOUND", {"lower": 2.0, "upper": 2.0})
    clip = check("pavlovic-clip", epsilon=1, B=1, R="0.5", T=1000, delta="0.01")
    same(epsilon(clip), 6.756463)
    same(clip["noise"]["needed"], 6.756463)
    assert clip["verdict"] == "REFUTED"
    grid = check("pavlovic-grid", copies=1, ridge="0.01")
    assert grid["witness"]["supremum_over_grid_value"] == 101
    assert grid["verdict"] == "REFUTED"
    seen = check("pavlovic-observed", records=1000)
    same(epsilon(seen), 1.54102562)
    assert check("pavlovic-scale")["verdict"] == "UNPROVEN"


@deep
@pytest.mark.parametrize(("uses", "expected"), [(100, 37.421800), (10, 8.845889)])
def test_pavlovic_multi(uses, expected):
    answer = check("pavlovic-multi", epsilon=1, J=uses, delta="1e-6")
    same(answer["proved"]["epsilon"]["upper"], expected)
    assert 1 < answer["proved"]["epsilon"]["lower"] < expected
    assert answer["verdict"] == "REFUTED"
    pure = check("pavlovic-multi", epsilon=1, J=uses, delta=0)["proved"]["epsilon"]
    assert pure == {"lower": uses, "upper": uses}


@looped(
    ("alpha", "verdict"), [("10", "LOOSE"), ("163.4", "SOUND"), ("163.5", "UNPROVEN"), ("234.3", "REFUTED")]
)
def test_actions_of_others(alpha, verdict):
    answer = check("dubey-lemma2-actions", alpha=alpha, beta="0.1", T=1024, B=20)
    assert answer["verdict"] == verdict
    assert answer["proved"]["epsilon"]["lower"] <= answer["proved"]["epsilon"]["upper"]


@deep
@pytest.mark.parametrize("kernel", ["se", "matern", "exponential"])
def test_certified_supremum(kernel):
    """On smooth kernels branch and bound comes close; a grid's own maximum is no bound, 1/τ always is."""
    answer = check("pavlovic-supremum", kernel=kernel)
    seen = answer["witness"]
    low, high = seen["supremum"]
    assert 0 < low <= high <= 1
    assert 0.97 < seen["grid_over_supremum"] <= 1 + 1e-9
    assert 1 < seen["certified_grid_over_supremum"] < 1.62
    assert seen["fallback_over_supremum"] == pytest.approx(1 / low)
    if kernel != "exponential":
        assert high / low < 1.011
        assert seen["evaluations"] < 1500
    narrow = check("pavlovic-range", kernel=kernel, epsilon=2)
    least, most = narrow["witness"]["bound_over_2m"]
    assert 0.5 <= least <= most < 0.6
    assert narrow["proved"]["epsilon"]["upper"] == pytest.approx(2 * most)
    assert narrow["verdict"] == "LOOSE"
