"""The supremum of a posterior variance, and what branch and bound encloses."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest

from bandits.private_prediction.supremum import (
    BOX,
    FINITE,
    PRECISION,
    PosteriorVariance,
    Supremum,
    above_ridge,
    branch_and_bound,
    over_places,
)
from bandits.statistics import kernels
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import precision
from tests.depth import deep
from tests.looped import looped

HALF = Fraction(1, 2)


def posterior(kernel, size=40, seed=1, lengthscale=HALF, ridge=Fraction(1)):
    drawn = np.random.default_rng(seed).integers(0, 2**20, (size, 2), endpoint=True)
    points = [tuple(Fraction(int(v), 2**20) for v in row) for row in drawn]
    with precision(PRECISION):
        return PosteriorVariance(kernel, lengthscale, ridge, points)


def in_floats(p, at):
    z = np.array([[float(x) for x in point] for point in p.points])
    cross = kernels.matrix(p.kernel, at, z, float(p.lengthscale))
    gram = kernels.matrix(p.kernel, z, z, float(p.lengthscale)) + float(p.ridge) * np.eye(len(z))
    return (1 - (cross * np.linalg.solve(gram, cross.T).T).sum(axis=1)) / float(p.ridge)


@deep
@pytest.mark.parametrize(
    ("kernel", "evaluations", "within"),
    [("squared-exponential", 1000, 1.02), ("matern-5/2", 1500, 1.07), ("matern-3/2", 1500, 1.07)],
)
def test_branch_and_bound_encloses_the_supremum_closely(kernel, evaluations, within):
    p = posterior(kernel)
    axis = np.linspace(0, 1, 101)
    grid = np.array([(a, b) for a in axis for b in axis])
    values = in_floats(p, grid)
    hint = tuple(Fraction(float(x)) for x in grid[int(values.argmax())])
    found = branch_and_bound(p, hint, evaluations - 4)
    assert found.evaluations < evaluations
    assert found.enclosure.upper <= within * found.enclosure.lower
    assert values.max() <= found.enclosure.upper


def test_few_evaluations_give_a_wider_enclosure_that_still_holds():
    p = posterior("matern-1/2", size=8)
    points = np.random.default_rng(2).random((4000, 2))
    widths = []
    for most in (10, 60):
        found = branch_and_bound(p, (HALF, HALF), most)
        assert in_floats(p, points).max() <= found.enclosure.upper
        widths.append(found.enclosure.upper - found.enclosure.lower)
    assert widths[1] <= widths[0]


def test_a_ridge_that_is_not_positive_is_refused():
    with pytest.raises(InputError, match="it is above 0"):
        posterior("squared-exponential", size=3, ridge=Fraction(0))


@looped("kernel", kernels.KERNELS)
def test_balls_and_floats_agree_on_a_kernel(kernel):
    from dpaccount.numerics.intervals import ball

    for distance in (Fraction(0), Fraction(1, 7), Fraction(3)):
        with precision(PRECISION):
            exact = kernels.ball_at(kernel, ball(distance), Fraction(1, 5))
        assert float(exact) == pytest.approx(
            float(kernels.at_distance(kernel, np.array(float(distance)), 0.2))
        )


def test_a_hint_beyond_the_box_is_refused():
    """Its value would be called a lower bound, and end the search: far from Z it is 1/τ."""
    with pytest.raises(InputError, match="beyond the unit box"):
        branch_and_bound(posterior("squared-exponential", size=5), (Fraction(5), Fraction(5)), 10)


def test_a_ridge_too_small_for_balls_is_refused():
    with pytest.raises(InputError, match="take a larger one"):
        PosteriorVariance("matern-1/2", HALF, Fraction(1, 10**40), [(HALF, HALF)] * 3)


def test_equal_points_are_one_of_their_weight():
    place, other = (HALF, HALF), (Fraction(1, 4), Fraction(1))
    with precision(PRECISION):
        each = PosteriorVariance("matern-3/2", HALF, Fraction(1), [place, place, place, other])
        one = PosteriorVariance("matern-3/2", HALF, Fraction(1), [place, other], [Fraction(3), Fraction(1)])
        assert all(each.variance(at).overlaps(one.variance(at)) for at in (place, other, (HALF, Fraction(0))))


@pytest.mark.parametrize("over", [BOX, FINITE])
def test_a_supremum_written_by_hand_is_refused(over):
    with pytest.raises(InputError, match="comes from a search"):
        Supremum(Enclosure(Fraction(0), Fraction(1, 100)), over, "invented", 1)


def test_a_found_supremum_cannot_be_changed_copied_or_subclassed():
    found = above_ridge(Fraction(1))
    with pytest.raises(InputError, match="comes from a search"):
        replace(found, over=BOX)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InputError, match="cannot be pickled or copied"):
            copied(found)
    with pytest.raises(InputError, match="cannot be subclassed"):
        type("Invented", (Supremum,), {})


def test_z_is_of_the_kernel_that_it_is_asked_about():
    """No input carries a Z: it is points, whose kernel matrix is made of the one kernel that there is."""
    p = posterior("squared-exponential", size=3)
    with pytest.raises(FrozenInstanceError):
        p.kernel = "matern-1/2"
    with pytest.raises(InputError, match="cannot be subclassed"):
        type("Invented", (PosteriorVariance,), {})

    class LooksAlike:
        kernel, ridge, dimension, variance = p.kernel, p.ridge, p.dimension, p.variance

    for search in (
        lambda: branch_and_bound(LooksAlike(), (HALF, HALF)),
        lambda: over_places(LooksAlike(), [(HALF, HALF)]),
    ):
        with pytest.raises(InputError, match="needed a PosteriorVariance, found LooksAlike"):
            search()


def test_every_point_of_z_has_a_weight_above_zero():
    for weights in ([Fraction(1)], [Fraction(1), Fraction(0)], [Fraction(1), Fraction(-1)]):
        with pytest.raises(InputError, match="a weight above 0 for each point"):
            PosteriorVariance("matern-3/2", HALF, Fraction(1), [(HALF, HALF), (HALF, HALF)], weights)


def test_one_over_the_ridge_bounds_every_variance():
    p = posterior("matern-1/2", size=3, ridge=Fraction(1, 3))
    assert branch_and_bound(p, (HALF, HALF), 20).enclosure.lower <= above_ridge(p.ridge).enclosure.upper
    with pytest.raises(InputError, match="it is above 0"):
        above_ridge(Fraction(0))
