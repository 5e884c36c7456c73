"""Profiles and trade-off curves: shapes that must hold, and the Gaussian's in closed form."""

import csv
import math
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist
from types import SimpleNamespace

import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.profile import POINTS, profile_points, trade_off, write_profile
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.plan.events import Gaussian, Laplace, Plan, PoissonSubsampled, Pure, Relation, Zcdp
from tests.depth import deep

F = Fraction
PLANS = {
    "gaussian": Plan(Relation.REPLACE_ONE, (Gaussian(sigma=1),)),
    "mixed": Plan(Relation.REPLACE_ONE, (Gaussian(sigma=3), Laplace(scale=2))),
    "pure": Plan(Relation.REPLACE_ONE, (Pure(epsilon=1),)),
    "zcdp": Plan(Relation.REPLACE_ONE, (Zcdp(rho="0.1"),)),
    "sampled": Plan(Relation.ADD_REMOVE, (PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1), count=1000),)),
}


@pytest.fixture(params=PLANS, scope="module")
def points(request):
    return profile_points(Accountant(PLANS[request.param]), points=9)


@deep
def test_a_profile_falls_and_is_convex_in_exp_epsilon(points):
    assert len(points) == 9
    assert points[0].epsilon == 0
    upper = [float(point.delta.upper) for point in points]
    lower = [float(point.delta.lower or 0) for point in points]
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(upper))
    assert all(low <= high for low, high in zip(lower, upper, strict=True))
    assert upper[-1] <= 1.0001e-10
    x = [math.exp(float(point.epsilon)) for point in points]
    if points[0].delta.lower is None:
        return  # an upper bound need not be convex
    for i in range(1, len(points) - 1):
        share = (x[i] - x[i - 1]) / (x[i + 1] - x[i - 1])
        chord = upper[i - 1] + share * (upper[i + 1] - upper[i - 1])
        assert lower[i] <= chord + 1e-15


def test_a_profile_falls_where_bounds_of_single_points_do_not():
    """Points that run out of time have wider bounds; what holds at a smaller ε holds at a larger one too."""
    uppers = iter([F(9, 10), F(1, 2), F(3, 5), F(1, 3), F(1)])
    found = SimpleNamespace(
        epsilon=lambda _: Enclosure(None, Fraction(4)), delta=lambda _: Enclosure(F(1, 9), next(uppers))
    )
    points = profile_points(found, points=5)
    assert [point.delta.upper for point in points] == [F(9, 10), F(1, 2), F(1, 2), F(1, 3), F(1, 3)]
    assert {point.delta.lower for point in points} == {F(1, 9)}


def test_a_trade_off_falls_is_convex_and_below_guessing(points):
    grid = [Fraction(j, 40) for j in range(41)]
    f = [trade_off(points, alpha) for alpha in grid]
    assert all(0 <= value <= 1 - alpha for value, alpha in zip(f, grid, strict=True))
    assert all(b <= a for a, b in pairwise(f))
    rounding = Fraction(1, 2**80)
    assert all(f[i - 1] + f[i + 1] >= 2 * f[i] - rounding for i in range(1, 40))


def test_the_gaussian_trade_off_is_met_from_below():
    """G_μ(α) = Φ(Φ⁻¹(1 − α) − μ): with many points the lines come within 1e-4 of it, never above."""
    normal = NormalDist()
    points = profile_points(Accountant(PLANS["gaussian"]), points=400)
    for alpha in (1e-3, 0.01, 0.1, 0.3, 0.5, 0.8):
        exact = normal.cdf(normal.inv_cdf(1 - alpha) - 1)
        found = float(trade_off(points, Fraction(alpha)))
        assert exact - 1e-4 <= found <= exact + 1e-12


def test_randomised_response_is_met_exactly():
    """ε-DP: f(α) = max(0, 1 − e^ε α, e^{−ε}(1 − α)), reached by the profile's point at ε = 1 up to its step."""
    points = profile_points(Accountant(PLANS["pure"]), points=102)
    for alpha in (0.05, 0.2, 0.6):
        exact = max(0.0, 1 - math.e * alpha, (1 - alpha) / math.e)
        assert exact - 2e-2 <= float(trade_off(points, Fraction(str(alpha)))) <= exact + 1e-12


def test_trade_off_at_the_ends():
    points = profile_points(Accountant(PLANS["gaussian"]))
    assert trade_off(points, Fraction(1)) == 0
    assert trade_off(points, Fraction(0)) > 1 - Fraction(1, 10**9)
    assert trade_off([], Fraction(1, 2)) == 0
    for wrong in (Fraction(-1, 10), Fraction(11, 10)):
        with pytest.raises(InputError, match="false-alarm"):
            trade_off(points, wrong)


def read(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@deep
def test_files(tmp_path):
    found = Accountant(PLANS["gaussian"])
    write_profile(found, tmp_path / "p.csv")
    rows = read(tmp_path / "p.csv")
    assert len(rows) == POINTS
    assert float(rows[0]["delta_lower"]) <= 0.3829249225480262 <= float(rows[0]["delta_upper"])
    write_profile(found, tmp_path / "p.svg")
    first = (tmp_path / "p.svg").read_bytes()
    assert first.startswith(b"<?xml")
    write_profile(found, tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_bytes() == first
    write_profile(Accountant(PLANS["zcdp"]), tmp_path / "z.csv")
    assert read(tmp_path / "z.csv")[0]["delta_lower"] == ""
    for name, message in (("p.png", "unknown kind"), ("none/p.csv", "writable directory")):
        with pytest.raises(InputError, match=message):
            write_profile(found, tmp_path / name)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.csv", "p.svg", "z.csv"]


@deep
@pytest.mark.parametrize("epsilon", ["1e-4000", "1e4000", "0"])
def test_profiles_of_any_magnitude(tmp_path, epsilon):
    found = Accountant(Plan(Relation.REPLACE_ONE, (Pure(epsilon=epsilon),)))
    write_profile(found, tmp_path / "p.csv")
    assert len((tmp_path / "p.csv").read_text().splitlines()) == POINTS + 1
    if epsilon == "1e4000":
        with pytest.raises(InputError, match="cannot be drawn"):
            write_profile(found, tmp_path / "p.svg")
    with pytest.raises(InputError, match="at least 2"):
        profile_points(found, points=1)
