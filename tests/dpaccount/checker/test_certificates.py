"""The certificate around a derivation: every condition of the checker, both sides of each.

The document is written by hand; each edit below is resealed with a fresh digest, as a forger would.
"""

import copy
import json
import math
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits import consistency
from audits.consistency.verdict import consistent
from dpaccount import checker
from dpaccount.checker import Rejected, distributions, documents
from dpaccount.checker.__main__ import main
from dpaccount.checker.certificate import NOT_SEEN, exceeded, shapes, words_of
from dpaccount.checker.certificate.verdict import Concluded, separated
from dpaccount.checker.derivation import check_derivation, reachable
from dpaccount.checker.facts import fact_of
from dpaccount.checker.intervals import Interval
from tests.dpaccount.checker.made import (
    DROP,
    HONEST,
    KEYS,
    LARGER,
    ON_DATA,
    RELEASED,
    SMALLER,
    UNPROVEN,
    R,
    accepted,
    attacked,
    certificate,
    derivation,
    edited,
    of_each,
    point,
    refuted,
    sealed,
    step,
    unproved,
)
from tests.looped import looped


def test_the_honest_ones_are_accepted():
    assert accepted(HONEST)
    assert accepted(edited(HONEST, *LARGER))
    assert accepted(edited(HONEST, *ON_DATA))
    asked, shares = (("claim", "audit"), {"confidence": 0.97}), (("audit", "confidence"), "0.97")
    assert not accepted(edited(HONEST, asked, shares))
    risks = [(("audit", "points", k, "risk"), "0.01") for k in range(3)]
    assert accepted(edited(HONEST, asked, shares, *risks))
    assert not accepted(edited(HONEST, (("releasable",), False)))  # what is certified is


#: what each place may not hold
WRONG = {
    ("more",): [1],
    ("guarantee", "epsilon"): [1],
    ("guarantee", "unit"): ["other"],
    ("verdict",): ["UNPROVEN", "REFUTED", "TRUE"],
    ("refutes",): ["claim", "nothing"],
    ("release",): [RELEASED],
    ("subject", "use"): ["other"],
    ("subject", "name"): ["other"],
    ("claim", "subject", "use"): ["other", 7],
    ("subject", "parameters", "sigma"): ["1/3", DROP],
    ("subject", "parameters", "mode"): ["leaf"],
    ("proved", "epsilon"): [None],
    ("proved", "epsilon", "upper"): [1.999, 2.001, "inf", "x"],
    ("proved", "epsilon", "lower"): [2.001, "inf"],
    ("proved", "delta"): ["1/9"],
    ("proved", "derivation"): [[]],
    ("sensitivity", 0): [DROP],
    ("sensitivity", 0, "status"): ["untested", "believed", "refuted", "accepted"],
    ("sensitivity", 0, "examples"): [0, -1, 10**7 + 1],
    ("sensitivity", 0, "relation"): ["add-remove"],
    ("sensitivity", 0, "counterexample"): [{"unit": 1}],
    ("sensitivity", 0, "step"): ["sha256:0"],
    ("audit",): [None],
    ("audit", "points"): [[]],
    ("audit", "points", 0, "of"): ["proof", "luck"],
    ("audit", "points", 1, "of"): ["claim"],
    ("audit", "points", 0, "limit"): [1],
    ("audit", "points", 0, "delta"): ["1/9"],
    ("audit", "points", 0, "epsilon_lower"): [-1, "inf", 0.1],
    ("audit", "epsilon_lower"): [0.1],
    ("audit", "points", 0, "risk"): [0, 1, "inf", "9/200"],
    ("audit", "points", 0, "runs"): [1001, 0],
    ("audit", "trials"): [1999, 3000],
    ("audit", "confidence"): ["0.981", "inf", 0, 1, -1, 2, "0.94", "0.98"],
    ("audit", "quick"): [0],
    ("sensitivity", 0, "rule"): ["assume_clipped"],
    ("sensitivity", 0, "query"): ["other"],
    ("sensitivity", 0, "test"): ["a proof assistant"],
    ("sensitivity", 0, "value"): ["l2-squared 1/4"],
    ("sensitivity", 0, "worst"): ["101/100", "-1"],
    ("sensitivity", 1, "worst"): ["1"],
    ("proved", "reason"): ["proved in Lean"],
    ("proved", "tight"): [{"lower": 0, "upper": 0.1}],
    ("subject", "status"): ["broken"],
    ("subject", "code"): [None],
    ("hazards",): [[], HONEST["hazards"][1:], HONEST["hazards"][::-1]],
    ("signature",): ["signed by a ministry", {"algorithm": "ed25519", "value": "AAAA"}],
    ("created",): ["2026-11-20"],
    ("environment",): [{"python": 3}],
    ("audit", "points", 1, "delta"): ["3/8", "inf"],
    ("audit", "points", 1, "limit"): ["inf"],
}
EDITS = [
    *[((name,), bad) for name in shapes.FIELDS if name not in ("digest", "schema") for bad in (DROP, 7)],
    *of_each(WRONG),
]


@looped(("path", "value"), EDITS, ids=lambda v: "DROP" if v is DROP else str(v)[:40])
def test_one_edit_is_rejected(path, value):
    assert not accepted(edited(HONEST, (path, value)))


