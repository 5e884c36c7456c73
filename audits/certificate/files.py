"""Writing a certificate's files: the JSON, a report for people, and JUnit for CI."""

import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from audits.certificate.report import html
from audits.certificate.summary import beaten
from dpaccount.documents import atomically
from dpaccount.errors import InputError


def write_all(certificate: dict[str, Any], folder: Path) -> Path:
    """Write certificate.json, report.html and junit.xml into `folder`; return the certificate's path."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        atomically(folder / "report.html", html(certificate))
        atomically(folder / "junit.xml", junit(certificate))
        path = folder / "certificate.json"
        atomically(path, json.dumps(certificate, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise InputError(
            f"{folder}: {error.strerror or 'unwritable'}; name a folder that can be written"
        ) from None
    return path


def junit(certificate: dict[str, Any]) -> str:
    """Return the certificate as JUnit XML: one case for the proof, each hypothesis and each audited point."""
    cases: list[tuple[str, str | None]] = []
    verdict = certificate["verdict"]
    cases.append(("verdict", None if verdict == "CERTIFIED" else f"{verdict}"))
    for entry in certificate["sensitivity"]:
        wrong = None if entry["counterexample"] is None else str(entry["counterexample"]["wrong"])
        cases.append((f"hypothesis {entry['rule']} of {entry['query']}", wrong))
    for point in certificate["audit"]["points"] if certificate["audit"] else ():
        what = (
            f"epsilon is at least {point['epsilon_lower']} at delta {point['delta']}"
            if beaten(point)
            else None
        )
        cases.append((f"audit of the {point['of']} at epsilon {point['limit']}", what))
    failures = sum(wrong is not None for _, wrong in cases)
    name = quoteattr(_plain(certificate["claim"]["name"]))
    head = f'<testsuite name={name} tests="{len(cases)}" failures="{failures}">'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    for case, wrong in cases:
        failure = "" if wrong is None else f"<failure message={quoteattr(_plain(wrong))}/>"
        lines.append(f"  <testcase name={quoteattr(_plain(case))}>{failure}</testcase>")
    return "\n".join([*lines, "</testsuite>", ""])


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
