"""What a certificate says first of its limits, what its subject declares, and the one way to write numbers."""

import contextlib
import json
from fractions import Fraction

import pytest

from audits.certificate.document import describe_subject
from audits.consistency import agreement, hazards, hazards_of
from audits.consistency.agreement import short_numbers
from audits.subjects.catalogue import entries, example_values, values_of
from dpaccount.checker import Rejected
from dpaccount.checker.certificate import judged
from tests.dpaccount.checker.made import (
    HONEST,
    ON_DATA,
    accepted,
    certificate,
    derivation,
    edited,
    sealed,
    step,
)
from tests.looped import looped


def with_examples():
    document = edited(HONEST, (("claim", "subject", "examples"), "made.csv"))
    return edited(document, (("hazards",), hazards.hazards_of(document)))


def beyond(use, held):
    """Return a certificate of a catalogued subject, whose attacked pair has 4 units of one number."""
    document = edited(
        certificate(derivation(name=use)),
        *[((*place, "use"), use) for place in (("claim", "subject"), ("subject",))],
        *[((*place, "parameters"), held) for place in (("claim", "subject"), ("subject",))],
        (("subject", "name"), use.partition(":")[0]),
    )
    with contextlib.suppress(KeyError):
        return edited(document, (("hazards",), hazards.hazards_of(document)))
    return document


ROWS = {"rows": 10**7}
PEOPLE = {"rounds": 10**6, "candidates": 1, "dimension": 0}


@pytest.mark.parametrize(("file", "lines"), [("t.csv", True), ("parts", True), ("t.PARQUET", False)])
def test_a_table_says_what_one_row_is(file, lines):
    data = {"file": file, "rows": 9, "columns": {"city": {"type": "category"}}}
    listed = hazards.table_hazards({"guarantee": {"relation": "add-remove"}}, data)
    assert (hazards.LINES in listed, hazards.EACH_ROW in listed) == (lines, True)
    owned = hazards.table_hazards({"guarantee": {"relation": "add-remove"}}, {**data, "id": "who"})
    assert hazards.EACH_ROW not in owned


@looped(
    "document",
    [
        HONEST,
        edited(HONEST, *ON_DATA),
        with_examples(),
        beyond("gaussian-sum", ROWS),
        beyond("arm-phases", PEOPLE),
    ],
    ids=["bare", "released", "examples", "few rows", "family"],
)
def test_no_hazard_may_be_left_out(document):
    listed = document["hazards"]
    assert accepted(document)
    assert accepted(edited(document, (("hazards",), [*listed, "More of its author's."])))
    for at in range(len(listed)):
        assert not accepted(edited(document, (("hazards",), listed[:at] + listed[at + 1 :]))), listed[at]


def scope(use, held, units=4, late=False):
    document = edited(beyond(use, held), (("audit", "witness", "rows"), units))
    if late:
        step(document["proved"]["derivation"], "assume_rounds", [], **LATE)
    return list(hazards.scope(document))


LATE = {"query": "sum", "rounds": 9, "participations": 2, "separation": 9, "because": "movement"}


def test_what_ran_on_fewer_units_than_the_claims_says_so():
    for held, few in (
        *((ROWS, True), ({"rows": 4}, False), ({"rows": 5}, True), ({"rows": "inf"}, True), ({}, False)),
        *(({"persons": 4, "rows": 8}, False), ({"persons": 5, "rows": 10}, True)),
    ):
        assert bool(scope("gaussian-sum", held)) == few
        assert not scope("own:Sum", held)  # a class of one's own is tested at its own size
    (hazard,) = scope("phased-gp-ucb", PEOPLE)
    assert "4 units, not on 1000000. The proof is the same" in hazard
    with pytest.raises(KeyError):
        scope("phased-gp-ucb", {})


def test_a_family_that_takes_late_answers_says_where_no_test_had_any():
    """A record of the pair holds one number: of one candidate of no coordinate, and not when it answers."""
    whole = {**PEOPLE, "rounds": 4}
    assert scope("moment-gp-ucb", whole, late=True) == [hazards.NONE_LATE]
    assert scope("moment-gp-ucb", {**whole, "candidates": 0}, late=True) == []
    assert scope("moment-gp-ucb", {**whole, "candidates": "inf"}, late=True) == [hazards.NONE_LATE]
    assert scope("moment-gp-ucb", whole) == []
    # neither the rule alone nor the word in another rule's witness makes answers late
    at_once = {key: value for key, value in LATE.items() if key != "participations"}
    for rule, witness in (("assume_rounds", at_once), ("assume_stable", LATE)):
        document = edited(beyond("moment-gp-ucb", whole), (("audit", "witness", "rows"), 4))
        document["proved"]["derivation"].append({"rule": rule, "from": [], "with": witness})
        assert list(hazards.scope(document)) == []


