"""A released function: what its sums hold, whom they read, and how well it chooses."""

from fractions import Fraction

import numpy as np
import pytest

from audits.hypothesis_tests.replay import record
from bandits.function_release import FunctionRelease
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session
from bandits.private_prediction.function_learner import water_filled
from bandits.private_prediction.public_grid import PublicGrid
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from papers.pavlovic.kernel_draws import MIDDLES, drawn
from tests.depth import deep
from tests.looped import looped

SMALL = FunctionRelease(rounds=24, served=3, actions=4, contexts=4, sigma=Fraction(1, 2))


def rehearsed(subject, data, seed=1):
    return subject.play(data, rehearse(subject.proof(subject.delta), Rehearsal(seed)), seed)


def people(subject, seed=0):
    return drawn(subject.grid, "rkhs", seed).records(subject.rounds + subject.served, seed)


@deep
def test_the_gaussian_law_meets_its_target_and_k_norm_noise_is_pure():
    epsilon, delta = point(FunctionRelease(rounds=64).proof(Fraction(1, 10**6)))
    assert 0.99 < epsilon <= 1
    assert delta == Fraction(1, 10**6)
    pure = FunctionRelease(rounds=64, law="k-norm", delta=Fraction(0))
    assert point(pure.proof(pure.delta)) == (1, 0)


@deep
@pytest.mark.parametrize("law", ["gaussian", "k-norm"])
def test_a_learner_moves_one_sum_by_at_most_two_whatever_the_record(law):
    subject = FunctionRelease(rounds=24, served=0, actions=4, contexts=4, law=law)
    rng = np.random.default_rng(3)
    data = people(subject)
    run = record(subject, data, rehearse(subject.proof(subject.delta), Rehearsal(1)), 5)
    for unit in (0, 7, 23):
        other = data.copy()
        other[unit] = rng.choice([-np.inf, -9.0, 0.0, 0.4, 9.0, np.nan], 5)
        again = record(subject, other, _Answers(run), 5)
        moved = [np.linalg.norm(again.exact[part] - run.exact[part]) / 2.0**24 for part in sorted(run.exact)]
        phase = next(i for i, (first, last) in enumerate(subject.covers()) if first <= unit + 1 <= last)
        assert moved[phase] <= 2
        assert not any(moved[:phase] + moved[phase + 1 :])


class _Answers:
    """Noise that gives back what an earlier run released."""

    def __init__(self, run):
        self._run = run

    def noisy(self, key, part, values):
        return self._run.released[key, part]


def test_who_is_only_served_moves_nothing_that_others_see():
    data = people(SMALL)
    first = rehearsed(SMALL, data)
    data[-1] = 0.9
    second = rehearsed(SMALL, data)
    assert all((first.public[name] == second.public[name]).all() for name in first.public)
    assert (first.own["action"][:-1] == second.own["action"][:-1]).all()


@deep
def test_a_session_shows_what_play_shows_and_goes_on_after_a_crash(tmp_path):
    data = people(SMALL)
    whole = SMALL.play(data, Rehearsed(proof_of(SMALL), 4), 4)
    for stop in (9, len(data)):
        with Session.rehearse(SMALL, tmp_path / "state", seed=4, coins=4) as session:
            for row in data[session.asked : stop]:
                ticket = session.ask(row[:1])
                session.tell(ticket, row[1 + ticket.action])
            if stop == len(data):
                view = session.result()
    assert all((view.public[name] == whole.public[name]).all() for name in whole.public)
    assert (view.own["action"] == whole.own["action"]).all()


@pytest.mark.parametrize("asked", [1, 5, 14])
def test_a_session_that_ends_within_a_phase_releases_what_came(tmp_path, asked):
    """Slots that nobody came to add zero; nobody is served, so that the phase under way is to be shown."""
    subject = FunctionRelease(rounds=16, served=0, actions=3, contexts=3, sigma=Fraction(2))
    with Session.rehearse(subject, tmp_path / "state", seed=4, coins=4) as session:
        for number in range(asked):
            session.tell(session.ask([number / asked]), 0.5)
        view = session.result()
    assert len(view.own["action"]) == asked
    assert view.public["sums"].any()


