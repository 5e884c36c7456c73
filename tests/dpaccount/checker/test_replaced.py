"""What a certificate of rows that move by a radius proves of replaced rows: it follows, or the document is rejected."""

import bisect
import copy
import json
from fractions import Fraction

import pytest

from audits import consistency
from dpaccount.checker import Rejected
from dpaccount.checker.curves import implies
from dpaccount.checker.facts import fact_of
from tests.dpaccount.checker.made import (
    DROP,
    R,
    accepted,
    attacked,
    certificate,
    derivation,
    edited,
    few,
    point,
    sealed,
    step,
)
from tests.looped import looped

BOUNDED, SECOND = "bounded-row, radius 1/2", ("proved", "replace_one")
VALUE = "at most 1 times its row's move plus 1/8, at most 1"


def rows(radius="1/2", variance="1", reach="1", name="clinic", epsilon="2", query="row", factor="1"):
    steps = []
    step(
        steps,
        "assume_lipschitz",
        [],
        query=query,
        factor=factor,
        slack="1/8",
        reach=reach,
        because="movement",
    )
    step(steps, "moved", [0], **({"radius": radius} if radius else {}))
    step(steps, "gaussian", [1], variance=variance, key="noise")
    step(steps, "to_approximate", [2], epsilon=epsilon, delta="1/10")
    step(steps, "assume_view", [], query=name, audience="everyone", releases=["noise"], because="replay")
    step(steps, "post_process", [3, 4])
    return steps


def second_proof(steps=None, upper=2.0, **how):
    return {
        "epsilon": {"lower": None, "upper": upper},
        "delta": "1/10",
        "derivation": rows(None, **how) if steps is None else steps,
    }


def moved(*edits, steps=None, second=None):
    """An honest certificate of a radius, with edits, its hazards and digest made to fit them."""
    steps = rows() if steps is None else steps
    document = certificate(steps, [point(), point("proof", 0, "2/5")])
    promise = {**document["guarantee"], "relation": "bounded-row", "radius": 0.5}
    entries = [{**entry, "relation": BOUNDED} for entry in document["sensitivity"]]
    document = edited(
        document,
        *((("guarantee",), promise), (("claim", "guarantee"), promise), (("sensitivity",), entries)),
        (SECOND, second_proof() if second is None else second),
        *edits,
    )
    hazards = [*consistency.hazards_of(document), *few(document["audit"]["points"])]
    return sealed({**document, "hazards": hazards})


def why(document):
    with pytest.raises(Rejected) as refusal:
        consistency.judged(json.dumps(sealed(document)).encode())
    return str(refusal.value)


def test_it_is_certified_with_what_holds_of_a_replaced_row_or_with_the_word_that_nothing_does():
    assert accepted(moved())
    assert accepted(moved((SECOND, None)))
    assert "epsilon <= 2.0 at delta = 1/10" in "\n".join(moved()["hazards"])
    assert "Nothing is proved if a row is replaced" in "\n".join(moved((SECOND, None))["hazards"])
    assert "up to a distance of 1; the radius is 0.5 of it" in "\n".join(moved()["hazards"])
    assert "goes with the proof of a radius" in why(moved((SECOND, DROP)))


def test_no_other_relation_has_it():
    plain = certificate()
    assert accepted(plain)
    assert "goes with the proof of a radius" in why(edited(plain, (SECOND, None)))


@looped(
    ("second", "reason"),
    [
        (second_proof(upper=1.5), "below what"),
        (second_proof(rows()), "replaced rows"),
        (second_proof(name="other"), "replaced rows"),
        (second_proof(reach="1/2"), "assumes more"),
        (second_proof(query="another"), "assumes more"),
        (second_proof(variance="2"), "draws its noise on other queries"),
        (second_proof(rows(None)[:3]), "replaced rows"),
        (second_proof([*rows(None)[:4]]), "replaced rows"),
        (second_proof([]), "list of 1 to 300 steps"),
    ],
)
def test_what_does_not_follow_is_rejected(second, reason):
    assert reason in why(moved((SECOND, second)))


