"""What a certificate says in two places is compared; genuine ones are forged in tests/audits/certificate."""

import json

import pytest

from audits import consistency
from dpaccount.checker import Rejected
from tests.dpaccount.checker.made import BEATEN, HONEST, certificate, edited, point, refuted, sealed
from tests.looped import looped

BALL = next(k for k, entry in enumerate(HONEST["sensitivity"]) if entry["rule"] == "assume_ball")
SIGNED = {"algorithm": "ed25519", "key": "0" * 64, "signed": "2026-11-20T09:59:59Z", "value": "A" * 86 + "=="}


@looped(
    ("edits", "why"),
    [
        ([(("signature",), SIGNED)], "signed before it was made"),
        ([(("created",), "2027-02-01T00:00:00Z")], "after the last day"),
        ([(("sensitivity", BALL, "worst"), "0")], "nothing moved"),
        ([(("sensitivity", 0, "source"), "sha256:" + "6" * 64)], "several pieces of code"),
        ([(("sensitivity", 0, "examples"), 201)], "tested together"),
        ([(("audit", "points", 1, "limit"), 0.5)], "not on the points"),
        ([(("audit", "points", 2), HONEST["audit"]["points"][1])], "not on the points"),
        ([(("audit", "points", 0, "event"), "score at least 1, seen 1 of 2 against 1 of 2")], "the event of a point"),
        ([(("audit", "witness", "right"), None)], "no neighbours"),
        ([(("audit", "witness", "right"), [0.0])], "no neighbours"),
        ([(("audit", "witness", "unit"), 5)], "none of the rows"),
        ([(("claim", "data"), {"file": "rows.csv"})], "goes with the ledger"),
        ([(("claim", "data"), {"public": True})], "a file, or a declared table"),
        ([(("claim", "subject", "data"), {"shape": [3]})], "data of its own"),
        ([(("releasable",), False)], "is releasable"),
    ],
)  # fmt: skip
def test_two_places_that_differ_are_refused(edits, why):
    with pytest.raises(Rejected, match=why):
        consistency.judged(json.dumps(sealed(edited(HONEST, *edits))).encode())


def test_what_falls_first_is_what_is_refuted():
    """Claim before proof before hypothesis, as `certify` says it."""
    counts = {**BEATEN, "power": 0.95}
    both = certificate(
        points=[point(**counts), point("proof", 0, "2/5", **{**counts, "lower": 2.4})],
        verdict="REFUTED",
        refutes="claim",
    )
    assert consistency.judged(json.dumps(both).encode())
    for other in ("proof", "hypothesis"):
        with pytest.raises(Rejected, match="refuted first is claim"):
            consistency.judged(json.dumps(sealed({**both, "refutes": other})).encode())
    assert consistency.judged(json.dumps(refuted("proof", power=0.95)).encode())
