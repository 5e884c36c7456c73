"""Verdicts carry derivations that the stand-alone checker accepts, and refutations that can be replayed."""

import copy
import json
from fractions import Fraction

import pytest
from scipy import stats

from dpaccount import checker
from dpaccount.checker import derivation
from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from papers import claims as papers
from papers.claims.derivations import LikelyEvent, short_above, short_below
from papers.claims.dubey.rank_one import full_statistics, rational_pair, with_corner
from papers.claims.replay import column_spaces, replay
from tests.depth import deep
from tests.looped import looped

WORDS = ("mode", "users", "laws", "kernel", "part")


def check(name, **settings):
    exact = {k: v if k in WORDS else Fraction(v) for k, v in settings.items()}
    return json.loads(json.dumps(papers.claim(name, exact)))


# proved claims for which the kernel has no rule: an expectation over χ²_r at one ε, the law of random data,
# the supremum of a function
WITHOUT = {"kharkovskii-sketch", "zhou-unbounded-distributional", "pavlovic-supremum"}


@deep
def test_every_verdict_at_its_defaults_is_derived_or_replayed():
    for answer in json.loads(json.dumps(papers.claims())):
        settled(answer)


def settled(answer):
    name, steps = answer["name"], answer["derivation"]
    if answer["verdict"] == "REFUTED":
        assert replay(answer)["refutes"] is True, name
    if answer["verdict"] in ("SOUND", "LOOSE") and name not in WITHOUT:
        last = check_derivation(steps)[-1]
        claimed = answer["claimed"]
        if claimed["epsilon"] is None:  # a sensitivity, a count of nodes
            assert last[0] in ("Stable", "Covered")
            return
        assert last[0] == "Private", name
        point = last[2] if last[2][0] == "approximate" else [*last[2], "0"]
        assert point[0] in ("approximate", "pure")
        assert float(Fraction(point[1])) <= claimed["epsilon"]
        assert float(Fraction(point[2])) <= claimed["delta"]


CASES = [
    *[("dubey-lemma2", {"alpha": 10, "B": b}) for b in ("0", "0.3", "1", "1.5", "2", "2.3548004101992883")],
    *[("dubey-lemma2", {"alpha": 10, "B": b}) for b in ("9.642", "9.644", "20", "1e6", "1e30")],
    *[("dubey-lemma2", {"alpha": 10, "B": 3, "rho": r}) for r in ("0.01", "0.5", "5")],
    ("dubey-lemma2", {"T": 2, "alpha": 10, "B": 30}),
    ("dubey-lemma2", {"T": 10**9, "alpha": "0.001", "beta": "1e-9"}),
    ("dubey-lemma2", {"beta": "0.999", "alpha": 100, "B": 50}),
    ("dubey-lemma2-literal", {"alpha": 10, "B": "0.2"}),
    ("dubey-lemma2-unclipped", {"y": -100}),
    ("dubey-lemma2-unclipped", {"y": "0.5"}),
    ("dubey-remark1", {"alpha": 10, "B": 30}),
    *[("dubey-remark5", {"alpha": 10, "B": b, "mode": m, "T": t}) for b in (1, 30)
      for m in ("restart", "carry") for t in (2, 4, 1024, 2**40)],
    *[("dubey-lemma5" + part, {"alpha": a, "beta": b, "B": y}) for part in ("", "-matrix", "-reward")
      for a, b, y in (("7.7782", "0.1", 3), ("7.7784", "0.1", 3), ("0.01", "1e-5", "0.01"), (50, "0.9", 100))],
    ("dubey-lemma5-same", {"alpha": 10}),
    ("dubey-lemma5", {"B": 0, "alpha": 20}),
    ("dubey-lemma5", {"B": 0, "alpha": "0.1"}),
    *[("dubey-sensitivity", {"B": b}) for b in ("0", "0.4", "1", "2", "2.3548", "100")],
    ("dubey-nodes", {"T": 2}),
    ("dubey-lemma2-chain", {"T": 2}),
    *[("dubey-definition4", {"nodes": m}) for m in (2, 7, 60)],
    ("dubey-lemma2-actions", {"alpha": 1500, "T": 2, "B": 20}),
    ("dubey-lemma2-actions", {"alpha": 800, "B": 20}),
    ("dubey-lemma2-actions", {"alpha": 10, "B": 20}),
    *[("zhou-moma", {"users": "same", "T": 100, "epsilon": e, "delta": d})
      for e, d in ((1, 0), ("0.1", "1e-6"), ("0.01", "0.3"), (4, "0.9"))],
    ("zhou-moma", {"delta": "0.99"}),
    *[("zhou-unbounded", {"distance": d}) for d in (1, 4, "4.0001", 1000)],
    *[("kharkovskii-theorem1", {"n": n, "d": d, "epsilon": e, "delta": b}) for n, d, e, b in (
        (1, 2, 3, "1e-5"), (2, 2, "0.01", "1e-9"), (3, 3, 100, "0.9"), (3, 2, "0.1", "0.01"), (4, 2, 1000, "0.9"))],
    ("kharkovskii-branch", {"r": 200, "epsilon": 50}),
    ("kharkovskii-branch", {"r": 1, "epsilon": "0.01", "delta": "0.1"}),
    ("kharkovskii-gaussian", {"epsilon": "0.001", "delta": "0.5"}),
    ("kharkovskii-gaussian", {"epsilon": 100, "delta": "1e-30"}),
    ("kharkovskii-gaussian-centred", {"n": 2}),
    ("kharkovskii-fixed-map", {"s": "3.7"}),
    *[("pavlovic-multi", {"J": j, "delta": d, "epsilon": e}) for j, d, e in (
        (1, 0, 1), (1, "0.5", 3), (2, 0, 1), (2, "0.3", 1), (5, "0.2", "0.1"), (100, "1e-6", 1), (10**9, 0, 1))],
    ("pavlovic-clip", {"R": 0}),
    ("pavlovic-clip", {"epsilon": 50, "R": "0.01"}),
    ("pavlovic-grid", {"copies": 10**6, "ridge": "1e-6"}),
    *[("pavlovic-range", {"kernel": k, "epsilon": 3, "points": 5}) for k in ("se", "matern", "exponential")],
    ("dubey-lemma2-rewards", {"alpha": 10, "T": 2}),
    ("dubey-lemma5-alphas", {"beta": "1e-5", "part": "reward"}),
    ("kharkovskii-omega", {"r": 200}),
]  # fmt: skip


