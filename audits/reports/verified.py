"""The two checkers that a reader can carry away: Python's as a zip file, and the one extracted from Coq.

`make checker` writes both.  The second is asked here; docs/formal.md lists what its answers rest on.
Above, only the standard library is imported: `.ci/zip_checker.py` runs without any other.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from dpaccount.errors import InputError

VARIABLE = "DPACCOUNT_VERIFIED_CHECKER"  #: the environment variable that names the extracted checker
ROOT = Path(__file__).parents[2]
ZIP, EXTRACTED = "dpaccount-checker.zip", "dpaccount-verified-checker"
#: where `make` puts the extracted one
PLACES = (ROOT / "formal" / "check" / "checker", ROOT / "dist" / EXTRACTED)
SECONDS = 600
#: how a reply begins, by the exit code: a program that dies, or says something else, has confirmed nothing
REPLIES = {0: ("valid: ",), 1: ("invalid: ",), 2: ("error: ", "no theorem")}
STANDINGS = {
    "theorem": "a theorem of Coq, if the hypotheses hold",
    "checker": "confirmed by the Python checker, no theorem",
}


def zipped() -> bytes:
    """Return dpaccount/checker as a zip file that Python runs: the same bytes for the same sources."""
    folder, target = ROOT / "dpaccount" / "checker", io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as file:
        for source in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
            entry = zipfile.ZipInfo(source.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            file.writestr(entry, source.read_bytes())
    return target.getvalue()


def program() -> Path:
    """Return the extracted checker.  Raises `InputError` where there is none."""
    places = [Path(named)] if (named := os.environ.get(VARIABLE)) else PLACES
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    right = f"run `make checker` in the source tree (it needs Coq), or name the program in {VARIABLE}"
    raise InputError("the verified checker is not built", right, places[0])


def programs() -> dict[str, str]:
    """Return the digest of each checker: that of the extracted one where it is built."""
    parts = {ZIP: zipped()}
    with suppress(InputError):
        parts[EXTRACTED] = program().read_bytes()
    return {name: f"sha256:{hashlib.sha256(raw).hexdigest()}" for name, raw in parts.items()}


@dataclass(frozen=True)
class Followed:
    """The extracted checker's verdict on a document, and what that rests on."""

    programs: dict[str, str]  #: digests of both checkers
    standing: str | None = None  #: a key of STANDINGS; None for what is not valid
    steps: int = 0
    proved_by_machine: tuple[str, ...] = ()  #: rules
    assumed: tuple[str, ...] = ()  #: statements of Assumed.v
    on_paper: tuple[str, ...] = ()  #: rules without a proof in Coq
    rejected: str | None = None  #: its reason against the document


def followed(raw: bytes, verdict: str | None) -> Followed:
    """Return the extracted checker's verdict on a document, after that of Python's: None if it is not valid.

    The claim of what is certified is decided, what an account confirms, or else every derivation.  Raises
    `InputError` where the program is missing or gives no verdict.
    """
    from audits.reports.words import standing

    place, digests = program(), programs()
    if verdict is None:
        return Followed(digests)
    if verdict == "CONFIRMED":
        said = _reply(place, raw, "--account")
        unproved = said.startswith("no theorem")
        why = None if unproved or said.startswith("valid: ") else said
        return Followed(digests, "checker" if unproved else "theorem", rejected=why)
    document = json.loads(raw)
    proved = document.get("proved", {})
    parts = [document.get("steps"), proved.get("derivation"), proved.get("refutation")]
    derivations = [steps for steps in parts if steps]
    known = standing(step["rule"] for steps in derivations for step in steps)
    certified = verdict == "CERTIFIED"
    option, words = (["--certificate"], "the claim follows: .*;") if certified else ([], "derivation of")
    written = ({"schema": "dpaccount/derivation/1", "steps": steps} for steps in derivations)
    asked = [raw] if certified else [json.dumps(each).encode() for each in written]
    replies = (_reply(place, each, *option) for each in asked)
    right = [f"valid: {words} {len(steps)} steps" for steps in derivations]
    why = next((said for said, as_ in zip(replies, right, strict=True) if not re.fullmatch(as_, said)), None)
    whole = verdict in ("CERTIFIED", "DERIVATION") and not known.statements and not known.on_paper
    listed = (tuple(known.proved), tuple(known.statements), tuple(known.on_paper), why)
    return Followed(digests, "theorem" if whole else "checker", sum(map(len, derivations)), *listed)


def _reply(place: Path, document: bytes, *option: str) -> str:
    """Return what the program prints on a document."""
    try:
        with NamedTemporaryFile() as file:
            file.write(document)
            file.flush()
            words = [place.as_posix(), *option, file.name]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise InputError(f"the verified checker gave no verdict: {why}", "build it again", place) from None
    reply = done.stdout.strip()
    if not reply.startswith(REPLIES.get(done.returncode, ("\n",))):
        raise InputError("the verified checker gave no verdict", "build it again with `make checker`", place)
    if reply.startswith("error: "):  # it read nothing, so it says nothing of the document's truth
        what = f"the verified checker cannot read the document: {reply.removeprefix('error: ')}"
        raise InputError(what, "check it without --verified, and report this", place)
    return reply
