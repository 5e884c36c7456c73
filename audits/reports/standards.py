"""What others ask for: points of NIST SP 800-226, SARIF, annotations of GitHub.

`[governance]` supplies what a certificate cannot know; what is missing there is "not stated".
"""

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from audits.reports.words import VERDICTS, CertifyResult, has_false_assumption, what_it_means
from dpaccount.exact import as_exact, to_digits

SILENT = "not stated"

GOVERNANCE = {
    "curator": "who holds the data",
    "owner": "who is accountable for the release",
    "contact": "whom to ask",
    "reviewer": "who checked this certificate",
    "approver": "who allowed the release",
    "purpose": "what the release is for",
    "intended_use": "who will use it, and how",
    "product": "what is published",
    "unprotected": "what else is public",
    "why_epsilon": "why this ε",
    "legal_basis": "what allows the data to be used",
    "retention": "how long the data are kept",
    "access": "who may see the data",
    "bias": "who bears the error",
    "commit": "the commit of the code and the claim",
    "valid_until": "when this expires",
}


POINTS = (
    "Privacy parameters",
    "What the parameters mean",
    "Variant of differential privacy",
    "Unit of privacy",
    "Neighbouring datasets",
    "Several records of one person",
    "Algorithm",
    "Proof",
    "Tests of the implementation",
    "Floating point and randomness",
    "Side channels",
    "Utility",
    "Bias, and who bears the error",
    "Trust model: who sees raw data",
    "Access control",
    "Collection and retention of the data",
    "Budget over time and repeated queries",
    "What is public or unprotected",
    "Why this ε",
)


def governance(certificate: CertifyResult) -> dict[str, str]:
    """Return what is stated under every known key, and under others that the claim has."""
    stated = certificate["claim"].get("governance", {})
    return {**dict.fromkeys(GOVERNANCE, SILENT), **{key: str(value) for key, value in stated.items()}}


def proved_text(certificate: CertifyResult) -> str:
    """Return what is proved in one line, rounded up."""
    proved = certificate["proved"]
    if proved["epsilon"] is None:
        return f"nothing: {proved.get('reason')}"
    upper = proved["epsilon"]["upper"]
    shown = upper if upper == "inf" else to_digits(as_exact(upper), up=True)
    false = "; but an assumption is false: see below" if has_false_assumption(certificate) else ""
    return f"ε ≤ {shown} at δ = {proved['delta']} (rounded up){false}"


def _tested(certificate: CertifyResult) -> str:
    entries = certificate["sensitivity"]
    if not entries:
        return "nothing is assumed of the code" if steps_of(certificate) else "there is no proof"
    counts = Counter(entry["status"] for entry in entries)
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def nist(certificate: CertifyResult) -> list[tuple[str, str]]:
    """Return the points to evaluate a guarantee by (NIST SP 800-226, March 2025), each with its answer."""
    guarantee, stated = certificate["guarantee"], governance(certificate)
    release, audit = certificate["release"], certificate["audit"]
    noise = "no release was made"
    if release is not None:
        noise = f"noise: {release['noise']}, drawn only after it is charged"
    attacked = "no attack was run" if audit is None else f"{audit['attack']}, {audit['trials']} runs"
    ledger, steps = certificate["claim"].get("data", {}).get("ledger"), steps_of(certificate)
    answers = (
        f"claimed ε = {guarantee['epsilon']}, δ = {guarantee['delta']}; {proved_text(certificate)}",
        " ".join(what_it_means(certificate)),
        f"(ε, δ), {guarantee['model']} model",
        guarantee["unit"],
        guarantee["relation"],
        of_persons(certificate),
        f"{certificate['subject']['name']}: {certificate['subject'].get('source') or SILENT}",
        f"{steps} steps, re-derived by `dpaccount check`" if steps else "none",
        f"assumptions: {_tested(certificate)}; attack: {attacked}",
        f"{arithmetic(steps)}; {noise}",
        "timing is not covered; see the limits below",
        "the released values, with intervals where they are known" if release else SILENT,
        stated["bias"],
        stated["curator"],
        stated["access"],
        stated["retention"],
        (ledger and f"ledger {ledger}") or "no ledger: no release",
        stated["unprotected"],
        stated["why_epsilon"],
    )
    return list(zip(POINTS, answers, strict=True))


def of_persons(certificate: CertifyResult) -> str:
    """Return whose rows are one unit, and how many of them are used."""
    data: dict[str, Any] = certificate["claim"].get("data", {})
    if "id" not in data:
        return f"{'each row is one unit: ' if 'columns' in data else ''}rows are not grouped by person"
    return f"rows are grouped by {data['id']}; at most {data.get('max_rows', 1)} rows of a unit are used"


def steps_of(certificate: CertifyResult) -> int:
    """Return the number of steps of the proof."""
    return len(certificate["proved"]["derivation"])


def arithmetic(steps: int) -> str:
    """Return in which numbers the mechanism computes, by whether anything of it is proved."""
    return "exact grids and integer samplers" if steps else "that of the code, which was not examined"


# ------------------------------------------------------------------ continuous integration


SARIF_LEVELS = {"REFUTED": "error", "UNPROVEN": "warning", "CERTIFIED": "note"}


def message(certificate: CertifyResult) -> str:
    """Return what is wrong, or right, in one line."""
    verdict, name = certificate["verdict"], certificate["claim"]["name"]
    wrong = [e["counterexample"]["wrong"] for e in certificate["sensitivity"] if e["counterexample"]]
    summary = f"{verdict} {name}: {VERDICTS[verdict]} Proved: {proved_text(certificate)}."
    return " ".join([summary, *map(str, wrong)])


def sarif(certificate: CertifyResult, claim: str) -> str:
    """Return the verdict as a SARIF 2.1.0 log, about the file `claim`."""
    rule = {"id": "privacy-claim", "shortDescription": {"text": "A privacy claim is proved, or it is not."}}
    # SARIF asks for a URI, and a path may have spaces or letters beyond ASCII.
    place = {"artifactLocation": {"uri": quote(claim)}, "region": {"startLine": 1}}
    result = {
        "ruleId": rule["id"],
        "level": SARIF_LEVELS[certificate["verdict"]],
        "message": {"text": message(certificate)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"claim": certificate["claim"]["name"]},
    }
    version = certificate["environment"].get("dpaccount", "0")
    driver = {"name": "dpaccount", "version": version, "rules": [rule]}
    log: dict[str, Any] = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [result]}],
    }
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def annotation(certificate: CertifyResult, claim: str) -> str:
    """Return the verdict as an annotation of GitHub Actions."""
    kind = {"error": "error", "warning": "warning", "note": "notice"}[SARIF_LEVELS[certificate["verdict"]]]
    return f"::{kind} file={_escaped(claim, also=True)}::{_escaped(message(certificate))}"


def _escaped(text: str, *, also: bool = False) -> str:
    # A line end within a claim's texts could begin another command.
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C") if also else escaped
