"""What every catalogued mechanism and bandit must do, without being registered here."""

from fractions import Fraction

import pytest

from audits.datasets.bases import dataset
from audits.evidence.replay import record, replay
from audits.evidence.search import gather
from audits.subjects.catalogue import entries, example_values
from dpaccount import checker
from dpaccount.errors import ReceiptError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import Private
from dpaccount.proof.derivation import leaves, write

DELTA = Fraction(1, 10**6)
SMALL = {
    "plan-finder": {"slots": 60, "batch": 8, "batches": 6},
    "jdp-gp-ucb": {"rounds": 9, "candidates": 3},
}


def small(entry):
    """Return a subject of few rounds, or rows as its file says."""
    sizes = {"rounds": 24 if entry.layer == "bandits" else 12, "rows": 12}
    few = {name: value for name, value in sizes.items() if name in entry.parameters()}
    return entry.made_by(**{**example_values(entry.made_by), **SMALL.get(entry.name, few)})


SUBJECTS = [pytest.param(small(entry), entry, id=entry.name) for entry in entries()]
#: a search plays a subject a hundred times; bandits of many rounds are searched with the slow tests
SEARCHED = [
    case
    if case.values[1].layer == "mechanisms" or case.id in SMALL
    else pytest.param(*case.values, id=case.id, marks=pytest.mark.slow)
    for case in SUBJECTS
]


@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_its_proof_is_inferred_again_by_the_checker(subject, entry):
    theorem = subject.proof(DELTA)
    fact = theorem.conclusion
    assert isinstance(fact, Private)
    assert fact.subject == entry.name
    assert fact.relation == subject.relation
    assert checker.check_derivation(write(theorem))[-1] == write(theorem)[-1]["gives"]


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "entry"), SEARCHED)
def test_its_hypotheses_survive_a_search(subject, entry):
    theorem = subject.proof(DELTA)
    found, _ = gather(subject, Proved(theorem), examples=100, seed=3, files=[])
    assert [e.counterexample for e in found] == [None] * len(found)
    assert {e.status for e in found} == {"tested"}
    assert any(Fraction(e.worst) > 0 for e in found)


@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_it_draws_what_it_pays_for_and_no_more(subject, entry):
    theorem = subject.proof(DELTA)
    data = dataset(subject.domain(), "uniform", 1)
    receipt = rehearse(theorem, Rehearsal(1))
    run = record(subject, data, receipt, 0)
    for leaf in leaves(theorem):
        assert 1 <= sum(key == leaf.key for key, _ in run.released) <= leaf.draws
    with pytest.raises(ReceiptError):
        subject.play(data, receipt, 0)


@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_the_same_releases_show_the_same_view(subject, entry):
    data = dataset(subject.domain(), "corners", 2)
    run = record(subject, data, rehearse(subject.proof(DELTA), Rehearsal(1)), 0)
    again = replay(subject, data, run, 0)
    assert all((again.exact[part] == run.exact[part]).all() for part in run.exact)


@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_its_parameters_are_documented_with_defaults(subject, entry):
    assert entry.made_by.__doc__
    assert entry.made_by.source
    assert entry.made_by.status in ("sound", "published", "broken")
    for name, value in entry.parameters().items():
        assert value["type"] in ("number", "integer", "text", "flag"), name
