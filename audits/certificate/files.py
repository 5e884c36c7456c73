"""A certificate's files: the JSON, a report, JUnit for CI, tables and a plot; and reading a valid one."""

import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from msgspec import to_builtins

from audits import consistency
from audits.certificate.document import describe_subject
from audits.certificate.summary import beaten
from audits.claim import Claim, output_folder
from audits.reports.page import html, one_line
from audits.reports.standards import sarif
from audits.reports.tables import APART, Row, rows_of
from dpaccount import checker
from dpaccount.documents import OPEN, OWN, atomically, canonical, csv_text, read_bytes, writing
from dpaccount.errors import InputError
from mechanisms.subject import Subject

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


OTHER_CODE: Final = (
    "made by other code than today's (the class, this program or a dependency changed), and is printed as it"
    " was: --new-release (new_release, again) makes and charges a new one"
)


def held(folder: Path) -> str | None:
    """Return the digest of the certificate of the release that a folder holds, or None."""
    try:
        found = json.loads((folder / "certificate.json").read_bytes())
    except (OSError, ValueError):
        return None
    return str(found.get("digest")) if isinstance(found, dict) and found.get("release") is not None else None


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
    with writing(folder):
        if listed := _listed(folder):
            for name in listed:
                (folder / name).unlink(missing_ok=True)
            (folder / LISTED).unlink()  # or a later file of such a name would be removed
        atomically(folder / "report.html", html(certificate), mode=mode)
        atomically(folder / "junit.xml", junit(certificate), mode=mode)
        about = (claim or Path(certificate["claim"]["name"])).as_posix()
        atomically(folder / "results.sarif", sarif(certificate, about), mode=mode)
        # Last, so that a folder with a certificate has all the rest.
        path = folder / "certificate.json"
        atomically(path, json.dumps(certificate, indent=1, ensure_ascii=False) + "\n", mode=mode)
    return path


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
    described = to_builtins(describe_subject(claim, subject))
    same = {"claim": (document["claim"], claim.written), "subject": (document["subject"], described)}
    for what, (there, here) in same.items():
        if canonical(there) != canonical(here):
            raise InputError(f"it is about another {what}, or code that changed", "certify anew", path)
    return document


def junit(certificate: dict[str, Any]) -> str:
    """Return the certificate as JUnit XML: one case for the proof, each hypothesis and each audited point."""
    verdict = certificate["verdict"]
    cases: list[tuple[str, str | None]] = [("verdict", None if verdict == "CERTIFIED" else verdict)]
    for entry in certificate["sensitivity"]:
        wrong = None if entry["counterexample"] is None else str(entry["counterexample"]["wrong"])
        cases.append((f"hypothesis {entry['rule']} of {entry['query']}", wrong))
    for point in certificate["audit"]["points"] if certificate["audit"] else ():
        shown = f"epsilon is at least {point['epsilon_lower']} at delta {point['delta']}"
        wrong = shown if beaten(point) else None
        cases.append((f"audit of the {point['of']} at epsilon {point['limit']}", wrong))
    failures = sum(wrong is not None for _, wrong in cases)
    name = quoteattr(one_line(certificate["claim"]["name"]))
    head = f'<testsuite name={name} tests="{len(cases)}" failures="{failures}">'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    for case, wrong in cases:
        failure = "" if wrong is None else f"<failure message={quoteattr(one_line(wrong))}/>"
        lines.append(f"  <testcase classname={name} name={quoteattr(one_line(case))}>{failure}</testcase>")
    return "\n".join([*lines, "</testsuite>", ""])


MOST_DRAWN = 60  #: maximum numbers in a plot
FILES = ("release.json", "release.csv", "release.svg")  #: what `write_release` writes


def answer(certificate: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the answer of `dpaccount release`: the release, its accuracy, and its certificate.

    `release` is null where nothing was released.
    """
    release = certificate["release"]
    report = None if release is None else release["report"]
    return {
        "schema": "dpaccount/release/1",
        "verdict": certificate["verdict"],
        "certificate": str(path),
        "release": None if report is None else {k: v for k, v in report.items() if k not in APART},
        "accuracy": {} if report is None else report.get("accuracy", {}),
        "labels": {} if report is None else report.get("labels", {}),
        "releasable": certificate["releasable"],
    }


def write_release(answer: dict[str, Any], folder: Path) -> None:
    """Write release.json, and where numbers were released release.csv and release.svg, into `folder`."""
    files = {"release.json": json.dumps(answer, indent=1, ensure_ascii=False) + "\n"}
    if rows := list(rows_of(answer["release"], answer["labels"], answer["accuracy"])):
        files["release.csv"] = table(rows)
        if find_spec("matplotlib") is None:  # the release is made and charged
            sys.stderr.write("no picture: matplotlib is not installed; pip install 'dpaccount[plot]'\n")
        else:
            files["release.svg"] = picture(rows)
    write_tables(folder, files)


def table(rows: list[Row]) -> str:
    """Return the rows as CSV; texts that a spreadsheet would take for a formula are quoted."""
    cells = ((row.name, row.place, row.value, row.low, row.high) for row in rows)
    return csv_text([("name", "place", "value", "low", "high"), *cells])


def picture(rows: list[Row]) -> str:
    """Return a picture of the first numbers with their intervals, as SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "dpaccount"  # deterministic output for the same release
    from matplotlib import pyplot as plt

    drawn = rows[:MOST_DRAWN]
    figure, axes = plt.subplots(figsize=(7, 1 + 0.28 * len(drawn)), layout="constrained")
    for place, row in enumerate(drawn):
        axes.plot(row.value, place, "o", color="C0")
        if row.low is not None and row.high is not None:
            axes.hlines(place, row.low, row.high, color="C0")
    axes.set_yticks(
        range(len(drawn)), [f"{row.name} {row.place}".strip().replace("$", r"\$") for row in drawn]
    )
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    return out.getvalue()
