"""Any document that can be checked: a certificate, a bare derivation, a certificate of what a plan costs."""

import json
from datetime import date
from typing import Any

from .. import accounting, certificate
from ..derivation import listed
from ..documents import parse

EXIT = {**certificate.EXIT, "CONFIRMED": 0}


def examined(raw: bytes, at: date | None = None, *, derivation: bool = False) -> tuple[str, str]:
    """Return the verdict of a valid document, and what was confirmed in words.

    Raises `Rejected` naming what fails, or `Unreadable`.
    """
    if derivation or accounting.SCHEMA.encode() not in raw:
        return certificate.judged(raw, at, derivation=derivation)
    document = parse(raw)
    if not isinstance(document, dict) or document.get("schema") != accounting.SCHEMA:
        return certificate.judged(raw, at)
    return accounting.judged(document)


def to_read(raw: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return the reading list of a valid document: its rules, and the files that they need."""
    document = json.loads(raw)
    if document.get("schema") != accounting.SCHEMA:
        return certificate.to_read(raw)
    used = {step["rule"] for step in document["derivation"]} & set(accounting.METHODS)
    return listed({name: accounting.METHODS[name] for name in sorted(used)}, accounting.__name__)