def test_the_digest_is_of_everything_else():
    assert not accepts_raw({**HONEST, "created": "2026-11-21T10:00:00Z"})
    assert not accepts_raw({**HONEST, "digest": "sha256:" + "0" * 64})
    signature = {
        "algorithm": "ed25519",
        "key": "0" * 64,
        "signed": HONEST["created"],
        "value": "A" * 86 + "==",
    }
    assert accepts_raw({**HONEST, "signature": signature})


def accepts_raw(document):
    try:
        consistency.judged(json.dumps(document).encode())
    except Rejected:
        return False
    return True


UNPROVEN_BECAUSE = [
    SMALLER,
    [
        *((("claim", "guarantee", "delta"), 0.0999), (("guarantee", "delta"), 0.0999)),
        (("audit", "points", 0, "delta"), "0.0999"),
        (("hazards", 6), HONEST["hazards"][6].replace("0.1", "0.0999")),
    ],
    [(("claim", "guarantee", "model"), "local"), (("guarantee", "model"), "local")],
    [
        *((("claim", "guarantee", "relation"), "add-remove"), (("guarantee", "relation"), "add-remove")),
        (("audit", "witness", "right"), None),
    ],
    [(("audit",), None)],
    [(("sensitivity", 0, "status"), "untested")],
    [(("sensitivity", 0, "examples"), 0), (("sensitivity", 1, "examples"), 0)],
    [(("sensitivity", 0, "relation"), "add-remove")],
    [(("sensitivity", 0), DROP)],
    [((name,), value) for name, value in unproved(HONEST).items() if name != "digest"],
]


@looped("edits", UNPROVEN_BECAUSE)
def test_what_is_unproven_is_not_certified(edits):
    assert accepted(edited(UNPROVEN, *edits))
    assert not accepted(edited(UNPROVEN, *edits, (("verdict",), "CERTIFIED")))
    assert not accepted(edited(UNPROVEN, *edits, (("releasable",), True)))
    assert not accepted(
        edited(UNPROVEN, *edits, (("claim", "data"), ON_DATA[0][1]), (("release",), RELEASED))
    )
    assert not accepted(edited(UNPROVEN, *edits, (("refutes",), "claim")))
    assert not accepted(edited(UNPROVEN, *edits, (("verdict",), "REFUTED"), (("refutes",), "claim")))


def test_the_derivation_is_about_the_subject_and_ends_in_a_point():
    assert not accepted(certificate(derivation(name="other")))
    pure = derivation()[:3]
    assert not accepted(certificate(pure))
    assert not accepted(certificate(derivation()[:2]))
    joint = certificate(derivation(audience="others"))
    assert not accepted(joint)
    model = [(("claim", "guarantee", "model"), "joint"), (("guarantee", "model"), "joint")]
    assert accepted(edited(joint, *model))


def test_accepted_assumptions_are_claimed_and_listed():
    taken = edited(HONEST, (("sensitivity", 0, "status"), "accepted"))
    assumed = [
        (("claim", "assume"), {"assume_ball sum": "why"}),
        (("hazards",), ["Accepted without a test: assume_ball sum, because: why", *HONEST["hazards"]]),
    ]
    assert accepted(edited(taken, *assumed))
    assert not accepted(edited(taken, assumed[0]))
    assert not accepted(edited(taken, assumed[1]))
    assert not accepted(edited(taken, *assumed, (("claim", "assume"), {"assume_ball other": "why"})))
    assert not accepted(edited(taken, *assumed, (("claim", "assume"), {"assume_ball sum": ""})))
    assert not accepted(edited(taken, *assumed, (("claim", "assume"), "assume_ball sum")))
    buried = [*HONEST["hazards"], assumed[1][1][0]]
    assert not accepted(edited(taken, assumed[0], (("hazards",), buried)))
    for listing in ("Thoroughly tested, nothing is assumed: assume_ball sum", {"assume_ball sum": "why"}):
        assert not accepted(edited(taken, assumed[0], (("hazards",), [listing, *HONEST["hazards"]])))


def test_evidence_is_on_each_hypothesis_once():
    twice = [*HONEST["sensitivity"], HONEST["sensitivity"][0]]
    assert not accepted(edited(HONEST, (("sensitivity",), twice)))
    stray = {**HONEST["sensitivity"][0], "step": "sha256:0"}
    assert not accepted(edited(HONEST, (("sensitivity",), [*HONEST["sensitivity"], stray])))
    for wrong in ((("sensitivity", 0, "status"), "believed"), (("sensitivity", 0, "examples"), -1)):
        assert not accepted(edited(UNPROVEN, (("sensitivity", 1, "status"), "untested"), wrong))


def test_one_key_names_one_law():
    steps = derivation()[:3]
    step(steps, "gaussian", [1], variance="2", key="noise")
    step(steps, "compose", [2, 3])
    step(steps, "to_approximate", [4], epsilon="2", delta="1/10")
    step(steps, "assume_view", [], query="clinic", audience="everyone", releases=KEYS, because="replay")
    step(steps, "post_process", [5, 6])
    assert not accepted(certificate(steps, [point()]))
    other = derivation()[:3]
    step(other, "gaussian", [1], variance="2", key="more")
    step(other, "compose", [2, 3])
    step(other, "to_approximate", [4], epsilon="2", delta="1/10")
    both = ["more", "noise"]
    step(other, "assume_view", [], query="clinic", audience="everyone", releases=both, because="replay")
    step(other, "post_process", [5, 6])
    assert accepted(edited(certificate(other, [point()])))


