"""Sums by cell: what a person moves, which cell they are in, what is believed, and how well it serves."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from audits.datasets import tours
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.judge import Judge
from audits.hypothesis_tests.replay import record, replay
from bandits import phased_cells
from bandits.learning.contextual import LEAST_ANSWERS, Learner, in_ball, on_offer
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session
from bandits.phased_cells import (
    CELL_COUNTS,
    CellsBelief,
    CellsCourse,
    PhasedCells,
    clustered,
    nearest,
    within,
)
from bandits.simulation.simulated_people import People
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from tests.depth import deep
from tests.looped import looped

SMALL = PhasedCells(rounds=60, candidates=3, epsilon=Fraction(2), delays=True)


def people(subject, seed):
    """Return records, some of whose candidates are not on offer; half of the people answer late, or never."""
    domain, rng = subject.domain(), np.random.default_rng(seed)
    rows = rng.uniform(domain.low, domain.high, (subject.rounds, len(domain.low)))
    rows[rng.random(subject.rounds) < 0.1, :2] = np.nan
    rows[:, -1] *= rng.random(subject.rounds) < 0.5
    return domain.clamped(rows)


def test_it_is_pure():
    assert point(SMALL.proof(Fraction(0))) == (2, 0)


@deep
def test_a_person_moves_all_sums_by_at_most_one_together_whatever_the_record():
    furthest, theorem, domain = 0.0, SMALL.proof(Fraction(0)), SMALL.domain()
    for seed in range(3):
        data, rng = people(SMALL, seed), np.random.default_rng(seed + 100)
        run = record(SMALL, data, rehearse(theorem, Rehearsal(seed)), seed)
        for unit in range(0, SMALL.rounds, 7):
            other = data.copy()
            other[unit] = rng.choice([-np.inf, -2.0, 0.0, 0.3, 1.0, np.inf, np.nan], data.shape[1])
            again = replay(SMALL, domain.clamped(other), run, seed)
            moved = sum(float(np.abs(again.exact[part] - run.exact[part]).sum()) for part in run.exact)
            furthest = max(furthest, moved / 2.0**20)
            acted = [each.view.own["action"] for each in (run, again)]
            assert (np.delete(acted[0], unit) == np.delete(acted[1], unit)).all()
    assert 0.5 < furthest <= 1


class SeenBelief(CellsBelief):
    """Keeps which points a phase is expected to play, and how often; and how phases released."""

    def _partition(self, played, chances, people, axes):
        super()._partition(played, chances, people, axes)
        self.played, self.often = played, chances * people
        self.counted = [*getattr(self, "counted", []), self._design.counted]


class CoinsAsAnswersCome(SeenBelief):
    """Rounds with a coin of who answers next, so that who is late moves the coins of others."""

    def contribution(self, played, reward):
        self.next = getattr(self, "next", np.random.default_rng(8))
        return super().contribution(np.append(played[:-1], self.next.random()), reward)


@deep
@pytest.mark.parametrize("made", [SeenBelief, CoinsAsAnswersCome])
def test_a_person_moves_all_sums_by_at_most_one_where_people_are_counted(monkeypatch, made):
    seen = []
    monkeypatch.setattr(phased_cells, "CellsBelief", lambda *given: seen.append(made(*given)) or seen[-1])
    large = PhasedCells(rounds=1500, candidates=3, epsilon=Fraction(1, 2), delays=True)
    furthest, theorem, domain = 0.0, large.proof(Fraction(0)), large.domain()
    data = people(large, 1)
    data[:, -4:-1] = (data[:, 0:6:2] > 0.5) * 0.9  # structure, far from ½
    run = record(large, domain.clamped(data), rehearse(theorem, Rehearsal(1)), 1)
    assert set(seen[0].counted) == {False, True}
    rng = np.random.default_rng(7)
    for unit in range(600, 1500, 60):
        other = data.copy()
        other[unit] = rng.choice([-np.inf, -2.0, 0.0, 0.3, 1.0, np.inf, np.nan], data.shape[1])
        again = replay(large, domain.clamped(other), run, 1)
        moved = sum(float(np.abs(again.exact[part] - run.exact[part]).sum()) for part in run.exact)
        furthest = max(furthest, moved / 2.0**20)
    assert furthest > 0.3
    assert (furthest <= 1) == (made is SeenBelief)


@deep
def test_a_session_shows_what_play_shows_late_answers_and_a_restart_included(tmp_path, monkeypatch):
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)
    live, data, due = replace(SMALL, delays=False), people(SMALL, 3), {}
    whole = SMALL.play(data, Rehearsed(proof_of(SMALL), 4), 4).own["action"]
    assert (whole != SMALL.play(data * ([1] * 9 + [0]), Rehearsed(proof_of(SMALL), 4), 4).own["action"]).any()
    for t, row in enumerate(data):
        if t % 20 == 0:
            session = Session.rehearse(live, tmp_path / "state", seed=4, coins=4)
        ticket = session.ask(row[:-4])
        due.setdefault(t + int(row[-1]), []).append((ticket.number, row[6 + max(ticket.action, 0)]))
        for number, reward in due.pop(t, []):
            session.tell(number, reward)
        if t % 20 == 19:
            shown = session.result().own["action"] if t == 59 else None
            session.close()
    assert (shown == whole).all()


@deep
@looped("level", [-0.38, 0.0, 0.3])
def test_of_people_as_public_sets_are_sums_say_what_the_belief_takes(level):
    subject = PhasedCells(rounds=6000, candidates=5)
    belief, rng = SeenBelief(subject, 3), np.random.default_rng(5)
    weights = np.append(level, rng.normal(size=belief._roots.shape[1] - 1) * belief._roots[1, 1:] * 0.2)
    for end in subject.ends[:-1]:
        design, of_all = belief._design, np.column_stack([np.ones(len(belief.played)), belief.played])
        residuals = of_all @ weights
        inside = within(design.of, belief.often, len(design.shape))
        assert inside @ residuals == pytest.approx(design.shape @ weights)
        assert inside.sum(axis=1) == pytest.approx(design.people, abs=1e-5)
        sums = inside @ residuals
        if design.counted:
            sums = np.concatenate([inside @ (0.5 + residuals), inside @ (0.5 - residuals)]) / 2
        noisy = sums + rng.laplace(0, 1, len(sums))
        belief.learn(np.rint(noisy * 2.0**20).astype(np.int64), end)
    assert set(belief.counted) == {False, True}
    away = np.column_stack([np.ones(len(belief.played)), belief.played]) @ (belief._posterior()[0] - weights)
    assert np.sqrt(np.average(away**2, weights=belief.often)) < 0.05


@deep
def test_released_numbers_of_people_weigh_the_public_decision_sets():
    """Where all points played have a positive first coordinate, decision sets of such points gain weight."""
    subject = PhasedCells(rounds=3000, candidates=4)
    belief = SeenBelief(subject, 1)
    right = (belief._public[:, :, 0] > 0).mean(axis=1)  # features begin with the coordinates
    before = belief._chances @ right
    for end in subject.ends[:-1]:
        design = belief._design
        often = belief.often * (belief.played[:, 0] > 0)
        inside = within(design.of, often * belief.often.sum() / often.sum(), len(design.shape)).sum(axis=1)
        sums = np.tile(inside / 4, 2) if design.counted else 0 * inside
        belief.learn(np.rint(sums * 2.0**20).astype(np.int64), end)
    assert before == pytest.approx(0.5, abs=0.05)
    assert belief._chances @ right > 0.65


@deep
@looped(("late", "answering"), [(0, 1), (20, 1), (Fraction(1, 2), Fraction(1, 2)), (10**6, 1)])
def test_every_answer_is_expected_once(late, answering):
    subject = PhasedCells(rounds=600, candidates=3, late=Fraction(late), answering=Fraction(answering))
    belief, expected = SeenBelief(subject, 1), 0.0
    for end in subject.ends:
        assert belief.often.sum() == pytest.approx(belief._design.shape[:, 0].sum())
        expected += belief.often.sum()
        belief.learn(np.zeros(len(belief._design.shape) * (1 + belief._design.counted), dtype=np.int64), end)
    # an earlier phase from which fewer are expected in a later one is left out
    few = LEAST_ANSWERS * len(subject.ends) ** 2
    last = subject.ends[-1]
    told = [subject.expected(first - 1, end, last) for first, end in subject.batches if end <= last]
    assert expected == pytest.approx(sum(told), abs=few if late else 1e-6)


@deep
@given(st.floats(0, 1))
def test_counted_rewards_are_halves_in_one_of_two_sums_by_a_coin_of_the_slot(reward):
    belief = CellsBelief(PhasedCells(rounds=2000, candidates=3), 1)
    belief._design = replace(belief._design, counted=True)
    cells, sums = len(belief._design.shape), np.zeros(2 * len(belief._design.shape))
    for coin in np.random.default_rng(2).random(300):
        added = belief.contribution(np.append(belief._public[0, 0], coin), reward)
        assert sorted(np.abs(added))[-2:] == [0, 2**19]
        sums += added
    assert sums.sum() == 300 * 2**19
    # five standard errors, at most 7e-7 a side; hypothesis tries a hundred rewards
    assert abs(sums[:cells].sum() / sums.sum() - reward) <= 5 * np.sqrt(reward * (1 - reward) / 300) + 0.02
    assert not belief.contribution(belief._public[0, 0], None).any()


@deep
@given(st.integers(0, 2**32), st.sampled_from(CELL_COUNTS))
def test_everybody_is_in_one_cell_the_nearest(seed, count):
    rng = np.random.default_rng(seed)
    at = rng.normal(size=(50, 3))
    middles = clustered(at, np.full(50, 1 / 50), count, rng)
    of = nearest(at, middles)
    apart = np.linalg.norm(at[:, None] - middles, axis=2)
    assert np.allclose(apart[np.arange(50), of], apart.min(axis=1))


@deep
def test_what_is_believed_is_the_mixture_of_posteriors_weighed_by_likelihood():
    """Against every prior's normal law of the released sums and the weights, conditioned in one piece."""
    subject = PhasedCells(rounds=200, candidates=4, dimension=1)
    belief, rng = CellsBelief(subject, 1), np.random.default_rng(2)
    observations, learn = [], belief._observed.learn
    belief._observed.learn = lambda *given: observations.append(given) or learn(*given)
    for end in subject.ends[:3]:
        released = rng.normal(0, 5, len(belief._design.shape) * (1 + belief._design.counted))
        belief.learn(np.round(released * 2**20), end)
    shape, sums = (
        np.concatenate(each) for each in (list(zip(*observations, strict=True))[i] for i in (0, 2))
    )
    error = np.concatenate([np.diag(each) for _, each, _ in observations])
    means, logs = [], []
    for root in belief._roots:
        prior = np.diag(root**2)
        whole = shape @ prior @ shape.T + np.diag(error)
        logs.append(multivariate_normal.logpdf(sums, cov=whole))
        means.append(prior @ shape.T @ np.linalg.solve(whole, sums))
    chances = np.exp(np.array(logs) - max(logs))
    chances = np.where(chances / chances.sum() > 1e-3, chances, 0)
    mean, covariance = belief._posterior()
    assert np.allclose(mean, chances @ np.array(means) / chances.sum(), atol=1e-4)
    assert np.linalg.eigvalsh(covariance)[0] > -1e-9


