"""Output for CI systems other than JUnit: SARIF, and annotations of GitHub."""

import json
from typing import Any
from urllib.parse import quote

from audits.reports.standards import proved_text
from audits.reports.words import VERDICTS, CertifyResult

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
    place = {"artifactLocation": {"uri": quote(claim)}, "region": {"startLine": 1}}
    result = {
        "ruleId": rule["id"],
        "level": SARIF_LEVELS[certificate["verdict"]],
        "message": {"text": message(certificate)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"claim": certificate["claim"]["name"]},
    }
    driver = {
        "name": "dpaccount",
        "version": certificate["environment"].get("dpaccount", "0"),
        "rules": [rule],
    }
    log: dict[str, Any] = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [result]}],
    }
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def annotation(certificate: CertifyResult, claim: str) -> str:
    """Return the verdict as an annotation of GitHub Actions; a claim's texts cannot begin another command."""
    kind = {"error": "error", "warning": "warning", "note": "notice"}[SARIF_LEVELS[certificate["verdict"]]]
    return f"::{kind} file={_escaped(claim, also=True)}::{_escaped(message(certificate))}"


def _escaped(text: str, *, also: bool = False) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C") if also else escaped
