"""The Rényi divergence of a plan at one order, beside sums, quadrature and what is known in closed form."""

import json
import math
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import pytest

from audits import cli
from dpaccount import (
    Accountant,
    Approximate,
    DominatingPair,
    Exponential,
    Gaussian,
    Laplace,
    MatrixFactorisation,
    PermuteAndFlip,
    Plan,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    Rdp,
    Shuffled,
    Zcdp,
)
from dpaccount.errors import InputError
from tests.looped import looped


def holds(found, truth, width=1e-8):
    assert float(found.lower) - 1e-12 <= truth <= float(found.upper) + 1e-12
    assert found.upper - found.lower <= width * max(1, truth)


def sampled(rate, sigma, order, *, added):
    """One sampled Gaussian by quadrature."""
    with mpmath.workdps(18):
        q, s, a = mpmath.mpf(rate), mpmath.mpf(sigma), mpmath.mpf(order)
        odds = lambda x: 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))  # noqa: E731
        power = 1 - a if added else a
        whole = mpmath.quad(
            lambda x: mpmath.npdf(x, 0, s) * odds(x) ** power, mpmath.linspace(-9 * s, 9 * s + a, 12)
        )
        return float(mpmath.log(whole) / (a - 1))


@looped(("rate", "sigma", "order"), [("0.1", "1", "1.5"), ("0.5", "2", "7"), ("0.01", "0.8", "4.25")])
def test_a_sample_by_quadrature(rate, sigma, order):
    found = Accountant(PoissonSubsampled(rate=rate, of=Gaussian(sigma=sigma), count=10)).renyi(order)
    holds(found, 10 * max(sampled(rate, sigma, order, added=added) for added in (False, True)))


@pytest.mark.parametrize("order", [2, 8, 32])
def test_a_sample_at_a_whole_order_by_the_binomial_sum(order):
    """Mironov, Talwar & Zhang 2019, Sec. 3.3, which is that of the direction that costs more."""
    q, sigma = Fraction(1, 100), 2
    with mpmath.workdps(40):
        whole = mpmath.fsum(
            mpmath.binomial(order, k)
            * mpmath.mpf(1 - q) ** (order - k)
            * mpmath.mpf(q) ** k
            * mpmath.exp(mpmath.mpf(k * (k - 1)) / (2 * sigma**2))
            for k in range(order + 1)
        )
        truth = float(mpmath.log(whole) / (order - 1))
    holds(Accountant(PoissonSubsampled(rate=q, of=Gaussian(sigma=sigma))).renyi(order), truth)


def test_tables_by_enumeration():
    laws = [(["1/2", "3/10", "1/5"], ["1/5", "3/10", "1/2"]), (["9/10", "1/10"], ["3/5", "2/5"])]
    plan = [DominatingPair(p=p, q=q) for p, q in laws]
    for order in (1.25, 3.0, 11.0):
        ways = []
        for way in (1, -1):
            (p, q), (r, s) = (pair[::way] for pair in laws)
            terms = product(zip(p, q, strict=True), zip(r, s, strict=True))
            masses = [
                (float(Fraction(a) * Fraction(c)), float(Fraction(b) * Fraction(d)))
                for (a, b), (c, d) in terms
            ]
            ways.append(math.log(sum(x**order * y ** (1 - order) for x, y in masses)) / (order - 1))
        holds(Accountant(plan).renyi(order), max(ways))


def test_closed_forms():
    holds(Accountant(Gaussian(sigma=2, count=3)).renyi(5), 15 / 8)
    e, a = 0.5, 3
    truth = math.log(a / (2 * a - 1) * math.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * math.exp(-a * e)) / (
        a - 1
    )
    holds(Accountant(Laplace(scale=2)).renyi(3), truth)  # Mironov 2017, Table II
    p = math.e / (1 + math.e)
    truth = math.log(p**4 * (1 - p) ** -3 + (1 - p) ** 4 * p**-3) / 3
    holds(Accountant(RandomizedResponse(epsilon=1)).renyi(4), truth)


def test_it_rises_with_the_order_up_to_pure_and_adds_up():
    one, two = Laplace(scale=1, count=5), PoissonSubsampled(rate="0.2", of=Gaussian(sigma=3))
    found = [Accountant(one).renyi(order) for order in ("1.01", "1.5", 2, 10, 1000)]
    assert all(a.upper < b.lower for a, b in pairwise(found))
    assert found[-1].upper < 5
    parts = [Accountant(Plan("add-remove", event)).renyi(6).upper for event in (one, two)]
    whole = Accountant(Plan("add-remove", [one, two])).renyi(6)
    assert float(whole.upper) == pytest.approx(float(sum(parts)), rel=1e-8)
    assert max(parts) <= whole.upper


