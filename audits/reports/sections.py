"""A certificate as sections of plain blocks, which a page and a text show alike."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audits.reports import attacks, pictures, regret
from audits.reports.regret import Curve
from audits.reports.standards import GOVERNANCE, SILENT, governance, nist, proved_text
from audits.reports.words import (
    VERDICTS,
    CertifyResult,
    assumption,
    by_machine,
    promise,
    rule_says,
    what_it_means,
)
from dpaccount.exact import as_exact, to_digits

ASSUMED = "What the proof assumes of the code, and how it was tested"
SIGNED = ("Reviewer", "Approver", "Date")
MAX_STEP_LENGTH = 4000  #: characters of a step's JSON on a page; all of it is in the certificate


@dataclass(frozen=True)
class Block:
    """One block: ``text`` or ``list`` of lines, ``table``, ``picture`` (SVG, words) or ``steps``."""

    kind: str
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading, its anchor, and its content."""

    title: str
    anchor: str
    blocks: tuple[Block, ...] = field(default=())


def sections(
    certificate: CertifyResult, ledger: Mapping[str, Any] | None = None, curves: Sequence[Curve] = ()
) -> list[Section]:
    """Return the report of a certificate.

    `ledger` is what `Ledger.show` says, `curves` are of rehearsals, where they are at hand.
    """
    return [
        Section("In plain words", "words", _words(certificate)),
        Section("What is promised", "promised", (_table(_promised(certificate)),)),
        Section("Pictures", "pictures", _pictures(certificate)),
        Section("Proof", "proof", _proof(certificate)),
        Section(ASSUMED, "assumed", _assumed(certificate)),
        Section("Attack", "attack", _attack(certificate)),
        *_release(certificate),
        *_regret(curves),
        Section("Budget", "budget", (_table(_budget(certificate, ledger)),)),
        Section("Who answers for it", "governance", (_table(_governance(certificate)),)),
        Section("Points of NIST SP 800-226", "nist", (_table(nist(certificate), ("point", "answer")),)),
        Section("Limits and hazards", "limits", (Block("list", tuple(certificate["hazards"])),)),
        Section("This document", "document", (_table(_document(certificate)),)),
        Section("Signed off", "signed-off", (_table([(who, "") for who in SIGNED]),)),
    ]


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...] = ()) -> Block:
    return Block("table", head=head, rows=tuple(rows))


def _words(certificate: CertifyResult) -> tuple[Block, ...]:
    refuted = f" What is refuted: the {certificate['refutes']}." if certificate["refutes"] else ""
    meant = what_it_means(certificate)
    accepted = [
        f"Accepted without a test: {entry['rule']} of {entry['query']}, because: "
        f"{certificate['claim']['assume'][entry['rule'] + ' ' + entry['query']]}"
        for entry in certificate["sensitivity"]
        if entry["status"] == "accepted"
    ]
    return (
        Block("text", (VERDICTS[certificate["verdict"]] + refuted, *accepted)),
        Block("text", (" ".join(promise(certificate)),)),
        Block("text", (" ".join(meant),)),
    )


def _promised(certificate: CertifyResult) -> list[tuple[str, str]]:
    said, subject = certificate["guarantee"], certificate["subject"]
    radius = f", one row moves by at most {said['radius']} in ℓ2" if "radius" in said else ""
    parameters = ", ".join(f"{key} = {_short(value)}" for key, value in subject.get("parameters", {}).items())
    return [
        ("Verdict", certificate["verdict"]),
        ("Who is protected", said["unit"]),
        (
            "Guarantee",
            f"{said['model']} differential privacy, ε = {said['epsilon']}, δ = {said['delta']}, neighbours:"
            f" {said['relation']}{radius}",
        ),
        ("Proved", proved_text(certificate)),
        ("Of what", f"{subject['name']} ({subject.get('status')}; {subject.get('source')})"),
        ("Parameters", parameters or "none"),
    ]


def _pictures(certificate: CertifyResult) -> tuple[Block, ...]:
    return (
        _picture(pictures.profile(certificate), PROFILE),
        _picture(pictures.trade_off(certificate), TRADE_OFF),
    )


PROFILE = (
    "δ over ε: the square is the claim, dots what the proof asserts, triangles what the attack shows; where"
    " nothing is wrong the attack's lie left of the proof's line."
)
TRADE_OFF = (
    "What any attack misses at least over its false alarms, by what is proved; the dashed line is a coin."
)


def _proof(certificate: CertifyResult) -> tuple[Block, ...]:
    proved = certificate["proved"]
    if proved["epsilon"] is None:
        return (Block("text", (f"No proof: {proved.get('reason')}.",)),)
    steps = tuple(
        (
            f"{number}. {step['rule']}: {rule_says(step['rule'])}"
            + (f" From {', '.join(str(each) for each in step['from'])}." if step["from"] else ""),
            json.dumps({"with": step["with"], "gives": step["gives"]}, ensure_ascii=False)[:MAX_STEP_LENGTH],
        )
        for number, step in enumerate(proved["derivation"])
    )
    lower = proved["epsilon"]["lower"]
    exact = "" if lower is None else f" The noise costs at least {to_digits(as_exact(lower), up=False)}."
    lines = [
        f"Proved: {proved_text(certificate)}, in {len(steps)} steps that `dpaccount check` infers again with"
        f" another program.{exact}",
        by_machine({step["rule"] for step in proved["derivation"]}),
    ]
    beside = proved.get("replace_one")
    if beside:
        lines.append(
            f"Where a row is replaced by any other: ε at most {beside['epsilon']['upper']} at δ ="
            f" {beside['delta']}, for the same releases and under the same assumptions."
        )
    return Block("text", tuple(lines)), Block("steps", rows=steps)


