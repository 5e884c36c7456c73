"""Evidence on a small member of a family stands for all of it only where the proof is the same but for sizes."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from audits.certificate import make
from audits.certificate.document import refused_by_checker, unsealed
from audits.claim import read_claim
from audits.hypothesis_tests import smoke_test
from audits.hypothesis_tests.smoke_test import family_of, member_of
from audits.subjects.catalogue import subject_of
from bandits.arm_phases import ArmPhases
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning.contextual import ContextualCourse
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from dpaccount.noise.proved import Proved
from dpaccount.proof import write
from dpaccount.schemas.certificate import Evidence
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 10**6)
SMALL = {"candidates": 2, "dimension": 1, "nodes_per_axis": 2, "size": 2, "sigma": Fraction(2)}
CLAIM = SimpleNamespace(audit=SimpleNamespace(seed=1), guarantee=SimpleNamespace(delta=DELTA))


@looped("rounds", [50, 300, 10**6])
def test_a_family_has_a_small_member_and_a_larger_one_of_the_same_proof(rounds):
    subject = PhasedGpUcb(rounds=rounds, **SMALL)
    few, some = member_of(subject, DELTA)
    assert (few.rounds, some.rounds) == (min(rounds, 64), min(rounds, 2000))
    assert replace(few, rounds=rounds, delays=False) == subject  # all else is the claim's own
    assert few.delays
    steps = [family_of(write(each.proof(DELTA))) for each in (few, some, subject)]
    assert steps[0] == steps[1] == steps[2]


@looped("law", ["laplace", "gaussian"])
@looped(("block", "arms", "few"), [(1, 3, 64), (40, 3, 240), (1, 80, 160)])
def test_arms_have_members_too(law, block, arms, few):
    subject = ArmPhases(rounds=10**6, arms=arms, block=block, law=law, delta=DELTA)
    small, some = member_of(subject, DELTA)
    assert (small.rounds, some.rounds) == (few, 2000)
    assert replace(small, rounds=10**6, delays=False) == subject


def test_shuffled_arms_have_members_whose_blocks_are_as_large():
    subject = ArmPhases(rounds=10**6, arms=3, law="shuffled", delta=DELTA)
    small, some = member_of(subject, DELTA)
    assert small.bits == some.bits == subject.bits
    assert small.rounds == 6 * subject.bits.size
    assert replace(small, rounds=10**6, block=1) == subject


@deep
@looped("rounds", [300, 600, 10**6])
@looped("stream", ["separate", "correlated"])
def test_a_posterior_of_batches_has_several_of_them_in_a_small_member(rounds, stream):
    subject = PhasedPosterior(rounds=rounds, stream=stream)
    small, some = member_of(subject, DELTA)
    assert (small.rounds, some.rounds) == (64, min(rounds, 2000))
    assert replace(small, rounds=rounds) == subject
    assert len(small.covers()) >= 5


def test_several_batches_are_in_the_smallest_member():
    few, _ = member_of(MomentGpUcb(rounds=9000, refresh=50, **SMALL), DELTA)
    assert few.rounds == 300
    assert len(few.batches) == 6


class _NotItself(PhasedGpUcb):
    """Its small member is another bandit: contributions of half the length."""

    def member(self, rounds):
        found = super().member(rounds)
        return found if rounds > 96 else _Shorter(rounds=96, delays=True, **SMALL)


class _Shorter(PhasedGpUcb):
    def _sums(self, sigma, delta):
        return MomentGpUcb(rounds=self.rounds, **SMALL)._sums(sigma, delta)


def test_of_another_proof_or_of_code_that_nobody_reviewed_there_is_no_member(monkeypatch):
    assert member_of(JdpGpUcb(rounds=300), DELTA) is None  # which names none
    fields = {"rounds": 300, **SMALL}
    assert member_of(_NotItself(**fields), DELTA) is None  # not catalogued
    monkeypatch.setattr(smoke_test, "is_catalogued", lambda _: True)
    assert member_of(PhasedGpUcb(**fields), DELTA) is not None
    assert member_of(_NotItself(**fields), DELTA) is None
    tree = MomentGpUcb(**fields, stream="tree")
    assert member_of(tree, DELTA)[0].delays is False  # no late answers there


@looped("name", ["radius", "relation", "because", "query", "key", "bits", "grid"])
def test_only_sizes_may_differ_within_a_family(name):
    steps = write(PhasedGpUcb(rounds=50, **SMALL).proof(DELTA))
    other = write(PhasedGpUcb(rounds=50, **SMALL).proof(DELTA))
    changed = next(step for step in other if name in step["with"])
    changed["with"][name] = "another"
    assert family_of(steps) != family_of(other)
    assert family_of(steps) != family_of(steps[:-1])


CLAIM_OF = """
schema = "dpaccount/claim/1"
name = "many"
guarantee = {{ model = "{}", unit = "one", relation = "replace-one", epsilon = 1, delta = 1e-6 }}
audit = {{ trials = 60 }}
subject = {{ use = "{}", parameters = {{ {} }} }}
"""
FAMILY = "rounds = 9000, candidates = 2, dimension = 1, nodes_per_axis = 2, size = 2, sigma = 30"


@deep
@pytest.mark.parametrize(
    ("claim", "units", "pairs"),
    [
        (("central", "gaussian-sum", "rows = 1000000, columns = 6, sigma = 20"), "not on 1000000", 0),
        (("joint", "phased-gp-ucb", FAMILY), "64 units, not on 9000", 1),
    ],
)
def test_no_certificate_may_leave_out_what_its_tests_ran_on(tmp_path, claim, units, pairs):
    (tmp_path / "claim.toml").write_text(CLAIM_OF.format(*claim))
    read = read_claim(tmp_path / "claim.toml")
    whole = unsealed(make.certify(read, subject_of(read), make.AuditBudget(quick=True))[0])
    notes, judged = whole["hazards"], []
    assert sum(units in note for note in notes) == 1
    assert sum("4 more pairs were tested on 2000" in note for note in notes) == pairs
    for at in range(len(notes)):
        body = {**whole, "hazards": notes[:at] + notes[at + 1 :]}
        judged.append(refused_by_checker(body) is None)
    left = [note for note, valid in zip(notes, judged, strict=True) if valid]
    counts = (
        "The tests tried only some of the edge cases",
        "4 more pairs were tested",
        "The attack's runs could have shown at most",
    )  # nothing else in it has them; the checker does not derive what runs could have shown
    assert all(note.startswith(counts) for note in left)
    assert refused_by_checker(whole) is None


def test_a_claim_with_an_example_table_is_tested_at_its_own_size():
    subject = PhasedGpUcb(rounds=300, **SMALL)
    named = SimpleNamespace(examples="table.csv", guarantee=CLAIM.guarantee)
    unnamed = SimpleNamespace(examples=None, guarantee=CLAIM.guarantee)
    assert make._instances(named, subject) == (subject, None)
    few, some = make._instances(unnamed, subject)
    assert (few.rounds, some.rounds) == (64, 300)
    own, none = make._instances(unnamed, replace(subject, rounds=50))
    assert (own.delays, none) == (True, None)


class _Later(ContextualCourse):
    def close(self, rewards, answered):
        if self._closed == 14:  # the slots 113 to 120, which small members do not have
            self._learner.add_late(next(iter(self._played.values())), 1.0)
            self._learner.add_late(next(iter(self._played.values())), 1.0)
            self._learner.add_late(next(iter(self._played.values())), 1.0)
        super().close(rewards, answered)


class _Grows(PhasedGpUcb):
    """Counts the first person of the fifteenth phase four times."""

    def course(self, noise, coins):
        return _Later(self, self.learner(noise), coins)


@pytest.mark.parametrize("made", [PhasedGpUcb, pytest.param(_Grows, marks=deep)])
def test_what_only_a_larger_member_shows_refutes_the_claim(made):
    """Evidence is about the claim's own hypotheses, by their digests, and counts the larger member's pairs."""
    subject = made(rounds=10**5, **SMALL)
    proved, few = Proved(subject.proof(DELTA)), Proved(subject.member(96).proof(DELTA))
    told = {"value": "?", "relation": "replace-one", "status": "tested", "examples": 5, "worst": "0"}
    evidence = [
        Evidence(each.rule, each.query, each.digest, **told, test=each.because, counterexample=None, source="sha256:0")
        for each in few.hypotheses
    ]  # fmt: skip
    found = make._with_larger_member(CLAIM, replace(subject.member(96), rounds=130), proved, evidence)
    assert [each.step for each in found] == [each.digest for each in proved.hypotheses]
    assert all(each.examples > 5 for each in found)
    statuses = {each.status for each in found}
    assert statuses == ({"tested"} if made is PhasedGpUcb else {"tested", "refuted"})
