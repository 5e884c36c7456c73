"""Environments of local bandits: each has the law that its source states, and public bounds."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from bandits.learning.features import squared_exponential
from bandits.simulation.delays import FILES, FOLDER, delays
from bandits.simulation.potential_rewards import PotentialRewards
from dpaccount.errors import InputError
from papers.zhou import hard_functions as hard
from papers.zhou.panels import kernel_function

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


def test_noise_is_the_same_for_all_points_of_a_person_and_within_its_bound():
    world = kernel_function(KERNEL, 400, 3)
    noise = world.rows - world.means
    assert noise == pytest.approx(np.broadcast_to(noise[:, :1], noise.shape))
    assert np.abs(noise).max() <= world.noise_bound + 1e-12
    assert np.abs(world.rows).max() <= world.bound + world.noise_bound


@pytest.mark.statistical  # seeded; four standard errors each way: false alarm below 1e-3 in all
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


@pytest.mark.parametrize("kernel", hard.HARD_KERNELS)
def test_densities_are_those_of_the_kernels(kernel):
    frequencies = np.linspace(-80, 80, 200_001)
    density = hard.spectral_density(kernel, 0.2, frequencies)
    for apart in (0.0, 0.13, 0.4):
        total = (density * np.cos(2 * np.pi * apart * frequencies)).sum() * (frequencies[1] - frequencies[0])
        scaled = np.sqrt(5) * apart / 0.2
        matern = (1 + scaled + scaled**2 / 3) * np.exp(-scaled)
        expected = np.exp(-(apart**2) / 0.08) if kernel == "squared-exponential" else matern
        assert total == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("kernel", "lengthscale"), [("squared-exponential", 0.05), ("matern-5/2", 0.2)])
def test_no_point_is_good_for_two_hard_functions(kernel, lengthscale):
    made = hard.hard_functions(kernel, lengthscale, **FEW)
    values = np.array([made.value(number, np.linspace(0, 1, 301)) for number in range(made.count)])
    assert made.count == len(values) > 2
    assert np.abs(values).max() <= 2 * made.gap * (1 + 1e-12)
    assert values.max(axis=1) == pytest.approx(np.full(made.count, 2 * made.gap), rel=0.05)
    assert ((values >= made.gap).sum(axis=0) <= 1).all()
    (norm,) = hard.norms(kernel, lengthscale, made.gap, np.array([made.width]))
    assert norm <= 1
    # the norm of the interpolant on a grid is at most that of the function
    points = np.linspace(0, 1, 40)[:, None]
    distance = np.abs(points - points.T)
    scaled = np.sqrt(5) * distance / lengthscale
    matrix = (
        squared_exponential(points, points, lengthscale)
        if kernel == "squared-exponential"
        else (1 + scaled + scaled**2 / 3) * np.exp(-scaled)
    )
    some = made.value(0, points[:, 0])
    assert some @ np.linalg.solve(matrix + 1e-9 * np.eye(40), some) <= norm**2 + 1e-6


def test_the_printed_width_is_wider_than_the_least_one():
    """Appendix A.1, squared exponential: w = 2ζπl/√ln(B(2πl²)^{1/4}h(0)/2Δ)."""
    lengthscale, gap = 0.05, 0.005
    made = hard.hard_functions("squared-exponential", lengthscale, bound=1.0, gap=gap)
    height = hard.transform(np.zeros(1))[0]
    inside = np.log((2 * np.pi * lengthscale**2) ** 0.25 * height / (2 * gap))
    printed = 2 * hard.HALF_WIDTH * np.pi * lengthscale / np.sqrt(inside)
    assert made.width < printed
    assert hard.norms("squared-exponential", lengthscale, gap, np.array([printed]))[0] <= 1


def test_beyond_zeta_the_transform_is_below_half_its_height():
    height = hard.transform(np.zeros(1))[0]
    assert height == pytest.approx(0.443993816168)  # ∫ exp(−1/(1 − z²)) dz
    heights = np.abs(hard.transform(np.linspace(hard.HALF_WIDTH, 12, 1001)))
    assert heights.max() < height / 2
    assert np.abs(hard.transform(np.linspace(12, 900, 1001))).max() < 1e-3 * height


@pytest.mark.statistical  # seeded; 29 points within five standard errors each: false alarm below 1e-4
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