class SkipsCoins(CellsCourse):
    def ask(self, context):
        if on_offer(np.reshape(context, (self.candidates, -1))) is not None:
            return super().ask(context)
        self._actions.append(-1)
        self._played[len(self._actions)] = None
        return np.array(-1)


@dataclass(frozen=True)
class DrawsCoinsForWhoIsOfferedSomething(PhasedCells):
    """Who is offered nothing takes no coins, so that later people have others."""

    def course(self, noise, coins):
        belief = CellsBelief(self, coins)
        learner = Learner(belief, lambda sums: noise.noisy("phase", belief.phases, sums), self.ends)
        return SkipsCoins(self, learner, coins)


@deep
@pytest.mark.parametrize("made", [PhasedCells, DrawsCoinsForWhoIsOfferedSomething])
def test_an_empty_record_shows_whose_coins_hang_on_it(made):
    subject = made(rounds=24, candidates=2)
    proved = Proved(subject.proof(Fraction(0)))
    judge = Judge(subject, proved, [check_of(proved, each)[0] for each in proved.hypotheses])
    judge.along(tours.empty(subject.domain(), subject.relation), 1)
    failing = {each.rule for each, wrong in zip(proved.hypotheses, judge.seen.failing, strict=True) if wrong}
    assert ("assume_view" in failing) == (made is not PhasedCells)


