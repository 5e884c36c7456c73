"""The certificate of one run: the checker infers its bound from counts, and rejects changes."""

import copy
import json
import shutil
from fractions import Fraction

import numpy as np
import pytest

from audits.consistency import one_run
from audits.one_run import MuClaim, PointClaim, audit_canaries
from audits.one_run.canaries import Canaries
from audits.one_run.certificate import _points_of_mu, certificate
from audits.one_run.guessing import Guesses, by_score, falls, refutes
from dpaccount.checker.documents import Rejected, Work, digest
from dpaccount.errors import InputError
from tests.depth import deep
from tests.looped import looped

CONFIDENCE = Fraction(19, 20)
SMALL = Fraction(1, 10**5)
CLAIMS = [MuClaim(Fraction(1)), PointClaim(Fraction(1)), PointClaim(Fraction(2), SMALL)]


def made(claim, shift=3.0, m=400, seed=1, confidence=CONFIDENCE):
    rng = np.random.default_rng(seed)
    included = rng.random(m) < 0.5
    scores = shift * included + rng.normal(size=m)
    found = audit_canaries(included, scores, claim, confidence)
    return found, certificate(found, Canaries(included, scores, "0" * 64), confidence, 1)


@deep
@looped("claim", CLAIMS)
def test_the_checker_confirms_nearly_the_bound_of_the_audit(claim):
    found, document = made(claim)
    verdict, said = one_run.judged(json.loads(json.dumps(document)))
    assert (verdict, found.verdict) == ("REFUTED", "REFUTED")
    assert document["lower"] in said
    assert found.lower - 0.015 <= float(document["lower"]) <= found.lower


def test_scores_that_show_nothing_leave_the_claim_unproven():
    for claim in CLAIMS:
        found, document = made(claim, shift=0.0)
        assert found.verdict != "REFUTED"
        assert one_run.judged(document)[0] == "UNPROVEN"