def test_symmetric_noise_is_another_law_than_independent_noise():
    """One key, one rule, one variance and one grid: the norm of the query says which law is drawn."""
    law = {"variance": "64", "grid": "1/1024", "key": "k"}
    steps = []
    step(
        steps,
        "assume_rank_one",
        [],
        query="a",
        reward="1",
        relation="replace-one",
        kind="rank-one",
        because="t",
    )
    step(steps, "linear", [0])
    step(steps, "discrete_gaussian", [1], **law)
    step(steps, "assume_ball", [], query="a", radius="1", relation="add-remove", because="t")
    step(steps, "linear", [3])
    step(steps, "discrete_gaussian", [4], **law)
    step(steps, "assume_split", [], query="q", cells=["a"], because="t")
    step(steps, "partition", [6, 2, 5])
    with pytest.raises(Rejected, match="other noise for one relation"):
        check_derivation(steps)


@looped("member", ["audit", "sensitivity", "proved", "claim", "guarantee", "subject"])
@looped("wrong", [5, None, "text", [[]], {"a": 1}])
def test_members_of_a_wrong_shape_are_rejected(member, wrong):
    assert not accepted(edited(HONEST, ((member,), wrong)))


def test_validity_ends():
    assert accepted(HONEST, date(2027, 1, 31))
    assert not accepted(HONEST, date(2027, 2, 1))
    assert accepted(edited(HONEST, (("claim", "governance"), {})), date(2030, 1, 1))
    assert accepted(edited(HONEST, (("claim", "governance"), DROP)), date(2030, 1, 1))
    assert not accepted(edited(HONEST, (("claim", "governance", "valid_until"), "soon")), date(2026, 1, 1))


def test_subjects_of_the_users_own_are_named_after_their_module():
    own = certificate(derivation(name="my-rows"))
    use = [(("claim", "subject", "use"), "pack.my_rows:sum"), (("subject", "use"), "pack.my_rows:sum")]
    assert accepted(edited(own, *use, (("subject", "name"), "my-rows")))
    assert not accepted(edited(own, *use, (("subject", "name"), "rows")))


# ------------------------------------------------------------------ refutations and their counts


def test_counts_refute_the_claim_or_the_proof():
    assert accepted(refuted())
    assert not accepted(edited(refuted(), (("verdict",), "UNPROVEN"), (("refutes",), None)))
    assert not accepted(edited(refuted(), (("verdict",), "CERTIFIED"), (("refutes",), None)))
    assert not accepted(edited(refuted(), (("refutes",), "proof")))
    assert not accepted(edited(refuted(), (("refutes",), "hypothesis")))
    assert not accepted(edited(refuted(), (("refutes",), "nothing")))
    assert not accepted(edited(refuted(), (("refutes",), None)))
    assert not accepted(edited(refuted(), (("releasable",), True)))


def test_counts_that_show_more_than_is_possible_are_looked_at_where_nothing_is_claimed_of_them():
    for wrong in ({"hits": -1}, {"power": 2}, {"false_alarm": 0}, {"power": 0.6}, {"false_alarm": 0.4}):
        assert not accepted(certificate(points=[point(**wrong)]))


def test_a_false_proof_is_refuted_at_a_point_that_it_asserts():
    document = refuted("proof", power=0.95, false_alarm=0.03)
    assert math.log((0.95 - 0.4) / 0.03) > 2.4
    assert accepted(document)
    assert not accepted(edited(document, (("audit", "points", 1, "limit"), 3)))  # beyond what is shown
    assert not accepted(edited(document, (("audit", "points", 1, "delta"), "0.38")))  # asserted by nobody
    assert not accepted(edited(document, (("refutes",), "claim")))


@pytest.mark.parametrize("lower", [-1, "inf"])
def test_lower_bounds_are_finite_and_not_negative(lower):
    both = [(("audit", "points", 0, "epsilon_lower"), lower), (("audit", "epsilon_lower"), lower)]
    assert not accepted(edited(HONEST, *both))


def test_no_limit_is_below_zero():
    """Whatever exceeds ε = −5 at δ = .999 is nothing, and would refute any proof."""
    point = {**HONEST["audit"]["points"][0], "of": "proof", "limit": "-5", "delta": "999/1000"}
    point |= {"epsilon_lower": 0, "risk": "1/1000"}
    beaten = [(("audit", "points"), [*HONEST["audit"]["points"], point])]
    verdict = [(("verdict",), "REFUTED"), (("refutes",), "proof"), (("releasable",), False)]
    assert not accepted(edited(HONEST, *beaten, *verdict))


@looped("risk", ["-1/2", 0, 1, "inf"])
def test_no_risk_pays_for_another(risk):
    document = refuted("proof", power=0.95, false_alarm=0.03)
    assert not accepted(edited(document, (("audit", "points", 0, "risk"), risk)))
    more = (("audit", "points", 1, "risk"), "1/2")
    assert not accepted(edited(document, (("audit", "points", 0, "risk"), risk), more))


