"""Two certificates compared in words, and a folder of them in one list."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from audits import consistency
from audits.consistency.agreement import check_shape
from audits.reports.standards import SILENT, governance, proved_text
from audits.reports.words import CertifyResult
from dpaccount import checker
from dpaccount.documents import plain, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import as_exact


def read_certificate(path: Path) -> tuple[dict[str, Any], str]:
    """Return a certificate and the checker's verdict; raises `InputError` for other documents."""
    raw = read_bytes(path)
    try:
        _, conclusion = consistency.judged(raw)
        checked = f"valid: {conclusion}"
    except checker.Unreadable as why:
        raise InputError(str(why), "give a certificate", path) from None
    except checker.Rejected as why:
        checked = f"NOT VALID: {why}"
    certificate: dict[str, Any] = json.loads(raw)
    try:  # what is not valid is still shown, if it has the members of a certificate
        check_shape(certificate)
    except checker.Rejected as why:
        raise InputError(str(why), "give a whole certificate", path) from None
    return _printable(certificate), checked


def _printable(value: Any) -> Any:
    """Return a received value in which every text is one line that a terminal and a page show as it is."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(key): _printable(member) for key, member in value.items()}
    return [_printable(member) for member in value] if isinstance(value, list) else value


@contextmanager
def unbroken(path: Path, checked: str) -> Iterator[None]:
    """Turn what breaks over a certificate that is not valid into one line; a valid one breaks nothing."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as why:
        if checked.startswith("valid"):
            raise
        what = f"{path}: {checked}, and it cannot be shown ({type(why).__name__})"
        raise InputError(str(what), "give a whole certificate") from None


def differences(old: CertifyResult, new: CertifyResult) -> list[str]:
    """Return the differences of the second certificate, one sentence each; empty if none."""
    lines = []
    if old["verdict"] != new["verdict"]:
        lines.append(f"The verdict was {old['verdict']} and is {new['verdict']}.")
    pairs = {
        "who is protected": (old["guarantee"]["unit"], new["guarantee"]["unit"]),
        "the relation": (old["guarantee"]["relation"], new["guarantee"]["relation"]),
        "the model": (old["guarantee"]["model"], new["guarantee"]["model"]),
        "the subject": (old["subject"]["name"], new["subject"]["name"]),
        "what is proved": (proved_text(old), proved_text(new)),
        "the attack's lower bound": (_shown(old), _shown(new)),
    }
    for name in ("epsilon", "delta"):
        # As numbers: 1e-6 and 0.000001 are one promise.
        before, after = as_exact(str(old["guarantee"][name])), as_exact(str(new["guarantee"][name]))
        if before != after:
            grown = "weaker" if after > before else "stronger"
            lines.append(
                f"The claimed {name} went from {old['guarantee'][name]} to {new['guarantee'][name]}: the"
                f" promise is {grown} in it."
            )
    lines += [f"{name.capitalize()} was {a!r} and is {b!r}." for name, (a, b) in pairs.items() if a != b]
    lines += _members("Parameter", old["subject"].get("parameters", {}), new["subject"].get("parameters", {}))
    if old["subject"].get("code") != new["subject"].get("code"):
        lines.append("The subject's code changed (another digest).")
    lines += _assumptions(old, new)
    lines += _members("Governance", governance(old), governance(new))
    gone = [line for line in old["hazards"] if line not in new["hazards"]]
    come = [line for line in new["hazards"] if line not in old["hazards"]]
    lines += [f"A hazard is no longer listed: {line}" for line in gone]
    return lines + [f"A hazard is new: {line}" for line in come]


def _shown(certificate: CertifyResult) -> object:
    return certificate["audit"]["epsilon_lower"] if certificate["audit"] else "no attack"


def _members(what: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    keys = [*old, *(key for key in new if key not in old)]
    return [
        f"{what} {key} was {old.get(key, SILENT)!r} and is {new.get(key, SILENT)!r}."
        for key in keys
        if old.get(key, SILENT) != new.get(key, SILENT)
    ]


def _assumptions(old: CertifyResult, new: CertifyResult) -> list[str]:
    before, after = (
        {(e["rule"], e["query"], e["value"]): e["status"] for e in c["sensitivity"]} for c in (old, new)
    )
    changes = [
        f"No longer assumed: {rule} of {query} ({value})."
        for rule, query, value in before
        if (rule, query, value) not in after
    ]
    for key, status in after.items():
        rule, query, value = key
        if key not in before:
            changes.append(f"Newly assumed: {rule} of {query} ({value}), {status}.")
        elif before[key] != status:
            changes.append(f"{rule} of {query} was {before[key]} and is {status}.")
    return changes


def listed(folder: Path) -> list[dict[str, str]]:
    """Return a line for every certificate.json in a folder and below, by claim and time."""
    entries = []
    for path in sorted(folder.rglob("certificate.json")):
        certificate, checked = read_certificate(path)
        with unbroken(path, checked):
            entries.append(_line(certificate, checked, path, folder))
    if not entries:
        raise InputError("no certificate.json in it or below", "name a folder of certificates", folder)
    return sorted(entries, key=lambda entry: (entry["name"], entry["made"]))


def _line(certificate: CertifyResult, checked: str, path: Path, folder: Path) -> dict[str, str]:
    claim, page = certificate["guarantee"], path.with_name("report.html")
    return {
        "verdict": certificate["verdict"] if checked.startswith("valid") else "NOT VALID",
        "name": certificate["claim"]["name"],
        "unit": claim["unit"],
        "claimed": f"ε = {claim['epsilon']}, δ = {claim['delta']}, {claim['model']}, {claim['relation']}",
        "proved": proved_text(certificate),
        "made": certificate["created"],
        "until": governance(certificate)["valid_until"],
        "checked": checked,
        "link": (page if page.exists() else path).relative_to(folder).as_posix(),
    }
