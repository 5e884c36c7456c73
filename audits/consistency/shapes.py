"""The shape of what the checker does not look at: evidence, attack, hazards, environment and signature."""

import re
from typing import Any

from dpaccount.checker import relation
from dpaccount.checker.certificate.shapes import (
    CERTIFICATE,
    COLUMN,
    COUNT,
    DIGEST,
    FLAG,
    TABLE,
    TEXT,
    Shape,
    amount,
    anything,
    closed,
    either,
    listed,
    moment,
    tabled,
    written,
)

SEEN = ("unit", "left", "right", "rows", "other_rows", "coins", "wrong")  # of a pair of datasets
ENTRY = closed(
    {
        **dict.fromkeys(("rule", "query", "value", "test"), TEXT),
        **{"relation": written(relation.NEIGHBOURS), "step": written(DIGEST)},
        "status": written(("tested", "refuted", "untested", "accepted")),
        **{"examples": COUNT, "worst": TEXT, "source": written(DIGEST)},
        "counterexample": either(closed(dict.fromkeys(SEEN, anything))),
    }
)
POINT = closed(
    {
        "of": written(("claim", "proof")),
        **{"limit": amount(endless=True), "delta": amount(), "epsilon_lower": amount()},
        **dict.fromkeys(("hits", "runs", "alarms", "other_runs"), COUNT),
        **{"risk": amount(None, endless=True), "power": amount(), "false_alarm": amount(), "event": TEXT},
    }
)
AUDIT = closed(
    {
        **{"attack": TEXT, "trials": COUNT, "quick": FLAG, "confidence": amount()},
        **{"epsilon_lower": amount(), "points": listed(POINT)},
        "witness": closed(
            {}, dict.fromkeys((*SEEN, "base", "event", "score", "pairs_tried", "findings"), anything)
        ),
    },
    {"distance": amount()},
)
SIGNATURE = closed(
    {
        **{"algorithm": written(("ed25519",)), "key": written(re.compile("[0-9a-f]{64}"))},
        **{"signed": moment, "value": written(re.compile("[A-Za-z0-9+/]{86}=="))},
    }
)
AUDITED = {"uncovered": written(("name", "refuse"))}
AUDITED |= dict.fromkeys(("trials", "confidence", "seconds", "seed"), amount())
JOIN = closed({"file": TEXT, "key": TEXT, "digest": written(DIGEST), "columns": tabled(COLUMN)})
DESCRIBED: dict[str, Shape] = dict.fromkeys(("shape", "low", "high", "left", "right"), anything)
DESCRIBED |= {"dtype": TEXT, "as": TEXT, **TABLE}


def some(shapes: dict[str, Shape]) -> Shape:
    """Return the shape of a table some of whose members have these shapes; the checker knows the others."""

    def shape(value: Any, where: str) -> None:
        for name in value.keys() & shapes.keys():
            shapes[name](value[name], f"{where}.{name}")

    return shape


CLAIM = some(
    {
        **{
            "audit": closed({}, AUDITED),
            "assume": tabled(TEXT),
            "edition": COUNT,
            "follows": written(DIGEST),
        },
        "data": some({"derived": tabled(TEXT), "join": tabled(JOIN)}),
        "subject": some({"data": closed({}, DESCRIBED)}),
    }
)
UNSEEN = some(
    {
        **{"claim": CLAIM, "sensitivity": listed(ENTRY), "audit": either(AUDIT), "hazards": listed(TEXT)},
        **{"environment": tabled(TEXT), "signature": either(SIGNATURE)},
    }
)


def check_shape(document: Any) -> None:
    """Verify the shape of a whole certificate, also of what the checker does not look at."""
    CERTIFICATE(document, "the certificate")
    UNSEEN(document, "the certificate")