def test_a_hypothesis_is_refuted_by_its_counterexample():
    shown = {"unit": 1, "left": [0.0], "right": None, "rows": 4, "other_rows": {"base": "zeros", "seed": 1}}
    shown |= {"coins": 3, "wrong": "it moves by 9"}
    failed = [(("sensitivity", 0, "status"), "refuted"), (("sensitivity", 0, "counterexample"), shown)]
    verdict = [(("verdict",), "REFUTED"), (("refutes",), "hypothesis"), (("releasable",), False)]
    assert accepted(edited(HONEST, *failed, *verdict))
    assert not accepted(edited(HONEST, *failed))
    for empty in (None, {}, {"unit": 1}):
        assert not accepted(edited(HONEST, *failed, *verdict, (("sensitivity", 0, "counterexample"), empty)))


WRONG_COUNTS = [
    {"hits": 1001},
    {"hits": -1},
    {"alarms": 1001},
    {"power": 0.985},
    {"false_alarm": 0.015},
    {"hits": 900},
    {"alarms": 30},
    {"lower": 3.3},
    {"power": 0.1},
    {"power": 1.1},
    {"power": -0.1},
    {"power": "inf"},
    {"false_alarm": 0},
    {"false_alarm": 1.1},
    {"false_alarm": "inf"},
    {"risk": 0},
    {"risk": 1},
    {"runs": 10**7 + 1},
]


@looped("counts", WRONG_COUNTS, ids=str)
def test_counts_that_do_not_show_it_are_rejected(counts):
    document = refuted(**counts)
    point = document["audit"]["points"][0]
    trials = max(point["runs"] + point["other_runs"], 2000)
    asked = (("claim", "audit"), {"trials": 10**8, "confidence": 0.5})
    assert not accepted(
        edited(document, (("audit", "trials"), trials), (("audit", "confidence"), "1/2"), asked)
    )


def test_counts_at_the_edge_of_their_bounds():
    """The bounds of Clopper and Pearson by beta quantiles, a little inside and a little outside."""
    risk = float(Fraction(refuted()["audit"]["points"][0]["risk"]))
    low = stats.beta.ppf(risk / 2, 990, 11)
    high = stats.beta.ppf(1 - risk / 2, 11, 990)
    for inside, expected in ((1e-7, True), (-1e-7, False)):
        p, q = low * (1 - inside), high * (1 + inside)
        fine = {"power": p, "false_alarm": high * (1 + 1e-7), "lower": 3.0}
        assert accepted(refuted(**fine)) is expected
        fine = {"power": low * (1 - 1e-7), "false_alarm": q, "lower": 3.0}
        assert accepted(refuted(**fine)) is expected
        reached = math.log((low * (1 - 1e-7) - 0.1) / (high * (1 + 1e-7)))
        fine = {"power": low * (1 - 1e-7), "false_alarm": high * (1 + 1e-7), "lower": reached * (1 - inside)}
        assert accepted(refuted(**fine)) is expected


def refuting(likely, rarely):
    """Return a derivation that the claim is false if an event has these probabilities."""
    steps = []
    event = {"query": "clinic", "relation": R, "observer": "central", "because": "test"}
    step(steps, "assume_event", [], likely=likely, rarely=rarely, **event)
    step(steps, "refute", [0], epsilon="2", delta="1/10")
    return steps


def test_a_refutation_assumes_an_event_that_runs_can_contradict():
    """One that is only likely, or only rare, was seen in every run and in none by chance."""
    held = ("proved", "refutation")
    assert separated(edited(HONEST, (held, refuting("1", "0"))))
    for likely, rarely in (("999/1000", "0"), ("1", "1/1000"), ("1/2", "1/100")):
        with pytest.raises(Rejected, match="certain here and impossible there"):
            separated(edited(HONEST, (held, refuting(likely, rarely))))


def test_certain_counts():
    assert accepted(refuted(hits=1000, power=0.99, alarms=0, false_alarm=0.01, lower=4.4))
    assert not accepted(refuted(hits=1000, power=0.996, alarms=0, false_alarm=0.01, lower=4.4))
    assert not accepted(refuted(hits=1000, power=1.0, alarms=0, false_alarm=0.01, lower=4.4))


@looped(("n", "p", "k"), [(10, "1/2", 5), (10, "1/2", 6), (10, "1/2", 10), (40, "1/5", 20)])
def test_binomial_tails_of_few_runs(n, p, k):
    i, exact = Interval(40), Fraction(p)
    upper = sum(math.comb(n, j) * exact**j * (1 - exact) ** (n - j) for j in range(k, n + 1))
    low, high = distributions.binomial_tail(i, n, exact, k, up=True)
    assert Fraction(low) <= upper <= Fraction(high)
    if k > n * exact:
        assert Fraction(high) - Fraction(low) < Fraction(1, 10**30)
    down = distributions.binomial_tail(i, n, 1 - exact, n - k, up=False)
    assert Fraction(down[0]) <= upper <= Fraction(down[1])


@looped("n", [0, 1, 2, 199, 200, 201, 250, 5000])
def test_log_factorials_at_every_size(n):
    low, high = distributions.log_factorial(Interval(50), n)
    exact = sum(math.log(k) for k in range(1, n + 1))
    assert float(low) <= exact * (1 + 1e-12) + 1e-12
    assert float(high) >= exact * (1 - 1e-12) - 1e-12
    assert high - low < Fraction(1, 10**17)
    if 1 < n <= 250:  # e^(ln n!) is n!, so the enclosure is on both sides of it
        i = Interval(600)
        wide = i.exp(distributions.log_factorial(i, n))
        assert Fraction(wide[0]) < math.factorial(n) < Fraction(wide[1])


