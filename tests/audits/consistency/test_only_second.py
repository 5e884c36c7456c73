"""Forgeries that follow from their derivation: `dpaccount check` finds them, the standalone program does not.

docs/threat-model.md lists them by these names.
"""

import json
import math
import re
from fractions import Fraction
from functools import cache

import pytest

from audits import consistency
from dpaccount import checker
from dpaccount.checker.__main__ import main
from dpaccount.checker.certificate import judged
from tests.audits.consistency.test_study_parts import DECLARED, at, rehearsed
from tests.dpaccount.checker.made import (
    BEATEN,
    HONEST,
    ON_DATA,
    RELEASED,
    attacked,
    certificate,
    edited,
    few,
    point,
    sealed,
)
from tests.looped import looped


@cache
def study(name="gaussian"):
    """Return a certificate with a release of a study, of ε ≤ 3."""
    part, use = rehearsed(name, "replace-one", 1), "noisy-statistics"
    steps, held = part["proved"]["derivation"], part["subject"]["parameters"]
    _, epsilon, delta = steps[-1]["gives"][2]
    upper = float(Fraction(epsilon))
    while Fraction(repr(upper)) < Fraction(epsilon):
        upper = math.nextafter(upper, math.inf)
    points = attacked([point(limit=3)], steps, epsilon=3)
    data = {"file": "t.csv", "ledger": "sqlite:///t.db", "columns": DECLARED, "rows": 2000}
    document = edited(
        certificate(steps),
        (("claim", "subject"), {"use": use, **part["claim"]["subject"]}),
        *[(("subject", key), use) for key in ("use", "name")],
        (("subject", "parameters"), held | part["claim"]["subject"]["parameters"]),
        *[((*place, "epsilon"), 3) for place in (("claim", "guarantee"), ("guarantee",))],
        (("claim", "data"), data),
        (("proved", "epsilon"), {"lower": None, "upper": upper}),
        (("proved", "delta"), delta),
        (("release",), {**RELEASED, "report": part["release"]["report"]}),
        (("audit", "points"), points),
    )
    return edited(document, (("hazards",), consistency.hazards_of(document) + few(points)))


def of_study(*edits, name="gaussian"):
    return lambda: edited(study(name), *edits)


def of_honest(*edits):
    return lambda: edited(HONEST, *edits)


def unlike(place, factor):
    """Return the edit of the study that multiplies a number."""
    return (
        place,
        type(value)(value * factor)
        if type(value := at(study(), place)) in (int, float)
        else str(Fraction(value) * factor),
    )


BALL = next(k for k, entry in enumerate(HONEST["sensitivity"]) if entry["rule"] == "assume_ball")
STATISTICS = ("subject", "parameters", "statistics")
REPORT = ("release", "report")
OWN = [("claim", "subject", "parameters", "epsilon"), ("subject", "parameters", "epsilon")]

