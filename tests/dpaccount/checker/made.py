"""A certificate written by hand, and what else it may hold: material for the tests of this folder."""

import copy
import json

from dpaccount import checker
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import infer, reachable

R = "replace-one"
KEYS = ["noise"]
CODE = "sha256:" + "c" * 64


def step(steps, rule, before, **given):
    gives = infer(rule, [steps[k]["gives"] for k in before], given)
    body = {"rule": rule, "from": [steps[k]["digest"] for k in before], "with": given, "gives": gives}
    steps.append({**body, "from": before, "digest": checker.digest(body)})


def derivation(relation=R, audience="everyone", name="clinic"):
    steps = []
    step(steps, "assume_ball", [], query="sum", radius="1/2", relation=relation, because="movement")
    step(steps, "linear", [0])
    step(steps, "gaussian", [1], variance="1", key="noise")
    step(steps, "to_approximate", [2], epsilon="2", delta="1/10")
    step(steps, "assume_view", [], query=name, audience=audience, releases=["noise"], because="replay")
    step(steps, "post_process" if audience == "everyone" else "billboard", [3, 4])
    return steps


def evidence(steps):
    return [
        {
            **{"rule": s["rule"], "query": s["with"]["query"], "step": s["digest"], "relation": R},
            **{"value": checker.promised(steps, s["digest"])[0], "test": s["with"]["because"]},
            **{"status": "tested", "examples": 200, "counterexample": None},
            **{"worst": "0" if s["rule"] == "assume_view" else "1", "source": "sha256:" + "5" * 64},
        }
        for s in reversed(list(reachable(steps)))
        if s["rule"].startswith("assume_")
    ]


def point(of="claim", limit=2, delta="1/10", lower=0.0, **counts):
    numbers = {
        **{"hits": 500, "runs": 1000, "alarms": 480, "other_runs": 1000},
        **{"risk": "1/100", "power": 0.4, "false_alarm": 0.6, "event": "score at least 1"},
    }
    return {"of": of, "limit": limit, "delta": delta, "epsilon_lower": lower, **numbers, **counts}


#: counts that show ε ≥ 3.2 at δ = 1/10
BEATEN = {"lower": 3.2, "hits": 990, "alarms": 10, "power": 0.9, "false_alarm": 0.03}


def certificate(steps=None, points=(), verdict="CERTIFIED", refutes=None):
    steps = derivation() if steps is None else steps
    promise = {"model": "central", "unit": "a row", "relation": R, "epsilon": 2, "delta": 0.1}
    claim = {
        **{"schema": "dpaccount/claim/1", "name": "c", "guarantee": promise},
        "governance": {"valid_until": "2027-01-31"},
        "subject": {"use": "clinic", "parameters": {"sigma": 0.5, "mode": "tree"}},
    }
    points = list(points) or [point(), point("proof", 0, "2/5")]
    audit = {
        **{"attack": "likelihood ratio", "trials": 2000, "quick": False, "witness": {"unit": 1}},
        "confidence": "0.95",
        "epsilon_lower": points[0]["epsilon_lower"],
        "points": points,
    }
    document = {
        **{"schema": "dpaccount/certificate/1", "verdict": verdict, "refutes": refutes, "claim": claim},
        "subject": {
            **{"use": "clinic", "name": "clinic", "parameters": {"sigma": "1/2", "mode": "tree"}},
            **{"source": "ours", "status": "sound", "code": CODE},
        },
        **{"guarantee": dict(promise), "environment": {"python": "3.11"}, "hazards": []},
        "created": "2026-11-20T10:00:00Z",
        "proved": {
            **{"epsilon": {"lower": None, "upper": 2.0}, "delta": "1/10", "derivation": steps},
            **{"tight": None, "reason": None},
        },
        "sensitivity": evidence(steps),
        **{"audit": audit, "release": None, "releasable": verdict == "CERTIFIED", "signature": None},
    }
    document["hazards"] = checker.hazards_of(document)
    return sealed(document)


def sealed(document):
    body = {name: value for name, value in document.items() if name not in ("digest", "signature")}
    return {**document, "digest": checker.digest(body)}


def accepted(document, at=None):
    try:
        checker.check(json.dumps(sealed(document)).encode(), at)
    except Rejected:
        return False
    return True


def edited(document, *edits):
    new = copy.deepcopy(document)
    for path, value in edits:
        place = new
        for key in path[:-1]:
            place = place[key]
        if value is DROP:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    return new


DROP = object()
HONEST = certificate()
UNPROVEN = edited(
    HONEST, (("verdict",), "UNPROVEN"), (("releasable",), False), (("proved", "reason"), "why not")
)
RELEASED = {
    **{"report": {"sum": 3.5}, "ledger_entry": 1, "ledger_head": "1" * 64, "noise": "secure"},
    **{"data": "sha256:" + "d" * 64, "code": CODE, "evaluation": None},
}
ON_DATA = [
    (("claim", "data"), {"file": "rows.csv", "ledger": "sqlite:///rows.db"}),
    (("release",), RELEASED),
    (
        ("hazards",),
        [
            *HONEST["hazards"][:6],
            "The reader of the data file is trusted to take every row by itself.",
            *HONEST["hazards"][6:],
        ],
    ),
]
LARGER = [
    (("claim", "guarantee", "epsilon"), 3),
    (("guarantee", "epsilon"), 3),
    (("audit", "points", 0, "limit"), 3),
]
SMALLER = [
    *((("claim", "guarantee", "epsilon"), 1.5), (("guarantee", "epsilon"), 1.5)),
    (("audit", "points", 0, "limit"), 1.5),
]


def refuted(of="claim", **counts):
    first = point(**{**BEATEN, **counts}) if of == "claim" else point()
    second = point("proof", 0, "2/5", **{**BEATEN, **counts, "lower": 2.4}) if of == "proof" else None
    return certificate(points=[p for p in (first, second) if p], verdict="REFUTED", refutes=of)