def test_a_bound_has_no_lower_end_and_a_failure_is_infinite():
    for event, most in ((Exponential(epsilon=1), 1), (Zcdp(rho=1, xi="1/2"), Fraction(9, 2))):
        found = Accountant(event).renyi(4)
        assert found.lower is None
        assert found.upper <= most * (1 + Fraction(1, 10**12))
    assert Accountant(Rdp(points=[[8, 1]])).renyi(8).upper == pytest.approx(1)
    assert Accountant(Rdp(points=[[8, 1]])).renyi(9).upper == math.inf
    assert Accountant(Shuffled(epsilon=1, population=9)).renyi(4).lower is None
    flipped = Accountant(PermuteAndFlip(epsilon=1)).renyi(
        4
    )  # attains the curve of Laplace noise point by point
    assert flipped.lower is None
    assert flipped.upper == Accountant(Laplace(scale=1)).renyi(4).upper
    for lost in (
        Approximate(epsilon=1, delta="1e-9"),
        DominatingPair(p=["1/2", "1/2", 0], q=[0, "1/2", "1/2"]),
    ):
        found = Accountant([lost, Pure(epsilon=1)]).renyi(2)
        assert found.lower == found.upper == math.inf
    assert Accountant(Plan("replace-one", [])).renyi(2).upper == 0


def test_groups_and_units():
    assert (
        Accountant(Gaussian(sigma=6), group=3).renyi(2).upper == Accountant(Gaussian(sigma=2)).renyi(2).upper
    )
    three = Accountant(Pure(epsilon=1), group=3).renyi(2)
    assert 1 < three.lower <= three.upper < 3
    assert Accountant(RandomizedResponse(epsilon=1), group=3).renyi(2).upper <= three.upper
    plan = [Gaussian(sigma=4, cover=(1, 5)), Gaussian(sigma=2, cover=(5, 9))]
    found = Accountant(plan).worst_renyi(4)
    assert found.unit == 5
    holds(found.bounds, 2 * (Fraction(1, 16) + Fraction(1, 4)))
    factored = Accountant(MatrixFactorisation(rounds=50, sigma=3)).renyi(2)
    assert factored.lower <= factored.upper


def test_the_conversion_of_any_order_is_an_upper_bound():
    run = Accountant(PoissonSubsampled(rate="0.05", of=Gaussian(sigma=2), count=100))
    truth = float(run.epsilon("1e-5").lower)
    for order in (2, 8, 20, 60):
        bound = float(run.renyi(order).upper) + math.log1p(-1 / order) - math.log(1e-5 * order) / (order - 1)
        assert bound >= truth


def test_the_command_says_it(tmp_path, capsys):
    plan = tmp_path / "plan.json"
    plan.write_text(Plan("replace-one", Gaussian(sigma=2, cover=(3, 4))).to_json())
    assert cli.run(["account", str(plan), "--order", "8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["order"], answer["renyi"], answer["worst_unit"]) == ("8", {"lower": 1.0, "upper": 1.0}, 3)
    assert cli.run(["account", str(plan), "--order", "8"]) == 0
    assert "renyi" in capsys.readouterr().out


@looped(
    ("words", "said"),
    [
        (["--order", "1"], "order 1 is out of range; it must be above 1"),
        (["--order", "2", "--delta", "1e-6"], "--delta and --order are both given; give one of them"),
        (
            ["--order", "2", "--gap", "1e-3"],
            "--gap goes with --delta and --epsilon; leave it out: an order is one sum",
        ),
        (
            ["--order", "2", "--certificate", "c.json"],
            "a certificate answers one question; give --delta or --epsilon",
        ),
    ],
)
def test_wrong_requests_are_one_sentence(tmp_path_factory, capsys, words, said):
    plan = tmp_path_factory.mktemp("plans") / "plan.json"
    plan.write_text(Plan("replace-one", Gaussian(sigma=2)).to_json())
    assert cli.run(["account", str(plan), *words]) == 2
    assert capsys.readouterr() == ("", f"error: {said}\n")


def test_an_order_of_1_is_refused():
    with pytest.raises(InputError, match=r"order 1 is out of range; it must be above 1"):
        Accountant(Gaussian(sigma=1)).renyi(1)
