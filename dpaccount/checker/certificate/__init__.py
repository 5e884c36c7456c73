"""A certificate: its digest, and that the claim follows from the derivation, for the same units and code.

The evidence for the hypotheses, the attack and what else a certificate says is not looked at here.
"""

import json
from datetime import date
from fractions import Fraction
from typing import Any

from ..curves import Approximate
from ..derivation import check_derivation, conclusions, reachable, reading_list
from ..documents import Rejected, Unreadable, Work, brief, canonical, digest, ensure, parse, unbroken
from ..facts import Fact, Private
from ..relation import NO_RADIUS, has_radius
from .releases import check_parts, check_release
from .shapes import CERTIFICATE, day, exact_of
from .tables import STUDY, check_tables
from .verdict import Concluded, assumed, check_replaced, concluded

NOT_SEEN = (
    "tests not looked at, nor evidence, attack, columns read, intervals, hazards, and of a study the bounds"
    " and noise of each statistic (dpaccount check does)"
)


READERS = {
    "dpaccount/derivation/1": "; --derivation checks a bare one",
    "dpaccount/one-run-certificate/1": "; dpaccount check reads one of a training run",
}


def followed(document: dict[str, Any], at: date | None) -> Concluded:
    """Return what the derivation says of the claim; reject what does not follow or is of something else."""
    CERTIFICATE(document, "the certificate")
    steps = document["proved"]["derivation"]
    facts = conclusions(steps) if steps else []
    used = sum(1 for _ in reachable(steps))
    ensure(used == len(steps), "the derivation holds a step that its last one does not rest on")
    check_content(document, at)
    check_subject(document)
    check_tables(document)
    check_parts(document, facts)
    check_release(document, facts)
    check_replaced(document)
    return concluded(document, facts)


def words_of(document: dict[str, Any], found: Concluded) -> str:
    """Return what was confirmed of a certificate, and what was not looked at."""
    steps, parts = document["proved"]["derivation"], []
    if found.missing is None:
        bounds = "" if document["subject"]["use"] == STUDY else " bounds,"
        parts.append(
            f"the claim follows from the derivation ({len(steps)} steps, {len(assumed(steps))} assumptions);"
            f" units, persons,{bounds} code and charge are those of the proof"
        )
    elif found.refuted:
        parts.append("the claim is false, if one event is as certain as a derivation assumes")
    else:
        parts.append(f"the claim does not follow from the derivation: {found.missing}")
    if document["verdict"] != "CERTIFIED":
        parts.append(f"the document states {document['verdict']}")
    if (stated := exceeded(document, found.final)) is not None:
        parts.append(f"the parameter epsilon is {brief(stated)}, and more is proved")
    return "; ".join([*parts, NOT_SEEN])


def exceeded(document: dict[str, Any], final: Fact | None) -> Any:
    """Return the parameter epsilon that the claim gives its subject, if more is proved; None otherwise."""
    given = document["claim"]["subject"].get("parameters", {}).get("epsilon")
    if given is None or not isinstance(final, Private) or not isinstance(final.curve, Approximate):
        return None
    wanted = numeric(given)
    return given if wanted is not None and final.curve.epsilon > wanted else None


def check_content(document: dict[str, Any], at: date | None) -> None:
    """Verify the digest, that the guarantee is the claim's in short numbers, and the date."""
    claim = document["claim"]
    body = {name: value for name, value in document.items() if name not in ("digest", "signature")}
    ensure(document["digest"] == digest(body), "the certificate's digest does not match its content")
    promise = canonical({"delta": 0, **claim["guarantee"]})
    ensure(canonical(document["guarantee"]) == promise, "guarantee differs from the claim's")
    bounded = has_radius(claim["guarantee"]["relation"])
    ensure(bounded == ("radius" in claim["guarantee"]), NO_RADIUS)
    until = claim.get("governance", {}).get("valid_until")
    if until is not None:
        last = day(until, "valid_until")
        ensure(at is None or at <= last, f"it was valid until {brief(until)}")
        created = day(document["created"], "created")
        ensure(created <= last, f"it was made after the last day of its claim, {brief(until)}")
    signature = document["signature"]
    signed = signature is None or document["created"] <= signature["signed"]
    ensure(signed, "it was signed before it was made")


def check_subject(document: dict[str, Any]) -> None:
    """Verify that claim, subject and parameters speak of the same thing."""
    subject, asked = document["subject"], document["claim"]["subject"]
    use = asked["use"]
    ensure(subject["use"] == use, "the subject is not the claim's")
    module, colon, _ = use.partition(":")
    name = module.rpartition(".")[2].replace("_", "-") if colon else use
    ensure(subject["name"] == name, f"the subject's name should be {brief(name)}")
    for key, value in asked.get("parameters", {}).items():
        held = subject["parameters"].get(key)
        same = numeric(held) == numeric(value) if type(value) in (int, float) else written_alike(held, value)
        ensure(same, f"the parameter {brief(key)} is not the claim's")
    known = subject["code"] is not None or not document["proved"]["derivation"]
    ensure(known, "what is proved is proved of code, whose digest is missing")


def numeric(value: object) -> Fraction | None:
    """Read a parameter that is a number."""
    return exact_of(value, "a parameter")


def written_alike(held: object, value: object) -> bool:
    """Return whether two values are the same text, or texts of the same number."""
    if str(held) == str(value) or not isinstance(value, str):
        return str(held) == str(value)
    try:
        return numeric(held) == numeric(value)
    except Rejected:
        return False


def judged(raw: bytes, at: date | None = None, *, derivation: bool = False) -> tuple[str, str]:
    """Return the verdict that a document states, where the derivation allows it, and what was confirmed.

    With `derivation` the document is a bare derivation, whose verdict is ``DERIVATION``: it speaks of no
    claim, subject or evidence.  Raises `Rejected` naming what fails, or `Unreadable`.
    """
    document = opened(raw, derivation=derivation)
    if derivation:
        steps = len(check_derivation(document["steps"]))
        return "DERIVATION", f"derivation of {steps} steps: every step is confirmed"
    with unbroken():
        return document["verdict"], words_of(document, followed(document, at))


def opened(raw: bytes, *, derivation: bool) -> dict[str, Any]:
    """Read a document of the requested schema, and start its work budget."""
    Work.begin()
    document = parse(raw)
    schema = document.get("schema") if isinstance(document, dict) else None
    if derivation:
        if schema != "dpaccount/derivation/1" or set(document) != {"schema", "steps"}:
            raise Unreadable("not a JSON object of schema dpaccount/derivation/1 with its steps alone")
    elif schema != "dpaccount/certificate/1":
        raise Unreadable(f"not a JSON object of schema dpaccount/certificate/1{READERS.get(str(schema), '')}")
    return dict(document)


def signature_of(raw: bytes) -> str:
    """Return the status of a valid document's signature when no key is given."""
    return "unsigned" if json.loads(raw).get("signature") is None else "signed, not checked"


def to_read(raw: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return the reading list of a valid document: its rules, and the files that they need."""
    document = json.loads(raw)
    if "steps" in document:
        return reading_list(document["steps"])
    proved = document["proved"]
    return reading_list(proved["derivation"] or proved.get("refutation", []), __name__)


EXIT = {"CERTIFIED": 0, "DERIVATION": 0, "REFUTED": 1, "UNPROVEN": 3}