def test_steps_are_joined_as_written():
    steps = derivation()
    for edit in (
        lambda s: s[1].update({"from": 0}),
        lambda s: s[1].update({"from": [True]}),
        lambda s: s[1].update({"from": [1]}),
        lambda s: s[1].update({"from": [-1]}),
        lambda s: s[1].update({"with": []}),
        lambda s: s[1].update({"rule": 7}),
        lambda s: s[1].update({"more": 7}),
        lambda s: s[1].pop("gives"),
        lambda s: s[1].update({"gives": ["Stable"]}),
        lambda s: s[1].update({"digest": s[0]["digest"]}),
        lambda s: s.__setitem__(1, "step"),
    ):
        wrong = copy.deepcopy(steps)
        edit(wrong)
        with pytest.raises(Rejected, match="step 1 "):
            check_derivation(wrong)
    for wrong in ([], "steps", None, {"steps": []}):
        with pytest.raises(Rejected):
            check_derivation(wrong)
    unused = copy.deepcopy(steps)
    step(unused, "assume_view", [], query="more", audience="others", releases=[], because="replay")
    assert [s["rule"] for s in reachable(unused)] == ["assume_view"]
    assert [s["rule"] for s in reachable(steps)][::-1] == [s["rule"] for s in steps]
    stray = copy.deepcopy(steps)
    step(stray, "assume_filter", [], query="q", measure="pure", budget=["0"], relation=R, because="trust me")
    step(stray, "to_approximate", [3], epsilon="2", delta="1/10")
    step(stray, "post_process", [7, 4])
    assert not accepted(certificate(stray))  # two steps that nothing rests on


