"""The checker extracted from the Coq proofs of formal/, run on a certificate or a derivation.

`make formal` builds it.  docs/formal.md lists what its verdict rests on.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.reports.words import standing
from dpaccount.errors import InputError

VARIABLE = "DPACCOUNT_VERIFIED_CHECKER"  #: the environment variable that names the program
BUILT = Path(__file__).parents[2] / "formal" / "check" / "checker"  #: where `make formal` puts it
SECONDS = 600
VALID = {"--lines": "valid: derivation of ", "--certificates": "valid: the claim follows: "}


def program() -> Path:
    """Return the extracted checker.  Raises `InputError` where there is none."""
    place = Path(os.environ.get(VARIABLE) or BUILT)
    if not (place.is_file() and os.access(place, os.X_OK)):
        right = f"run `make formal` in the source tree (it needs Coq), or name the program in {VARIABLE}"
        raise InputError("the verified checker is not built", right, place)
    return place


@dataclass(frozen=True)
class Followed:
    """The extracted checker's verdict on a document, and what that rests on."""

    steps: int = 0
    proved_by_machine: tuple[str, ...] = ()  #: rules
    assumed: tuple[str, ...] = ()  #: statements of Assumed.v
    on_paper: tuple[str, ...] = ()  #: rules without a proof in Coq
    rejected: str | None = None  #: its reason against a step, or against the claim
    claim_follows: bool = False  #: decided of certificates that state CERTIFIED


def followed(raw: bytes | None) -> Followed:
    """Return the extracted checker's verdict on a claim that is certified, or else on each derivation.

    None is a document that dpaccount/checker rejects: no step of it is followed.  Raises `InputError`
    where the program is missing or gives no verdict.
    """
    place = program()
    if raw is None:
        return Followed()
    document = json.loads(raw)
    proved, certified = document.get("proved", {}), document.get("verdict") == "CERTIFIED"
    parts = [document.get("steps"), proved.get("derivation"), proved.get("refutation")]
    derivations = [steps for steps in parts if steps]
    known = standing(step["rule"] for steps in derivations for step in steps)
    listed = (tuple(known.proved), tuple(known.statements), tuple(known.on_paper))
    asked = [document if certified else {"schema": "dpaccount/derivation/1", "steps": s} for s in derivations]
    option, sizes = "--certificates" if certified else "--lines", list(map(len, derivations))
    rejected = filter(None, (_rejected(place, option, *each) for each in zip(asked, sizes, strict=True)))
    why = next(rejected, None)
    return Followed(sum(sizes), *listed, why, certified and why is None)


def _rejected(place: Path, option: str, document: Mapping[str, Any], steps: int) -> str | None:
    line = json.dumps(document) + "\n"
    try:
        done = subprocess.run(
            [place, option], input=line, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        raise InputError(f"the verified checker gave no verdict: {why}", "build it again", place) from None
    reply = done.stdout.strip()
    # A program that dies, or says something else, has confirmed nothing.
    if done.returncode or not reply.startswith(("valid: ", "invalid: ", "error: ")):
        raise InputError("the verified checker gave no verdict", "build it again with `make formal`", place)
    return None if reply.startswith(VALID[option]) and reply.endswith(f" {steps} steps") else reply
