"""What every catalogued mechanism and bandit must do, without being registered here."""

import ast
import math
from dataclasses import replace
from fractions import Fraction

import pytest

from audits.datasets.bases import dataset
from audits.hypothesis_tests.replay import record, replay
from audits.hypothesis_tests.search import gather
from audits.subjects.catalogue import entries, example_values
from dpaccount.accounting.measures import MEASURES
from dpaccount.checker.curves import check_measure
from dpaccount.checker.derivation import check_derivation
from dpaccount.checker.facts import apply
from dpaccount.errors import ReceiptError
from dpaccount.noise.leaves import leaves
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import Private, walk, write
from dpaccount.proof.search import unconverted
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 10**6)
FEW_FEATURES = {"rounds": 24, "candidates": 3, "size": 6, "nodes_per_axis": 3}
SMALL = {
    "phased-gp-ucb": FEW_FEATURES,
    "moment-gp-ucb": FEW_FEATURES,
    "phased-cells": {"rounds": 24, "candidates": 3},
    "phased-regression": {"rounds": 24, "candidates": 3, "first": 2, "per_learner": 2},
    "logged-policy": {"slots": 60, "batch": 8, "batches": 6},
    "jdp-gp-ucb": {"rounds": 9, "candidates": 3},
    "usca": {"rounds": 24, "actions": 4, "contexts": 4},
    "context-histogram": {"rounds": 24, "actions": 3, "contexts": 4},
    "function-release": {"rounds": 24, "served": 2, "actions": 4, "contexts": 4},
}


def small(entry):
    """Return a subject of few rounds, or rows as its file says."""
    sizes = {"rounds": 24 if entry.layer == "bandits" else 12, "rows": 12}
    few = {name: value for name, value in sizes.items() if name in entry.parameters()}
    return entry.made_by(**{**example_values(entry.made_by), **SMALL.get(entry.name, few)})


SUBJECTS = [pytest.param(small(entry), entry, id=entry.name) for entry in entries()]


@deep(quick_every=4)
@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_its_proof_is_inferred_again_by_the_checker(subject, entry):
    theorem = subject.proof(DELTA)
    fact = theorem.conclusion
    assert isinstance(fact, Private)
    assert fact.subject == entry.name
    assert fact.relation == subject.relation
    assert check_derivation(write(theorem))[-1] == write(theorem)[-1]["gives"]


@deep(quick_every=1)
@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_a_ledger_charges_what_was_converted(subject, entry):
    """The statement before its conversion is about the same release, and at δ proves the same ε again."""
    theorem = subject.proof(DELTA)
    before = unconverted(theorem)
    if before is None:
        assert entry.name in ("stable-histogram", "restarting-tree")  # proved at (ε, δ), or converted inside
        return
    fact = theorem.conclusion
    assert replace(before, curve=fact.curve) == fact
    point = {"epsilon": str(fact.curve.epsilon), "delta": str(fact.curve.delta)}
    assert apply("to_approximate", [before], point | orders(theorem)) == fact
    assert MEASURES["approximate-zcdp"].of_curve(before.curve) is not None
    for measure in (
        "gdp",
        "zcdp",
        "either",
        "approximate-zcdp",
    ):  # what an honest ledger notes is not refused
        amounts = MEASURES[measure].of_curve(before.curve)
        upper = math.inf if amounts is None else MEASURES[measure].enclosure(amounts, 2 * DELTA).upper
        if upper < math.inf:
            check_measure(measure, Fraction(float(upper)), 2 * DELTA, [before.curve])


def orders(theorem):
    """Return the Rényi order of a conversion from zCDP, as a witness has it."""
    [step] = [part for part in walk(theorem) if part.rule == "to_approximate"]
    return {"order": step.witness["order"]} if "order" in step.witness else {}


@deep
@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_its_hypotheses_survive_a_search(subject, entry):
    theorem = subject.proof(DELTA)
    evidence, _ = gather(subject, Proved(theorem), examples=100, seed=3, files=[])
    assert [e.counterexample for e in evidence] == [None] * len(evidence)
    assert {e.status for e in evidence} == {"tested"}
    assert any(Fraction(e.worst) > 0 for e in evidence)


@deep(quick_every=2)
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


@deep(quick_every=1)
@pytest.mark.parametrize(("subject", "entry"), SUBJECTS)
def test_the_same_releases_show_the_same_view(subject, entry):
    data = dataset(subject.domain(), "corners", 2)
    run = record(subject, data, rehearse(subject.proof(DELTA), Rehearsal(1)), 0)
    again = replay(subject, data, run, 0)
    assert all((again.exact[part] == run.exact[part]).all() for part in run.exact)


@looped(("subject", "entry"), SUBJECTS)
def test_its_parameters_are_documented_with_defaults(subject, entry):
    assert entry.made_by.__doc__
    assert entry.made_by.source
    assert entry.made_by.status in ("sound", "published", "broken")
    for name, value in entry.parameters().items():
        assert value["type"] in ("number", "integer", "text", "flag", "table", "of a table"), name


@deep
@pytest.mark.parametrize("layer", ["mechanisms", "bandits"])
def test_what_a_catalogue_shares_knows_nothing_of_it(root, layer):
    """The folders below mechanisms and bandits import none of the files next to them.

    But `selection`, which chooses among them, and which none of them imports.
    """
    files = {file.stem for file in (root / layer).glob("*.py")} - {"__init__"}
    for file in sorted((root / layer).glob("*/*.py")):
        if file.parent.name == "selection":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [f"{node.module}.{each.name}" for each in node.names] if names else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            assert not {f"{layer}.{name}" for name in files} & set(names), file
    for file in sorted((root / layer).glob("*.py")):
        assert f"{layer}.selection" not in file.read_text(), file
