"""A bandit of a few arms: one number a person at most, intervals that hold, and little regret."""

import doctest
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from audits.hypothesis_tests.replay import record, replay
from bandits.arm_phases import ArmPhases
from bandits.arms.beliefs import PRIOR_VARIANCE, LinearBelief, MixedBelief, _models, spread_about
from bandits.learning.session import Session
from bandits.learning.shuffled_bits import ShuffledBits
from bandits.local_posterior import LocalPosterior
from bandits.space.points import Space, grid, of_matrix
from bandits.space.reading import of_table
from bandits.statistics.first_moments import CONTRIBUTION_BITS
from dpaccount.errors import InputError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.laws import law_of
from dpaccount.noise.leaves import leaves
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from mechanisms.subject import View
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 1000)
GAUSSIAN = {"law": "gaussian", "delta": DELTA}
SHUFFLED = {"law": "shuffled", "delta": DELTA}
ONE = 2**CONTRIBUTION_BITS
NOBODY = np.zeros(0, dtype=np.int64)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave the disk alone."""
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


def world(seed, arms, rounds):
    """Return means and everybody's true-or-false rewards, in worlds of an unseen law of seeds."""
    rng = np.random.default_rng([7000, seed])
    means = rng.uniform(0.2, 0.8, arms)
    return means, (rng.random((rounds, arms)) < means).astype(float)


def run(subject, data, seed):
    theorem = subject.proof(subject.delta)
    return subject.play(data, rehearse(theorem, Rehearsal(seed)), seed)


@pytest.mark.parametrize("noise", [{}, {"index": "elimination"}, {"index": "adversarial"}, GAUSSIAN])
def test_a_person_moves_one_block_by_what_is_charged(noise):
    """Every person's rewards are turned, given the same releases: the largest loss is the charged one."""
    subject = ArmPhases(rounds=40, arms=3, **noise)
    _, data = world(1, 3, 40)
    theorem = subject.proof(DELTA)
    first = record(subject, data, rehearse(theorem, Rehearsal(1)), 1)
    moved = np.zeros(40)
    for person in range(40):
        turned = data.copy()
        turned[person] = 1 - turned[person]
        exact = replay(subject, turned, first, 1).exact
        away = [abs(int(exact[part][0]) - int(first.exact[part][0])) for part in first.exact]
        assert sum(value > 0 for value in away) == 1
        moved[person] = sum(away) / ONE
    assert (moved == 1).all()  # rewards of 0 and 1: nobody moves more, everybody as much
    (leaf,) = leaves(theorem)
    if "law" not in noise:
        assert moved.max() / (law_of(leaf).scale / ONE) == point(subject.proof(Fraction(0)))[0] == 1


def test_a_person_moves_one_bit_of_one_block():
    """Every person's rewards are turned, given the same releases: one symbol, of those that are shuffled."""
    subject = ArmPhases(rounds=40, arms=3, block=8, **SHUFFLED)
    _, data = world(1, 3, 40)
    first = record(subject, data, rehearse(subject.proof(DELTA), Rehearsal(1)), 1)
    for person in range(40):
        turned = data.copy()
        turned[person] = 1 - turned[person]
        exact = replay(subject, turned, first, 1).exact
        away = np.concatenate([exact[part] - first.exact[part] for part in first.exact])
        assert np.abs(away).sum() == 1
    assert all(len(bits) >= subject.bits.size for bits in first.exact.values())


class OfTheWholeHorizon(ArmPhases):
    """Planted: its bits are private among as many as there are people, but a block has fewer."""

    @property
    def bits(self):
        return ShuffledBits(self.epsilon, self.delta, self.rounds)


@deep
def test_bits_that_are_private_among_more_people_than_a_block_has_are_never_shown():
    subject = OfTheWholeHorizon(rounds=200, arms=2, block=40, **SHUFFLED)
    assert subject.bits.truth > ArmPhases(rounds=200, arms=2, block=40, **SHUFFLED).bits.truth
    with pytest.raises(ReceiptError, match="at least 200 answers are shown"):
        run(subject, world(1, 2, 200)[1], 1)


