"""Histograms by context: what a person moves, what sessions show, what is believed, and how well it serves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from audits.hypothesis_tests.replay import record
from bandits.context_histogram import ContextHistogram
from bandits.learning.arrivals import name_of
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session
from bandits.private_prediction.cell_belief import CELL_SPREAD, LEVEL_SPREAD, REWARD_VARIANCE, CellBelief
from bandits.private_prediction.context_cells import MAX_CELLS, cells_of
from bandits.private_prediction.public_grid import PublicContexts, PublicGrid
from bandits.selection.predictions import choose_serving
from bandits.space.reading import of_table
from dpaccount.errors import InputError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from tests.depth import deep
from tests.looped import looped

SMALL = ContextHistogram(rounds=40, actions=3, contexts=5, epsilon=Fraction(2), delays=True)


class _Answers:
    """Noise that gives back what an earlier run released."""

    def __init__(self, run):
        self._run = run

    def noisy(self, key, part, values):
        return self._run.released[key, part]


def people(subject, seed):
    """Return records of a subject with `delays`."""
    rng, rounds = np.random.default_rng(seed), subject.rounds
    late = np.where(rng.random(rounds) < 0.5, 0, rng.integers(0, rounds + 1, rounds))
    numbers = subject.public.numbers + subject.actions
    rows = rng.random((rounds, numbers))
    rows[:, subject.public.numbers :] = np.round(rows[:, subject.public.numbers :])
    return np.column_stack([rows, late])


def test_it_is_pure():
    assert point(SMALL.proof(Fraction(0))) == (2, 0)
    epsilon, delta = point(SMALL.proof(Fraction(1, 10**6)))
    assert (delta, 1.99 < epsilon <= 2) == (Fraction(1, 10**6), True)


@deep
def test_a_person_moves_all_sums_by_at_most_one_together_whatever_the_record():
    furthest = 0.0
    for seed in range(12):
        data, rng = people(SMALL, seed), np.random.default_rng(seed + 100)
        run = record(SMALL, data, rehearse(SMALL.proof(SMALL.delta), Rehearsal(seed)), seed)
        for unit in range(0, SMALL.rounds, 3):
            other = data.copy()
            other[unit, :-1] = rng.choice([-np.inf, -9.0, 0.0, 0.3, 1.0, np.inf, np.nan], other.shape[1] - 1)
            other[unit, -1] = rng.choice([0, 3, 17, SMALL.rounds])
            again = record(SMALL, other, _Answers(run), seed)
            moved = sum(float(np.abs(again.exact[part] - run.exact[part]).sum()) for part in run.exact)
            furthest = max(furthest, moved / 2.0**20)
            acted = [each.view.own["action"] for each in (run, again)]
            assert (np.delete(acted[0], unit) == np.delete(acted[1], unit)).all()
            assert all((run.view.public[name] == again.view.public[name]).all() for name in run.view.public)
    assert 0.99 <= furthest <= 1


def test_a_session_shows_what_play_shows_late_answers_and_a_restart_included(tmp_path, monkeypatch):
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)
    live, data, due = replace(SMALL, delays=False), people(SMALL, 3), {}
    whole = SMALL.play(data, Rehearsed(proof_of(SMALL), 4), 4)
    session = Session.rehearse(live, tmp_path / "state", seed=4, coins=4)
    for t, row in enumerate(data):
        if t == 21:
            session.close()
            session = Session.rehearse(live, tmp_path / "state", seed=4, coins=4)
        ticket = session.ask(row[:1])
        due.setdefault(t + int(row[-1]), []).append((ticket.number, row[1 + ticket.action]))
        for number, reward in due.pop(t, []):
            session.tell(number, reward)
    with session:
        view = session.result()
    assert all((view.public[name] == whole.public[name]).all() for name in whole.public)
    assert (view.own["action"] == whole.own["action"]).all()


@looped("contexts", [2, 3, 32, 100])
def test_groups_of_cells_are_cuts_of_one_tree(contexts):
    cells = cells_of(PublicContexts(contexts))
    assert len(cells) == min(contexts, MAX_CELLS)
    assert set(cells.of) == set(range(len(cells)))
    assert cells.chances.sum() == pytest.approx(1)
    before = cells.groups(1)
    assert not before.any()
    for count in range(2, len(cells) + 3):
        groups = cells.groups(count)
        assert len(set(groups)) == min(count, len(cells))
        assert all(len(set(before[groups == each])) == 1 for each in set(groups))  # a refinement
        before = groups


@looped(
    ("contexts", "weight"), [({"x": list("aaab")}, None), ({"x": list("ab"), "people": [3, 1]}, "people")]
)
def test_contexts_of_a_public_sample_weigh_as_often_as_they_are_there(contexts, weight):
    space = of_table(["one", "two", "three"], contexts, weight)
    cells = ContextHistogram(rounds=24, space=space).cells
    assert sorted(cells.chances) == [0.25, 0.75]


def test_what_is_believed_is_the_posterior_of_the_linear_model():
    """Against the normal distribution of all means and the level together, conditioned in one piece."""
    cells, actions, rng = cells_of(PublicContexts(5)), 2, np.random.default_rng(1)
    belief, size = CellBelief(cells, actions), actions * len(cells)
    prior = np.kron(np.eye(actions), CELL_SPREAD**2 * (cells.near + 1e-9 * np.eye(5))) + LEVEL_SPREAD**2
    shapes, errors, seen = [], [], []
    for people_, count in ((60, 2), (90, 4)):
        groups, shown = cells.groups(count), rng.dirichlet(np.ones(actions), len(cells))
        released = rng.normal(0, 5, (count, actions))
        belief.learn(people_, shown, groups, released, noise=3.0)
        for group in range(count):
            for action in range(actions):
                row = np.zeros((actions, len(cells)))
                row[action] = people_ * cells.chances * shown[:, action] * (groups == group)
                shapes.append(row.ravel())
                errors.append(row.sum() * REWARD_VARIANCE + 3.0)
                seen.append(released[group, action])
    shape = np.array(shapes)
    gain = prior @ shape.T @ np.linalg.inv(shape @ prior @ shape.T + np.diag(errors))
    expected = np.clip(0.5 + (gain @ np.array(seen)).reshape(actions, len(cells)).T, 0, 1)
    np.testing.assert_allclose(belief.means(), expected, atol=1e-8)
    whole = prior - gain @ shape @ prior
    assert (np.linalg.eigvalsh((whole + whole.T) / 2) > -1e-9).all()
    assert size == len(whole)


@pytest.mark.statistical(1e-5)
def test_it_serves_better_than_one_histogram_after_a_quarter_of_the_people():
    """In 24 worlds .166 ± .020 and .371 ± .023, which are .205 apart with a deviation of .12."""
    subject, shares = ContextHistogram(rounds=2000, actions=4, contexts=24), []
    proof = subject.proof(subject.delta)
    for seed in range(8):
        rng = np.random.default_rng([71, seed])
        apart = np.linspace(0, 1, 24)
        kernel = np.exp(-(np.subtract.outer(apart, apart) ** 2) / 0.08) + 1e-9 * np.eye(24)
        means = np.clip(0.5 + 0.25 * np.linalg.cholesky(kernel) @ rng.normal(size=(24, 4)), 0, 1)
        at = rng.integers(0, 24, 2000)
        of = means[at]
        paid = (rng.random(of.shape) < of).astype(float)
        view = subject.play(np.column_stack([(at + 0.5) / 24, paid]), rehearse(proof, Rehearsal(seed)), seed)
        simple, some = rng.integers(0, 4, 2000), 500
        sums = rng.laplace(0, 1, (8, 4))
        np.add.at(sums, (at[:some] // 3, simple[:some]), paid[np.arange(some), simple[:some]] - 0.5)
        simple[some:] = sums.argmax(axis=1)[at[some:] // 3]
        best = of.max(axis=1)
        lost = [(best - of[np.arange(2000), played]).sum() for played in (view.own["action"], simple)]
        shares.append(np.array(lost) / (best - of.mean(axis=1)).sum())
    ours, theirs = np.mean(shares, axis=0)
    assert ours < min(theirs, 0.45)


@deep
def test_the_selector_rehearses_both_and_says_how_many_people_learn():
    grid = PublicGrid(4, 8, "squared-exponential", Fraction(1, 5))
    choice = choose_serving(grid, 5000, Fraction(1), Fraction(1, 10**6), trials=2)
    assert "context-histogram 5000" in choice.because
    assert "function-release 2500 2500 gaussian" in choice.because
    assert "function-release 625 4375 k-norm" in choice.because
    said = choice.parameters
    assert int(said["rounds"]) + int(said.get("served", 0)) == 5000
    assert (name_of(choice.bandit), choice.bandit.epsilon) == (choice.subject, 1)
    assert {key: getattr(choice.bandit, key) for key in said} == said
    pure = choose_serving(grid, 64, Fraction(1), Fraction(0), trials=2)
    assert "gaussian" not in pure.because
    with pytest.raises(InputError, match="give a fraction, such as"):
        choose_serving(grid, 64, 0.5, Fraction(0))
    with pytest.raises(InputError, match="the space has 3"):
        PublicGrid(4, 8, "squared-exponential", Fraction(1, 5), of_table(["a", "b", "c"]))
    with pytest.raises(InputError, match="64 people"):
        choose_serving(grid, 63, Fraction(1), Fraction(0))


@looped(
    ("wrong", "said"),
    [
        ({"actions": 1}, "actions is 1"),
        ({"rounds": 7}, "rounds is 7"),
        ({"contexts": 1}, "arm-phases"),
        ({"epsilon": Fraction(0)}, "epsilon is 0"),
        ({"dimension": 2}, "dimension is 2"),
        ({"lowest": Fraction(1)}, "low and high"),
        ({"delays": 1}, "delays is 1"),
        ({"rounds": 24.0}, "whole numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        ContextHistogram(**wrong)


def test_as_many_contexts_as_points_of_a_space_and_no_more():
    with pytest.raises(InputError, match="contexts is 2001"):
        ContextHistogram(contexts=2001)
    with pytest.raises(InputError, match="lowest and highest are fractions"):
        ContextHistogram(lowest=None)
