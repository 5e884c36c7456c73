"""Environments of local bandits: each has the law that its source states, and public bounds."""

import hashlib
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bandits.learning.features import squared_exponential
from bandits.local_posterior import LocalPosterior
from bandits.simulation.delays import FILES, FOLDER, delays
from bandits.simulation.potential_rewards import PotentialRewards
from bandits.statistics.kernels import at_distance
from bandits.statistics.kernels import matrix as kernel_matrix
from dpaccount.errors import InputError
from papers.zhou import hard_functions as hard
from papers.zhou.local_bounds import lower_rate
from papers.zhou.lower_bound import HardWorld
from papers.zhou.panels import kernel_function
from tests.depth import deep, examples

GRID = np.linspace(0, 1, 100)
KERNEL = squared_exponential(GRID[:, None], GRID[:, None], 0.2)

# ------------------------------------------------------------------ functions of a kernel


def test_a_function_is_in_the_span_and_differs_by_seed():
    first, again, other = (kernel_function(KERNEL, 50, seed) for seed in (1, 1, 2))
    assert (first.rows == again.rows).all()
    assert not np.allclose(first.means, other.means)
    values, vectors = np.linalg.eigh(KERNEL)
    beside = vectors[:, values < 1e-9].T @ first.means  # nothing of it outside what the kernel spans
    assert np.abs(beside).max() < 1e-6 * np.abs(first.means).max()
    assert first.bound == np.abs(first.means).max()


@deep
def test_noise_is_the_same_for_all_points_of_a_person_and_within_its_bound():
    world = kernel_function(KERNEL, 400, 3)
    noise = world.rows - world.means
    assert noise == pytest.approx(np.broadcast_to(noise[:, :1], noise.shape))
    assert np.abs(noise).max() <= world.noise_bound + 1e-12
    assert np.abs(world.rows).max() <= world.bound + world.noise_bound


@pytest.mark.statistical(1e-3)  # four standard errors each way
def test_noise_has_its_moments():
    rounds = 40_000
    uniform = kernel_function(KERNEL[:2, :2], rounds, 4)
    eta = (uniform.rows - uniform.means)[:, 0]
    assert abs(eta.mean()) < 4 / np.sqrt(3 * rounds)
    assert eta.var() == pytest.approx(1 / 3, abs=4 * np.sqrt(4 / 45 / rounds))
    student = kernel_function(KERNEL[:2, :2], rounds, 4, "heavy")
    beyond = (np.abs(student.rows - student.means)[:, 0] > 3.182446).mean()  # the 97.5 % point of t with 3
    assert beyond == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / rounds))
    assert np.isnan(student.noise_bound)


def test_the_regret_of_uniform_play_is_the_mean_over_points():
    world = kernel_function(KERNEL, 100, 6)
    assert world.regrets(np.arange(100)).sum() == pytest.approx(world.at_random)


def test_worlds_refuse_what_makes_no_sense():
    for wrong in (
        lambda: kernel_function(KERNEL[:3], 5, 1),
        lambda: kernel_function(KERNEL, 0, 1),
        lambda: kernel_function(KERNEL, 5, 1, "gaussian"),
        lambda: PotentialRewards(np.zeros(3), np.zeros((5, 2)), 1.0, 1.0),
        lambda: delays("light"),
        lambda: delays("delays-by-carrier").rewards(0, 1),
    ):
        with pytest.raises(InputError):
            wrong()


# ------------------------------------------------------------------ delays


