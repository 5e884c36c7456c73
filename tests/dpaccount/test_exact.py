import html
import json
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.cli.options import lines
from dpaccount.documents import canonical, parse_json, parse_toml
from dpaccount.errors import InputError
from dpaccount.exact import (
    Enclosure,
    as_exact,
    formatted,
    printed,
    printed_amount,
    read_number,
    shown,
    to_digits,
    to_noise,
)
from tests.depth import deep
from tests.looped import looped

fractions = st.fractions(min_value=Fraction(-(10**9)), max_value=Fraction(10**9))


@looped(
    "text", ["nan", "inf", "-Infinity", "0x1", "", "1_000", "1e5001", "1e-99999999", "1" * 401, "1/2", "١"]
)
def test_other_numbers_are_refused(text):
    with pytest.raises(InputError):
        read_number(text)


@deep
@given(fractions)
def test_printed_bounds_lie_outside_as_double_and_as_text(value):
    lower, upper = printed(value, up=False), printed(value, up=True)
    assert Fraction(lower) <= value <= Fraction(upper)
    assert Fraction(repr(lower)) <= value <= Fraction(repr(upper))
    assert upper - lower <= 1e-15 * max(1, abs(float(value)))


@given(fractions, st.floats(min_value=1e-290, max_value=1e290))
def test_an_amount_that_is_a_decimal_is_printed_as_it_is(value, decimal):
    """Others as bounds; to few digits, both as their text says."""
    for exact in (value, as_exact(decimal)):
        lower, upper = printed_amount(exact, up=False), printed_amount(exact, up=True)
        assert Fraction(lower) <= exact <= Fraction(upper)  # as doubles
        assert as_exact(repr(lower + 0)) <= exact <= as_exact(repr(upper + 0))  # and as JSON
        assert json.loads(json.dumps([lower, upper])) == [lower, upper]
        for digits in (3, 17):
            low, high = (
                to_digits(each, up=up, digits=digits) for each, up in ((lower, False), (upper, True))
            )
            assert as_exact(low) <= exact <= as_exact(high)
    assert str(lower) == f"{upper}" == shown(as_exact(decimal))
    assert to_digits(printed_amount(Fraction(1, 10**6), up=True), up=True, digits=4) == "1e-06"
    whole = Enclosure(Fraction(3, 10), Fraction(3, 10))
    assert {name: str(end) for name, end in whole.as_amount().items()} == {"lower": "0.3", "upper": "0.3"}
    assert Enclosure(None, math.inf).as_amount() == {"lower": None, "upper": "inf"}


def test_beyond_the_doubles_bounds_are_decimal_strings():
    tiny = Fraction(1, 3 * 10**320)
    lower, upper = printed(tiny, up=False), printed(tiny, up=True)
    assert isinstance(lower, str)
    assert Fraction(Decimal(lower)) < tiny < Fraction(Decimal(upper))
    assert printed(float("inf"), up=True) == "inf"


@deep
@given(fractions)
def test_shown_is_exact(value):
    text = shown(value)
    assert Fraction(text) == value


def test_enclosures_refuse_nan_and_crossed_ends():
    with pytest.raises(ValueError, match="enclosure"):
        Enclosure(Fraction(0), float("nan"))
    with pytest.raises(ValueError, match="enclosure"):
        Enclosure(Fraction(2), Fraction(1))
    assert Fraction(1) in Enclosure(Fraction(1), Fraction(1))


@looped(
    "text",
    [
        '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": Infinity}', "{} {}", "[" * 100 + "]" * 100, '{"a": 1e9999}',
        '"\\ud800"', b"\xff", "", "[1,]", "[" * 5000 + "]" * 5000, "[1" + "0" * 5000 + "]",
    ],
)  # fmt: skip
def test_malformed_json_is_one_sentence_with_the_file(text):
    with pytest.raises(InputError, match=r"events\.json: ") as caught:
        parse_json(text, "events.json")
    assert "\n" not in str(caught.value)


@looped("text", ["a = nan", "a = inf", "a = 1\na = 2", "a = ", "a = 1e9999", b"\xff", "a = " + "[" * 2000])
def test_malformed_toml_is_one_sentence_with_the_file(text):
    with pytest.raises(InputError, match=r"claim\.toml: "):
        parse_toml(text, "claim.toml")


def test_places_name_where_a_value_stands():
    place = parse_json('{"events": [{"sigma": -1}]}', "e.json")
    sigma = place.table(("events",))["events"].child(0).child("sigma")
    with pytest.raises(InputError, match=r"e\.json: /events/0/sigma: .*above 0"):
        sigma.positive()
    with pytest.raises(InputError, match="unknown key 'events'; known here: delta"):
        place.table(("delta",))


@looped(("text", "whole"), [("1e18", 10**18), ("100.0", 100), ("7", 7)])
def test_integer_valued_spellings_count_as_integers(text, whole):
    assert parse_json(text, "n").integer() == whole


@looped("text", ["true", "1.5", '"3"', "null"])
def test_other_values_are_not_integers(text):
    with pytest.raises(InputError):
        parse_json(text, "n").integer()


def test_canonical_json_is_sorted_and_tight():
    assert canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical(float("nan"))


@deep
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_decimal_that_it_prints_as(value):
    assert as_exact(value) == Fraction(repr(value)) == as_exact(repr(value))


@looped("wrong", [float("nan"), float("inf"), True, "", "1/0", None, [1], Decimal("NaN")])
def test_what_is_no_number_is_none_in_python(wrong):
    with pytest.raises(InputError):
        as_exact(wrong)