def test_what_the_checker_refutes_the_audit_refutes_and_nearly_the_other_way_round():
    rng = np.random.default_rng(5)
    agreed = 0
    for _ in range(150):
        m = int(rng.integers(10, 300))
        r = 2 * int(rng.integers(1, m // 2 + 1))
        guesses = Guesses(m, r, int(rng.binomial(r, rng.uniform(0.6, 1))))
        level, delta = round(float(rng.uniform(0, 2)), 3), float(rng.choice([0, 1e-5, 1e-2]))
        risk = float(rng.choice([0.05, 1e-3]))
        claim = PointClaim(Fraction(0), Fraction(repr(delta)))
        Work.begin(10**9)
        points = [(Fraction(repr(level)), claim.delta)]
        checked = one_run.refuted(m, r, guesses.right, points, Fraction(repr(risk)))
        assert falls(guesses, claim, level, risk) or not checked
        near = refutes(guesses, lambda power: claim.needed(level + 0.001, power), risk)
        assert checked or not near
        agreed += checked
    assert 30 < agreed < 120


@looped("mu", ["0.1", "1", "4.5"])
def test_points_follow_from_mu_and_not_from_less(mu):
    points = _points_of_mu(Fraction(mu))
    document = {"claim": {"mu": "1"}, "points": [[str(e), str(d)] for e, d in points]}
    Work.begin(10**9)
    assert one_run.points_of(document, Fraction(mu)) == points
    with pytest.raises(Rejected, match="does not imply"):
        one_run.points_of(document, Fraction(mu) * Fraction(101, 100))


def changed(document, *path, value):
    other = copy.deepcopy(document)
    place = other
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    other["digest"] = digest({name: each for name, each in other.items() if name != "digest"})
    return other


def accepted(document):
    try:
        one_run.judged(document)
    except Rejected:
        return False
    return True


@deep
@looped("claim", CLAIMS)
def test_every_change_is_rejected_although_the_digest_is_made_again(claim):
    _, document = made(claim)
    name = "mu" if "mu" in document["claim"] else "epsilon"
    coins = document["canaries"]["coins"]
    each = document["best"]["each"]
    flipped = coins[:-1] + str(1 - int(coins[-1]))
    higher = str(Fraction(document["lower"]) + Fraction(1, 20))
    points = [] if name == "mu" else [[higher, document["claim"]["delta"]]]
    forged = [
        changed(document, "lower", value=higher),
        changed(changed(document, "lower", value=higher), "points", value=points),
        changed(document, "verdict", value="UNPROVEN"),
        changed(document, "best", "right", value=document["best"]["right"] + 1),
        changed(document, "best", "each", value=each + 1),
        changed(document, "canaries", "coins", value=flipped),
        changed(document, "canaries", "count", value=document["canaries"]["count"] + 1),
        changed(document, "canaries", "included", value=document["canaries"]["included"] - 1),
        changed(document, "rules", 0, "risk", value="0.049999"),
        changed(document, "rules", value=[]),
        changed(document, "confidence", value="0.96"),
        changed(document, "hazards", value=document["hazards"][1:]),
        changed(document, "more", value=1),
        changed(document, "lower", value="inf"),
        changed(document, "points", value=None),
        changed(document, "canaries", "sha256", value="0" * 63),
        changed(document, "canaries", "seed", value=-1),
        changed(document, "canaries", "seed", value="1"),
        changed(document, "created", value="yesterday"),
        changed(document, "environment", value=None),
        changed(document, "rules", 0, "more", value=1),
        {**document, "created": "2020-01-01T00:00:00Z"},
    ]
    assert [number for number, other in enumerate(forged) if accepted(other)] == []


@deep
def test_the_seed_that_broke_ties_gives_the_coins_in_their_order_again():
    rng = np.random.default_rng(4)
    included = rng.random(400) < 0.5
    scores = np.round(included + rng.normal(size=400))
    for seed in (1, 8):
        found = audit_canaries(included, scores, CLAIMS[0], CONFIDENCE, seed)
        held = certificate(found, Canaries(included, scores, "0" * 64), CONFIDENCE, seed)["canaries"]
        again = by_score(scores, included, held["seed"])
        assert held["coins"] == "".join("1" if coin else "0" for coin in again)
    with pytest.raises(InputError, match="2\\^256"):
        certificate(found, Canaries(included, scores, "0" * 64), CONFIDENCE, 2**256)


def test_counts_without_coins_are_held_for_larger_runs(monkeypatch):
    monkeypatch.setattr(one_run, "MAX_CANARIES", 100)
    _, document = made(CLAIMS[2])
    assert "coins" not in document["canaries"]
    assert one_run.judged(document)[0] == "REFUTED"
    monkeypatch.undo()
    assert not accepted(document)  # so few coins are in the document


@looped(("included", "right"), [(1, 2000), (200_001, 2000), (89_000, 2000), (100_000, 2001)])
def test_counts_that_fair_coins_do_not_give_are_rejected(included, right):
    _, document = made(CLAIMS[2])
    document["canaries"] = {"count": 200_000, "included": 100_000, "sha256": "0" * 64}
    risk = document["rules"][0]["risk"]
    document = changed(document, "rules", value=[{"each": 1000, "risk": risk}])
    good = changed(document, "best", value={"each": 1000, "right": 2000})
    assert accepted(good)
    forged = changed(good, "best", "right", value=right)
    assert not accepted(changed(forged, "canaries", "included", value=included))


def test_guesses_that_no_coins_can_give_are_rejected(monkeypatch):
    monkeypatch.setattr(one_run, "MAX_CANARIES", 10)
    _, document = made(CLAIMS[0], shift=9.0, m=20)
    document = changed(document, "lower", value="0")
    document = changed(changed(document, "points", value=[]), "verdict", value="UNPROVEN")
    document = changed(document, "rules", value=[{"each": 10, "risk": "0.01"}])
    document = changed(document, "canaries", "included", value=8)
    for right in range(21):
        other = changed(document, "best", value={"each": 10, "right": right})
        # of the 10 lowest, at least 2 are out; of the 10 highest, at most 8 are in
        assert accepted(other) == (2 <= right <= 18)


@looped("confidence", [Fraction(1, 3), Fraction(7, 10), Fraction(19, 20)])
def test_the_bound_is_above_0_at_any_confidence_and_says_which(confidence):
    found, document = made(CLAIMS[1], confidence=confidence)
    verdict, said = one_run.judged(document)
    assert (found.verdict, verdict) == ("REFUTED", "REFUTED")
    assert f"at confidence {document['confidence']}" in said


@deep
@pytest.mark.parametrize("claim", CLAIMS)
def test_many_canaries_are_within_the_work_of_the_checker(claim):
    found, document = made(claim, m=100_000)
    assert found.lower - 0.03 <= float(document["lower"]) <= found.lower
    assert one_run.judged(document)[0] == "REFUTED"


@deep
@pytest.mark.parametrize(("words", "code"), [(["--mu", "1"], 1), (["--epsilon", "9"], 3)])
def test_the_command_line_writes_and_checks_it(dpaccount, tmp_path, monkeypatch, words, code):
    rng = np.random.default_rng(3)
    included = rng.random(600) < 0.5
    scores = 3 * included + rng.normal(size=600)
    rows = "".join(f"{int(coin)},{score}\n" for coin, score in zip(included, scores, strict=True))
    (tmp_path / "canaries.csv").write_text("included,score\n" + rows)
    dpaccount("audit", "--one-run", "canaries.csv", *words, "--certificate", "one.json")
    document = json.loads((tmp_path / "one.json").read_text())
    assert document["hazards"][0].startswith("Nobody here saw the training code")
    found, out, _ = dpaccount("check", "one.json", "--rules")
    assert found == code
    assert "one_run.py" in out
    monkeypatch.setenv("DPACCOUNT_VERIFIED_CHECKER", shutil.which("false"))  # no theorem is about one run
    found, out, _ = dpaccount("check", "one.json", "--verified")
    assert (found, "confirmed by the Python checker, no theorem" in out) == (code, True)


def test_a_plan_has_no_certificate_of_one_run(dpaccount, tmp_path):
    (tmp_path / "canaries.csv").write_text("included,score\n" + "0,1\n1,2\n" * 20)
    event = {"event": "gaussian", "sigma": 1}
    plan = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": [event]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    words = ["--one-run", "canaries.csv", "--plan", "plan.json", "--certificate", "one.json"]
    code, _, err = dpaccount("audit", *words)
    assert (code, "no bound on a plan's whole curve" in err) == (2, True)
    assert not (tmp_path / "one.json").exists()
