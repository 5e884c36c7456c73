"""A certificate: its digest, derivation, evidence, audit and verdict, each checked again."""

import json
from datetime import date
from fractions import Fraction
from typing import Any

from ..curves import Approximate
from ..derivation import check_derivation, conclusions, reachable, reading_list
from ..documents import BROKEN, Rejected, Unreadable, Work, brief, canonical, digest, ensure, parse
from ..facts import Fact, Private
from ..relation import NO_RADIUS, has_radius
from .hazards import hazards_of, short_numbers
from .releases import check_parts, check_release
from .replaced import check_replaced
from .shapes import CERTIFICATE, day, exact_of
from .tables import check_tables
from .verdict import check_noise, check_samples, check_sizes, refutation, unproved
from .widths import unchecked

#: Subjects whose own parameter `epsilon` is of one answer, or at a δ of their own; others' is the claim's.
OWN_EPSILON = {
    *("arm-phases", "cell-points", "doubling-gp-ucb", "function-release", "jdp-gp-ucb", "ldp-ata-gp-ucb"),
    *("ldp-ctl-gp-ucb", "ldp-gp-ucb", "ldp-moma-gp-ucb", "ldp-tgp-ucb", "local-gp-ucb", "local-mean"),
    *("local-posterior", "moment-gp-ucb", "phased-gp-ucb", "phased-posterior", "policy-value"),
    *("randomised-response", "range-predictor", "surface-gp-ucb", "usca"),
}


def check_certificate(document: dict[str, Any], at: date | None) -> None:
    """Verify shape, digest, derivation and verdict of a certificate, or reject."""
    CERTIFICATE(document, "the certificate")
    steps = document["proved"]["derivation"]
    facts = conclusions(steps) if steps else []
    final = facts[-1] if steps else None
    used = sum(1 for _ in reachable(steps))
    ensure(used == len(steps), "the derivation holds a step that its last one does not rest on")
    check_content(document, at)
    check_subject(document)
    check_target(document, final)
    check_tables(document)
    check_parts(document, facts)
    check_release(document, facts)
    check_noise(document)
    check_samples(document)
    check_sizes(document)
    first = hazards_of(document)
    ensure(document["hazards"][: len(first)] == first, f"not listed first among the hazards: {brief(first)}")
    check_replaced(document)
    check_verdict(document, final)


def check_content(document: dict[str, Any], at: date | None) -> None:
    """Verify the digest, that the guarantee is the claim's in short numbers, and the date."""
    claim = document["claim"]
    body = {name: value for name, value in document.items() if name not in ("digest", "signature")}
    ensure(document["digest"] == digest(body), "the certificate's digest does not match its content")
    promise = canonical({"delta": 0, **claim["guarantee"]})
    ensure(canonical(document["guarantee"]) == promise, "guarantee differs from the claim's")
    bounded = has_radius(claim["guarantee"]["relation"])
    ensure(bounded == ("radius" in claim["guarantee"]), NO_RADIUS)
    short_numbers(document)
    until = claim.get("governance", {}).get("valid_until")
    if until is not None:
        last = day(until, "valid_until")
        ensure(at is None or at <= last, f"it was valid until {brief(until)}")
        created = day(document["created"], "created")
        ensure(created <= last, f"it was made after the last day of its claim, {brief(until)}")
    signature = document["signature"]
    signed = signature is None or document["created"] <= signature["signed"]
    ensure(signed, "it was signed before it was made")


def check_verdict(document: dict[str, Any], final: Fact | None) -> None:
    """Verify that the verdict follows, and what goes with it."""
    missing, refuted, verdict = unproved(document, final), refutation(document, final), document["verdict"]
    why = f": {missing}" if missing and verdict == "CERTIFIED" else ""
    right = "REFUTED" if refuted else "CERTIFIED" if missing is None else "UNPROVEN"
    ensure(verdict == right, f"the verdict {verdict!r} does not follow{why}")
    ensure((document["refutes"] is not None) == refuted, "refutes does not go with the verdict")
    reason = document["proved"]["reason"]
    ensure(
        (reason is None) == (final is not None), "a reason is given where nothing is proved, and only there"
    )
    ensure(reason is None or reason.strip() != "", "the reason is empty")


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


def check_target(document: dict[str, Any], final: Fact | None) -> None:
    """Verify that the ε that a claim states in place of its noise is proved."""
    asked = document["claim"]["subject"]
    given, own = asked.get("parameters", {}), ":" in asked["use"] or asked["use"] in OWN_EPSILON
    held = document["subject"]["parameters"]
    ensure(own or "epsilon" in given or "epsilon" not in held, "a parameter epsilon is not the claim's")
    if "epsilon" in given and not own and isinstance(final, Private) and isinstance(final.curve, Approximate):
        wanted = numeric(given["epsilon"])
        met = wanted is None or final.curve.epsilon <= wanted
        ensure(met, f"the parameter epsilon is {brief(given['epsilon'])}, and more is proved")


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


def check(raw: bytes, at: date | None = None, *, derivation: bool = False) -> str:
    """Return what was confirmed; raise `Rejected` naming what fails, or `Unreadable`."""
    return judged(raw, at, derivation=derivation)[1]


def judged(raw: bytes, at: date | None = None, *, derivation: bool = False) -> tuple[str, str]:
    """Return the verdict of a valid certificate, and what was confirmed in words.

    With `derivation` the document is a bare derivation, whose verdict is ``DERIVATION``: it speaks of no
    claim, subject or evidence.  Raises `Rejected` naming what fails, or `Unreadable`.
    """
    document = opened(raw, derivation=derivation)
    if derivation:
        steps = len(check_derivation(document["steps"]))
        return "DERIVATION", f"derivation of {steps} steps: every step is confirmed"
    try:
        check_certificate(document, at)
    except BROKEN as why:
        raise Rejected(f"a field has the wrong shape ({type(why).__name__}: {str(why)[:80]})") from None
    steps, verdict = len(document["proved"]["derivation"]), document["verdict"]
    rest = f" (not checked again: {left})" if (left := unchecked(document)) else ""
    return verdict, f"{verdict}: digest, {steps} proof steps and verdict confirmed{rest}"


def opened(raw: bytes, *, derivation: bool) -> dict[str, Any]:
    """Read a document of the requested schema, and start its work budget."""
    Work.begin()
    document = parse(raw)
    schema = document.get("schema") if isinstance(document, dict) else None
    if derivation:
        if schema != "dpaccount/derivation/1" or set(document) != {"schema", "steps"}:
            raise Unreadable("not a JSON object of schema dpaccount/derivation/1 with its steps alone")
    elif schema != "dpaccount/certificate/1":
        more = "; --derivation checks a bare one" if schema == "dpaccount/derivation/1" else ""
        raise Unreadable(f"not a JSON object of schema dpaccount/certificate/1{more}")
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