def test_the_numbers_of_a_record_are_counted_by_its_family():
    """Of each candidate its coordinates, of no candidates one context's; too few would hide a hazard."""
    for held, numbers in (
        *(({"dimension": 3}, 3), ({"candidates": 0, "dimension": 3}, 3), ({"candidates": 2}, 2)),
        *(({"candidates": 2, "dimension": 3}, 8), ({"arms": 4}, 4), ({"actions": 5, "dimension": 3}, 8)),
        *(({"rounds": 9}, None), ({"dimension": "inf"}, None)),
    ):
        assert hazards.numbers_of(held) == numbers


def test_every_size_that_the_checker_reads_is_that_of_the_tests():
    """Of the whole catalogue, by its example parameters: no certificate says that less was tested than was."""
    for entry in entries():
        subject = entry.made_by(**example_values(entry.made_by))
        held = {name: str(value) for name, value in values_of(subject).items()}
        assert scope(entry.name, held, subject.domain().rows) == []
        assert bool(scope(entry.name, held, 1)) == bool({"rows", "rounds"} & held.keys())
        # certificates of newer ones say it themselves
        assert hasattr(subject, "member") or entry.name not in hazards.EARLIER


def promised(delta):
    return edited(HONEST, (("guarantee", "delta"), delta))


def test_a_delta_above_1e_5_is_a_hazard():
    """Beyond 1/100000 by however little, and not at it; 0 is none."""
    least = "1.0000000000000000000000000000001e-5"
    for delta, large in ((0, False), ("1/100000", False), (1e-5, False), (least, True), (0.1, True)):
        lines = [line for line in hazards.hazards_of(promised(delta)) if line.startswith("delta = ")]
        assert len(lines) == large, delta
        assert all(line.startswith(f"delta = {float(Fraction(delta)):.6g} is large") for line in lines)


def in_one_way(value):
    try:
        short_numbers({"guarantee": {"epsilon": value}})
    except Rejected:
        return False
    return True


@looped("extra", ["0", "e0", "e+0", "e-01", "e"])
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


OWN, FAMILY = ("subject", "own_epsilon"), ("subject", "family")


def with_epsilon(epsilon, *edits, use="clinic"):
    """Return a certificate, of ε ≤ 2, of a subject that the claim gives a parameter `epsilon`."""
    document = certificate(derivation(name=use.partition(":")[0]))
    places = [("claim", "subject"), ("subject",)]
    named = [((*place, "use"), use) for place in places] + [(("subject", "name"), use.partition(":")[0])]
    given = [((*place, "parameters", "epsilon"), epsilon) for place in places]
    return edited(document, *named, *given, *edits)


def listing_all(document):
    return edited(document, (("hazards",), hazards_of(document)))


EPSILONS = [(2, True), (3, True), ("2", True), (1.99, False), ("1/2", False), (0, False)]


@looped(("epsilon", "enough"), EPSILONS)
def test_more_may_be_proved_than_an_epsilon_of_ones_own_and_a_hazard_says_so(epsilon, enough):
    """The false statement, too: it gets a reader's eye, where the same without it is refused."""
    assert accepted(with_epsilon(epsilon)) == enough
    stated = with_epsilon(epsilon, (OWN, True))
    assert accepted(stated) == enough  # where more is proved, a hazard is missing
    assert accepted(listing_all(stated))
    more = [line for line in hazards_of(stated) if line not in hazards_of(HONEST)]
    assert [line.partition(" is not")[0] for line in more] == (
        [] if enough else [f"The parameter epsilon = {epsilon}"]
    )


@looped(("epsilon", "enough"), EPSILONS)
def test_earlier_certificates_stay_valid_and_no_other_names_pass_for_them(epsilon, enough):
    """None of them states anything; a name that is not theirs must."""
    for use in sorted(agreement.EARLIER - set(hazards.EARLIER)):
        assert accepted(with_epsilon(epsilon, use=use))
    assert accepted(with_epsilon(epsilon, use="third-party")) == enough
    assert not accepted(edited(with_epsilon(epsilon), (("claim", "subject", "parameters", "epsilon"), 5)))


