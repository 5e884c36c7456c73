"""Zhou & Tan's figures: which rows there are, that each private one is proved, and what sentences rest on."""

from fractions import Fraction

import numpy as np
import pytest

from bandits.local_posterior import LocalPosterior
from bandits.local_privacy.channels import channel
from bandits.simulation.delays import delays
from papers import reproduce
from papers.zhou.panels import RewardsWorld
from papers.zhou.sentences import BEST, CHEAP, judged
from tests.depth import deep
from tests.looped import looped

SE, MATERN = "squared-exponential", "matern-5/2"
LDP = {"ldp-ata-gp-ucb", "ldp-tgp-ucb", "ldp-moma-gp-ucb"}
KEYS = {"data", "kernel", "epsilon", "algorithm", "constants", "channel"}


def cells_of(name, rounds):
    return reproduce.find(f"zhou2020-{name}").cells(rounds)


def rows_of(cells):
    assert all(set(cell.row) == KEYS for cell in cells)
    return [cell.row for cell in cells]


def test_figure_2_has_all_its_panels():
    cells = cells_of("figure2", 40)
    rows = rows_of(cells)
    panels_of = {(row["data"], row["kernel"], row["epsilon"]) for row in rows}
    assert panels_of == {
        *(("synthetic", kernel, epsilon) for kernel in (SE, MATERN) for epsilon in (2.0, 1.0, 0.5)),
        *(
            (data, "empirical", epsilon)
            for data in ("delays-by-hour", "delays-by-carrier")
            for epsilon in (10.0, None)
        ),
        ("synthetic", MATERN, None),
    }
    for cell in cells:
        row, name = cell.row, cell.row["algorithm"]
        assert (cell.subject is None) == (row["epsilon"] is None) == (row["channel"] is None)
        assert (cell.claim is None) == (name not in LDP)
        if cell.claim is not None:
            assert cell.claim[1]["epsilon"] == cell.subject.epsilon
            assert reproduce.verdict(cell.claim[0], *cell.claim[1].items())["verdict"] == "SOUND"
        assert (row["channel"] == "laplace") == (name in LDP)
    for one in panels_of:
        shown = [
            (r["algorithm"], r["constants"]) for r in rows if (r["data"], r["kernel"], r["epsilon"]) == one
        ]
        assert len(shown) == len(set(shown)) == 7


def test_figure_3_is_the_rest():
    again = {tuple(row.values()) for row in rows_of(cells_of("figure2", 40))}
    more = {tuple(row.values()) for row in rows_of(cells_of("figure3", 40))}
    assert not again & more
    assert {(row[0], row[2]) for row in more} == {
        *(("synthetic", epsilon) for epsilon in (4.0, None)),
        *((data, epsilon) for data in ("delays-by-hour", "delays-by-carrier") for epsilon in (2.0, 1.0)),
    }


def test_bounds_are_public_and_the_learner_has_each_trials_own():
    world = RewardsWorld(5, "delays-by-carrier")
    train = delays("delays-by-carrier").train
    known = world.known(world.people(5, 0))
    assert float(known["bound"]) == pytest.approx(np.abs(train.mean(axis=0)).max(), abs=1e-6)
    assert 0 <= float(known["noise_bound"]) - delays("delays-by-carrier").noise_bound < 1e-6
    made_up = RewardsWorld(30, SE)
    bounds = [made_up.known(made_up.people(1, seed)) for seed in (0, 1)]
    assert bounds[0]["bound"] != bounds[1]["bound"]
    for seed, bound in enumerate(bounds):
        people = made_up.people(30, seed)
        assert np.abs(people.means).max() <= float(bound["bound"]) < np.abs(people.means).max() + 1e-5
        assert np.abs(people.rows).max() <= float(bound["bound"] + bound["noise_bound"])


