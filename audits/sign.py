"""Signatures on certificates: Ed25519 over the certificate's digest (RFC 8032, by `cryptography`)."""

import base64
import json
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from dpaccount.errors import InputError
from dpaccount.exact import read_bytes
from dpaccount.files import atomically

ALGORITHM = "ed25519"


def sign(certificate: Path, private: Path) -> dict[str, Any]:
    """Sign a certificate's file in place; return the signature.

    The private key is an unencrypted Ed25519 key in PEM.  Raises `InputError` for anything else.
    """
    document = _read(certificate)
    try:
        key = load_pem_private_key(read_bytes(private), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{private}: not an unencrypted Ed25519 private key in PEM; give one")
    value = base64.b64encode(key.sign(_message(document))).decode()
    signature = {"algorithm": ALGORITHM, "value": value}
    atomically(
        certificate, json.dumps({**document, "signature": signature}, indent=1, ensure_ascii=False) + "\n"
    )
    return signature


def problem(certificate: Path, public: Path) -> str | None:
    """Return why the signature is not valid under this public key, or None."""
    document = _read(certificate)
    try:
        key = load_pem_public_key(read_bytes(public))
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{public}: not an Ed25519 public key in PEM; give one")
    signature = document.get("signature")
    if not isinstance(signature, dict) or signature.get("algorithm") != ALGORITHM:
        return "the certificate is not signed"
    try:
        key.verify(base64.b64decode(str(signature.get("value")), validate=True), _message(document))
    except (InvalidSignature, ValueError):
        return "the signature does not belong to this key and digest"
    return None


def _read(path: Path) -> dict[str, Any]:
    # the plain parser: a signed file keeps its numbers as they are written
    try:
        document = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("digest"), str):
        raise InputError(f"{path}: not a certificate; give a certificate.json")
    return document


def _message(document: dict[str, Any]) -> bytes:
    return f"dpaccount certificate {document['digest']}".encode()