def test_the_command_line(tmp_path, capsys):
    file = tmp_path / "c.json"
    file.write_text(json.dumps(HONEST))
    assert main([str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("valid: the claim follows from the derivation (6 steps, 2 assumptions); ")
    assert out.endswith("(dpaccount check does), unsigned\n")
    assert "tests not looked at" in out
    assert "CERTIFIED" not in out
    assert main([str(file), "--at", "2027-01-31"]) == 0
    assert main([str(file), "--at", "2027-02-01"]) == 1
    assert main([str(file), "--on", "2027-02-01"]) == 2
    file.write_text(json.dumps({**HONEST, "created": "x"}))
    assert main([str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("invalid: ")
    file.write_text(json.dumps(sealed(edited(UNPROVEN, (("audit",), None)))))
    assert main([str(file)]) == 3
    assert "; the document states UNPROVEN; tests not looked at" in capsys.readouterr().out
    file.write_text(json.dumps(refuted()))
    assert main([str(file)]) == 1
    assert "; the document states REFUTED; tests not looked at" in capsys.readouterr().out
    file.write_text(json.dumps({**HONEST, "schema": "other"}))
    assert main([str(file)]) == 2
    file.write_text("[]")
    assert main([str(file)]) == 2
    file.write_text(json.dumps({"schema": "dpaccount/derivation/1", "steps": derivation()}))
    assert main([str(file)]) == 2
    assert main([str(file), "--derivation"]) == 0
    bare = {**HONEST, "schema": "dpaccount/derivation/1", "steps": derivation()}
    file.write_text(json.dumps(bare))
    assert main([str(file), "--derivation"]) == 2
    assert main([str(file)]) == 2


def test_a_delta_that_the_claim_leaves_out_is_0():
    without = [(("claim", "guarantee", "delta"), DROP), (("audit", "points", 0, "delta"), "1")]
    assert not accepted(edited(HONEST, *without, (("guarantee", "delta"), 1)))
    assert not accepted(edited(UNPROVEN, *without, (("guarantee", "delta"), 1)))
    zero = [without[0], (("audit", "points", 0, "delta"), 0), (("guarantee", "delta"), 0)]
    zero += [(("hazards",), HONEST["hazards"][:6])]
    assert accepted(edited(UNPROVEN, *zero))


def test_a_name_that_fits_the_derivation_but_not_the_module():
    own = certificate(derivation(name="rows"))
    use = [(("claim", "subject", "use"), "pack.my_rows:sum"), (("subject", "use"), "pack.my_rows:sum")]
    assert not accepted(edited(own, *use, (("subject", "name"), "rows")))
    assert not accepted(edited(own, (("subject", "name"), "rows")))


def test_an_epsilon_without_a_derivation_is_no_proof():
    assert accepted(NOTHING_PROVED)
    for name in ("epsilon", "delta", "derivation"):
        edit = (("proved", name), HONEST["proved"][name])
        assert not accepted(edited(NOTHING_PROVED, edit))
    assert not accepted(edited(UNPROVEN, (("proved", "epsilon"), None)))
    evidence = (("sensitivity",), HONEST["sensitivity"])
    assert not accepted(edited(NOTHING_PROVED, evidence))  # on hypotheses that nothing rests on


def test_the_last_step_is_a_point_that_is_shown():
    steps = []
    step(steps, "assume_ball", [], query="clinic", radius="1/2", relation=R, because="movement")
    step(steps, "linear", [0])
    step(steps, "gaussian", [1], variance="1", key="noise")
    step(steps, "to_approximate", [2], epsilon="2", delta="1/10")
    assert not accepted(certificate(steps))  # nothing says what the subject shows
    near = steps[:2]
    step(near, "assume_numbers", [], query="clinic", most=1, because="movement")
    law = {"variance": "1", "grid": "1/10", "coordinates": 1, "distance": "1/10", "key": "noise"}
    step(near, "fine_gaussian", [1, 2], **law)
    step(near, "assume_view", [], query="clinic", audience="everyone", releases=KEYS, because="replay")
    step(near, "post_process", [3, 4])
    assert near[-1]["gives"][2] == ["near-gdp", "1", "1/10"]  # two numbers, and no point
    assert not accepted(edited(certificate(near, [point()])))


def asked(document, trials, *edits):
    return accepted(edited(document, (("claim", "audit"), {"trials": trials}), *edits))


def test_runs_are_no_more_than_the_claim_asks_for():
    """2,105 runs were made: half of the claim's trials on each side, a tenth of that with --quick."""
    quick = (("audit", "quick"), True)
    assert asked(HONEST, 2106)
    assert not asked(HONEST, 2105)
    assert asked(HONEST, 21_060, quick)
    assert not asked(HONEST, 21_059, quick)
    assert not asked(HONEST, 2106, quick)
    assert not accepted(edited(HONEST, (("audit", "trials"), 20_002)))
    few = {"hits": 15, "runs": 25, "alarms": 14, "other_runs": 25, "power": 0.1, "false_alarm": 0.95}
    least = certificate(points=[point(**few)])
    assert least["audit"]["trials"] == 60
    assert asked(least, 10)
    assert not asked(least, 9)  # fewer than claims may ask for
    assert asked(least, 10, quick)
    more = certificate(points=[point(**{**few, "runs": 26})])
    assert not asked(more, 10)
    assert asked(more, 62)


def test_the_runs_of_all_points_are_counted_and_nearly_all_that_were_made():
    """All but a twentieth, ten at least; an event may be counted on either side first."""
    assert asked(HONEST, 4000)
    for trials in (1999, 2000, 2104, 2106, 2666):
        assert not asked(HONEST, 4000, (("audit", "trials"), trials))
    sides = ((1000, 1000), False), ((999, 1000), False), ((999, 1001), True), ((1001, 999), True)
    for (runs, others), fine in sides:
        one = [point(runs=1001, other_runs=999), point("proof", 0, "2/5", runs=runs, other_runs=others)]
        assert asked(certificate(points=one), 4000) is fine


def test_what_has_no_test_is_not_tested():
    """(0, 0)-DP from a filter with no budget: no run of the program can have tested it."""
    steps = []
    step(
        steps,
        "assume_filter",
        [],
        query="clinic",
        measure="pure",
        budget=["0"],
        relation=R,
        because="movement",
    )
    step(steps, "assume_view", [], query="clinic", audience="everyone", releases=["clinic"], because="replay")
    step(steps, "post_process", [0, 1])
    step(steps, "to_approximate", [2], epsilon="2", delta="1/10")
    document = certificate(steps, [point()])
    idle = edited(document, (("sensitivity", 0, "status"), "untested"), (("sensitivity", 0, "worst"), "0"))
    doubtful = [(("verdict",), "UNPROVEN"), (("releasable",), False)]
    assert not accepted(document)
    assert not accepted(edited(document, *doubtful))
    assert not accepted(idle)
    assert accepted(edited(idle, *doubtful))
    reason = {"assume_filter clinic": "reviewed elsewhere"}
    lines = [
        "Accepted without a test: assume_filter clinic, because: reviewed elsewhere",
        *document["hazards"],
    ]
    taken = [(("claim", "assume"), reason), (("hazards",), lines), (("sensitivity", 0, "status"), "accepted")]
    assert accepted(edited(document, *taken))


def test_the_worst_that_was_found_is_held_against_the_largest_bound_of_its_query():
    """A query that is released as two statements may move as far as the weaker one says."""
    steps = derivation()[:3]
    step(steps, "assume_ball", [], query="sum", radius="1", relation=R, because="movement")
    step(steps, "linear", [3])
    step(steps, "gaussian", [4], variance="64", key="more")
    step(steps, "compose", [2, 5])
    step(steps, "to_approximate", [6], epsilon="2", delta="1/10")
    step(
        steps, "assume_view", [], query="clinic", audience="everyone", releases=["more", "noise"], because="r"
    )
    step(steps, "post_process", [7, 8])
    document = certificate(steps, [point()])
    assert accepted(edited(document, (("sensitivity", 0, "worst"), "4")))
    assert not accepted(edited(document, (("sensitivity", 0, "worst"), "401/100")))


def test_a_release_is_of_the_claims_data_by_the_subjects_code():
    released = edited(HONEST, *ON_DATA)
    assert accepted(released)
    for member, wrong in (
        *(("code", "sha256:" + "0" * 64), ("code", None), ("data", None), ("data", DROP), ("code", DROP)),
        *(("ledger_entry", 0), ("ledger_entry", -1), ("ledger_head", "1"), ("ledger_head", DROP)),
        *(("evaluation", {"mean": 3.5}), ("noise", "simulated"), ("more", 1)),
    ):
        assert not accepted(edited(released, (("release", member), wrong)))
    public = "The claim declares the protected data public: the evaluation uses them without noise."
    hazards = [*released["hazards"][:7], public, *released["hazards"][7:]]
    shown = [(("claim", "data", "public"), True), (("release", "evaluation"), {"mean": 3.5})]
    assert accepted(edited(released, *shown, (("hazards",), hazards)))
    assert not accepted(edited(released, *shown))


# ------------------------------------------------------------------ counts that refute are not passed over


def reached(hits, runs, alarms, others, risk, delta):
    """The ε of Clopper and Pearson's ends, by scipy."""
    low = stats.beta.ppf(risk / 2, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - risk / 2, alarms + 1, others - alarms) if alarms < others else 1.0
    return math.log(max((low - delta) / high, 1e-300))


@pytest.mark.parametrize("of", [0, 1])
def test_counts_that_refute_a_limit_are_not_said_to_leave_it(of):
    hidden = {"hits": 990, "alarms": 10, "power": 0.5, "false_alarm": 1, "epsilon_lower": 0.0}
    edits = [(("audit", "points", of, name), value) for name, value in hidden.items()]
    assert reached(990, 1000, 10, 1000, 0.01, 0.1) > 3.5
    for name in ("power", "false_alarm", "epsilon_lower"):
        edits_of = [edit for edit in edits if edit[0][-1] != name]
        assert not accepted(edited(HONEST, *edits_of))
    assert not accepted(edited(HONEST, *edits))


def test_counts_stand_where_their_bound_is_within_the_limit():
    """Random counts: what `stands` says is what the ends of scipy say, but for one part in 10^5."""
    rng, seen = np.random.default_rng(5), set()
    for _ in range(300):
        runs, others = (int(n) for n in rng.integers(1, 400, 2))
        hits, alarms = int(rng.integers(0, runs + 1)), int(rng.integers(0, others + 1))
        risk, delta = float(rng.choice([0.3, 0.05, 1e-6])), float(rng.choice([0.0, 0.1]))
        bound = reached(hits, runs, alarms, others, risk, delta)
        counts = {"hits": hits, "runs": runs, "alarms": alarms, "other_runs": others}
        for gap in (1e-5, 0.3):
            for limit, fits in ((bound + gap, True), (bound - gap, False)):
                if limit <= 0:
                    continue
                answer = consistent({**counts, "risk": risk, "delta": delta}, Fraction(limit))
                assert answer is fits, (counts, risk, delta, bound, limit)
                seen.add(fits)
                documents.Work.spent = 0
    assert seen == {True, False}


@looped("trials", [2, 9, 10**7 + 1, 2000.5])
def test_a_claim_asks_for_as_many_runs_as_claims_may(trials):
    assert asked(HONEST, 3000)
    assert not asked(HONEST, trials)


def test_an_attack_on_a_proof_makes_thirty_runs_a_side():
    few = {"hits": 15, "runs": 29, "alarms": 14, "other_runs": 29, "power": 0.1, "false_alarm": 0.95}
    assert not asked(edited(certificate(points=[point(**few)]), (("audit", "trials"), 59)), 59)
    one = {"hits": 0, "runs": 1, "alarms": 0, "other_runs": 1, "power": 0, "false_alarm": 1}
    assert not asked(edited(certificate(points=[point(**one)]), (("audit", "trials"), 2)), 10)


# ------------------------------------------------------------------ one way to write a number or a day


@looped("text", ["002", "2.", "2.0", "2e0", "0.2e1", "+2", "2"])
def test_a_promise_is_written_in_one_way(text):
    edits = [(("claim", "guarantee", "epsilon"), text), (("guarantee", "epsilon"), text)]
    assert not accepted(edited(HONEST, *edits, (("audit", "points", 0, "limit"), text)))
    long = "2.00000000000000000000001"
    edits = [(("claim", "guarantee", "epsilon"), long), (("guarantee", "epsilon"), long)]
    edits += [(("audit", "points", 2, "limit"), str(Fraction(long) / 2))]
    assert accepted(edited(HONEST, *edits, (("audit", "points", 0, "limit"), long)))


@looped("moment", ["2026-02-31T00:00:00Z", "0001-01-01T00:00:00Z", "2026-13-01T00:00:00Z"])
def test_a_moment_is_one_of_a_calendar(moment):
    assert not accepted(edited(HONEST, (("created",), moment)))


def test_no_certificate_is_older_than_certificates():
    assert accepted(edited(HONEST, (("created",), "2020-01-01T00:00:00Z")))
    assert not accepted(edited(HONEST, (("created",), "2019-12-31T23:59:59Z")))


@looped("until", ["whenever", "2027-02-30", ""])
def test_the_end_of_a_claim_is_a_day(until):
    for at in (None, date(2026, 12, 1)):
        assert not accepted(edited(HONEST, (("claim", "governance", "valid_until"), until)), at)


def test_what_was_released_is_releasable():
    assert not accepted(edited(HONEST, *ON_DATA, (("releasable",), False)))


def test_a_risk_is_not_so_small_that_no_counts_refute():
    """Three points share 1/20 alike: none has more, at another's expense."""
    for risk, fine in (("1/60", True), ("1/61", False), ("1/59", False), ("1/100000000000000000000", False)):
        edit = [(("audit", "points", 0, "risk"), risk), (("audit", "points", 0, "power"), 0.1)]
        assert accepted(edited(HONEST, *edit, (("audit", "points", 0, "false_alarm"), 0.9))) is fine


# ------------------------------------------------------------------ consistency, and messages


def refusal_of(document):
    with pytest.raises(Rejected) as why:
        consistency.judged(json.dumps(sealed(document)).encode())
    return str(why.value)


NOTHING_PROVED = unproved(HONEST)


def test_a_radius_goes_with_bounded_rows():
    def stated(relation, **radius):
        promise = {**HONEST["guarantee"], "relation": relation, **radius}
        return edited(NOTHING_PROVED, (("claim", "guarantee"), promise), (("guarantee",), promise))

    assert accepted(stated("bounded-row", radius=1))
    assert not accepted(stated("bounded-row"))
    for relation in ("replace-one", "add-remove"):
        assert accepted(stated(relation))
        assert not accepted(stated(relation, radius=1))


def test_where_nothing_is_proved_a_reason_is_given():
    assert accepted(NOTHING_PROVED)
    for reason in (None, "", " "):
        assert not accepted(edited(NOTHING_PROVED, (("proved", "reason"), reason)))
    assert not accepted(edited(UNPROVEN, (("proved", "reason"), "why not")))  # its proof is there


def test_only_what_is_proved_needs_the_digest_of_code():
    without = (("subject", "code"), None)
    assert accepted(edited(NOTHING_PROVED, without))
    assert not accepted(edited(UNPROVEN, without))


@looped(("epsilon", "said"), [(1.5, 1.5), ("19/10", "19/10"), (2, None), (2.5, None), ("inf", None)])
def test_a_parameter_epsilon_below_what_is_proved_is_said(epsilon, said):
    document = edited(HONEST, (("claim", "subject", "parameters"), {"epsilon": epsilon}))
    final = fact_of(HONEST["proved"]["derivation"][-1]["gives"])
    assert final.curve.epsilon == 2
    assert exceeded(document, final) == said


def test_why_a_verdict_does_not_follow():
    """What is missing is said to who claims a proof; no reason is made up for another wrong verdict."""
    follows = "the verdict {!r} does not follow"
    assert (
        refusal_of(edited(HONEST, (("audit",), None))) == follows.format("CERTIFIED") + ": there is no audit"
    )
    doubtful = edited(HONEST, (("verdict",), "UNPROVEN"), (("releasable",), False))
    assert refusal_of(doubtful) == follows.format("UNPROVEN")
    silent = edited(UNPROVEN, (("audit",), None), (("verdict",), "REFUTED"))
    assert refusal_of(silent) == follows.format("REFUTED")
    beaten = edited(refuted(), (("verdict",), "CERTIFIED"), (("refutes",), None), (("releasable",), True))
    assert refusal_of(beaten) == follows.format("CERTIFIED")


def test_the_verdict_and_what_was_confirmed():
    raw = json.dumps(HONEST).encode()
    words = "CERTIFIED: digest, 6 proof steps and verdict confirmed"
    assert consistency.judged(raw) == ("CERTIFIED", words)
    bare = json.dumps({"schema": "dpaccount/derivation/1", "steps": derivation()}).encode()
    words = "derivation of 6 steps: every step is confirmed"
    assert consistency.examined(bare, derivation=True) == ("DERIVATION", words)
    with pytest.raises(checker.Unreadable, match=r"certificate/1; --derivation checks a bare one$"):
        consistency.judged(bare)
    with pytest.raises(checker.Unreadable, match=r"certificate/1$"):
        consistency.judged(b'{"schema": "other"}')


@looped("broken", documents.BROKEN)
def test_what_breaks_on_the_way_is_a_rejection(broken):
    def breaks(*_):
        raise broken("on the way")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("audits.consistency.check_verdict", breaks)
        assert (
            refusal_of(HONEST) == f"a field has the wrong shape ({broken.__name__}: {broken('on the way')})"
        )


def test_a_risk_that_no_double_holds_is_a_rejection():
    """Its logarithm cannot be taken where the largest rate is sought."""
    counts, sure = {"hits": 990, "alarms": 10, "power": 0, "false_alarm": 1}, f"0.{'9' * 398}"
    document = edited(
        certificate(), (("audit", "confidence"), sure), (("claim", "audit"), {"confidence": sure})
    )
    points = attacked([point(**counts)], derivation(), confidence=sure)
    assert "wrong shape" in refusal_of(edited(document, (("audit", "points"), points)))


@looped("rate", [0.03, 0.5, 0.9, 1.0])
def test_a_rate_that_counts_do_not_allow_lets_no_limit_stand(rate):
    """Of 1,000 runs 10 alarmed: a search that found a larger rate than they allow is not believed."""
    counts = {"hits": 990, "alarms": 10, "runs": 1000, "other_runs": 1000, "risk": 0.01, "delta": 0.1}
    assert not consistent(counts, Fraction(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("audits.consistency.verdict.largest_rate", lambda *_: rate)
        with pytest.raises(Rejected, match="a rate could not be verified"):
            consistent(counts, Fraction(2))


@looped(("use", "seen"), [("gaussian-sum", True), ("noisy-statistics", False)])
def test_bounds_of_a_study_are_not_said_to_be_those_of_the_proof(use, seen):
    words = words_of(edited(HONEST, (("subject", "use"), use)), Concluded([], None, False))
    assert ("persons, bounds, code" in words) is seen
    assert NOT_SEEN in words