@looped("epsilon", [2, 1.99])
def test_the_standalone_program_says_that_more_is_proved(epsilon):
    _, words = judged(json.dumps(sealed(with_epsilon(epsilon))).encode())
    assert (f"; the parameter epsilon is {epsilon}, and more is proved; " in words) == (epsilon < 2)


@looped("value", [False, None, 1, "true"])
@looped("path", [OWN, FAMILY])
def test_a_fact_is_stated_or_left_out(path, value):
    """False on an earlier subject would drop a hazard that its name asks for."""
    assert not accepted(edited(beyond("arm-phases", PEOPLE), (path, value)))
    assert accepted(edited(beyond("arm-phases", PEOPLE), (path, True)))


def test_no_statement_lists_fewer_hazards():
    """Of a family, which also has rows; of rows, stated to be a family of few rounds; of an earlier family."""
    for held, few in (
        ({**ROWS, "rounds": 4}, True),
        ({"rows": 4, "rounds": 4}, False),
        ({"rows": 4, "rounds": 5}, True),
        ({"persons": 5, "rows": 10, "rounds": 1}, True),
    ):
        document = edited(beyond("gaussian-sum", held), (FAMILY, True))
        found = list(hazards.scope(document))
        assert len(found) == few
        assert len(found) >= len(scope("gaussian-sum", held))
        assert all("rests on code review" in line for line in found)
    (line,) = scope("third-party", PEOPLE)  # of a family that does not say so
    assert "4 units, not on 1000000. The query is a sum" in line
    for use in hazards.EARLIER:
        whole = beyond(use, PEOPLE)
        assert hazards_of(edited(whole, (FAMILY, True))) == hazards_of(whole)
    (line,) = hazards.scope(edited(beyond("third-party", {**PEOPLE, "rows": 10**6}), (FAMILY, True)))
    assert "The proof is the same" in line
    with pytest.raises(KeyError):
        list(hazards.scope(edited(beyond("third-party", {"rows": 4}), (FAMILY, True))))


def test_every_subject_that_earlier_certificates_are_about_declares_it():
    """A class declares an epsilon of its own by a field of that name, and a family by its `member`.

    That they are catalogued, bandits among them, is tested with those.
    """

    class Asked:
        table, use, written = None, "catalogued", {"subject": {}}

    found = {
        entry.name: describe_subject(Asked, entry.made_by(**example_values(entry.made_by)))
        for entry in entries()
    }
    assert {
        name for name, each in found.items() if each.own_epsilon is True
    } >= agreement.EARLIER & found.keys()
    assert {name for name, each in found.items() if each.family is True} >= set(
        hazards.EARLIER
    ) & found.keys()
    for entry in entries():
        assert (found[entry.name].own_epsilon is True) == ("epsilon" in entry.parameters())
        assert (found[entry.name].family is True) == hasattr(entry.made_by, "member")
    Asked.use = "module:Class"
    with_own = next(entry for entry in entries() if "epsilon" in entry.parameters())
    own = describe_subject(Asked, with_own.made_by(**example_values(with_own.made_by)))
    assert not isinstance(own.own_epsilon, bool)


def test_cells_that_are_left_out_and_replaced_are_named():
    """In a study of schema 1 each is replaced, from schema 2 on just those with a declared value."""
    columns = {
        "age": {"type": "integer", "low": 0, "high": 9, "missing": 4},
        "cost": {"type": "number", "low": 1, "high": 9},
        "ward": {"type": "category", "values": ["a"]},
    }
    said = {
        schema: [
            line
            for line in hazards.table_hazards(CLAIMED, {"rows": 9, "columns": columns, **schema_of})
            if "issing" in line
        ]
        for schema, schema_of in ((1, {}), (2, {"schema": 2}))
    }
    replaced = "Cells that are missing or of another type are replaced, not refused: "
    assert said[1] == [f"{replaced}age by 4, cost by 1."]
    assert said[2] == [hazards.LEFT_OUT.format("cost, ward"), f"{replaced}age by 4."]


CLAIMED = {"guarantee": {"relation": "add-remove"}}