@deep
def test_a_coordinate_that_is_the_same_everywhere_has_no_weight():
    points = np.random.default_rng(1).uniform(-1, 1, (500, 2)) * [1, 0]
    blocks = PhasedCells().features
    variances = blocks.beliefs(blocks(points))
    same = slice(sum(blocks.sizes[:-3]), -blocks.sizes[-1])  # of the second alone, and of the product
    assert (variances[:, same] == 0).all()
    assert (variances[:, : same.start] > 0).any(axis=0).all()


def prices(rounds, seed):
    """Return people who pay more, the higher the price, until they leave."""
    rng = np.random.default_rng(seed)
    points = in_ball(rng, rounds * 12, 2).reshape(rounds, 12, 2)
    at = (points[..., 0] + 2) / 4
    means = np.where(at < 0.35 + 0.3 * rng.random(), 0.15 + 0.75 * at, 0.03)
    return People(points, means, (rng.random(means.shape) < means).astype(np.float64))


@deep
@looped("rounds", [500, 2000])
def test_prices_with_a_cliff_are_learned(rounds):
    """From 90,000 on by seed; a run errs by more than .3 of its mean share seldom, six of them hardly ever."""
    subject, shares = PhasedCells(rounds=rounds, candidates=12), []
    for seed in range(90000, 90006):
        world = prices(rounds, seed)
        noise = rehearse(subject.proof(Fraction(0)), Rehearsal(seed))
        view = subject.play(subject.domain().clamped(world.records()), noise, seed)
        shares.append(world.share(view.own["action"]))
    assert np.mean(shares) < 0.75
