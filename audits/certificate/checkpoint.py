"""Signed checkpoints of a ledger's head: a holder can verify later that the ledger extends it.

Signed (Ed25519, RFC 8032) is the canonical JSON of the number, head and root of the last entry, the digest of
entry 0 and the time.
"""

import base64
import binascii
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature

from audits.certificate.sign import fingerprint, read_key, read_private_key
from dpaccount.documents import canonical, now, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.ledger.journal.verify import standing

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
