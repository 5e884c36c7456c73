"""The valid certificate of a claim, read from its file."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from audits import consistency
from audits.certificate.document import describe_subject
from audits.claim import Claim, output_folder
from dpaccount import checker
from dpaccount.documents import canonical, read_bytes
from dpaccount.errors import InputError
from mechanisms.subject import Subject


def valid_certificate(claim: Claim, subject: Subject, path: Path | None) -> dict[str, Any]:
    """Return the certificate of a claim, at `path` or where `certify` writes it, if valid today.

    Raises `InputError` if it is not certified, is expired, or is about another claim, subject or
    code.
    """
    path = path or output_folder(claim.name) / "certificate.json"
    if not path.is_file():
        raise InputError(f"{path} does not exist", "certify the claim first, or name its --certificate")
    raw = read_bytes(path)
    try:
        verdict, _ = consistency.judged(raw, datetime.now(UTC).date())
    except (checker.Rejected, checker.Unreadable) as why:
        raise InputError(str(why), "certify the claim anew", path) from None
    if verdict != "CERTIFIED":
        raise InputError(f"the verdict is {verdict}", "a certified claim is needed", path)
    document: dict[str, Any] = json.loads(raw)
    today = {"claim": claim.written, "subject": to_builtins(describe_subject(claim, subject))}
    for what, described in today.items():
        if canonical(document[what]) != canonical(described):
            raise InputError(f"it is about another {what}, or code that changed", "certify anew", path)
    return document