@deep
@looped("rounds", [20, 333, 5000])
@looped("memory", [None, 70, 555])
@looped("block", [1, 7, 333])
def test_no_block_has_fewer_bits_than_the_proof_counts(rounds, memory, block):
    subject = ArmPhases(rounds=rounds, arms=4, block=min(block, rounds), memory=memory, **SHUFFLED)
    blocks = subject.blocks()
    sizes = [last - first + 1 for first, last in blocks]
    assert (blocks[0][0], blocks[-1][1], sum(sizes)) == (1, rounds, rounds)
    assert min(sizes) == subject.bits.size
    assert point(subject.proof(DELTA)) <= (Fraction(1), DELTA)


def test_of_shuffled_bits_one_mean_is_known_as_of_other_noise():
    """A search for the best arm names it; its evidence is of bits, which are rewards themselves."""
    subject = ArmPhases(rounds=8000, arms=2, index="top-two", epsilon=Fraction(3), **SHUFFLED)
    data = (np.random.default_rng(7000).random((8000, 2)) < [0.8, 0.2]).astype(float)
    view = run(subject, data, 1)
    found = subject.report(view)
    assert found["best"] == view.public["best"][0] == 0
    assert found["error"] == view.public["error"][0] < 1e-6
    assert found["may_be_best"] == [0]


def test_laplace_noise_is_pure():
    subject = ArmPhases()
    assert point(subject.proof(subject.delta)) == (1, 0)


@pytest.mark.parametrize("measure", ["pure", "approximate", "zcdp", "gdp"])
def test_every_ledger_takes_it(measure, tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=9, delta=DELTA, unit="p", relation="replace-one", measure=measure)
    with Ledger.open(url) as ledger, Session.open(ArmPhases(), ledger, tmp_path / "state") as session:
        session.tell(session.ask(), 1.0)
        assert session.releasable


@looped("epsilon", [Fraction(1, 20), Fraction(1), Fraction(30)])
@looped("memory", [None, 70, 600])
@looped("index", ["thompson", "imed", "top-two"])
def test_blocks_follow_from_people_and_arms(epsilon, memory, index):
    """A block has at least the first one's people, and no more than half of its arm's, nor 1/32 of all before."""
    if index == "top-two" and memory:
        return
    subject = ArmPhases(rounds=2000, arms=5, epsilon=epsilon, memory=memory, index=index)
    public = run(subject, world(1, 5, 2000)[1], 1).public
    ends, arms = public["ends"].tolist(), public["arms"]
    sizes = np.diff([0, *ends])
    assert ends[-1] == 2000
    for end, size in zip(ends[:-1], sizes[:-1].tolist(), strict=True):
        before = arms[: end - size]
        recent = before if memory is None else before[max(len(before) - memory - max(sizes), 0) :]
        assert len(set(arms[end - size : end])) == 1
        assert subject.first <= size <= max(subject.first, len(before) / (24 if index == "top-two" else 32))
        assert index == "top-two" or size <= max(subject.first, (recent == arms[end - 1]).sum() / 2)
    assert len(sizes) <= subject.most_sums - subject.arms


@pytest.mark.parametrize("index", ["imed", "elimination", "top-two"])
def test_a_run_may_be_of_unknown_length(index):
    """What happens to the first people, and what it costs, is the same for any later limit."""
    _, data = world(3, 4, 1500)
    for short in (400, 700):  # eight first blocks at least
        few = ArmPhases(rounds=short, arms=4, index=index)
        many = ArmPhases(rounds=1500, arms=4, index=index)
        assert point(few.proof(Fraction(0))) == point(many.proof(Fraction(0))) == (1, 0)
        arms = [run(subject, data[: subject.rounds], 1).public["arms"][:short] for subject in (few, many)]
        assert arms[0].tolist() == arms[1].tolist()


@pytest.mark.parametrize("index", ["thompson", "imed", "elimination"])
def test_a_belief_has_what_is_not_older_than_the_memory(index):
    """What it has been told is what the blocks of the last 300 people said, whatever was before."""
    subject = ArmPhases(rounds=900, arms=2, memory=300, epsilon=Fraction(30), index=index)
    course = subject.course(rehearse(subject.proof(Fraction(0)), Rehearsal(1)), 1)
    kept = []
    for first, last in course.batches:
        arms = [int(course.ask()) for _ in range(first, last + 1)]
        people = last - first + 1
        course.close(np.full(people, float(last <= 450)), np.ones(people, dtype=bool))
        kept.append((last, arms[0], people, float(course.sums[-1][0]) / ONE))
        recent = [block[1:] for block in kept if block[0] > last - 300]
        for arm in range(2):
            assert course._belief._people[arm] == sum(people for at, people, _ in recent if at == arm)
            assert course._belief._rest[arm] == pytest.approx(
                sum(rest for at, _, rest in recent if at == arm)
            )
    assert len(kept) > 20


