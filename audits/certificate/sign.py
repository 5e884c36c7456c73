"""Signatures (Ed25519, RFC 8032, by `cryptography`): on certificates, and on a ledger's head.

Signed of a certificate are the digest, the verdict, the claim's name and digest, when it was made and when it
was signed.  Only a certificate that the checker confirms is signed, so that a signature vouches for one.
Signed of a ledger (a checkpoint) is the canonical JSON of the number, head and root of the last entry, the
digest of entry 0 and the time: a holder can verify later that the ledger extends it.
"""

import base64
import binascii
import json
import stat
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from msgspec import to_builtins

from audits import consistency
from dpaccount import checker
from dpaccount.documents import atomically, canonical, digest, now, parse_json, read_bytes, sha256
from dpaccount.errors import InputError
from dpaccount.ledger.journal.verify import standing
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
    # The checker refuses a signature from before its certificate.
    if signed < document["created"]:
        raise InputError(
            f"made at {document['created']}, and it is {signed} here", "set the clock", certificate
        )
    value = base64.b64encode(key.sign(_message(document, signed))).decode()
    by = fingerprint(key.public_key())
    signature = {"algorithm": ALGORITHM, "key": by, "signed": signed, "value": value}
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


SCHEMA: Final = "dpaccount/ledger-checkpoint/1"
_SIGNED: Final = ("schema", "number", "head", "root", "first", "time")


def checkpoint(url: str, private: Path) -> dict[str, Any]:
    """Return a ledger's signed checkpoint: fields of `standing`, `schema`, `time`, `key`, `value`.

    Raises `InputError` if the key is not an unencrypted Ed25519 private key in PEM, `LedgerError`
    if the chain was changed.
    """
    key = read_private_key(private)
    content = {"schema": SCHEMA, **standing(url), "time": now()}
    value = base64.b64encode(key.sign(canonical(content))).decode()
    return {**content, "key": fingerprint(key.public_key()), "value": value}


def noted(file: Path, public: Path) -> dict[str, Any]:
    """Return what a checkpoint notes; raises `InputError` if this key has not signed it."""
    key = read_key(public)
    place = parse_json(read_bytes(file), str(file))
    members = place.table((*_SIGNED, "key", "value"))
    members["schema"].text(SCHEMA)
    content = {name: members[name].value for name in _SIGNED}
    value, _, _ = (members[name].text() for name in ("value", "head", "first"))
    try:
        key.verify(base64.b64decode(value, validate=True), canonical(content))
    except (InvalidSignature, binascii.Error, ValueError, TypeError):
        raise InputError("the signature is not by this key", "give the key that signed it", file) from None
    return content


def given_by(
    file: Path | None, public: Path | None, *, head: str | None, since: str | None
) -> dict[str, str | None]:
    """Return the `head`, `since` and `first` with which to verify a ledger.

    The head is that of the checkpoint in this file.  With a key and no such file, `since` is the path of a
    checkpoint, which says the digest of entry 0 (`first`) too.  Raises `InputError` for anything between.
    """
    more = ", or a checkpoint and its --key"
    if file is not None:
        if public is None:
            raise InputError("a --checkpoint goes with the --key that signed it", "give its public half, too")
        if head is not None:
            raise InputError("a --checkpoint takes the place of --head", "give one of them")
        head, more = noted(file, public)["head"], ", or the checkpoint there alone"
    elif public is not None:
        if since is None or since.startswith("sha256:"):
            raise InputError("a --key goes with a checkpoint", "give one as --checkpoint, or as --since")
        note = noted(Path(since), public)
        return {"head": head, "since": note["head"], "first": note["first"]}
    if since is not None and not since.startswith("sha256:"):
        raise InputError("--since is no head", f"give one{more}")
    return {"head": head, "since": since, "first": None}