def _assumed(certificate: CertifyResult) -> tuple[Block, ...]:
    entries = certificate["sensitivity"]
    if not entries:
        return (Block("text", ("Nothing is assumed of the code.",)),)
    rows = tuple(
        (
            assumption(entry, certificate["claim"]),
            entry["status"],
            str(entry["examples"]),
            str(entry["worst"]),
        )
        for entry in entries
    )
    head = ("assumption", "result", "examples", "largest squared movement seen")
    wrong = tuple(_short(entry["counterexample"]) for entry in entries if entry["counterexample"])
    return (Block("table", head=head, rows=rows), *([Block("list", wrong)] if wrong else []))


def _attack(certificate: CertifyResult) -> tuple[Block, ...]:
    lines = Block("text", tuple(attacks.explained(certificate)))
    audit = certificate["audit"]
    if audit is None:
        return (lines,)
    head = ("of the", "allowed ε", "at δ", "shown: ε at least", "event seen")
    rows = tuple(
        (
            point["of"],
            str(point["limit"]),
            str(point["delta"]),
            to_digits(as_exact(point["epsilon_lower"]), up=False),
            f"{point['hits']} of {point['runs']} against {point['alarms']} of {point['other_runs']}",
        )
        for point in audit["points"]
    )
    quick = ["Quick: a tenth of the runs that were asked for."] if audit["quick"] else []
    made_up = f"Pair attacked (made up): {_short(audit['witness'])}"
    return lines, Block("table", head=head, rows=rows), Block("text", (*quick, made_up))


def _release(certificate: CertifyResult) -> list[Section]:
    release = certificate["release"]
    if release is None:
        return []
    rows = [(key.replace("_", " "), _short(value)) for key, value in release["report"].items()]
    blocks = [_table(rows)]
    beside = release.get("evaluation")
    if beside:
        figures = [(key.replace("_", " "), _short(each)) for key, each in beside.items() if key != "note"]
        blocks += [Block("text", (str(beside["note"]).capitalize() + ".",)), _table(figures)]
    return [Section("The private release", "release", tuple(blocks))]


def _regret(curves: Sequence[Curve]) -> list[Section]:
    if not curves:
        return []
    head = ("cell", "rounds", "regret ± two standard errors")
    table = _table([curve.last for curve in curves], head)
    return [
        Section("Regret in rehearsals", "regret", (_picture(regret.picture(curves), regret.CAPTION), table))
    ]


def _picture(svg: str, caption: str) -> Block:
    return Block("picture", (svg, caption))


def _budget(certificate: CertifyResult, ledger: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    release = certificate["release"]
    if release is None:
        return [("Charged", "nothing: the claim names no real data, and none was touched")]
    rows = [
        ("Ledger", str(certificate["claim"].get("data", {}).get("ledger", SILENT))),
        ("Entry", str(release["ledger_entry"])),
        ("Head after the charge", str(release.get("ledger_head", SILENT))),
        ("This release costs at most", proved_text(certificate)),
    ]
    if "budget" in release:
        rows += _spending(release["budget"])
    elif ledger is None:
        return [*rows, ("Budget, spent and rest", "not at hand; name the ledger with --ledger URL")]
    if ledger is None:
        return rows
    return rows + [(f"Ledger today: {key}", _short(value)) for key, value in ledger.items()]


def _spending(budget: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a certificate noted of its ledger's budget around its charge."""
    whole = f"ε = {budget['epsilon']} at δ = {budget['delta']} for each unit, {budget['unit']}"

    def spent(when: str) -> str:
        most = budget[when]["upper"]
        return "without a bound" if most == "inf" else f"ε ≤ {to_digits(as_exact(most), up=True)}"

    fits = budget["rest"]["lower"]
    rest = "not known"
    if fits is not None:
        where = {
            "approximate": ", with no more δ than is left",
            "either": " in the measure that has most room",
        }
        told = f"one more charge of ε {to_digits(as_exact(fits), up=False)}"
        rest = f"{told}{where.get(budget['measure'], '')} fits"
    return [
        ("The ledger's budget", f"{whole} ({budget['relation']}, added up as {budget['measure']})"),
        ("Spent before this release", spent("before")),
        ("Spent after it", spent("after")),
        ("Rest after it", rest),
    ]


def _governance(certificate: CertifyResult) -> list[tuple[str, str]]:
    return [
        (f"{key.replace('_', ' ')} ({GOVERNANCE[key]})" if key in GOVERNANCE else key, value)
        for key, value in governance(certificate).items()
    ]


def _document(certificate: CertifyResult) -> list[tuple[str, str]]:
    signature = certificate["signature"]
    signed = (
        "no" if signature is None else f"by {signature['key']} on {signature['signed']}; check with --key"
    )
    release = certificate["release"]
    return [
        ("Made", certificate["created"]),
        ("Signed", signed),
        ("Digest", certificate["digest"]),
        ("Digest of the subject's code", str(certificate["subject"].get("code", SILENT))),
        ("Digest of the data", "no data were read" if release is None else str(release["data"])),
        ("Releasable", "yes" if certificate["releasable"] else "no: no secure release was made"),
        ("Made with", ", ".join(f"{key} {value}" for key, value in certificate["environment"].items())),
    ]


def _short(value: object) -> str:
    """Return a value in one line; numbers of a release as they are, nested ones as JSON."""
    if isinstance(value, str):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_STEP_LENGTH else text[:MAX_STEP_LENGTH] + " …"
