"""What is measured of Pavlovic et al. 2025: chances are exact, rows say what they are, ours err less."""

import numpy as np
import pytest

from dpaccount.noise.samplers import Rehearsal
from papers.pavlovic import errors
from papers.pavlovic.errors import PredictionWorld
from papers.reproduce import certificate, find
from tests.depth import deep


@deep
@pytest.mark.statistical(1e-6)  # a chance is missed by .02, over five deviations
def test_the_chances_of_permute_and_flip_are_those_of_its_sampler():
    """Of 20,000 draws."""
    scores = np.array([[0, 300, 1000, 900]])
    sampler, drawn = Rehearsal(1), np.zeros(4)
    for _ in range(20_000):
        drawn[sampler.choose(scores[0], 400.0, "permute-and-flip")] += 1 / 20_000
    assert np.abs(errors.permuted(scores / 400)[0] - drawn).max() < 0.02


def test_contexts_that_are_asked_for_are_equally_spaced_and_average_to_the_whole():
    values = np.random.default_rng(1).random(errors.CONTEXTS)
    assert errors.asked(values, 4 * errors.CONTEXTS).mean() == pytest.approx(values.mean())
    assert (errors.asked(values, errors.CONTEXTS) == values).all()


@deep
def test_rows_name_kernel_draws_rounds_epsilon_and_predictions():
    cells = find("pavlovic2025-error").cells(64)
    assert {cell.row["rounds"] for cell in cells} == {16, 64, 256, 1024}
    assert {cell.row["kernel"] for cell in cells} == {"squared-exponential", "matern-5/2"}
    assert all((cell.subject is None) == (cell.row["epsilon"] is None) for cell in cells)
    assert {cell.row["predictions"] for cell in find("pavlovic2025-predictions").cells(64)} == {1, 2, 10, 100}


@deep
def test_every_private_cell_carries_a_proof_of_its_own_epsilon():
    """One cell of every algorithm, at ε = 1."""
    seen = {}
    for cell in find("pavlovic2025-predictions").cells(64):
        seen.setdefault((cell.row["algorithm"], cell.row["predictions"] > 1), cell)
    for cell in seen.values():
        if cell.subject is not None:
            proved = certificate(cell.subject)
            assert proved["checked"]
            assert proved["epsilon"] <= 1.000001


@deep
@pytest.mark.statistical(1e-6)
def test_ours_err_less_than_the_published_algorithm():
    """Four seeds at T = 1024 and ε = 1: .33 against .02 to .07, tens of standard errors apart."""
    world = PredictionWorld(1024)
    cells = [cell for cell in find("pavlovic2025-predictions").cells(1024) if cell.row["predictions"] == 1]
    mine = {c.row["algorithm"]: c for c in cells if c.row["kernel"] == "squared-exponential"}
    losses = {name: np.mean([cell.play(seed).mean() for seed in range(4)]) for name, cell in mine.items()}
    published = losses.pop("usca")
    chance = losses.pop("at random")
    by_coins = [world.drawn(seed).losses().mean() for seed in range(4)]
    assert chance == pytest.approx(np.mean(by_coins), rel=0.01)
    assert published < chance
    assert max(losses.values()) < published / 3
