"""Names, parameters, refusals, the verdict's rules, and the shape of an answer."""

import json
import math
from fractions import Fraction

import pytest

from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from papers import claims as papers
from papers.claims.claim_check import Cost
from tests.depth import deep
from tests.looped import looped

KEYS = {
    *(
        "schema",
        "name",
        "parameters",
        "claimed",
        "proved",
        "delta_at_claimed_epsilon",
        "mu",
        "noise",
        "verdict",
    ),
    *("factor", "derivation", "witness"),
}
CONTRACT = {
    "dubey-lemma2": {"alpha", "beta", "T", "B", "rho"},
    "dubey-lemma2-literal": {"alpha", "beta", "T", "B", "rho"},
    "dubey-lemma2-unclipped": {"alpha", "beta", "T", "B", "y"},
    "dubey-lemma5": {"alpha", "beta", "B"},
    "dubey-remark5": {"alpha", "beta", "T", "B", "mode"},
    "dubey-repair": {"alpha", "beta", "T", "B"},
    "zhou-ctl": {"epsilon", "B", "R"},
    "zhou-moma": {"epsilon", "T", "regret_delta", "delta", "users"},
    "zhou-unbounded": {"epsilon", "B", "R", "distance"},
    "kharkovskii-theorem1": {"n", "d", "r", "epsilon", "delta"},
    "kharkovskii-branch": {"r", "epsilon", "delta"},
    "kharkovskii-gaussian": {"n", "epsilon", "delta"},
    "kharkovskii-sketch": {"r", "epsilon", "delta"},
    "pavlovic-theorem73": {"epsilon"},
    "pavlovic-multi": {"epsilon", "J", "delta"},
    "pavlovic-clip": {"epsilon", "B", "R", "T", "delta"},
}


def test_names_and_parameters():
    assert set(CONTRACT) <= set(papers.names())
    for name, expected in CONTRACT.items():
        assert set(papers.find(name).parameters) == expected
    assert papers.find("dubey-lemma2").parameters["rho"].default == 0


@deep
def test_every_claim_at_its_defaults():
    listed = papers.claims()
    assert [answer["name"] for answer in listed] == list(papers.names())
    for answer in listed:
        assert answer.keys() == KEYS
        assert answer["schema"] == "dpaccount/claim-check/1"
        assert set(answer["proved"]) == {"epsilon", "delta"}
        assert answer["witness"]
        assert (
            papers.exit_code(answer)
            == {"SOUND": 0, "LOOSE": 0, "REFUTED": 1, "UNPROVEN": 3}[answer["verdict"]]
        )
        json.dumps(answer, allow_nan=False)


@deep
def test_derivations_pass_the_stand_alone_checker():

    written = {answer["name"]: answer["derivation"] for answer in papers.claims() if answer["derivation"]}
    assert {"dubey-repair", "dubey-lemma2-actions", "zhou-ctl", "zhou-moma", "pavlovic-theorem73"} <= set(
        written
    )
    for name, steps in written.items():
        assert check_derivation(steps), name
    last = written["dubey-lemma2-actions"][-1]
    assert (last["rule"], last["gives"][4]) == ("billboard", "joint")


BAD = [
    ("dubey-lemma2", {"alpha": Fraction(0)}, "alpha"),
    ("dubey-lemma2", {"alpha": Fraction(-1)}, "alpha"),
    ("dubey-lemma2", {"B": Fraction(-1)}, "B"),
    ("dubey-lemma2", {"T": Fraction(1)}, "T"),
    ("dubey-lemma2", {"T": Fraction(5, 2)}, "whole"),
    ("dubey-lemma2", {"beta": Fraction(0)}, "beta"),
    ("dubey-lemma2", {"beta": Fraction(1)}, "beta"),
    ("dubey-lemma2", {"rho": Fraction(-1)}, "rho"),
    ("dubey-lemma2", {"alpha": "ten"}, "alpha"),
    ("dubey-lemma2", {"alpha": True}, "alpha"),
    ("dubey-lemma2", {"alpha": 0.5}, "alpha"),
    ("dubey-lemma2", {"gamma": Fraction(1)}, "gamma"),
    ("dubey-lemma2", {"alpha": Fraction(10) ** 400}, "1e300"),
    ("dubey-lemma2", {"alpha": Fraction(1, 10**4999)}, "1e-300"),
    ("dubey-lemma2-unclipped", {"y": Fraction(-1)}, "same record"),
    ("dubey-remark5", {"T": Fraction(1000)}, "power of two"),
    ("dubey-remark5", {"mode": "forget"}, "restart, carry"),
    ("dubey-remark5", {"mode": Fraction(1)}, "restart, carry"),
    ("dubey-lemma5", {"B": Fraction(-1, 2)}, "B"),
    ("zhou-ctl", {"epsilon": Fraction(0)}, "epsilon"),
    ("zhou-ctl", {"B": Fraction(0), "R": Fraction(0)}, "above 0"),
    ("zhou-moma", {"users": "all"}, "distinct, same"),
    ("zhou-moma", {"regret_delta": Fraction(2)}, "regret_delta"),
    ("zhou-moma", {"delta": Fraction(1)}, "delta"),
    ("zhou-unbounded", {"distance": Fraction(0)}, "distance"),
    ("kharkovskii-theorem1", {"n": Fraction(0)}, "n is 0"),
    ("kharkovskii-theorem1", {"r": Fraction(0)}, "r is 0"),
    ("kharkovskii-branch", {"delta": Fraction(0)}, "delta"),
    ("pavlovic-multi", {"J": Fraction(0)}, "J"),
    ("pavlovic-clip", {"B": Fraction(0)}, "B"),
    ("no-such-claim", {}, "no-such-claim"),
]


