"""What a subject declares in its certificate: that its epsilon is its own, that smaller members were tested."""

import json

import pytest

from audits.certificate.document import describe_subject
from audits.consistency import agreement, hazards, hazards_of
from audits.subjects.catalogue import entries, example_values
from dpaccount import checker
from tests.audits.consistency.test_hazards import PEOPLE, ROWS, beyond, scope
from tests.dpaccount.checker.made import HONEST, accepted, certificate, derivation, edited, sealed
from tests.looped import looped

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
    _, words = checker.judged(json.dumps(sealed(with_epsilon(epsilon))).encode())
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