def test_a_trial_is_one_world_and_random_play_regrets_what_the_row_says():
    world = RewardsWorld(50, "delays-by-hour")
    subject = LocalPosterior(epsilon=Fraction(10), **world.given(LocalPosterior))
    assert (world.regrets(subject, 3) == world.regrets(subject, 3)).all()
    people = world.people(50, 3)
    gaps = people.means.max() - people.means
    uniform = np.full((2, 50), gaps.mean())
    details = world.details(subject, [3, 4], uniform)
    assert details["share"] == details["share_median"] == 1.0
    assert details["random"] == pytest.approx(50 * gaps.mean(), abs=0.01)
    assert details["learns"] is False
    assert world.details(subject, [3, 4], uniform * 0.9)["learns"] is True
    assert 0 < details["touched"] < 0.02
    assert details["clip"] == pytest.approx(subject.reach, abs=1e-3)
    open_one = RewardsWorld(50, "delays-by-hour", "heavy").details(subject, [3, 4], uniform)
    assert "clip" not in open_one


def made_up_rows(moma, epsilon, error=1.0):
    values = {"ata-gp-ucb": 10.0, "tgp-ucb": 20.0, "moma-gp-ucb": moma}
    prefix = "" if epsilon is None else "ldp-"
    return [
        {"data": data, "kernel": "k", "epsilon": epsilon, "constants": constants, "algorithm": prefix + name}
        | {"value": value, "standard_error": error}
        for data in ("delays-by-hour", "delays-by-carrier", "synthetic")
        for constants in ("theory", "practical")
        for name, value in values.items()
    ]


@looped(("moma", "confirmed"), [(5.0, True), (15.0, False)])
@looped("epsilon", [1.0, None])
def test_sentences_are_judged_by_the_numbers(moma, confirmed, epsilon):
    rows = made_up_rows(moma, epsilon)
    other = {**rows[0], "algorithm": "local-posterior", "constants": None}
    for row, updates in zip(rows, [2, 1, 1 if confirmed else 3] * 6, strict=True):
        row["updates"] = updates
    sentences = judged([*rows, other])
    assert [one.said for one in sentences] == [BEST, CHEAP] * 2
    assert {one.confirmed for one in sentences} == {confirmed}
    assert {one.where.split(",")[0] for one in sentences} == {"not private" if epsilon is None else "private"}
    undecided = judged([row | {"standard_error": 4.0} for row in rows])[0].confirmed
    assert undecided is None  # 5 less or more is no two standard errors of 5.7
    won, lost = (3, 0) if confirmed else (0, 3)
    assert f"MoMA less by two standard errors in {won} of 3 panels, another in {lost}" in sentences[0].numbers
    assert sentences[1].numbers.endswith("2, 1, 1" if confirmed else "2, 1, 3")


@deep
def test_rows_on_hard_functions_say_the_orders():
    cells = cells_of("lower-bound", 64)
    rows_of(cells)
    assert {cell.row["epsilon"] for cell in cells} == {0.25, 0.5, 1.0, 2.0, 4.0}
    for cell in cells[:3]:
        reach = cell.subject.reach
        world = cell.play.args[0].people(1)
        assert np.abs(world.rows).max() <= reach
    least = cells[0].details([1, 2], np.full((2, 64), 1.0))
    assert least["rate"] >= least["rate_without_privacy"] > 0
    assert least["measured_over_rate"] == pytest.approx(64 / least["rate"], rel=1e-3)
    hard = {c.row["epsilon"]: c.play.args[0].functions for c in cells if c.row["kernel"] == SE}
    assert hard[1.0] == hard[4.0] != hard[0.5]  # where privacy costs nothing it does not get easier


@deep
@looped("name", ["figure2", "figure3", "lower-bound"])
def test_our_channel_has_less_variance_than_laplace_noise_in_the_worst_case(name):
    """And of the two that ours may use, it is the one with less."""
    units = np.linspace(-1, 1, 33)
    ours = [c for c in cells_of(name, 40) if c.subject is not None and c.row["channel"] != "laplace"]
    assert ours
    for exact in {cell.subject.epsilon for cell in ours}:
        names = {cell.row["channel"] for cell in ours if cell.subject.epsilon == exact}
        worst = {
            each: channel(each, exact).variance(units).max() for each in ("laplace", "duchi", "piecewise")
        }
        duchi = worst["duchi"] < worst["laplace"]
        assert names == {"duchi" if duchi else "piecewise"}
        assert worst[names.pop()] < worst["laplace"]