@deep
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_other_parameters_are_derived_or_replayed(name, settings):
    answer = check(name, **settings)
    assert answer["verdict"] != "UNPROVEN"
    settled(answer)


def test_what_is_refuted_is_the_claim_itself():
    last = check("dubey-lemma2", alpha=10, B=20)["derivation"][-1]["gives"]
    assert last == ["Refuted", "statistics", "10", "1/10", "replace-one", "central"]
    assert check("dubey-lemma5", alpha=10)["derivation"][-1]["gives"][-1] == "local"
    assert check("dubey-lemma2-actions", alpha=800, B=20)["derivation"][-1]["gives"][-1] == "joint"


def test_restarts_by_brute_force():
    """Nodes that a record meets if every prefix of every epoch's tree is released, or only those that are read."""

    def nodes_of(prefix):
        start = 0
        for level in reversed(range(prefix.bit_length())):
            if prefix >> level & 1:
                yield (start, start + 2**level)
                start += 2**level

    rounds, last = 64, 6
    sizes = [1] + [2**k for k in range(last)]  # of the epochs
    starts = [sum(sizes[:k]) for k in range(len(sizes))]

    def met(prefixes_of, offset):  # the largest number of distinct (tree, node) over one record
        counts = dict.fromkeys(range(rounds), 0)
        for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            first = start if offset == "restart" else 0
            used = {node for p in prefixes_of(k, start, size, first) for node in nodes_of(p)}
            for a, b in used:
                for r in range(first + a, first + b):
                    counts[r] += 1
        return max(counts.values())

    restart = check("dubey-remark5", T=rounds)["witness"]
    carry = check("dubey-remark5", T=rounds, mode="carry")["witness"]
    every = lambda k, start, size, first: range(1, start + size - first + 1)  # noqa: E731
    read = lambda k, start, size, first: range(start - first, start + size - first)  # noqa: E731
    final = lambda k, start, size, first: range(start - first, start + size - first + 1)  # noqa: E731
    assert restart["nodes_met"] == met(every, "restart") == met(final, "restart") == 6
    assert restart["met_by_rounds"] == met(read, "restart") == 5
    assert carry["nodes_met"] == met(every, "carry") == 28
    assert carry["met_by_rounds"] == met(read, "carry") == 6
    assert carry["with_last_sums"] == met(final, "carry") == 13
    paper = check("dubey-remark5", T=1024, mode="carry")["witness"]
    assert [paper[key] for key in ("nodes_met", "met_by_rounds", "with_last_sums")] == [66, 10, 21]


