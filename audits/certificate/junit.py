"""The text of a certificate's junit.xml, which CI systems read."""

from typing import Any
from xml.sax.saxutils import quoteattr

from audits.certificate.summary import beaten
from audits.reports.page import one_line


def junit(certificate: dict[str, Any]) -> str:
    """Return the certificate as JUnit XML: one case for the proof, each hypothesis and each audited point."""
    verdict = certificate["verdict"]
    cases: list[tuple[str, str | None]] = [("verdict", None if verdict == "CERTIFIED" else verdict)]
    for entry in certificate["sensitivity"]:
        wrong = None if entry["counterexample"] is None else str(entry["counterexample"]["wrong"])
        cases.append((f"hypothesis {entry['rule']} of {entry['query']}", wrong))
    for point in certificate["audit"]["points"] if certificate["audit"] else ():
        bound = f"epsilon is at least {point['epsilon_lower']} at delta {point['delta']}"
        wrong = bound if beaten(point) else None
        cases.append((f"audit of the {point['of']} at epsilon {point['limit']}", wrong))
    failures = sum(wrong is not None for _, wrong in cases)
    name = quoteattr(one_line(certificate["claim"]["name"]))
    head = f'<testsuite name={name} tests="{len(cases)}" failures="{failures}">'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    for case, wrong in cases:
        failure = "" if wrong is None else f"<failure message={quoteattr(one_line(wrong))}/>"
        lines.append(f"  <testcase classname={name} name={quoteattr(one_line(case))}>{failure}</testcase>")
    return "\n".join([*lines, "</testsuite>", ""])
