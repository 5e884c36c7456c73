"""What the checker refuses by itself: a claim, units, persons, bounds, code or a charge unlike the proof's."""

import json

import pytest

from audits import consistency
from dpaccount import checker
from dpaccount.checker.__main__ import main
from dpaccount.checker.certificate import judged
from tests.audits.consistency.test_only_second import STATISTICS, study
from tests.dpaccount.checker.made import HONEST, ON_DATA, RELEASED, SMALLER, edited, refuted, sealed
from tests.looped import looped

GUARANTEES = [("claim", "guarantee"), ("guarantee",)]
SPENT = {"lower": 2.0, "upper": 2.0}
BUDGET = {
    **{"epsilon": 5, "delta": 0.2, "relation": "replace-one", "unit": "a row", "measure": "approximate"},
    **{"before": {"lower": 0.0, "upper": 0.0}, "after": SPENT, "rest": {"lower": 3.0, "upper": 3.0}},
}
COLUMN = {"columns": {"x": {"type": "number", "low": -3, "high": 1}}, "rows": 4}
READS = [(("claim", "data"), COLUMN), (("claim", "subject", "parameters"), {"column": "x"})]


def promising(**members):
    return [((*place, name), value) for place in GUARANTEES for name, value in members.items()]


def paid(**members):
    release = {**RELEASED, "budget": {**BUDGET, **members}}
    return [*ON_DATA, (("release",), release)]


def reading(**held):
    return [*READS, (("subject", "parameters"), {"column": "x", "rows": 4, **held})]


def test_the_release_that_is_forged_is_accepted_as_it_is():
    for edits in (paid(), ON_DATA):
        raw = json.dumps(sealed(edited(HONEST, *edits))).encode()
        assert consistency.judged(raw)[0] == judged(raw)[0] == "CERTIFIED"
    assert "CERTIFIED" in judged(json.dumps(sealed(edited(HONEST, *reading()))).encode())


@looped(
    ("edits", "why"),
    [
        (SMALLER, "epsilon exceeds the claim's"),
        (promising(delta=0.01), "delta exceeds the claim's"),
        (promising(relation="add-remove"), "the derivation is for replace-one"),
        (promising(model="local"), "for the central model"),
        ([(("guarantee", "unit"), "a person")], "guarantee differs"),
        ([(("proved", "epsilon", "upper"), 1.9)], "below what the derivation proves"),
        ([(("proved", "epsilon", "lower"), 1.9999999)], "lower is above|only an upper bound"),
        ([(("subject", "code"), None)], "whose digest is missing"),
        ([(("subject", "parameters", "sigma"), "2")], "not the claim's"),
        ([(("subject", "name"), "another")], "name should be"),
        (reading(low=-2), "low is not the table's"),
        (reading(rows=5), "rows is not the table's"),
        (reading(persons=4, max_rows=1), "persons are of the parameters"),
        ([*READS[1:], (("claim", "data"), {**COLUMN, "id": "who", "max_rows": 2}), (("subject", "parameters"), {"column": "x", "rows": 8})], "of whom several rows count"),
        ([*reading(), (("claim", "subject", "parameters", "column"), "y"), (("subject", "parameters", "column"), "y")], "is not declared"),
        ([*ON_DATA, (("release",), {**RELEASED, "code": "sha256:" + "0" * 64})], "other code"),
        (paid(unit="a person"), "the ledger that paid counts"),
        (paid(after={"lower": 1.0, "upper": 1.0}, rest={"lower": 4.0, "upper": 4.0}), "than before and by the charge"),
        ([(("releasable",), False)], "is releasable"),
        ([(("verdict",), "UNPROVEN"), (("releasable",), False), (("proved", "reason"), "none")], "a reason is given"),
    ],
)  # fmt: skip
def test_what_is_unlike_the_proof_is_refused_without_the_second_program(edits, why, tmp_path):
    raw = json.dumps(sealed(edited(HONEST, *edits))).encode()
    with pytest.raises(checker.Rejected, match=why):
        judged(raw)
    (tmp_path / "c.json").write_bytes(raw)
    assert main([str(tmp_path / "c.json")]) == 1


def test_a_statistic_costs_no_more_than_its_epsilon():
    document = study()
    k = next(k for k, each in enumerate(document["subject"]["parameters"]["statistics"]) if each["epsilon"])
    judged(json.dumps(sealed(document)).encode())
    less = edited(
        document,
        ((*STATISTICS, k, "epsilon"), "1/100"),
        *[
            ((*place, "parameters", "statistic", k, "epsilon"), 0.01)
            for place in (("claim", "subject"), ("subject",))
        ],
    )
    with pytest.raises(checker.Rejected, match="costs more than its epsilon"):
        judged(json.dumps(sealed(less)).encode())


def test_a_refuted_claim_is_none_of_its_exits(tmp_path):
    """Its counts are not looked at, its verdict is repeated; no word calls it certified."""
    (tmp_path / "c.json").write_text(json.dumps(refuted()))
    assert main([str(tmp_path / "c.json")]) == 1
