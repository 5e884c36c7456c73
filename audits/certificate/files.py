"""A certificate's files: the JSON, a report, JUnit for CI; and reading a valid one."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from msgspec import to_builtins

from audits.certificate.document import describe_subject
from audits.certificate.summary import beaten
from audits.claim import Claim, output_folder
from audits.reports.ci import sarif
from audits.reports.page import html
from dpaccount import checker
from dpaccount.documents import OPEN, OWN, atomically, canonical, read_bytes, writing
from dpaccount.errors import InputError
from mechanisms.subject import Subject

LISTED: Final = "release-files.txt"  #: lists the other files of a release
LIST_HEAD: Final = "# Files of the release that certificate.json covers; the next release here removes them."


def folder_for(certificate: Mapping[str, Any], folder: Path) -> Path:
    """Return where a certificate is written: one without a release never replaces one with it."""
    if certificate["release"] is not None:
        return folder
    try:
        held = json.loads((folder / "certificate.json").read_bytes())
    except (OSError, ValueError):
        return folder
    released = isinstance(held, dict) and held.get("release") is not None
    return folder / "unreleased" if released else folder


def write_tables(folder: Path, tables: Mapping[str, str]) -> None:
    """Write the other files of a release, and list them: the next release there removes them."""
    with writing(folder):
        atomically(folder / LISTED, "\n".join([LIST_HEAD, *tables, ""]), mode=OWN)
        for name, text in tables.items():
            atomically(folder / name, text, mode=OWN)


def _remove_tables(folder: Path) -> None:
    listed = folder / LISTED
    head, *names = listed.read_text(encoding="utf-8").split("\n") if listed.is_file() else [""]
    for name in names if head == LIST_HEAD else ():
        if name and Path(name).name == name:
            (folder / name).unlink(missing_ok=True)


def write_all(certificate: dict[str, Any], folder: Path, claim: Path | None = None) -> Path:
    """Write certificate.json, report.html, junit.xml and results.sarif; return the first one's path.

    Tables of an earlier release are removed: this certificate does not cover them.  It is written where
    `folder_for` says.  `claim` is the file that the results are about.  Where they hold a release only
    their owner may read them: who else may is for them to say.
    """
    mode, folder = OPEN if certificate["release"] is None else OWN, folder_for(certificate, folder)
    with writing(folder):
        _remove_tables(folder)
        atomically(folder / "report.html", html(certificate), mode=mode)
        atomically(folder / "junit.xml", junit(certificate), mode=mode)
        about = (claim or Path(certificate["claim"]["name"])).as_posix()
        atomically(folder / "results.sarif", sarif(certificate, about), mode=mode)
        path = folder / "certificate.json"
        atomically(path, json.dumps(certificate, indent=1, ensure_ascii=False) + "\n", mode=mode)
    return path


def standing(claim: Claim, subject: Subject, path: Path | None) -> dict[str, Any]:
    """Return the certificate of a claim, at `path` or where `certify` writes it, if valid today.

    Raises `InputError` if it is not certified, is expired, or is about another claim, subject or
    code.
    """
    path = path or output_folder(claim.name) / "certificate.json"
    if not path.is_file():
        raise InputError(f"{path} is not there", "certify the claim first, or name its --certificate")
    raw = read_bytes(path)
    try:
        verdict, _ = checker.judged(raw, datetime.now(UTC).date())
    except (checker.Rejected, checker.Unreadable) as why:
        raise InputError(str(why), "certify the claim anew", path) from None
    if verdict != "CERTIFIED":
        raise InputError(f"the verdict is {verdict}", "a certified claim is needed", path)
    found: dict[str, Any] = json.loads(raw)
    described = to_builtins(describe_subject(claim, subject))
    same = {"claim": (found["claim"], claim.written), "subject": (found["subject"], described)}
    for what, (there, here) in same.items():
        if canonical(there) != canonical(here):
            raise InputError(f"it is about another {what}, or code that changed", "certify anew", path)
    return found


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
        lines.append(f"  <testcase classname={name} name={quoteattr(_plain(case))}>{failure}</testcase>")
    return "\n".join([*lines, "</testsuite>", ""])


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
