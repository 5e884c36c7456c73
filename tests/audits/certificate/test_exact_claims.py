"""Claims of exactly what is proved: the bound as the certificate writes it decides."""

from fractions import Fraction

import pytest

from audits.certificate.document import certificate_of
from audits.claim import claim_at
from audits.reports.words import missing
from dpaccount.documents import Place
from dpaccount.exact import as_exact
from dpaccount.noise.proved import Proved
from dpaccount.schemas.certificate import DescribedSubject
from mechanisms.count import Count

SUBJECT = DescribedSubject("count", "mechanisms", "ours", "sound", {}, "of this test")
PROMISE = {"model": "central", "unit": "a row", "relation": "replace-one", "delta": 0}


def certified(proved, promised, path):
    """Return the certificate of a count with Laplace noise of the proved ε, as plain values."""
    document = {"schema": "dpaccount/claim/1", "name": "exact", "subject": {"use": "count"}}
    claim = claim_at(Place({**document, "guarantee": {**PROMISE, "epsilon": promised}}, "", ""), path)
    theorem = Count(scale=1 / proved, rows=20).proof(Fraction(0))
    return certificate_of(claim, SUBJECT, Proved(theorem), None)


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_a_claim_of_exactly_the_proved_decimal_is_met_and_less_is_not(tmp_path, digits):
    for tenth in range(1, 100, 7):
        exact = Fraction(tenth, 10**digits)
        whole = certified(exact, str(float(exact)), tmp_path / "a.toml")
        assert (whole.verdict, as_exact(whole.proved.epsilon.upper)) == ("CERTIFIED", exact)
        less = certified(exact, str(float(exact - Fraction(1, 10**12))), tmp_path / "a.toml")
        assert (less.verdict, as_exact(less.proved.epsilon.upper)) == ("UNPROVEN", exact)


def test_what_no_number_of_a_document_states_is_rounded_up_and_not_met(tmp_path):
    for exact in (Fraction(1, 3), Fraction(2, 7)):
        document = certified(exact, str(exact), tmp_path / "a.toml")
        upper = document.proved.epsilon.upper
        assert exact < as_exact(upper) <= exact + Fraction(1, 10**9)
        assert document.verdict == "UNPROVEN"
        facts = {"guarantee": {**PROMISE, "epsilon": str(exact)}}
        proved = {
            "epsilon": {"upper": upper},
            "delta": 0,
            "derivation": [{"gives": [0, 0, 0, "replace-one", "central"]}],
        }
        [sentence] = missing({**facts, "proved": proved})
        assert f"above the claim's {exact}" in sentence
