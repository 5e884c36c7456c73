"""Values of many events computed by other means, none by the code under test.

`EXACT`: δ(ε) by mpmath with 40 digits, straight from the definitions: closed forms; binomial and multinomial
sums; convolutions of the atoms of lattice noise; nested quadrature over one loss at a time for Laplaces,
Gaussians and samples. `INVERTED`: ε(δ) by a separate program, a tilted Fourier inversion with 18 digits.
`SAMPLED`: δ(ε) by the plain trapezoid rule on two contours in double precision (agreeing to 9 digits).
"""

from fractions import Fraction

import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.plan.events import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Gdp,
    Laplace,
    MatrixFactorisation,
    Plan,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    Relation,
    Tree,
)
from tests.depth import deep


def sampled(rate, of, count=1):
    return PoissonSubsampled(rate=rate, of=of, count=count)


EXACT = [
    ([Gaussian(sigma="2.5", sensitivity=2, count=3)], "1.5", "0.178429833652668979392559"),
    ([Gaussian(sigma="0.7")], "20", "1.347140949043693605664197e-41"),
    ([Gdp(mu="0.35", count=9)], "2", "0.02801030252791229311530384"),
    ([Tree(rounds=1000, sigma=12)], "0.8", "0.0001313288197307122651808353"),
    (
        [MatrixFactorisation(rounds=37, sigma=3, sensitivity="1.5", count=2)],
        "1.2",
        "0.1107268431506773200126125",
    ),
    ([Laplace(scale=4, sensitivity=3)], "0.25", "0.2211992169285951317548297"),
    ([Laplace(scale=2), Laplace(scale=3)], "0.4", "0.1075718575466384773491524"),
    ([Laplace(scale=2), Laplace(scale=3), Laplace(scale=5)], "0.6", "0.06261495112229620515546309"),
    ([Gaussian(sigma=3), Laplace(scale=2)], "0.9", "0.01211665513253291848892604"),
    ([Gaussian(sigma=3), Laplace(scale=2)], "3", "2.411905580750672766274135e-15"),
    ([Pure(epsilon="0.03", count=1000)], "5", "0.0000001178598958284394797957179"),
    ([Pure(epsilon="0.4", count=17)], "3", "0.07130773975994687120102878"),
    ([RandomizedResponse(epsilon="0.5", k=10, count=25)], "2", "0.06133001599970681969588778"),
    ([Approximate(epsilon="0.4", delta="1e-4", count=17)], "3", "0.07288525421217080070901623"),
    (
        [Pure(epsilon="0.3", count=4), Pure(epsilon="0.7", count=3), Gaussian(sigma=2)],
        "2.5",
        "0.05569258179874941580670744",
    ),
    ([DiscreteLaplace(scale=3, sensitivity=2, count=4)], "1.3", "0.1416178333497784234372805"),
    ([DiscreteGaussian(sigma=2, sensitivity=1, count=5)], "2", "0.0400542564134676283786896"),
    ([DiscreteGaussian(sigma="1.5", sensitivity=3)], "3", "0.1918758607179281142758599"),
    ([sampled("0.05", Gaussian(sigma="0.8"))], "0.7", "0.0005804496515530834943217586"),
    ([sampled("0.25", Gaussian(sigma=1), 2)], "0.5", "0.04313313821132541207046598"),
    ([sampled("0.1", Pure(epsilon=1), 60)], "1", "0.06389034584938247837963613"),
    ([sampled("0.2", Laplace(scale="0.5"))], "0.3", "0.07800385459905342016757133"),
]

SAMPLED = [
    ([sampled("0.05", Gaussian(sigma=1), 100)], "1", "0.0320548134379"),
    ([sampled("0.01", Gaussian(sigma=1), 1000)], "1.828236666516577", "1.0000000002e-5"),
    ([sampled("0.1", Gaussian(sigma=2), 100)], "2.5", "3.379787995985e-6"),
    ([sampled("0.02", Gaussian(sigma="0.8"), 500)], "2", "0.011082027875"),
]

HALVES = [Gaussian(sigma=100, count=500), Laplace(scale=100, count=500)]
INVERTED = [
    ([Gaussian(sigma=1)], "1e-300", "37.44884791213910494102"),
    (HALVES, "1e-6", "1.365254168529370671772"),
    (HALVES, "1e-20", "2.849884866464773587122"),
    ([Laplace(scale=100, count=1000)], "1e-12", "2.1204668121177528616370"),
    ([Laplace(scale=10**4, count=10**6)], "1e-6", "0.3968497841167954859"),
    ([Laplace(scale=10**5, count=10**9)], "1e-6", "1.367569002245887203469"),
    ([sampled("0.01", Gaussian(sigma=1), 1000)], "1e-12", "3.914298156037469753789"),
    ([sampled("0.01", Gaussian(sigma=1), 10000)], "1e-5", "6.187712389971539076995"),
    ([sampled("0.007746", Gaussian(sigma="0.5521"), 934)], "1e-8", "11.77876445004609292867"),
    ([sampled("0.001", Gaussian(sigma=100), 10**6)], "1e-6", "0.03367529607134462339544"),
    ([sampled("1e-6", Gaussian(sigma=1), 10**9)], "1e-6", "0.1548730284217119521545"),
    (
        [
            sampled("0.01", Gaussian(sigma=1), 1000),
            sampled("0.05", Gaussian(sigma=2), 300),
            Gaussian(sigma=2),
            Laplace(scale=10, count=20),
        ],
        "1e-8",
        "5.312272305492500245961",
    ),
]


def accountant(events):
    drawn = any(isinstance(event, PoissonSubsampled) for event in events)
    return Accountant(Plan(Relation.ADD_REMOVE if drawn else Relation.REPLACE_ONE, tuple(events)))


def holds(bounds, value, digits, width):
    """Say whether a value written with so many digits lies within, and the enclosure is narrow."""
    last = Fraction(value) / 10**digits
    assert bounds.lower <= Fraction(value) + last
    assert Fraction(value) - last <= bounds.upper
    assert bounds.upper - bounds.lower <= width * max(Fraction(value), bounds.upper)


@deep
@pytest.mark.parametrize(("events", "epsilon", "delta"), EXACT)
def test_delta_by_definition(events, epsilon, delta):
    holds(accountant(events).delta(epsilon), delta, 22, Fraction(1, 10**6))


@deep(quick_every=2)
@pytest.mark.parametrize(("events", "epsilon", "delta"), EXACT)
def test_epsilon_is_its_inverse(events, epsilon, delta):
    """ε(δ) at a δ known to 25 digits: the ε that it was computed at lies within, to 1e-6."""
    found = accountant(events).epsilon(delta)
    assert found.lower <= Fraction(epsilon) * (1 + Fraction(1, 10**20))
    assert Fraction(epsilon) * (1 - Fraction(1, 10**20)) <= found.upper
    assert found.upper - found.lower <= Fraction(1, 10**6) * max(Fraction(1), found.upper)


@deep
@pytest.mark.parametrize(("events", "epsilon", "delta"), SAMPLED)
def test_delta_of_samples_by_the_trapezoid_rule(events, epsilon, delta):
    holds(accountant(events).delta(epsilon), delta, 9, Fraction(1, 10**6))


@deep
@pytest.mark.parametrize(("events", "delta", "epsilon"), INVERTED)
def test_epsilon_by_another_program(events, delta, epsilon):
    holds(accountant(events).epsilon(delta), epsilon, 17, Fraction(1, 10**9))