@pytest.mark.parametrize(
    ("name", "points", "rows"), [("delays-by-hour", 41, (545, 181)), ("delays-by-carrier", 29, (274, 91))]
)
def test_delays_are_the_files_and_heavy_tailed(name, points, rows):
    data = delays(name)
    assert (data.train.shape, data.test.shape) == ((rows[0], points), (rows[1], points))
    assert np.linalg.eigvalsh(data.kernel)[0] > 0.05  # positive definite
    assert np.diag(data.kernel) == pytest.approx(np.ones(points))
    assert (data.kernel == data.kernel.T).all()
    assert data.moments[1] == pytest.approx(1)
    noise = (data.test - data.test.mean(axis=0)).ravel()
    assert (noise**4).mean() / (noise**2).mean() ** 2 > 9  # 3 for a normal law
    recorded = dict(re.findall(r"([0-9a-f]{64})  (\S+)", (FOLDER / "README.md").read_text())[::-1])
    file = FILES[name][0]
    assert hashlib.sha256(Path(FOLDER / file).read_bytes()).hexdigest() in recorded
    assert "CC0" in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("name", FILES)
def test_bounds_of_delays_do_not_read_the_rows_that_are_protected(name):
    data = delays(name)
    other = type(data)(data.train, data.test * 100)
    assert (other.bound, other.noise_bound, other.moments) == (data.bound, data.noise_bound, data.moments)
    assert (other.kernel == data.kernel).all()
    world = data.rewards(2000, 1)
    beyond = np.abs(world.rows) > world.bound + world.noise_bound
    assert 0 < beyond.mean() < 0.02  # so much does the public clip touch
    assert {tuple(row) for row in world.rows[:50]} <= {tuple(row) for row in data.test}


# ------------------------------------------------------------------ hard functions

FEW = {"bound": 1.0, "gap": 0.02}


#: more dimensions need longer kernels for a few functions, and wider gaps for many
LENGTHS = {"squared-exponential": {1: 0.05, 2: 0.15, 3: 0.2}, "matern-5/2": {1: 0.2, 2: 0.5, 3: 0.6}}
KERNELS = [(kernel, d) for kernel in hard.HARD_KERNELS for d in (1, 2, 3)]


@pytest.mark.parametrize(("kernel", "dimension"), KERNELS)
def test_densities_are_those_of_the_kernels(kernel, dimension):
    """The integral of S over all but one frequency is the density on a line, whose transform is the kernel."""
    frequencies = np.linspace(-40, 40, 8001)
    beside, weights = np.polynomial.legendre.leggauss(400)
    if dimension == 1:
        density = hard.spectral_density(kernel, 0.2, frequencies)
    else:
        radii = 10 * (1 + beside) / (1.02 - beside)  # to 1000
        area = (
            hard.sphere(dimension - 1) * radii ** (dimension - 2) * weights * 10 * 2.02 / (1.02 - beside) ** 2
        )
        lengths = np.hypot(frequencies[:, None], radii)
        density = hard.spectral_density(kernel, 0.2, lengths, dimension) @ area
    for apart in (0.0, 0.13, 0.4):
        total = (density * np.cos(2 * np.pi * apart * frequencies)).sum() * (frequencies[1] - frequencies[0])
        assert total == pytest.approx(at_distance(kernel, np.array(apart), 0.2), abs=1e-5)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@given(
    st.sampled_from(hard.HARD_KERNELS), st.floats(0.5, 2), st.floats(0.01, 0.05), st.floats(0.5, 2), st.data()
)
@examples(10)
def test_hard_functions_have_the_norm_and_the_regions_that_the_proof_needs(
    dimension, kernel, bound, gap, factor, data
):
    lengthscale = factor * LENGTHS[kernel][dimension]
    given_ = {"bound": bound, "gap": gap, "dimension": dimension}
    try:
        made = hard.hard_functions(kernel, lengthscale, **given_)
    except InputError:
        assume(False)
    (norm,) = hard.norms(kernel, lengthscale, gap, np.array([made.width]), dimension)
    assert norm <= bound
    number = data.draw(st.integers(0, made.count - 1))
    # The norm of the interpolant on a grid is at most that of the function, and nearly attained on a fine one.
    side = {1: 80, 2: 16, 3: 7}[dimension]
    axes = np.meshgrid(*[np.linspace(0, 1, side)] * dimension, indexing="ij")
    points = np.stack(axes, axis=-1).reshape(-1, dimension)
    matrix = kernel_matrix(kernel, points, points, lengthscale) + 1e-10 * np.eye(len(points))
    values = made.value(number, points)
    assert np.abs(values).max() <= 2 * gap * (1 + 1e-12)
    assert values @ np.linalg.solve(matrix, values) <= norm**2 * (1 + 1e-6)
    # Every function is best at its own middle, below the gap at all others', and no point is good for two.
    middles = made.middles()
    assert len(middles) == made.count == int(1 / made.width) ** dimension
    assert ((middles > 0) & (middles < 1)).all()
    assert made.value(number, middles)[number] == pytest.approx(2 * gap)
    seeded = np.random.default_rng(number)
    here = middles[number] + made.width * seeded.uniform(-1, 1, (100, dimension))  # its cell, and beside it
    own = np.abs(here - middles[number]).max(axis=1) < made.width / 2
    assert (made.value(number, here)[~own] < gap).all()
    others = seeded.integers(0, made.count, 12)
    good = np.array([made.value(each, here) >= gap for each in np.unique([number, *others])])
    assert (good.sum(axis=0) <= 1).all()


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_norm_is_attained_by_fine_grids(dimension):
    """Of a bump in the middle of the cube: on all its points the quadratic form rises to the norm on R^d."""
    kernel, lengthscale, gap = "matern-5/2", 0.6, 0.2
    made = hard.HardFunctions(gap, 0.9 if dimension > 1 else 0.5, dimension)
    (norm,) = hard.norms(kernel, lengthscale, gap, np.array([made.width]), dimension)
    forms = []
    for side in (4, 8) if dimension == 3 else (8, 24):
        axes = np.meshgrid(*[np.linspace(-0.6, 1.6, side)] * dimension, indexing="ij")
        points = np.stack(axes, axis=-1).reshape(-1, dimension)
        matrix = kernel_matrix(kernel, points, points, lengthscale) + 1e-10 * np.eye(len(points))
        values = made.value(0, points)
        forms.append(values @ np.linalg.solve(matrix, values) / norm**2)
    assert forms[0] < forms[1] <= 1 + 1e-6
    assert forms[1] > 0.95  # the rest is beyond the grid