# ------------------------------------------------------------------ replays refuse what was changed


def forged(answer, **numbers):
    """The first step with other numbers, digests made anew."""
    steps = copy.deepcopy(answer["derivation"])
    steps[0]["with"].update(numbers)
    for step in steps:
        step["gives"] = derivation.infer(
            step["rule"], [steps[k]["gives"] for k in step["from"]], step["with"]
        )
        body = {key: step[key] for key in ("rule", "with", "gives")}
        step["digest"] = checker.digest({**body, "from": [steps[k]["digest"] for k in step["from"]]})
    return {**answer, "derivation": steps}


def test_a_more_telling_event_than_the_true_one_is_not_replayed():
    answer = check("kharkovskii-branch")
    assert replay(answer)["refutes"]
    assert not replay(forged(answer, likely="1"))["refutes"]
    assert not replay(forged(answer, rarely="0"))["refutes"]
    moma = check("zhou-moma", users="same", T=100)
    assert not replay(forged(moma, rarely="0"))["refutes"]


def test_a_refutation_of_another_claim_is_not_replayed():
    answer = check("dubey-lemma2", alpha=10, B=20)
    assert not replay({**answer, "claimed": {"epsilon": 40, "delta": 0.1}})["refutes"]
    with pytest.raises(checker.Rejected):
        replay({**answer, "derivation": answer["derivation"][:2] + answer["derivation"][3:]})


def test_steps_replay_their_own_numbers():
    chain = check("dubey-lemma2-chain")
    chain["witness"]["step"]["nodes"] = 1
    assert not replay(chain)["refutes"]
    tail = check("dubey-chernoff")
    tail["witness"]["step"]["B"] = "0"
    assert not replay(tail)["refutes"]
    weights = check("dubey-definition4")
    weights["witness"]["step"]["node_between"] = ["1", "2"]
    assert not replay(weights)["refutes"]


def test_what_is_not_refuted_is_not_replayed():
    with pytest.raises(InputError, match="only a refuted"):
        replay(check("dubey-repair"))
    with pytest.raises(InputError, match="no written refutation"):
        replay({**check("dubey-lemma2", alpha=10, B=20), "derivation": []})


def test_column_spaces():
    assert column_spaces(5, 2) == [2, 2, 3]
    assert column_spaces(4, 2) == [2, 2, 3]
    assert column_spaces(3, 2)[2] == 2  # n = d + 1: one column space


# ------------------------------------------------------------------ the parts of derivations


@looped("value", [Fraction(1, 3), Fraction(10**40, 7), Fraction(1, 10**90), Fraction(5)])
def test_short_numbers_lie_on_their_side(value):
    low, high = short_below(value), short_above(value)
    assert low <= value <= high
    assert high - low <= value / 2**60
    assert max(low.numerator, low.denominator) <= 2**66 * max(value, 1 / value)


@looped("reward", ["0.3", "0.99", "1", "1.5", "2.36", "9", "1e9"])
def test_the_rational_pair_lies_in_the_domain_and_nearly_reaches_the_supremum(reward):
    b = Fraction(reward)
    square = Enclosure(b * b, b * b)
    movement = with_corner(square)
    v, w = rational_pair(movement, square)
    assert all(sum(x * x for x in side[:-1]) <= 1 and abs(side[-1]) <= b for side in (v, w))
    vv, ww, vw = (sum(x * y for x, y in zip(*p, strict=True)) for p in ((v, v), (w, w), (v, w)))
    moved = vv**2 + ww**2 - 2 * vw**2
    assert moved <= movement.square.upper
    assert moved >= movement.square.lower * (1 - Fraction(1, 10**12))


@looped("reward", ["0", "0.5", "1", "2", "2.3548", "50"])
def test_the_stated_sensitivity_is_just_above_the_supremum(reward):
    b = Fraction(reward)
    bound = full_statistics("q", b).conclusion.bound
    exact = with_corner(Enclosure(b * b, b * b)).square
    assert exact.lower <= bound <= exact.upper * (1 + Fraction(1, 10**11))


def test_events_are_rounded_apart():
    event = LikelyEvent("logistic", (Fraction(1), Fraction(0)), 20, 15)
    likely, rarely = event.probabilities()
    exact = sum(Fraction(c, 2**20) for c in (15504, 4845, 1140, 190, 20, 1))
    assert exact <= rarely <= exact * (1 + Fraction(1, 10**15))
    assert float(likely) == pytest.approx(stats.binom.sf(14, 20, stats.logistic.cdf(1)), rel=1e-12)