def test_an_assumption_that_the_claim_does_not_make_is_rejected_beside():
    steps = rows(None)
    step(steps, "assume_rare", [], query="clinic", kind="event", probability="1/100", because="b")
    step(steps, "despite", [5, 6], delta="1/5")
    assert "assumes more" in why(moved((SECOND, {**second_proof(steps), "delta": "1/5"})))


def tree(radius, covered, epsilon="6"):
    """Eight rounds of which a row enters three releases, or, wrongly, one release."""
    steps = rows(radius)[:3]
    if covered:
        step(steps, "assume_tree", [], query="row", rounds=8, levels=3, because="covers")
        step(steps, "nodes", [2, 3])
    step(steps, "to_approximate", [len(steps) - 1], epsilon=epsilon, delta="1/10")
    step(steps, "assume_view", [], query="clinic", audience="everyone", releases=["noise"], because="replay")
    step(steps, "post_process", [len(steps) - 2, len(steps) - 1])
    return steps


def of_trees(second):
    edits = [((*place, "epsilon"), 6) for place in (("guarantee",), ("claim", "guarantee"))]
    return moved(
        *edits,
        (("proved", "epsilon"), {"lower": None, "upper": 6.0}),
        (("audit", "points"), attacked([{**point(), "limit": 6}], tree("1/2", covered=True), 6)),
        steps=tree("1/2", covered=True),
        second=second,
    )


def test_releases_that_a_row_enters_are_not_left_out_beside():
    assert accepted(of_trees(second_proof(tree(None, covered=True), upper=6.0)))
    assert "assumes more of the code, or less" in why(
        of_trees(second_proof(tree(None, covered=False, epsilon="2")))
    )


def matrices(radius, scale):
    """Three rounds through a matrix, times a public number."""
    steps = rows(radius)[:2]
    step(steps, "assume_rounds", [], query="row", rounds=3, because="rounds")
    step(steps, "factorised", [1, 2], matrix=[[scale, 0, 0]], bits=0)
    step(steps, "gaussian", [3], variance="1", key="noise")
    step(steps, "to_approximate", [4], epsilon="6", delta="1/10")
    step(steps, "assume_view", [], query="clinic", audience="everyone", releases=["noise"], because="replay")
    step(steps, "post_process", [5, 6])
    return steps


def test_a_transformation_is_the_same_beside():
    steps, other = matrices("1/2", 2), matrices(None, 1)
    assert "on other queries, or over other covers" in why(
        moved(steps=steps, second=second_proof(other, upper=6.0))
    )


def test_what_is_beside_is_of_what_is_shown():
    main, second = rows(query="clinic"), second_proof(rows(None, query="clinic")[:4])
    assert "not among the second steps" in why(moved(steps=main, second=second))
    assert accepted(moved(steps=main, second=second_proof(query="clinic")))


@looped(
    ("how", "words"),
    [
        ({"factor": "2", "reach": "1"}, "up to a distance of 0.5; the radius is 1 of it"),
        ({"factor": "1/4", "reach": "1"}, "up to a distance of 4; the radius is 0.125 of it"),
        ({"reach": "5000"}, "up to a distance of 5000; the radius is 0.0001 of it"),
        ({"reach": str(10**301), "factor": "1"}, "up to a distance of more than 1e300"),
    ],
)
def test_a_share_is_of_the_greatest_distance(how, words):
    assert words in "\n".join(
        moved(steps=rows(**how), second=second_proof(**how) if how["reach"] == "1" else None)["hazards"]
    )


def test_what_never_moves_has_no_greatest_distance():
    for how in ({"factor": "0"}, {"reach": "0"}):
        hazards = moved(steps=rows(**how), second=second_proof(**how))["hazards"]
        assert not any("distinguishes rows up to" in line for line in hazards)