#: By their names in docs/threat-model.md: documents, and what `dpaccount check` says of each.
FORGERIES = {
    "no evidence on a hypothesis": [(of_honest((("sensitivity",), [])), "has no passing evidence")],
    "evidence of another test or relation": [
        (of_honest((("sensitivity", BALL, "test"), "another")), "evidence's test"),
        (of_honest((("sensitivity", BALL, "relation"), "add-remove")), "was tested for"),
        (of_honest((("sensitivity", BALL, "value"), "l2 0")), "evidence's value"),
    ],
    "acceptance without the claim's reason": [
        (of_honest((("sensitivity", BALL, "status"), "accepted")), "does not accept"),
    ],
    "counterexample, or movement above the bound, called tested": [
        (of_honest((("sensitivity", BALL, "worst"), "9")), "more than its step allows"),
        (of_honest((("sensitivity", BALL, "counterexample"), {"unit": 1})), "wrong shape|lacks"),
    ],
    "no attack, or none that measured": [
        (of_honest((("audit",), None)), "there is no audit"),
        (of_honest((("audit", "points", 0, "hits"), 0), (("audit", "points", 0, "alarms"), 0)), "."),
    ],
    "counts that refute the claim": [
        (
            lambda: {
                **certificate(points=[point(**BEATEN)], verdict="REFUTED", refutes="claim"),
                **{"verdict": "CERTIFIED", "refutes": None, "releasable": True},
            },
            "'CERTIFIED' does not follow",
        )
    ],
    "attack at another confidence, points or runs": [
        (of_honest((("audit", "confidence"), "0.5")), "confidence"),
        (of_honest((("audit", "points", 1, "limit"), 0.5)), "not on the points"),
        (of_honest((("audit", "trials"), 10**6)), "other runs"),
    ],
    "pair that are no neighbours": [
        (of_honest((("audit", "witness", "right"), [0.0])), "no neighbours"),
    ],
    "hazard left out": [(of_honest((("hazards",), HONEST["hazards"][1:])), "not listed first")],
    "untested code, which the claim refuses": [
        (
            of_honest(
                (("claim", "audit"), {"uncovered": "refuse"}),
                (("hazards",), [*HONEST["hazards"], "Code that no test covers: a.py:3"]),
            ),
            "refuses code that no test covers",
        )
    ],
    "parameter epsilon below what is proved": [
        (of_honest(*((place, 1) for place in OWN)), "and more is proved"),
    ],
    "parameter scale or law unlike the noise": [
        (of_honest((("subject", "parameters", "scale"), "1/2")), "parameter scale"),
        (of_honest((("subject", "parameters", "law"), "laplace")), "parameter law"),
    ],
    "statistics with other noise or wider columns than proved": [
        (of_study(((*STATISTICS[:2], "scales", 0), "1/8")), "other noise"),
        (of_study(unlike((*STATISTICS, 3, "column", "high"), 2)), "otherwise than it is declared"),
        (
            of_study(
                ((*STATISTICS, 3, "name"), "n2"),
                (("claim", "subject", "parameters", "statistic", 3, "name"), "n2"),
                (("subject", "parameters", "statistic", 3, "name"), "n2"),
            ),
            "other statistics are listed",
        ),
    ],
    "derived columns of what is undeclared": [
        (of_study((("claim", "data", "derived"), {"y": "zip * 2"})), "reads no column|formula"),
        (of_study((("claim", "data", "columns", "age", "high"), 90)), "otherwise than it is declared"),
    ],
    "unlisted numbers, intervals narrower than noise": [
        (of_study(((*REPORT, "more"), [1.0])), "reports other statistics"),
(of_study(((*REPORT, "accuracy", "total", "low", 0), at(study(), (*REPORT, "total", 0)))), "the interval of"),
    ],
    "accuracy or share unlike the noise": [
        (
            of_study(
                ((*STATISTICS, 0, "accuracy"), "3"),
                (("claim", "subject", "parameters", "statistic", 0, "accuracy"), 3),
                (("subject", "parameters", "statistic", 0, "accuracy"), 3),
            ),
            "less accurate than is stated",
        )
    ],
    "labels or counts of other cells": [
        (of_honest(*ON_DATA, (("release",), {**RELEASED, "report": {"counts": [1, 2]}}), (("subject", "parameters", "cells"), 3)), "cells"),
    ],
    "edition of no study": [
        (of_honest((("claim", "edition"), 2), (("claim", "follows"), "sha256:" + "0" * 64)), "later edition"),
    ],
    "guarantee in another notation": [
        (
            of_honest((("claim", "guarantee", "epsilon"), "2.0"), (("guarantee", "epsilon"), "2.0")),
            "not in short form",
        )
    ],
}  # fmt: skip


@looped("name", FORGERIES)
def test_what_follows_from_the_derivation_passes_the_standalone_program_alone(name, tmp_path, capsys):
    """Its words say what it did not look at, and never that the claim is certified."""
    for make, why in FORGERIES[name]:
        raw = json.dumps(sealed(make())).encode()
        (tmp_path / "c.json").write_bytes(raw)
        assert main([str(tmp_path / "c.json")]) == 0
        said = capsys.readouterr().out
        assert said.startswith("valid: the claim follows from the derivation")
        assert "tests not looked at" in said
        assert "CERTIFIED" not in said
        with pytest.raises(checker.Rejected, match=why):
            consistency.judged(raw)


@looped(("verdict", "code"), [("UNPROVEN", 3), ("REFUTED", 1)])
def test_a_lesser_verdict_is_repeated_as_it_is_stated(verdict, code, tmp_path, capsys):
    """Of a claim that is proved, and of nothing refuted."""
    raw = json.dumps(sealed(edited(HONEST, (("verdict",), verdict), (("releasable",), False)))).encode()
    (tmp_path / "c.json").write_bytes(raw)
    assert main([str(tmp_path / "c.json")]) == code
    assert f"; the document states {verdict}; tests not looked at" in capsys.readouterr().out
    with pytest.raises(checker.Rejected, match=f"'{verdict}' does not follow"):
        consistency.judged(raw)


def test_a_certificate_of_one_run_is_none_for_the_standalone_program(tmp_path, capsys):
    (tmp_path / "c.json").write_text(json.dumps({"schema": "dpaccount/one-run-certificate/1"}))
    assert main([str(tmp_path / "c.json")]) == 2
    assert "dpaccount check" in capsys.readouterr().err


@looped("name", ["gaussian", "laplace", "unlisted"])
def test_the_study_that_is_forged_is_accepted_as_it_is(name):
    raw = json.dumps(sealed(study(name))).encode()
    assert consistency.judged(raw)[0] == "CERTIFIED"
    assert "persons, code and charge" in judged(raw)[1]  # of a study no bounds are confirmed


def test_the_threat_model_lists_these_forgeries_and_no_others(root):
    text = (root / "docs" / "threat-model.md").read_text()
    rows = text.partition("## What only the second program finds")[2].partition("\n## ")[0]
    assert re.findall(r"^- (.+)$", rows, re.MULTILINE) == list(FORGERIES)
