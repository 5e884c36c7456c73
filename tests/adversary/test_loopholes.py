"""Ways to a false certificate that were found by attack, each closed: none may come out CERTIFIED."""

import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import pytest

from audits.certificate.document import refused_by_checker, seal, unsealed
from audits.certificate.make import AuditBudget, certify
from audits.certificate.summary import summary
from audits.claim import read_claim
from audits.hypothesis_tests.search import gather
from audits.reports.page import html
from dpaccount import checker
from dpaccount.checker import derivation
from dpaccount.checker.__main__ import main
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.proof import REPLACE_ONE, to_approximate, write
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.laplace_sum import LaplaceSum
from tests.depth import deep
from tests.dpaccount.checker.made import accepted, edited
from tests.loading import on_path

with on_path([str(Path(__file__).parents[1] / "planted")]):
    from loopholes import (
        DELTA,
        BothParts,
        Boxed,
        Cached,
        CentralAsLocal,
        Fitted,
        ForOneNumber,
        HigherLevels,
        Idle,
        Lucky,
        ManyPrefixes,
        NanForAll,
        NoPoint,
        NoView,
        Overwritten,
        RawWhenFew,
        RowByRow,
        SaidTwice,
        SignOfZero,
        TwoSums,
        WrongRelation,
    )

PLANTED = Path(__file__).parent.parent / "planted"


def verdict(subject, model="central", epsilon=100, relation=REPLACE_ONE, name="gaussian-sum", assume=None):
    """Certify as if the subject were catalogued under `name`."""
    claim = read_claim(PLANTED / "plain.toml")
    promise = replace(claim.guarantee, model=model, relation=relation, epsilon=Fraction(epsilon), delta=DELTA)
    terms = {"model": model, "relation": relation, "epsilon": epsilon}
    written = {
        **claim.written,
        "guarantee": {**claim.written["guarantee"], **terms},
        "subject": {"use": name},
        **({"assume": assume} if assume else {}),
    }
    claim = replace(claim, accepted=frozenset(assume or {}))
    claim = replace(claim, guarantee=promise, use=name, written=written)
    claim = replace(claim, audit=replace(claim.audit, trials=60))
    with patch("audits.subjects.catalogue.name_of", return_value=name):
        return unsealed(certify(claim, subject, AuditBudget())[0])


def refuted(subject, seed=1):
    found, _ = gather(subject, Proved(subject.proof(DELTA)), examples=60, seed=seed, files=[])
    return {entry.rule for entry in found if entry.status == "refuted"}


@deep
def test_a_central_sum_is_no_message():
    assert "assume_covers" in refuted(CentralAsLocal(rows=4))
    assert verdict(CentralAsLocal(rows=4), "local")["verdict"] == "REFUTED"


@deep
def test_a_tree_has_its_own_nodes_only():
    assert "assume_tree" in refuted(ManyPrefixes(rounds=8))
    assert "assume_tree" in refuted(HigherLevels(rounds=8))


@deep
def test_the_proof_and_the_subject_speak_of_one_relation():
    with pytest.raises(InputError, match="make them agree"):
        verdict(WrongRelation(rows=4))


@deep
def test_honest_subjects_are_certified_by_the_same_path():
    assert verdict(GaussianSum(rows=4))["verdict"] == "CERTIFIED"
    assert verdict(LaplaceSum(low=0, high=1, rows=4), name="laplace-sum")["verdict"] == "CERTIFIED"


@deep
def test_a_hypothesis_said_twice_is_tested_once():
    certificate = verdict(SaidTwice(rows=4))
    assert certificate["verdict"] == "CERTIFIED"
    assert len(certificate["sensitivity"]) == 3


@deep
def test_a_proof_without_a_point_is_unproven():
    certificate = verdict(NoPoint(rows=4))
    assert certificate["verdict"] == "UNPROVEN"
    assert "(ε, δ)" in certificate["proved"]["reason"]


@deep
def test_evidence_in_which_nothing_moves_is_none():
    certificate = verdict(Idle(rows=4))
    assert certificate["verdict"] == "UNPROVEN"
    assert {entry["status"] for entry in certificate["sensitivity"]} == {"untested", "tested"}


@deep
def test_answers_from_memory_are_refuted():
    certificate = verdict(Cached(rows=4))
    assert certificate["verdict"] == "REFUTED"
    assert "the runs before it" in certificate["sensitivity"][0]["counterexample"]["wrong"]


@deep
def test_an_assumption_that_a_claim_accepts_stands_on_its_first_page():
    assert verdict(Lucky(low=0, high=1, rows=5), name="laplace-sum")["verdict"] == "UNPROVEN"
    reasons = {"assume_rare laplace-sum": "measured elsewhere", "assume_view laplace-sum": "not needed"}
    certificate = verdict(Lucky(low=0, high=1, rows=5), name="laplace-sum", assume=reasons)
    assert certificate["verdict"] == "CERTIFIED"
    told = "Accepted without a test: assume_rare laplace-sum, because: measured elsewhere"
    assert certificate["hazards"][0] == told
    assert sum("Accepted" in line for line in certificate["hazards"]) == 1  # the view has its test
    page = html(seal(certificate))
    assert page.index("assume_rare of laplace-sum. Reason given: measured elsewhere") < page.index(
        "is promised"
    )
    assert "accepted  assume_rare of laplace-sum" in summary(seal(certificate), "path")
    assert refused_by_checker(certificate) is None
    silent = {**certificate, "hazards": certificate["hazards"][1:]}
    assert "not listed" in refused_by_checker(silent)
    unasked = {**certificate, "claim": {**certificate["claim"], "assume": {}}}
    assert "does not accept" in refused_by_checker(unasked)