def test_the_printed_width_is_wider_than_the_least_one():
    """Appendix A.1, squared exponential: w = 2ζπl/√ln(B(2πl²)^{1/4}h(0)/2Δ)."""
    lengthscale, gap = 0.05, 0.005
    made = hard.hard_functions("squared-exponential", lengthscale, bound=1.0, gap=gap)
    height = hard.transform(np.zeros(1))[0]
    inside = np.log((2 * np.pi * lengthscale**2) ** 0.25 * height / (2 * gap))
    printed = 2 * hard.HALF_WIDTHS[1] * np.pi * lengthscale / np.sqrt(inside)
    assert made.width < printed
    assert hard.norms("squared-exponential", lengthscale, gap, np.array([printed]))[0] <= 1


@deep
@pytest.mark.parametrize(
    ("dimension", "volume"), [(1, 0.443993816168), (2, 0.466512393178), (3, 0.441088877)]
)
def test_beyond_zeta_the_transform_is_below_half_its_height(dimension, volume):
    zeta, height = hard.HALF_WIDTHS[dimension], hard.transform(np.zeros(1), dimension)[0]
    assert height == pytest.approx(volume)  # ∫ exp(−1/(1 − |z|²)) dz
    heights = np.abs(hard.transform(np.linspace(zeta, 12, 1001), dimension))
    assert heights.max() < height / 2 < hard.transform(np.array([zeta - 2e-4]), dimension)[0]
    assert np.abs(hard.transform(np.linspace(12, 900, 1001), dimension)).max() < 1e-3 * height


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_lemma_2_sums_over_cells_do_not_rise_with_their_number(dimension):
    """Σ over cells of the largest |f|, in units of the gap: what the lower bound's constant rests on."""
    sums = []
    for count in (4, 8):
        made = hard.HardFunctions(0.1, 1 / (count + 1e-9), dimension)
        side = (5 if dimension < 3 else 3) * count
        axes = np.meshgrid(*[(np.arange(side) + 0.5) / side] * dimension, indexing="ij")
        points = np.stack(axes, axis=-1).reshape(-1, dimension)
        cells = (points / made.width).astype(int) @ (count ** np.arange(dimension)[::-1])
        largest = np.zeros(made.count)
        np.maximum.at(largest, cells, np.abs(made.value(made.count // 2, points)))
        sums.append(largest.sum() / made.gap)
    assert 2 < sums[0] < sums[1] < 1.25 * sums[0]
    assert sums[1] < 6 * dimension


@pytest.mark.statistical(1e-4)  # 29 points within five standard errors each
def test_law_11_has_its_mean_and_moment():
    made, rounds = hard.hard_functions("matern-5/2", 0.2, bound=2.0, gap=0.2), 40_000
    world = made.rewards(np.linspace(0, 1, 29), rounds, 7)
    size = made.size()
    assert set(np.unique(world.rows)) <= {-size, 0.0, size}
    assert size == pytest.approx(world.bound + world.noise_bound)
    deviation = size * np.sqrt(np.abs(world.means) / size / rounds)
    assert (np.abs(world.rows.mean(axis=0) - world.means) <= 5 * deviation + 1e-12).all()
    exact = np.abs(world.means) / size * size**2  # E y² = |f|/2Δ
    assert exact == pytest.approx(np.abs(world.means) / (2 * made.gap))
    assert exact.max() <= 1 + 1e-12


def test_law_11_is_refused_where_it_is_none():
    with pytest.raises(InputError, match="law"):
        hard.HardFunctions(0.6, 0.2).size()
    assert hard.HardFunctions(0.5, 0.2).size() == pytest.approx(1.0)  # probability 1 at the peak
    with pytest.raises(InputError, match="no two functions"):
        hard.hard_functions("squared-exponential", 0.5, bound=0.01, gap=1.0)


@deep
@pytest.mark.parametrize("kernel", hard.HARD_KERNELS)
def test_the_hardest_gap_falls_with_epsilon_and_rounds_and_keeps_the_conditions(kernel):
    made = {
        (epsilon, rounds): hard.hardest(kernel, 0.05, epsilon, rounds)
        for epsilon in (0.5, 2.0)
        for rounds in (1000, 10_000)
    }
    for (epsilon, rounds), found in made.items():
        share = found.count / (4 * np.expm1(epsilon) ** 2 * rounds)
        assert found.gap <= 0.5 * np.sqrt(min(0.5, share)) * (1 + 1e-9)
        assert found.gap >= 0.4 * np.sqrt(min(0.5, share))
        found.size()  # law (11) is one
    assert made[0.5, 1000].gap > made[0.5, 10_000].gap > made[2.0, 10_000].gap
    assert made[0.5, 1000].gap > made[2.0, 1000].gap > made[2.0, 10_000].gap


@pytest.mark.parametrize("dimension", [2, 3])
def test_people_of_more_dimensions_are_offered_the_middles(dimension):
    world = HardWorld(rounds=300, kernel="matern-5/2", lengthscale=Fraction(1, 2), dimension=dimension)
    given_ = world.given(LocalPosterior)
    functions, people = world.functions, world.people(1)
    assert len(world.places) == functions.count == len(people.means)
    assert people.means.max() == pytest.approx(2 * functions.gap)
    assert ((people.means >= functions.gap).sum()) == 1
    subject = LocalPosterior(**given_)
    assert subject.prior.shape == (functions.count, functions.count)
    assert world.regrets(subject, 1).shape == (300,)
    assert world.by_chance(1).sum() == pytest.approx(people.at_random)  # of all rounds
    details = world.details(subject, [1, 2], np.ones((2, 300)))
    assert details["rate"] == round(lower_rate(300, 1.0, 2.5, dimension).value, 2)
    with pytest.raises(InputError, match="dimension"):
        HardWorld(rounds=300, dimension=4)
