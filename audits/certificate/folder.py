"""The folder of a certificate: what `certify` writes there, and which files it never replaces."""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from audits.certificate.junit import junit
from audits.claim import Claim
from audits.reports.page import html
from audits.reports.standards import sarif
from dpaccount.documents import OPEN, OWN, atomically, writing
from dpaccount.errors import InputError

LISTED: Final = "release-files.txt"  #: lists the other files of a release
LIST_HEAD: Final = "# Files of the release that certificate.json covers; the next release here removes them."
#: the files that `write_all` writes, and the list
STANDARD: Final = ("certificate.json", "report.html", "junit.xml", "results.sarif", LISTED)


def check_outputs(claim: Claim, folder: Path, names: Iterable[str] = ()) -> None:
    """Raise `InputError` where writing to `folder` would replace a file that no release wrote.

    `names` are the other files of a release.  Neither they nor the certificate's own may be files
    that the claim reads, or be among its private data.  Call it before anything is charged.
    """
    for place in (folder, folder / "unreleased"):  # see `folder_for`
        listed = _listed(place)
        for name in dict.fromkeys((*STANDARD, *listed, *names)):
            path = place / name
            if claim.has_input(path):
                raise InputError(f"{path} is a file of the claim", "name another folder with --out")
        _refuse_other_files(place, names, listed)


def _refuse_other_files(folder: Path, names: Iterable[str], listed: list[str]) -> None:
    for name in names:
        if name in STANDARD or (name not in listed and os.path.lexists(folder / name)):
            raise InputError(
                f"{folder / name} is not of an earlier release", "move it, or name another --out"
            )


def folder_for(certificate: Mapping[str, Any], folder: Path) -> Path:
    """Return where a certificate is written: one without a release never replaces one with it."""
    keeps = certificate["release"] is None and held(folder) is not None
    return folder / "unreleased" if keeps else folder


def held(folder: Path) -> str | None:
    """Return the digest of the certificate of the release that a folder holds, or None."""
    try:
        document = json.loads((folder / "certificate.json").read_bytes())
    except (OSError, ValueError):
        return None
    has_release = isinstance(document, dict) and document.get("release") is not None
    return str(document.get("digest")) if has_release else None


def write_tables(folder: Path, tables: Mapping[str, str]) -> None:
    """Write the other files of a release, and list them: the next release there removes them.

    Raises `InputError` for the name of a file that no release wrote.
    """
    with writing(folder):
        _refuse_other_files(folder, tables, _listed(folder))
        atomically(folder / LISTED, "\n".join([LIST_HEAD, *tables, ""]), mode=OWN)
        for name, text in tables.items():
            atomically(folder / name, text, mode=OWN)


def _listed(folder: Path) -> list[str]:
    """Return the regular files of a folder that its list names; none without a release's list."""
    try:
        head, *names = (folder / LISTED).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []
    return [name for name in names if _is_file(folder, name)] if head == LIST_HEAD else []


def _is_file(folder: Path, name: str) -> bool:
    try:
        own = Path(name).name == name not in STANDARD
        return own and stat.S_ISREG((folder / name).lstat().st_mode)
    except (OSError, ValueError):  # such as a name that is too long, or has a NUL
        return False


def write_all(certificate: dict[str, Any], folder: Path, claim: Path | None = None) -> Path:
    """Write certificate.json, report.html, junit.xml and results.sarif; return the first one's path.

    Tables of an earlier release are removed: this certificate does not cover them.  It is written where
    `folder_for` says.  `claim` is the file that the results are about.  Where they hold a release only
    their owner may read them: who else may is for them to say.
    """
    mode, folder = OPEN if certificate["release"] is None else OWN, folder_for(certificate, folder)
    about = (claim or Path(certificate["claim"]["name"])).as_posix()
    with writing(folder):
        if listed := _listed(folder):
            for name in listed:
                (folder / name).unlink(missing_ok=True)
            (folder / LISTED).unlink()  # or a later file of such a name would be removed
        texts = {
            "report.html": html(certificate),
            "junit.xml": junit(certificate),
            "results.sarif": sarif(certificate, about),
            # Last, so that a folder with a certificate has all the rest.
            "certificate.json": json.dumps(certificate, indent=1, ensure_ascii=False) + "\n",
        }
        for name, text in texts.items():
            atomically(folder / name, text, mode=mode)
    return folder / "certificate.json"
