"""The checker extracted from the Coq proofs of formal/, run on the derivation of a document.

`make formal` builds it.  docs/formal.md lists what its verdict rests on.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.reports.words import standing
from dpaccount.errors import InputError

VARIABLE = "DPACCOUNT_VERIFIED_CHECKER"  #: the environment variable that names the program
BUILT = Path(__file__).parents[2] / "formal" / "check" / "checker"  #: where `make formal` puts it
SECONDS = 600


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
    rejected: str | None = None  #: its reason against a step


def followed(raw: bytes | None) -> Followed:
    """Return the extracted checker's verdict on a derivation, or on a certificate's proof and refutation.

    None is a document that dpaccount/checker rejects: no step of it is followed.  Raises `InputError`
    where the program is missing or gives no verdict.
    """
    place = program()
    if raw is None:
        return Followed()
    document = json.loads(raw)
    proved = document.get("proved", {})
    parts = [document.get("steps"), proved.get("derivation"), proved.get("refutation")]
    derivations = [steps for steps in parts if steps]
    known = standing(step["rule"] for steps in derivations for step in steps)
    listed = (tuple(known.proved), tuple(known.statements), tuple(known.on_paper))
    rejected = [fault for steps in derivations if (fault := _rejected(place, steps)) is not None]
    return Followed(sum(map(len, derivations)), *listed, rejected[0] if rejected else None)


def _rejected(place: Path, steps: Sequence[Mapping[str, Any]]) -> str | None:
    line = json.dumps({"schema": "dpaccount/derivation/1", "steps": steps}) + "\n"
    try:
        done = subprocess.run(
            [place, "--lines"], input=line, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        raise InputError(f"the verified checker gave no verdict: {why}", "build it again", place) from None
    reply = done.stdout.strip()
    # A program that dies, or says something else, has confirmed nothing.
    if done.returncode or not reply.startswith(("valid: ", "invalid: ", "error: ")):
        raise InputError("the verified checker gave no verdict", "build it again with `make formal`", place)
    return None if reply == f"valid: derivation of {len(steps)} steps" else reply
