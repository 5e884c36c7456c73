"""A certificate written by hand, and what else it may hold: material for the tests of this folder."""

import json
import pickle
from fractions import Fraction

from audits import consistency
from audits.consistency import hazards
from audits.consistency.verdict import asserted, promised
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
            **{"value": promised(steps, s["digest"])[0], "test": s["with"]["because"]},
            **{"status": "tested", "examples": 200, "counterexample": None},
            **{"worst": "0" if s["rule"] == "assume_view" else "1", "source": "sha256:" + "5" * 64},
        }
        for s in reversed(list(reachable(steps)))
        if s["rule"].startswith("assume_")
    ]


def point(of="claim", limit=2, delta="1/10", lower=0.0, **counts):
    numbers = {
        **{"hits": 500, "runs": 1000, "alarms": 480, "other_runs": 1000},
        **{"power": 0.4, "false_alarm": 0.6, **counts},
    }
    return {"of": of, "limit": limit, "delta": delta, "epsilon_lower": lower, **numbers}


def attacked(points, steps, epsilon=2, confidence="0.95"):
    """Return the points as an attack has them: those of a curve that is proved too, risks shared, counts in words."""
    weak = {"of": "proof", "delta": "999/1000", "epsilon_lower": 0, "power": 0.1, "false_alarm": 0.9}
    missing = {0, epsilon / 2} - {p["limit"] for p in points if p["of"] == "proof"}
    shown = bool(steps) and any(asserted(steps, None))
    points = [*points, *({**points[0], **weak, "limit": limit} for limit in sorted(missing) if shown)]
    share = str((1 - Fraction(confidence)) / len(points))
    return [{"risk": share, **p, "event": f"score at least 1, {seen(p)}"} for p in points]


def seen(p):
    return f"seen {p['hits']} of {p['runs']} against {p['alarms']} of {p['other_runs']}"


def trials(runs):
    """Return how many runs were made where so many are counted."""
    return max(runs + 10, next(n for n in range(runs, 2 * runs) if n - n // 20 == runs) if runs > 190 else 0)


#: counts that show ε ≥ 3.2 at δ = 1/10
BEATEN = {"lower": 3.2, "hits": 990, "alarms": 10, "power": 0.9, "false_alarm": 0.03}


WITNESS = {
    **{"unit": 1, "left": [0.0], "right": [1.0], "rows": 4, "coins": 0},
    **{"other_rows": {"base": "uniform", "seed": 1}, "wrong": "the neighbouring pair under attack"},
}


def certificate(steps=None, points=(), verdict="CERTIFIED", refutes=None):
    steps = derivation() if steps is None else steps
    promise = {"model": "central", "unit": "a row", "relation": R, "epsilon": 2, "delta": 0.1}
    claim = {
        **{"schema": "dpaccount/claim/1", "name": "c", "guarantee": promise},
        "governance": {"valid_until": "2027-01-31"},
        "subject": {"use": "clinic", "parameters": {"sigma": 0.5, "mode": "tree"}},
    }
    proved = [point("proof", 0, "2/5")] if any(asserted(steps, None)) else []
    points = attacked(list(points) or [point(), *proved], steps)
    audit = {
        **{
            "attack": "likelihood ratio",
            "trials": trials(points[0]["runs"] + points[0]["other_runs"]),
            "quick": False,
            "witness": WITNESS,
        },
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
    document["hazards"] = consistency.hazards_of(document) + few(points)
    return sealed(document)


def few(points):
    """Return what is said where so few runs could show no ε above the claim's."""
    words = f"which is not above the claim's {points[0]['limit']}: it tested nothing of the claim itself."
    return [words] if points[0]["runs"] < 100 or points[0]["limit"] > 5 else []


def sealed(document):
    body = {name: value for name, value in document.items() if name not in ("digest", "signature")}
    return {**document, "digest": checker.digest(body)}


def accepted(document, at=None):
    try:
        consistency.judged(json.dumps(sealed(document)).encode(), at)
    except Rejected:
        return False
    return True


def unproved(document):
    """Return the document without a proof: its attack is on the claim alone."""
    return edited(
        {**document, "verdict": "UNPROVEN", "releasable": False, "sensitivity": []},
        *((("proved", name), value) for name, value in {**NO_PROOF, "reason": "why not"}.items()),
        (
            ("audit", "points"),
            attacked([{k: v for k, v in document["audit"]["points"][0].items() if k != "risk"}], []),
        ),
        (("hazards",), [*hazards.UNPROVED_HAZARDS, *document["hazards"][6:]]),
    )


def copied(document):
    """Return a copy in all depth, a few times faster than `copy.deepcopy` makes it."""
    return pickle.loads(pickle.dumps(document))  # noqa: S301 - our own


def edited(document, *edits):
    new = copied(document)
    for path, value in edits:
        place = new
        for key in path[:-1]:
            place = place[key]
        if value is DROP:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    return new


def of_each(table):
    """Return each key of a table with each of its values, as cases of a test."""
    return [(key, value) for key, values in table.items() for value in values]


NO_PROOF = {"derivation": [], "epsilon": None, "delta": None}
DROP = object()
HONEST = certificate()
UNPROVEN = edited(HONEST, (("verdict",), "UNPROVEN"), (("releasable",), False))
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
            "The code that reads the data file is trusted to read each row independently of the others.",
            *HONEST["hazards"][6:],
        ],
    ),
]
LARGER = [
    (("claim", "guarantee", "epsilon"), 3),
    (("guarantee", "epsilon"), 3),
    (("audit", "points", 0, "limit"), 3),
    (("audit", "points", 2, "limit"), 1.5),
]
SMALLER = [
    *((("claim", "guarantee", "epsilon"), 1.5), (("guarantee", "epsilon"), 1.5)),
    (("audit", "points", 0, "limit"), 1.5),
    (("audit", "points", 2, "limit"), 0.75),
]


def refuted(of="claim", **counts):
    first = point(**{**BEATEN, **counts}) if of == "claim" else point()
    second = point("proof", 0, "2/5", **{**BEATEN, **counts, "lower": 2.4}) if of == "proof" else None
    return certificate(points=[p for p in (first, second) if p], verdict="REFUTED", refutes=of)