def test_a_step_that_nothing_needs_is_rejected_beside_too():
    steps = rows(None)
    more = copy.deepcopy(steps[:-2])
    step(more, "moved", [0], radius="1/4")
    step(more, "assume_view", [], query="clinic", audience="everyone", releases=["noise"], because="replay")
    step(more, "post_process", [3, 5])
    assert "does not need" in why(moved((SECOND, second_proof(more))))


def test_the_ends_beside_are_those_of_the_derivation():
    """A row that follows is only bounded, so that no lower end is known."""
    for lower, upper, fits in ((None, 2.0, True), (0, 2.0, False), (None, 3.0, False), (None, 1.9, False)):
        second = {**second_proof(), "epsilon": {"lower": lower, "upper": upper}}
        assert accepted(moved((SECOND, second))) is fits
    assert not accepted(moved((SECOND, {**second_proof(), "delta": "1/11"})))


def test_a_lower_end_is_at_most_the_least_epsilon_of_the_curve():
    steps = derivation()
    curve, document = fact_of(steps[2]["gives"]).curve, certificate(steps)
    least = bisect.bisect_left(
        range(2 * 10**9), True, key=lambda k: implies(curve, Fraction(k, 10**9), Fraction(1, 10))
    )
    assert 10**8 < least < 2 * 10**9
    for near, fits in ((least - 1, True), (least + 1, False)):
        assert accepted(edited(document, (("proved", "epsilon", "lower"), near / 10**9))) is fits


def test_the_radius_of_the_claim_is_that_of_the_proof():
    for radius in (1, 0.25, "1/3"):
        edits = [((*place, "radius"), radius) for place in (("guarantee",), ("claim", "guarantee"))]
        assert "the derivation is for bounded-row, radius 1/2" in why(moved(*edits))
    assert "the derivation is for replace-one" in why(moved(steps=rows(None)))


def test_evidence_is_for_the_radius_and_within_the_reach():
    document = moved()
    assert [entry["value"] for entry in document["sensitivity"]].count(VALUE) == 1
    place = next(k for k, e in enumerate(document["sensitivity"]) if e["rule"] == "assume_lipschitz")
    entry = ("sensitivity", place)
    assert accepted(moved(((*entry, "worst"), "1")))
    assert "found more than its step allows" in why(moved(((*entry, "worst"), "101/100")))
    assert "was tested for replace-one" in why(moved(((*entry, "relation"), R)))
    assert not accepted(moved(((*entry, "relation"), "bounded-row, radius 01")))
    assert "should be" in why(moved(((*entry, "value"), "l2-squared 1")))


@looped(
    ("read", "kinds", "identity", "right"),
    [
        (["a", "b"], ("number", "number"), None, True),
        (["a", "b"], ("number", "number"), "c", True),
        (["a", "a"], ("number", "number"), None, False),
        (["b", "a", "b"], ("number", "number"), None, False),
        (["a", "b"], ("number", "text"), None, False),
        (["a", "b"], ("number", "number"), "b", False),
    ],
)
def test_columns_move_by_a_radius_once_and_only_where_they_are_numbers(read, kinds, identity, right):
    """A row that reads a column twice moves √2 as far as its file: what is proved of the row is not of the file."""
    declared = {"number": {"low": 0, "high": 9}, "text": {}}
    columns = {name: {"type": kind, **declared[kind]} for name, kind in zip("ab", kinds, strict=True)}
    data = {"rows": 4, "columns": columns, **({"id": identity} if identity else {})}
    edits = [(("claim", "subject", "parameters"), {"columns": read})]
    edits += [(("subject", "parameters"), {"columns": read, "rows": 4})]
    document = moved((("claim", "data"), data), *edits)
    assert accepted(document) == right
    if not right:
        reason = why(document)
        assert "moves further in a row than in the file" in reason or (
            "has no cells" in reason and "text" in kinds
        )