@deep
def test_a_sign_of_zero_is_seen():
    assert refuted(SignOfZero(rows=4)) == {"assume_view"}


@deep
@pytest.mark.parametrize("subject", [NanForAll(rows=4), TwoSums(rows=4)], ids=lambda s: type(s).__name__)
def test_correct_subjects_are_not_accused(subject, depth):
    assert refuted(subject, depth.seed(1)) == set()


@deep
def test_what_the_checker_cannot_confirm_is_unproven():
    """A derivation with more steps than the checker reads: the kernel's word is not enough."""

    @dataclass(frozen=True)
    class Long(LaplaceSum):
        def proof(self, delta):
            theorem = super().proof(delta)
            for i in range(400):
                theorem = to_approximate(theorem, Fraction(1 + i), delta)
            return theorem

    certificate = verdict(Long(low=0, high=1, rows=4), name="laplace-sum")
    assert certificate["verdict"] == "UNPROVEN"
    assert "checker" in certificate["proved"]["reason"]


# ------------------------------------------------------------------ forged certificates, digests recomputed


@pytest.fixture(scope="module")
def honest():
    claim = read_claim(PLANTED / "plain.toml")
    promise = replace(claim.guarantee, model="central", epsilon=Fraction(1, 2), delta=Fraction(0))
    written = {
        **claim.written,
        "guarantee": {**claim.written["guarantee"], "model": "central", "epsilon": 0.5, "delta": 0},
        "subject": {"use": "laplace-sum", "parameters": {"scale": 2, "rows": 4}},
    }
    claim = replace(claim, guarantee=promise, use="laplace-sum", written=written)
    claim = replace(claim, audit=replace(claim.audit, trials=200))
    return seal(unsealed(certify(claim, LaplaceSum(low=0, high=1, rows=4), AuditBudget())[0]))


@deep
def test_the_honest_one_is_accepted(honest):
    assert accepted(honest)


@deep
def test_a_smaller_radius_than_was_tested_is_rejected(honest):
    """The evidence is about the hypothesis as it stands in the derivation, numbers included."""
    forged = edited(honest, (("proved", "derivation", 0, "with", "high"), "1/1000"))
    forged["proved"]["derivation"][0]["gives"][4] = "1/1000"
    for step in forged["proved"]["derivation"]:
        if step["gives"][0] == "Stable":
            step["gives"][3] = "1/1000"
        if step["rule"] == "laplace":
            step["gives"][2][1] = "1/2000"
        before = [forged["proved"]["derivation"][k]["digest"] for k in step["from"]]
        body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
        step["digest"] = checker.digest({**body, "from": before})
    assert not accepted(forged)


def test_rule_names_do_not_reach_the_terminal_raw(tmp_path, capsys):
    file = tmp_path / "c.json"
    file.write_text(
        '{"schema": "dpaccount/derivation/1", "steps": [{"rule": "x\\n\\u001b[1mvalid: yes", "from": []}]}'
    )
    assert main([str(file), "--derivation"]) == 1
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1
    assert "\x1b" not in out
    file.write_text('{"schema": "dpaccount/derivation/1", "steps": [{"rule": "\\ud800"}]}')
    assert main([str(file), "--derivation"]) == 2


@pytest.mark.parametrize(
    "step",
    [
        {"rule": "assume_points", "points": [[i] for i in range(4096)]},
        {"rule": "assume_points", "points": [[0] * 100, [1] * 100]},
    ],
)
def test_large_sets_of_points_are_refused_at_once(step):
    given = {"query": "q", "points": step["points"], "relation": "replace-one", "because": "t"}
    with pytest.raises(checker.Rejected, match="points"):
        derivation.infer("assume_points", [], given)


# ------------------------------------------------------------------ between a proof and the code it is about


@pytest.mark.parametrize("made_by", [NoView, RowByRow])
@deep
def test_a_proof_that_does_not_reach_what_is_shown_is_none(made_by):
    certificate = verdict(made_by(rows=4))
    assert certificate["verdict"] == "UNPROVEN"
    assert certificate["proved"]["derivation"] == []


@deep
@pytest.mark.parametrize(
    "subject",
    [
        *(BothParts(rows=4), Overwritten(rows=4), Fitted(rows=4)),
        *(RawWhenFew(rows=6), ForOneNumber(rows=4, columns=40)),
    ],
    ids=lambda s: type(s).__name__,
)
def test_code_that_shows_more_than_its_proof_pays_for_is_refuted(subject):
    assert verdict(subject, relation=subject.relation)["verdict"] == "REFUTED"


@deep
def test_what_cannot_be_compared_is_a_wrong_request():
    with pytest.raises(InputError, match="box holds dict"):
        verdict(Boxed(rows=4))


@deep
def test_the_checker_wants_the_subjects_view_too():
    honest = verdict(GaussianSum(rows=4))
    assert honest["verdict"] == "CERTIFIED"
    forged = copy.deepcopy(honest)
    forged["proved"]["derivation"] = write(NoView(rows=4).proof(DELTA))
    assert "what the subject shows is not among the steps" in refused_by_checker(forged)
