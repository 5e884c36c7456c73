"""A modeler's state file: what it began with stands, and facts that are no facts are refused."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from bandits.outsourced_optimisation.kernels import RowKernel
from bandits.outsourced_optimisation.modeler import AS_PUBLISHED, NOISE_AWARE, Modeler
from bandits.outsourced_optimisation.saved import Settings, opened
from dpaccount.errors import InputError
from tests.depth import deep

RAW = b"z1,z2\n0,0\n1,1\n2,2\n3,5\n"


def handed_out(folder, **facts):
    (folder / "t.csv").write_bytes(RAW)
    known = {"sha256": hashlib.sha256(RAW).hexdigest(), "radius": 25, "noise_variance": 0.1}
    (folder / "t.csv.json").write_text(json.dumps({**known, **facts}))
    return folder / "t.csv"


@pytest.mark.parametrize(
    "more",
    [
        {"smallest": True},
        {"length": 9.0},
        {"seed": 4},
        {"rounds": 9},
        {"lengths": (1.0, 2.0)},
        {"noise": 0.5},
        {"published": True},
    ],
)
def test_what_a_modeler_began_with_is_not_changed_by_the_way(tmp_path, more):
    """It would go on looking for the largest output, and not say so."""
    state, table = tmp_path / "state", handed_out(tmp_path)
    with opened(state, table, Settings()) as modeler:
        modeler.tell(modeler.ask(), 1.0)
    before = state.read_bytes()
    with (
        pytest.raises(InputError, match=f"leave --{next(iter(more))} out"),
        opened(state, table, Settings(**more)),
    ):
        pass
    assert state.read_bytes() == before
    with opened(state, table, Settings()) as modeler:
        assert modeler.answered == 1


@pytest.mark.parametrize("value", ["x", -5, float("inf"), float("nan"), True, [1]])
@pytest.mark.parametrize("name", ["radius", "noise_variance"])
def test_facts_that_are_no_sizes_are_refused(tmp_path, name, value):
    table = handed_out(tmp_path, **{name: value})
    with (
        pytest.raises(InputError, match=f"{name} is no number"),
        opened(tmp_path / "state", table, Settings()),
    ):
        pass
    assert not (tmp_path / "state").exists()


@deep
def test_a_modeler_that_scales_coordinates_is_that_of_the_scaled_rows(tmp_path):
    rng = np.random.default_rng(2)
    points, lengths = rng.normal(size=(60, 2)) * [9.0, 0.3], (6.0, 0.2)
    raw = ("z1,z2\n" + "".join(f"{a!r},{b!r}\n" for a, b in points.tolist())).encode()
    (tmp_path / "t.csv").write_bytes(raw)
    facts = {"sha256": hashlib.sha256(raw).hexdigest(), "radius": 99, "noise_variance": 0.01}
    (tmp_path / "t.csv.json").write_text(json.dumps(facts))
    spread = tuple(0.01 / length**2 for length in lengths)
    scaled_rows = points / lengths
    kernel = RowKernel(float(np.linalg.norm(np.ptp(scaled_rows, axis=0))) / 5, 1.0, spread)
    first = int(np.random.default_rng(0).integers(60))
    other = Modeler(scaled_rows, kernel, first, replace(NOISE_AWARE, rounds=12), learn=True)
    settings = Settings(rounds=12, lengths=lengths)
    for _ in range(12):
        with opened(tmp_path / "state", tmp_path / "t.csv", settings) as modeler:
            index = modeler.ask()
            assert index == other.ask()
            value = float(np.sin(scaled_rows[index]).sum())
            modeler.tell(index, value)
        other.tell(index, value)
    assert other.kernel.spread == spread  # learning keeps what is known


@pytest.mark.parametrize("lengths", [(1.0,), (1.0, 0.0), (1.0, 2.0, 3.0)])
def test_lengths_that_do_not_fit_are_refused_before_a_file_is_made(tmp_path, lengths):
    table = handed_out(tmp_path)
    with (
        pytest.raises(InputError, match="needed 2 lengths above 0"),
        opened(tmp_path / "state", table, Settings(lengths=lengths)),
    ):
        pass
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"length": 1e300},
        {"length": 1e-320},
        {"lengths": (1e-200, 1e-200)},
        {"lengths": (1e300, 1e300)},
        {"lengths": (1e-320, 1.0)},
        {"noise": 1e300},
    ],
)
def test_numbers_that_cannot_be_computed_with_are_refused_before_a_file_is_made(tmp_path, wrong):
    with (
        pytest.raises(InputError, match=r"from 1e-100 to 1e100|at most 1e100"),
        opened(tmp_path / "state", handed_out(tmp_path), Settings(**wrong)),
    ):
        pass
    assert not (tmp_path / "state").exists()


def test_an_answer_that_cannot_be_computed_with_is_refused_and_the_state_goes_on(tmp_path):
    """Written first and refused later, it would take every answer before it along."""
    state = tmp_path / "state"
    with opened(state, handed_out(tmp_path)) as modeler:
        with pytest.raises(InputError, match="at most 1e100"):
            modeler.tell(0, -1e300)
        for index in range(4):
            modeler.tell(index, 1e99 * (-1) ** index)
    with opened(state) as modeler:
        assert modeler.answered == 4


def test_rows_that_are_one_point_teach_no_length_and_stop_nothing(tmp_path):
    """Rows beyond the public norm are moved to its corners, so that several may be one point."""
    table = handed_out(tmp_path)
    raw = b"z1,z2\n" + b"90,90\n" * 5 + b"1,2\n"
    table.write_bytes(raw)
    facts = {"sha256": hashlib.sha256(raw).hexdigest(), "radius": 25, "noise_variance": 0.1}
    (tmp_path / "t.csv.json").write_text(json.dumps(facts))
    with opened(tmp_path / "state", table) as modeler:
        for index in range(5):
            modeler.tell(index, float(index))
    with opened(tmp_path / "state") as modeler:
        assert (modeler.answered, modeler.ask()) == (5, 5)


def test_the_published_width_is_kept_and_may_ask_a_row_again(tmp_path):
    """A twin: β_t of line 3 with the first row of the seed; our rule never asks twice."""
    state, table = tmp_path / "state", handed_out(tmp_path)
    points = np.array([[0.0, 0], [1, 1], [2, 2], [3, 5]])
    reach = float(np.linalg.norm(np.ptp(points, axis=0)))
    first = int(np.random.default_rng(0).integers(4))
    twin = Modeler(points, RowKernel(reach / 5, 1.0, 0.1), first, AS_PUBLISHED, learn=True)
    asked = []
    for step in range(12):
        with opened(state, None if step else table, Settings(published=step == 0)) as modeler:
            index = modeler.ask()
            assert index == twin.ask()
            modeler.tell(index, float(index == 2))
        twin.tell(index, float(index == 2))
        asked.append(index)
    assert len(set(asked)) < len(asked)
    with (
        pytest.raises(InputError, match="leave --rounds out"),
        opened(tmp_path / "other", table, Settings(published=True, rounds=9)),
    ):
        pass
    assert not (tmp_path / "other").exists()