@deep
@given(fractions, st.integers(min_value=1, max_value=20), st.sampled_from(["f", "e", "g", "%"]))
def test_a_format_rounds_away_from_what_is_not_known(value, digits, kind):
    for up in (True, False):
        text = formatted(value, f".{digits}{kind}", up=up)
        read = Fraction(text.rstrip("%")) / (100 if kind == "%" else 1)
        assert read >= value if up else read <= value
        assert abs(read - value) <= max(abs(value), 1) * Fraction(10) ** (1 - digits)


def understood(text):
    """Return the ends of the interval that somebody reads: ``[a, b]`` or ``c (±r)``."""
    if text.startswith("["):
        return [Fraction(end) for end in text[1:-1].split(", ")]
    centre, reach = (Fraction(part) for part in text.rstrip(")").split(" (±"))
    return centre - reach, centre + reach


@deep
@given(fractions, st.fractions(min_value=0, max_value=1), st.integers(min_value=0, max_value=30))
def test_what_the_command_line_prints_of_an_enclosure_holds(low, width, small):
    found = Enclosure(low, low + width / 10**small)
    printed_line = lines({"schema": "dpaccount/account/1", "epsilon": found.as_json()})
    shown_low, shown_high = understood(printed_line.removeprefix("epsilon  "))
    assert shown_low <= found.lower <= found.upper <= shown_high
    written = json.loads(found.to_json(), parse_float=Fraction)
    assert written["lower"] <= found.lower <= found.upper <= written["upper"]


@deep
@given(fractions, st.fractions(min_value=0, max_value=1), st.integers(min_value=0, max_value=30))
def test_what_is_printed_of_an_enclosure_holds(low, width, small):
    """What a reader takes it for contains all of it, at most three times as wide as it must be."""
    found = Enclosure(low, low + width / 10**small)
    for text in (repr(found), f"{found}", f"{found:>60}".strip(), html.unescape(found._repr_html_())):
        shown_low, shown_high = understood(text.partition(">")[2].partition("<")[0] or text)
        assert shown_low <= found.lower <= found.upper <= shown_high
        assert shown_high - shown_low <= 3 * (found.upper - found.lower) + abs(found.upper) / 10**4
    for text in (f"{found:.3f}", f"{found:.2e}", f"{found:.4g}", f"{found:,.2f}".replace(",", "")):
        assert Fraction(text) >= found.upper
    assert found.upper_float >= found.upper
    assert found.lower_float <= found.lower
    assert float(found) == found.upper_float


def test_an_enclosure_without_a_lower_end_says_so():
    assert repr(Enclosure(None, Fraction(1, 3))) == "≤ 0.33334"
    assert repr(Enclosure(float("inf"), float("inf"))) == "inf (±0)"
    assert to_digits(Fraction(-1, 3), up=True) == "-0.33333"
    assert Enclosure(None, Fraction(1)).lower_float is None
    assert Enclosure(None, Fraction(1, 3)).to_json() == '{"lower": null, "upper": 0.33333333333333337}'
    assert repr(Enclosure(Fraction(10) ** 400, float("inf"))) == "[1e+400, inf]"


@looped("kind", [np.int8, np.uint8, np.int16, np.int32, np.uint64, np.int64])
def test_integers_of_numpy_do_not_wrap_around(kind):
    """100 squared is 16 in eight bits, so that a cost of 10000 would have been 16."""
    assert as_exact(kind(100)) ** 20 == 10**40


@deep
@given(fractions, st.integers(min_value=1, max_value=6), st.sampled_from(["ROUND_FLOOR", "ROUND_HALF_EVEN"]))
def test_what_is_printed_holds_in_any_decimal_context(value, precision, rounding):
    """Programs set `decimal`'s precision, exponents and rounding for themselves."""
    found = Enclosure(value, value + Fraction(1, 10**12))
    plain = repr(found), f"{found:.3e}", f"{found:.2f}", found.as_json(), shown(value)
    with localcontext(Context(prec=precision, rounding=rounding, Emin=-3, Emax=3)):
        assert (repr(found), f"{found:.3e}", f"{found:.2f}", found.as_json(), shown(value)) == plain


def test_a_rounded_centre_widens_what_is_in_brackets():
    """Such a number was once printed as 2.3817 ± 8e-16, which does not hold it."""
    truth = Fraction("2.381599005593277")
    assert repr(Enclosure(truth, truth + Fraction(1, 10**15))) == "2.381599006 (±5e-10)"
    assert repr(Enclosure(Fraction(1, 10**9000), Fraction(1, 10**9000))) == "1e-9000 (±0)"
    assert repr(Enclosure(Fraction(-1, 3), Fraction(-1, 3))) == "-0.3333333333 (±4e-11)"


@given(fractions, st.floats(1e-12, 1e12))
def test_a_number_to_two_digits_of_its_noise_is_rounded_as_asked(value, noise):
    low, near, high = (Fraction(to_noise(value, noise, up=up)) for up in (False, None, True))
    step = Fraction(10) ** (math.floor(math.log10(noise)) - 1)
    assert low <= value <= high
    assert low <= near <= high
    assert value == 0 or high - low in (0, step)


def test_an_end_without_noise_keeps_its_digits_and_its_side():
    assert (
        Fraction(to_noise(2 / 3, 0.0, up=False)) <= Fraction(2 / 3) <= Fraction(to_noise(2 / 3, 0.0, up=True))
    )
    assert to_noise(0.0, 0.5) == "0"
    assert [to_noise(Fraction("1.251"), 2.0, up=up) for up in (False, None, True)] == ["1.2", "1.3", "1.3"]
