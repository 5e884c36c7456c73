"""The refuted transform's certificate: at any ε, re-checked; each way to forge such a refutation is rejected."""

import copy
import json
from fractions import Fraction

import pytest

from audits import consistency
from audits.certificate.document import seal, unsealed
from audits.certificate.summary import summary
from audits.claim import read_claim
from audits.cli import run
from dpaccount.checker import Rejected
from dpaccount.proof import REPLACE_ONE, assume_event, refute, write
from dpaccount.relation import bounded_row
from papers.kharkovskii import published_certificate as published
from papers.kharkovskii.po_curator import PoCurator
from tests.dpaccount.checker.made import seen
from tests.papers.test_curate import BROKEN, claim, table

ONE, ZERO = Fraction(1), Fraction(0)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = claim(tmp_path_factory.mktemp("published"), 60, epsilon=18.17, delta=1e-5, **BROKEN)
    before, published.RUNS_A_SIDE = published.RUNS_A_SIDE, 60
    try:
        return unsealed(published.refuted(read_claim(path), PoCurator(60, 2, 1)))
    finally:
        published.RUNS_A_SIDE = before


def judged(document):
    return consistency.judged(json.dumps(seal(document)).encode())[0]


def event(
    likely=ONE, rarely=ZERO, name="po-curator", relation=None, point=(Fraction("18.17"), Fraction(1, 10**5))
):
    told = assume_event(name, likely, rarely, relation or bounded_row(ONE), "an event", "central")
    return write(refute(told, *point))


def test_a_claim_beyond_what_counts_can_show_is_refuted_by_its_derivation(document):
    assert document["audit"]["epsilon_lower"] < 18
    assert (document["verdict"], document["refutes"]) == ("REFUTED", "claim")
    assert judged(document) == "REFUTED"
    assert any("protects nobody" in text for text in document["hazards"])
    assert "refuted   at this ε and δ, in 2 steps" in summary(document, "here")
    assert judged({**document, "proved": {**document["proved"], "refutation": event()}}) == "REFUTED"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (event(name="k-norm"), "not about the subject's neighbours"),
        (event(relation=REPLACE_ONE), "not about the subject's neighbours"),
        (event(relation=bounded_row(Fraction(2))), "not about the subject's neighbours"),
        (event(point=(ONE, Fraction(1, 10**5))), "not of the claim's epsilon and delta"),
        (event(point=(Fraction("18.17"), ZERO)), "not of the claim's epsilon and delta"),
        (event(likely=Fraction(1, 2)), "certain here and impossible there"),
        (event(rarely=Fraction(1, 10**12)), "certain here and impossible there"),
        (write(assume_event("po-curator", ONE, ZERO, bounded_row(ONE), "t", "central")), "refutes nothing"),
    ],
)
def test_a_refutation_of_something_else_is_rejected(document, steps, said):
    forged = {**document, "proved": {**document["proved"], "refutation": steps}}
    with pytest.raises(Rejected, match=said):
        judged(forged)


@pytest.mark.parametrize(("key", "value"), [("hits", 59), ("alarms", 1)])
def test_a_run_that_contradicts_the_event_rejects_it(document, key, value):
    forged = copy.deepcopy(document)
    point = forged["audit"]["points"][0]
    point |= {key: value, "epsilon_lower": 0.0, "power": 0.0, "false_alarm": 1.0}
    point["event"] = seen(point)
    forged["audit"]["epsilon_lower"] = 0.0
    with pytest.raises(Rejected, match="contradicts the event"):
        judged(forged)


def test_a_run_or_two_show_no_certain_event(document):
    """An event of probability a half would be seen by them as often as not."""
    forged = copy.deepcopy(document)
    few = {"hits": 1, "runs": 1, "alarms": 0, "other_runs": 1}
    few["event"] = seen(few)
    forged["audit"]["points"][0] |= {**few, "epsilon_lower": 0.0, "power": 0.0, "false_alarm": 1.0}
    forged["audit"]["epsilon_lower"] = 0.0
    with pytest.raises(Rejected, match="fewer than 30 runs a side"):
        judged(forged)


def test_no_verdict_but_refuted_goes_with_a_refutation(document):
    for verdict, refutes in (("UNPROVEN", None), ("CERTIFIED", None), ("REFUTED", "proof")):
        with pytest.raises(Rejected):
            judged({**document, "verdict": verdict, "refutes": refutes})
    with pytest.raises(Rejected, match="no run showed"):
        judged({**document, "audit": None})


@pytest.mark.parametrize(("epsilon", "delta"), [(5, 0), (0, 1e-5), (5, 1), (5, "1e-400")])
def test_the_published_transform_is_for_a_promise_that_can_be_broken(
    tmp_path, capsys, monkeypatch, epsilon, delta
):
    monkeypatch.chdir(tmp_path)
    path, source = claim(tmp_path, epsilon=epsilon, delta=delta, **BROKEN), table(tmp_path)
    assert run(["curate", str(source), "out.csv", "--claim", str(path), "--published-unsound"]) == 2
    assert "Algorithm 1 takes epsilon above 0 and delta between 0 and 1" in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))
