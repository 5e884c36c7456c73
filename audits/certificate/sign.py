"""Signatures on certificates: Ed25519 (RFC 8032, by `cryptography`) over a certificate's content.

Signed are the digest, the verdict, the claim's name and digest, when the certificate was made and when it
was signed.  Only a certificate that the checker confirms is signed, so that a signature vouches for one.
"""

import base64
import json
import stat
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from msgspec import to_builtins

from audits import consistency
from dpaccount import checker
from dpaccount.documents import atomically, canonical, digest, now, read_bytes, sha256
from dpaccount.errors import InputError
from dpaccount.schemas.results import SignedMessage

ALGORITHM = "ed25519"


def sign(certificate: Path, private: Path) -> dict[str, Any]:
    """Sign a certificate's file in place; return the signature.

    The private key is an unencrypted Ed25519 key in PEM.  Raises `InputError` for anything else, and for a
    certificate that the checker does not confirm.
    """
    raw = read_bytes(certificate)
    document = _confirmed(raw, certificate)
    key = read_private_key(private)
    signed = now()
    if signed < document["created"]:
        raise InputError(
            f"made at {document['created']}, and it is {signed} here", "set the clock", certificate
        )
    value = base64.b64encode(key.sign(_message(document, signed))).decode()
    signature = {
        "algorithm": ALGORITHM,
        "key": fingerprint(key.public_key()),
        "signed": signed,
        "value": value,
    }
    text = json.dumps({**document, "signature": signature}, indent=1, ensure_ascii=False) + "\n"
    atomically(certificate, text, mode=stat.S_IMODE(certificate.stat().st_mode))
    return signature


def problem(document: dict[str, Any], public: Path) -> str | None:
    """Return why the signature of a confirmed certificate is not valid under this public key, or None.

    Raises `InputError` if the file has no such key.
    """
    key = read_key(public)
    signature = document["signature"]
    if signature is None:
        return "the certificate is not signed"
    try:
        key.verify(
            base64.b64decode(signature["value"], validate=True), _message(document, signature["signed"])
        )
    except (InvalidSignature, ValueError):
        return "the signature does not belong to this key and certificate"
    return None if signature["key"] == fingerprint(key) else "the signature names another key than it is by"


def read_private_key(private: Path) -> Ed25519PrivateKey:
    """Return an unencrypted Ed25519 private key from a PEM file; raises `InputError` for anything else."""
    try:
        key = load_pem_private_key(read_bytes(private), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("not an unencrypted Ed25519 private key in PEM", "give one", private)
    return key


def read_key(public: Path) -> Ed25519PublicKey:
    """Return an Ed25519 public key from a PEM file; raises `InputError` for anything else."""
    try:
        key = load_pem_public_key(read_bytes(public))
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError("not an Ed25519 public key in PEM", "give one", public)
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of a public key's 32 bytes, by which output names it."""
    return sha256(key.public_bytes_raw())


def _confirmed(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        consistency.judged(raw)
    except (checker.Rejected, checker.Unreadable) as why:
        raise InputError(str(why), "sign a certificate that `dpaccount check` calls valid", path) from None
    return json.loads(raw)  # a parser that keeps numbers as written


def _message(document: dict[str, Any], signed: str) -> bytes:
    """Return the bytes that are signed: whatever a reader of the first lines would want to hold."""
    claim = document["claim"]
    message = SignedMessage(
        document["digest"],
        document["verdict"],
        claim["name"],
        digest(claim),
        document["created"],
        signed,
    )
    return canonical(to_builtins(message))