@deep
def test_a_session_is_charged_once_whoever_comes(tmp_path, monkeypatch):
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)
    address = f"sqlite:///{tmp_path}/budget.db"
    init(
        address,
        epsilon=100,
        delta=Fraction(1, 10**6),
        unit="person",
        relation="replace-one",
        measure="approximate",
    )
    data, spent = people(SMALL), []
    with Ledger.open(address) as ledger:
        for stop in (SMALL.rounds, len(data)):
            with Session.open(SMALL, ledger, tmp_path / "state") as session:
                for row in data[session.asked : stop]:
                    ticket = session.ask([row[:1].tolist()])
                    session.tell(ticket, row[1 + ticket.action])
            spent.append(ledger.show()["entries"])
    assert spent == [1, 1]


def test_water_filling_leaves_no_more_variance_than_any_other_shares():
    rng = np.random.default_rng(1)
    values, people_, spread, noise = np.sort(rng.random(6))[::-1], 100, 30.0, 50.0

    def left(shares):
        known = noise + spread * shares
        return (values * known / (known + people_**2 * values * shares)).sum()

    best = water_filled(values, people_, spread, noise)
    assert best.sum() == pytest.approx(1)
    others = rng.dirichlet(np.ones(6) / 2, 300)
    near = np.abs(best + 0.01 * rng.normal(size=(300, 6)))
    assert left(best) <= min(left(s / s.sum()) for s in [*others, *near]) + 1e-9


@deep
@pytest.mark.statistical(1e-6)
def test_it_learns_where_chance_does_not():
    """Measured .03 ± .03 a seed, chance .39."""
    subject = FunctionRelease(rounds=1024, served=0)
    errors = []
    for seed in range(3):
        world = drawn(subject.grid, "rkhs", seed)
        view = rehearsed(subject, world.records(1024, seed), seed)
        best = np.asarray(view.public["values"]).argmax(axis=1)
        errors.append(world.errors(best[subject.grid.cell_of(MIDDLES)]).mean())
    assert np.mean(errors) < 0.15


@looped(
    ("wrong", "said"),
    [
        ({"epsilon": Fraction(0)}, "epsilon > 0"),
        ({"delta": Fraction(0)}, "0 < delta < 1"),
        ({"rounds": 1}, "need rounds"),
        ({"rounds": 4}, "3 phases need rounds from 8"),
        ({"phases": 4}, "it is 1, 2 or 3"),
        ({"actions": 0}, "the action grid is empty"),
        ({"actions": 5000}, "at most 4096 pairs"),
        ({"bound": Fraction(0)}, "the bound of rewards is not positive; it is above 0"),
        ({"bound": Fraction(10**400)}, "the bound of rewards is too large or too small"),
        ({"bound": Fraction(1, 10**400)}, "the bound of rewards is too large or too small"),
        ({"kernel": "matern-5/2", "lengthscale": Fraction(1, 10**160)}, "the length scale is too large"),
        ({"kernel": "linear"}, "known: squared-exponential"),
        ({"lengthscale": Fraction(0)}, "it is above 0"),
        ({"law": "laplace"}, "known: gaussian, k-norm"),
        ({"law": "k-norm", "sigma": Fraction(1)}, "sigma is the deviation of Gaussian noise"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_before_any_charge(wrong, said):
    with pytest.raises(InputError, match=said):
        FunctionRelease(**wrong)


def test_contexts_beyond_their_range_are_clipped():
    grid = PublicGrid(3, 4, "matern-5/2", Fraction(1, 5))
    assert grid.cell_of(np.array([-3.0, np.nan, 0.26, 1.0, np.inf])).tolist() == [0, 0, 1, 3, 3]
    for context in (-3.0, np.nan, 0.26, 0.75, 1.0, np.inf):
        assert grid.cell(np.array([context])) == grid.cell_of(np.array([context]))[0]
    phi = grid.features(1e-9).phi
    assert np.allclose(phi @ phi.T, grid.gram(), atol=1e-6)
