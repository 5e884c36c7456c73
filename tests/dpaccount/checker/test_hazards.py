"""What a certificate says first of its limits, and the one way to write the numbers of a guarantee."""

from fractions import Fraction

import pytest

from dpaccount.checker import Rejected, documents
from dpaccount.checker.certificate import hazards
from tests.dpaccount.checker.made import HONEST, ON_DATA, accepted, edited


def setup_function(_):
    """Forget the arithmetic of earlier tests: the checker counts it within one document."""
    documents.Work.spent = 0


def with_examples():
    document = edited(HONEST, (("claim", "subject", "examples"), "made.csv"))
    return edited(document, (("hazards",), hazards.hazards_of(document)))


@pytest.mark.parametrize(
    "document", [HONEST, edited(HONEST, *ON_DATA), with_examples()], ids=["bare", "released", "examples"]
)
def test_no_hazard_may_be_left_out(document):
    said = document["hazards"]
    assert accepted(document)
    assert accepted(edited(document, (("hazards",), [*said, "More of its author's."])))
    for at in range(len(said)):
        assert not accepted(edited(document, (("hazards",), said[:at] + said[at + 1 :]))), said[at]


def promised(delta):
    return edited(HONEST, (("guarantee", "delta"), delta))


def test_a_delta_above_1e_5_is_a_hazard():
    """Beyond 1/100000 by however little, and not at it; 0 is none."""
    least = "1.0000000000000000000000000000001e-5"
    for delta, large in ((0, False), ("1/100000", False), (1e-5, False), (least, True), (0.1, True)):
        said = [line for line in hazards.hazards_of(promised(delta)) if line.startswith("delta = ")]
        assert len(said) == large, delta
        assert all(line.startswith(f"delta = {float(Fraction(delta)):.6g} is large") for line in said)


def in_one_way(value):
    try:
        hazards.short_numbers({"guarantee": {"epsilon": value}})
    except Rejected:
        return False
    return True


@pytest.mark.parametrize("extra", ["0", "e0", "e+0", "e-01", "e"])
def test_a_long_decimal_has_one_form(extra):
    """No double is 2.00…01, so it is a text; another text of the same number would be another document."""
    long = "2.00000000000000000000001"
    assert in_one_way(long)
    assert in_one_way(long + "e-1")
    for other in (long + extra, "0" + long, "+" + long, " " + long, long + "\n"):
        assert not in_one_way(other), other


def test_a_fraction_is_a_text_where_no_decimal_is_exact():
    assert in_one_way("1/3")
    assert not in_one_way("1/2")
    assert not in_one_way("2/6")


def test_a_text_is_for_what_no_json_number_says():
    """Integers from 2^63 on and decimals up to 1e-300 are texts, like all that are not a double's repr."""
    for value, text in (
        *((0.1, False), (2**63 - 808, False), (2**63, True), (2**63 + 192, True), (10**19, True)),
        *(("1.1e-300", False), ("2e-300", False), ("1e-300", True), ("9e-301", True), ("1e-323", True)),
    ):
        assert in_one_way(str(value)) is text, value