@deep
def test_a_memory_follows_arms_that_change():
    """Other means from the middle on, 12 unseen worlds: less than half of the regret that all memory has."""
    shares = []
    for seed in range(12):
        (first, _), (then, _) = world(seed, 5, 1), world(seed + 100, 5, 1)
        means = np.where(np.arange(6000)[:, None] < 3000, first, then)
        data = (np.random.default_rng([7000, seed]).random(means.shape) < means).astype(float)
        shares.append([])
        for memory in (None, 500):
            arms = run(ArmPhases(rounds=6000, arms=5, memory=memory), data, seed).public["arms"]
            lost = (means.max(axis=1) - means[np.arange(6000), arms])[3000:]
            shares[-1].append(lost.mean() / (then.max() - then.mean()))
    everything, recent = np.mean(shares, axis=0)
    assert recent < everything / 2


def test_with_a_memory_nothing_is_said_of_one_mean():
    subject = ArmPhases(rounds=200, arms=2, memory=50)
    view = run(subject, world(1, 2, 200)[1], 1)
    assert subject.report(view) == {}
    with pytest.raises(InputError, match="no one mean"):
        subject.accuracy(view)


def test_who_does_not_answer_adds_nothing():
    subject = ArmPhases(rounds=40, arms=3)
    rewards, everyone = np.array([1.0, 0.0, np.nan, 7.0]), np.ones(4, dtype=bool)
    assert subject.added(rewards, everyone).tolist() == [ONE // 2]  # ½ − ½ + 0 + ½
    assert subject.added(rewards, ~everyone).tolist() == [0]


def test_a_reward_of_nan_is_no_answer(tmp_path):
    """In a session, and in the data of a run."""
    subject, sums = ArmPhases(rounds=64, arms=2, epsilon=Fraction(10**4)), []
    for name, told in (("nan", np.nan), ("half", 0.5)):
        with Session.rehearse(subject, tmp_path / name, seed=1) as session:
            for _ in range(64):
                session.tell(session.ask(), told)
            sums.append(session.result().public["sums"].tolist())
    sums.append(run(subject, subject.domain().clamped(np.full((64, 2), np.nan)), 1).public["sums"])
    assert sums[0] == sums[1]
    assert np.abs(sums[2]).max() < 0.01 * ONE


@looped("epsilon", [Fraction(1, 100), Fraction(1), Fraction(3), Fraction(50)])
def test_tilts_bound_the_moments_of_laplace_noise(epsilon):
    """ln((cosh a − 1)/(cosh a − cosh t)) = −ln(1 − (sinh(t/2)/sinh(a/2))²), with a = ε and t = λ a grid step."""
    step = 1 / ONE
    for tilt, bound in ArmPhases(epsilon=epsilon).statement.tilts():
        true = -np.log1p(-((np.sinh(tilt * step / 2) / np.sinh(float(epsilon) * step / 2)) ** 2))
        assert true <= bound <= true * (1 + 1e-6)


@looped("steps", [2, 16, 50])
def test_tilts_bound_the_moments_of_gaussian_noise(steps):
    """Summed over all values; the bound is that of a normal variable, which discrete noise comes near."""
    subject, x = ArmPhases(**GAUSSIAN, sigma=Fraction(steps, ONE)), np.arange(-40 * steps, 40 * steps + 1)
    law_ = np.exp(-(x**2) / (2 * steps**2))
    for tilt, bound in subject.statement.tilts():
        true = np.log((law_ * np.cosh(tilt * x / ONE)).sum() / law_.sum())
        assert true <= bound + 1e-15
        assert bound <= true * (1 + 1e-3) + 1e-14


def test_the_reach_of_an_interval_is_that_of_the_formula():
    """One block an arm, at its least over the tilts, from numbers written down here."""
    subject = ArmPhases(rounds=64, arms=2, block=32, epsilon=Fraction(1, 2))
    sums = np.array([-4 * ONE, -3 * ONE, 0, 0])  # and one of late answers for each arm
    arms, people = np.repeat([0, 1], 1000), np.array([1000, 2000])
    view = View(public={"arms": arms, "ends": people, "sums": sums, "uncounted": NOBODY})
    found = subject.accuracy(view, Fraction(9, 10))["means"]
    tilts = 0.4 * 2.0 ** -np.arange(12)
    reach = (np.log(2 * 12 * 2 / 0.1) + tilts**2 * 1000 / 8 - 2 * np.log1p(-((2 * tilts) ** 2))) / tilts
    ends = 0.5 - np.array([4, 3]) / 1000 + reach.min() / 1000
    assert found["high"] == pytest.approx(ends, abs=2e-6)
    assert (np.array(found["high"]) > ends).all()
    with pytest.raises(InputError, match="answers may still come"):
        subject.accuracy(View(public={**view.public, "sums": sums[:2]}))


@deep
@pytest.mark.statistical(1e-4)  # more than 70 misses of 100 at level ½
@pytest.mark.parametrize("noise", [{}, GAUSSIAN, SHUFFLED])
def test_intervals_hold_under_adaptive_choices(noise):
    subject, wrong = ArmPhases(rounds=200, arms=4, epsilon=Fraction(1, 2), **noise), 0
    for seed in range(100):
        true, data = world(seed, 4, 200)
        found = subject.accuracy(run(subject, data, seed), Fraction(1, 2))["means"]
        wrong += not ((np.array(found["low"]) <= true) & (true <= np.array(found["high"]))).all()
    assert wrong <= 70


def test_the_best_arm_is_among_those_that_may_be_it():
    subject, means = ArmPhases(rounds=6000, arms=3, epsilon=Fraction(2)), np.array([0.1, 0.5, 0.9])
    played, ends = np.tile(np.repeat(range(3), 100), 20), np.arange(100, 6001, 100)
    sums = np.round(np.tile(100 * (means - 0.5) * ONE, 20)).astype(np.int64)
    view = View(
        public={"arms": played, "ends": ends, "sums": np.append(sums, [0, 0, 0]), "uncounted": NOBODY}
    )
    found = subject.report(view)
    assert (found["best"], found["may_be_best"]) == (2, [2])
    assert found["error"] < 0.05
    early = ArmPhases(rounds=6, arms=3)
    assert early.report(run(early, world(1, 3, 6)[1], 1))["may_be_best"] == [0, 1, 2]  # nothing is known yet


def test_a_block_that_ended_early_counts_its_people(tmp_path):
    """Every reward is 1: of people who were never there, means would be less."""
    subject = ArmPhases(rounds=400, arms=2, epsilon=Fraction(30), block=30)
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for _ in range(301):  # one person of the last block
            session.tell(session.ask(), 1.0)
        view = session.result()
    found = subject.accuracy(view)["means"]
    assert view.public["ends"][-2:].tolist() == [300, 301]
    assert max(found["high"]) == 1
    assert max(found["low"]) > 0.7


@pytest.mark.parametrize("noise", [{}, SHUFFLED])
def test_who_is_shown_another_arm_is_not_counted_among_the_people_of_the_block(tmp_path, noise):
    """Two sites with one arm each, all answer at once; means are .8 and 1, and each sum has its own people."""
    subject = ArmPhases(rounds=400, arms=2, epsilon=Fraction(30), space=grid(2), **noise)
    rng, paid = np.random.default_rng(3), []
    ends = {last: range(first, last + 1) for first, last in subject.blocks()}
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for _ in range(400):
            ticket = session.ask([int(rng.random() < 0.3)])
            paid.append(1.0 if ticket.action else float(rng.random() < 0.8))
            if not noise:
                session.tell(ticket, paid[-1])
            elif ticket.number in ends:
                own = session.public()["uncounted"]
                sent = [None if n in own else subject.bits.message(paid[n - 1]) for n in ends[ticket.number]]
                session.tell_shuffled(subject.bits.shuffle(sent))
        view = session.result()
    found = subject.accuracy(view)["means"]
    assert found["low"][0] <= 0.8 <= found["high"][0]
    assert found["low"][1] <= 1 <= found["high"][1]
    assert 1 in subject.report(view)["may_be_best"]
    begins = [0, *view.public["ends"].tolist()]
    blocks = [(first, view.public["arms"][first:last]) for first, last in pairwise(begins)]
    other = np.concatenate([first + 1 + np.flatnonzero(arms != arms[0]) for first, arms in blocks])
    assert view.public["uncounted"].tolist() == other.tolist()
    assert len(other) > 80


def test_the_belief_counts_who_is_in_a_sum(tmp_path):
    """With almost no noise all rewards are 1: half of the people of the second arm's block may not take it."""
    subject = ArmPhases(rounds=400, arms=2, block=50, epsilon=Fraction(1000), space=grid(2))
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for number in range(51):
            session.tell(session.ask([1] if number % 2 == 0 else [0]), 1.0)
        belief = session._course._belief
    assert belief._people.tolist() == [0, 25]
    assert belief._rest == pytest.approx([0, 25 / 2], abs=0.05)


@pytest.mark.parametrize("noise", [{"index": "top-two"}, SHUFFLED])
def test_intervals_of_an_interim_view_are_of_the_blocks_that_are_released(tmp_path, noise):
    """Where an answer counts at once or never, they hold at any time."""
    subject, seen = ArmPhases(rounds=60, arms=3, block=9, **noise), 0
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for person in range(60):
            if noise is SHUFFLED and (first := session._course.batches[session._closed][0]) < person + 1:
                due = session._course.batches[session._closed][1]
                if due == person:
                    session.tell_shuffled(subject.bits.shuffle([1] * (due - first + 1)))
            ticket = session.ask()
            if noise is not SHUFFLED:
                session.tell(ticket, 1.0)
            public = session.public()
            last = public["ends"][-1] if len(public["ends"]) else 0
            whole = {**public, "arms": public["arms"][:last]}
            found = subject.accuracy(View(public=public))
            assert found == subject.accuracy(View(public=whole))
            seen = max(seen, len(public["ends"]))
    assert seen > 2
    for name in ("arms", "ends", "sums", "uncounted"):  # nor is one without them taken for one of nobody
        with pytest.raises(InputError, match=f"no {name}"):
            subject.accuracy(View(public={key: whole[key] for key in whole if key != name}))


def test_an_arm_that_was_never_played_is_unknown():
    subject = ArmPhases(rounds=40, arms=20)
    view = run(subject, world(1, 20, 40)[1], 1)
    found = subject.accuracy(view)["means"]
    unseen = np.setdiff1d(np.arange(20), view.public["arms"])
    assert len(unseen) > 0
    assert all(found["low"][arm] <= 0 and found["high"][arm] >= 1 for arm in unseen)


def test_the_example_of_its_page_runs(root):
    page = str(root / "docs" / "arms.md")
    failed, tried = doctest.testfile(page, module_relative=False, encoding="utf-8")
    assert (failed, tried > 5) == (0, True)


@deep
@pytest.mark.parametrize(
    ("index", "rounds", "most"),
    [("thompson", 1024, 0.33), ("thompson", 4096, 0.12), ("imed", 4096, 0.33), ("elimination", 4096, 0.2)],
)
def test_regret_is_a_small_share_of_that_by_chance(index, rounds, most):
    """Ten arms, pure ε = 1, 48 unseen worlds: the mean plus two standard errors."""
    shares = []
    for seed in range(48):
        means, data = world(seed, 10, rounds)
        view = run(ArmPhases(rounds=rounds, index=index), data, seed)
        lost = means.max() - means[view.public["arms"]]
        shares.append(lost.mean() / (means.max() - means.mean()))
    assert np.mean(shares) + 2 * np.std(shares) / np.sqrt(len(shares)) <= most


def test_a_linear_belief_is_the_conditional_law_of_its_prior():
    """Beside the covariance of all means and observations of two arms, conditioned directly."""
    points = np.random.default_rng(3).random((6, 2))
    belief = LinearBelief(Space(tuple("abcdef"), points.tobytes()))
    x = (2 * points - 1) / np.sqrt(2)
    covariance = PRIOR_VARIANCE / 2 * (1 + x @ x.T / (x**2).sum(axis=1).mean())
    assert 1 / belief.precisions() == pytest.approx(np.diag(covariance))
    assert np.diag(covariance).mean() == pytest.approx(PRIOR_VARIANCE)
    told = [(0, 9, 2.5, 4.0), (4, 20, -3.0, 1.0), (4, 5, 1.0, 2.0)]  # arm, people, rest, noise
    for block in told:
        belief.learn(*block)
    arms = np.array([0, 4])  # an arm's blocks are one observation of its mean
    values, variances = np.array([2.5 / 9, -2.0 / 25]), np.array([(9 / 4 + 4) / 81, (25 / 4 + 3) / 625])
    gain = covariance[:, arms] @ np.linalg.inv(covariance[np.ix_(arms, arms)] + np.diag(variances))
    assert belief.means() == pytest.approx(gain @ values)
    assert 1 / belief.precisions() == pytest.approx(np.diag(covariance - gain @ covariance[arms]))
    draws = np.array([belief.draw(0.5, 1.0, np.random.default_rng(seed)) for seed in range(2000)])
    left = covariance - gain @ covariance[arms]
    assert np.abs(np.cov(draws.T) - left / 4).max() < 0.15 * left.max() / 4  # false alarm below 1e-6
    for arm, *block in told:
        belief.learn(arm, *(-each for each in block))
    assert belief.means() == pytest.approx(np.zeros(6), abs=1e-12)


@deep
@looped("told", [(), ((1, 9, 2.5, 4.0),), ((0, 30, 9.0, 2.0), (4, 20, -8.0, 2.0), (4, 5, -1.0, 2.0))])
def test_a_mixed_belief_is_the_mixture_of_conditional_laws_by_their_likelihood(told):
    """Every model's normal law of means and observations, conditioned in one piece."""
    points = np.random.default_rng(3).random((6, 2))
    space = Space(tuple("abcdef"), points.tobytes())
    belief = MixedBelief(space)
    for block in told:
        belief.learn(*block)
    level, arms = belief.level, sorted({arm for arm, *_ in told})
    of = {arm: np.sum([block for first, *block in told if first == arm], axis=0) for arm in arms}
    values = np.array([rest / people + 0.5 - level for people, rest, _ in of.values()])
    errors = np.diag([(n * level * (1 - level) + noise) / n**2 for n, _, noise in of.values()])
    errors = errors.reshape(len(arms), len(arms))
    logs, means, lefts = [], [], []
    for covariance in _models(space)[0] * spread_about(level) ** 2:
        seen = covariance[np.ix_(arms, arms)] + errors
        gain = covariance[:, arms] @ np.linalg.inv(seen)
        logs.append(multivariate_normal.logpdf(values, cov=seen) if arms else 0.0)
        means.append(gain @ values)
        lefts.append(covariance - gain @ covariance[arms])
    chances, means = np.exp(logs) / np.exp(logs).sum(), np.array(means)
    assert len(told) < 2 or chances.max() > 1.2 * chances.min()
    mean = chances @ means
    assert belief.means() == pytest.approx(mean)
    whole = np.tensordot(chances, lefts, 1) + ((means - mean).T * chances) @ (means - mean)
    assert 1 / belief.precisions() == pytest.approx(np.diag(whole))
    draws = np.array([belief.draw(1.0, 1.0, np.random.default_rng(seed)) for seed in range(1000)])
    assert np.abs(draws.mean(axis=0) - mean).max() < 6 * np.sqrt(whole.max() / 1000)  # false alarm below 1e-7
    assert np.abs(np.cov(draws.T) - whole).max() < 0.3 * whole.max()


@looped("seed", range(20))
def test_a_mixed_belief_does_not_depend_on_the_order_of_arms_and_forgets(seed):
    rng = np.random.default_rng(seed)
    points, order = rng.random((7, 2)), rng.permutation(7)
    beliefs = [MixedBelief(Space(tuple("abcdefg"), each.tobytes())) for each in (points, points[order])]
    blocks = [(int(rng.integers(7)), int(rng.integers(1, 99)), rng.normal(0, 9), 2.0) for _ in range(5)]
    for arm, *block in blocks:
        beliefs[0].learn(arm, *block)
        beliefs[1].learn(int(np.argmax(order == arm)), *block)
    assert beliefs[0].means()[order] == pytest.approx(beliefs[1].means(), abs=1e-9)
    assert beliefs[0].precisions()[order] == pytest.approx(beliefs[1].precisions())
    for arm, *block in blocks:
        beliefs[0].learn(arm, *(-each for each in block))
    assert beliefs[0].means() == pytest.approx(np.zeros(7), abs=1e-9)


@looped("seed", range(40))
def test_a_mixed_belief_is_finite_whatever_is_released(seed):
    rng = np.random.default_rng(seed)
    belief = MixedBelief(grid(9))
    for _ in range(6):
        people, noise = int(10 ** rng.uniform(0, 7)), 10 ** rng.uniform(-11, 12)
        belief.learn(int(rng.integers(9)), people, rng.normal() * 10 ** rng.uniform(0, 15), noise)
        assert np.isfinite(belief.means()).all()
        assert (belief.precisions() > 0).all()
        assert np.isfinite(belief.draw(0.8, 1.0, rng)).all()


@deep
@pytest.mark.statistical(2e-3)  # three standard errors each
@looped(("kind", "most"), [("bump", 0.65), ("linear", 0.35)])
def test_a_mixed_belief_learns_bumps_and_lines(kind, most):
    """36 points, 500 people, ε = 1, 24 unseen worlds, in which it has .43 and .26.

    A linear belief has .79 on bumps, and arms apart have .42 on lines.
    """
    shares, places = [], np.linspace(0, 1, 6)
    space = of_table({"a": np.repeat(places, 6).tolist(), "b": np.tile(places, 6).tolist()})
    for seed in range(24):
        rng = np.random.default_rng([90_000, seed])
        away = space.points - rng.random(2)
        means = 0.15 + 0.5 * np.exp(-((away / 0.3) ** 2).sum(axis=1) / 2)
        if kind == "linear":
            turn = rng.uniform(0, 2 * np.pi)
            means = 0.5 + 0.5 * (space.points - 0.5) @ [np.cos(turn), np.sin(turn)]
        subject = ArmPhases(rounds=500, space=space, belief="mixed")
        arms = run(subject, (rng.random((500, 36)) < means).astype(float), seed).public["arms"]
        shares.append((means.max() - means[arms]).mean() / (means.max() - means.mean()))
    assert np.mean(shares) < most


@looped("belief", ["linear", "mixed"])
def test_a_belief_about_points_needs_points_and_costs_nothing(belief):
    with pytest.raises(InputError, match="give a space"):
        ArmPhases(belief=belief)
    for noise in ({}, SHUFFLED):
        subject = ArmPhases(rounds=200, space=grid(50), belief=belief, **noise)
        assert subject.first > ArmPhases(rounds=200, space=grid(50), **noise).first
        assert point(subject.proof(DELTA)) <= (Fraction(1), DELTA)


@looped(
    ("given", "right"),
    [
        ({"belief": None}, "known: apart, linear, mixed"),
        ({"belief": "mixed", "space": ["a", "b"]}, "of_table"),
        ({"space": "camelback"}, "of_table"),
    ],
)
def test_a_wrong_belief_or_space_is_one_sentence(given, right):
    with pytest.raises(InputError, match=right):
        ArmPhases(**given)


def test_a_mixed_belief_of_a_kernel_matrix_does_not_depend_on_its_scale():
    apart = np.random.default_rng(1).random((8, 3))
    models = [_models(of_matrix(apart @ apart.T * scale))[0] for scale in (0.3, 1e-4)]
    assert models[0] == pytest.approx(models[1], abs=1e-6)
    assert len(models[0]) == 3  # linear, as the matrix says, and unrelated


def test_a_mixed_belief_takes_few_arms():
    with pytest.raises(InputError, match="at most 256, or a linear"):
        ArmPhases(rounds=2000, space=grid(257), belief="mixed")
    assert ArmPhases(rounds=2000, space=grid(256), belief="mixed").arms == 256


@looped("seed", range(7000, 7020))
@looped("space", [None, grid(8)])
def test_elimination_plays_what_is_known_least_of_what_may_be_the_best(seed, space):
    """After observations at random; an arm is dropped if, and only if, half a deviation of each leaves a gap."""
    belief = "apart" if space is None else "linear"
    subject = ArmPhases(rounds=100, arms=8, index="elimination", space=space, belief=belief)
    course = subject.course(rehearse(subject.proof(Fraction(0)), Rehearsal(1)), 1)
    rng = np.random.default_rng(seed)
    for _ in range(12):
        people = int(rng.integers(1, 200))
        course._belief.learn(int(rng.integers(8)), people, people * rng.normal(0, 0.3), rng.exponential(100))
    mean, deviation = course._belief.means(), 1 / np.sqrt(course._belief.precisions())
    gaps = (mean - mean[:, None]) - (deviation + deviation[:, None]) / 2  # [arm, one that is better]
    left = np.flatnonzero((gaps <= 0).all(axis=1))
    assert course._best(None) == left[np.argmax(deviation[left])]
    if len(dropped := np.setdiff1d(np.arange(8), left)):  # where nothing else is on offer, the best of them
        assert course._best(dropped.astype(float)) == dropped[np.argmax(mean[dropped])]


@deep
@pytest.mark.parametrize(("noise", "most"), [({}, 0.1), (SHUFFLED, 0.2), ({"index": "elimination"}, 0.1)])
def test_a_linear_belief_has_little_regret_among_many_arms(noise, most):
    """100 arms on the sphere in four dimensions, 4,096 people, ε = 1, 24 unseen worlds; apart they have .32."""
    shares = []
    for seed in range(24):
        rng = np.random.default_rng([7000, seed])
        points, weights = rng.normal(size=(100, 4)), rng.normal(size=4)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        means = 0.5 + 0.4 * points @ weights / np.linalg.norm(weights)
        data = (rng.random((4096, 100)) < means).astype(float)
        subject = ArmPhases(rounds=4096, space=of_matrix(points @ points.T), belief="linear", **noise)
        lost = means.max() - means[run(subject, data, seed).public["arms"]]
        shares.append(lost.mean() / (means.max() - means.mean()))
    assert np.mean(shares) + 2 * np.std(shares) / np.sqrt(len(shares)) <= most


@deep
def test_shuffled_bits_are_worth_more_than_local_ones():
    """Ten arms, 65,536 people, ε = .3, 40 unseen worlds: two standard errors below what local bits have, .126."""
    shares, subject = (
        [],
        ArmPhases(rounds=65_536, epsilon=Fraction(3, 10), law="shuffled", delta=Fraction(1, 10**6)),
    )
    for seed in range(40):
        means, data = world(seed, 10, 65_536)
        lost = means.max() - means[run(subject, data, seed).public["arms"]]
        shares.append(lost.mean() / (means.max() - means.mean()))
    assert np.mean(shares) + 2 * np.std(shares) / np.sqrt(len(shares)) <= 0.1


@deep
def test_one_private_bit_a_person_serves_arms_too():
    """`local-posterior` on independent points: ten arms, local ε = 1, 48 unseen worlds."""
    shares, half = [], Fraction(1, 2)
    alone = {"points": 10, "lengthscale": Fraction(1, 100), "bound": half, "noise_bound": half}
    subject = LocalPosterior(rounds=4096, epsilon=Fraction(1), explore=Fraction(2, 5), **alone)
    for seed in range(48):
        means, data = world(seed, 10, 4096)
        view = subject.play(data - 0.5, rehearse(subject.proof(DELTA), Rehearsal(seed)), seed)
        lost = means.max() - means[view.public["points"]]
        shares.append(lost.mean() / (means.max() - means.mean()))
    assert np.mean(shares) + 2 * np.std(shares) / np.sqrt(len(shares)) <= 0.25


@looped(
    "wrong",
    [{"arms": 2.5}, {"rounds": "1000"}, {"block": 0}, {"block": True}, {"epsilon": 1}, {"epsilon": float("nan")},
     {"epsilon": Fraction(1, 10**400)}, {"epsilon": Fraction(10**7)}, {"delta": None}, {"arms": 1},
     {"law": "gaussian", "delta": DELTA, "sigma": float("inf")}, {"arms": 20, "rounds": 39},
     {"rounds": 10**7 + 1}, {"law": "cauchy"}, {"index": "ucb"}, {"sigma": Fraction(1)},
     {"level": 0.95}, {"level": Fraction(0)}, {"level": Fraction(2)}, {"memory": 0}, {"memory": 2.5},
     {"memory": 100, "index": "top-two"},
     {**GAUSSIAN, "sigma": Fraction(0)}, {"law": "gaussian", "delta": Fraction(0)},
     {"epsilon": Fraction(0), "delta": Fraction(0)}],
)  # fmt: skip
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        ArmPhases(**wrong)
