"""`dpaccount claims`: verdicts, exit codes, refusals."""

import json

import pytest

from tests.audits.cli.test_cli import is_error
from tests.depth import deep


@pytest.mark.parametrize(
    ("words", "code", "verdict"),
    [
        (("dubey-lemma2", "--set", "alpha=10", "--set", "beta=0.1", "--set", "B=20"), 1, "REFUTED"),
        (("dubey-repair",), 0, "SOUND"),
        (("dubey-lemma5", "--set", "alpha=10"), 1, "REFUTED"),
        (("zhou-moma", "--set", "users=same"), 1, "REFUTED"),
        (("pavlovic-scale",), 3, "UNPROVEN"),
    ],
)
def test_claims_have_verdicts_and_exit_codes(dpaccount, words, code, verdict):
    got, out, _ = dpaccount("claims", *words, "--json")
    answer = json.loads(out)
    assert (got, answer["verdict"], answer["schema"]) == (code, verdict, "dpaccount/claim-check/1")


@deep
def test_all_claims_are_listed_and_bad_requests_refused(dpaccount):
    code, out, _ = dpaccount("claims", "--json")
    assert code == 0
    assert len(json.loads(out)) >= 16
    for words in (
        ("nope",), ("dubey-lemma2", "--set", "alpha"), ("dubey-lemma2", "--set", "gamma=1"),
        ("dubey-lemma2", "--set", "alpha=nan"), ("dubey-lemma2", "--set", "T=1"), ("--certify",),
        ("dubey-lemma2", "--set", "alpha=1", "--set", "alpha=2"), ("zhou-moma", "--set", "users=both"),
    ):  # fmt: skip
        is_error(dpaccount("claims", *words))