@looped(("name", "settings", "says"), BAD)
def test_bad_parameters(name, settings, says):
    with pytest.raises(InputError) as caught:
        papers.claim(name, settings)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 800


def test_settings_as_they_are_typed():
    read = papers.read_settings(["alpha=10", "beta=0.1", "gamma=1/3", "mode=carry", "T=1e3"])
    assert read == {"alpha": 10, "beta": Fraction(1, 10), "gamma": Fraction(1, 3), "mode": "carry", "T": 1000}
    for wrong in (["alpha"], ["=1"], ["a=1", "a=2"], ["alpha=1/0"], ["alpha="], ["alpha=0x10"]):
        with pytest.raises(InputError):
            papers.read_settings(wrong)
    with pytest.raises(InputError, match="alpha"):
        papers.claim("dubey-lemma2", papers.read_settings(["alpha=nan"]))


def finding(low, high, *, factor=None, covers_all=True, holds=None):
    cost = None if high is None else Enclosure(low, high)
    ratio = None if factor is None else Enclosure(Fraction(factor), Fraction(factor))
    claimed = (Fraction(1), Fraction(0))
    return Cost(claimed, {}, cost, factor=ratio, covers_all=covers_all, holds=holds)


def test_verdict_rules():
    one, two = Fraction(1), Fraction(2)
    assert finding(one, one, factor="1").verdict == "SOUND"
    assert finding(one, one, factor="1.0499").verdict == "SOUND"
    assert finding(one, one, factor="1.05").verdict == "LOOSE"
    assert finding(one, one).verdict == "SOUND"
    assert finding(two, two).verdict == "REFUTED"
    assert finding(math.inf, math.inf).verdict == "REFUTED"
    assert finding(Fraction(1, 2), two).verdict == "UNPROVEN"
    assert finding(None, two).verdict == "UNPROVEN"
    assert finding(None, one).verdict == "SOUND"
    assert finding(None, None).verdict == "UNPROVEN"
    assert finding(one, one, covers_all=False).verdict == "UNPROVEN"
    assert finding(two, two, covers_all=False).verdict == "REFUTED"
    assert finding(None, None, holds=False).verdict == "REFUTED"
    assert finding(None, None, holds=True, factor="2").verdict == "LOOSE"


EXTREME = [
    ("dubey-lemma2", {"alpha": Fraction(1, 10**30), "beta": Fraction(1, 10**300)}),
    ("dubey-lemma2", {"B": Fraction(10) ** 60, "T": Fraction(10) ** 100}),
    ("dubey-lemma2", {"alpha": Fraction(10) ** 6, "beta": Fraction(999_999, 1_000_000)}),
    ("dubey-lemma2-unclipped", {"y": Fraction(10) ** 50}),
    ("dubey-lemma5", {"B": Fraction(0)}),
    ("zhou-moma", {"T": Fraction(10) ** 50, "regret_delta": Fraction(1, 10**50)}),
    ("kharkovskii-gaussian", {"delta": Fraction(1, 10**300)}),
    ("kharkovskii-theorem1", {"n": Fraction(3), "d": Fraction(2)}),
    ("kharkovskii-theorem1", {"n": Fraction(1), "d": Fraction(10) ** 9, "epsilon": Fraction(50)}),
    ("pavlovic-multi", {"J": Fraction(10) ** 9}),
    ("pavlovic-clip", {"R": Fraction(0)}),
]


@deep
@pytest.mark.parametrize(("name", "settings"), EXTREME)
def test_extreme_parameters_are_answered(name, settings):
    answer = papers.claim(name, settings)
    json.dumps(answer, allow_nan=False)
    assert answer["verdict"] in ("SOUND", "LOOSE", "REFUTED", "UNPROVEN")
    ends = answer["proved"]["epsilon"]
    if ends["lower"] not in (None, "inf"):
        assert float(ends["lower"]) <= float(ends["upper"])


def test_scopes():
    assert (
        papers.claim("kharkovskii-branch", {"r": Fraction(1), "epsilon": Fraction(10)})["verdict"]
        == "UNPROVEN"
    )
    assert (
        papers.claim("dubey-lemma2-actions", {"alpha": Fraction(10), "B": Fraction(20)})["verdict"] == "LOOSE"
    )
    assert (
        papers.claim("dubey-lemma2-actions", {"alpha": Fraction(169), "B": Fraction(20)})["verdict"]
        == "UNPROVEN"
    )
    assert papers.claim("pavlovic-clip", {"R": Fraction(0)})["verdict"] == "SOUND"
