"""A certificate as sections of plain blocks, which a page and a text show alike."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from audits.attack.rules import Threshold, clopper_pearson
from audits.claim import STUDY
from audits.consistency.hazards import ELSEWHERE, HAZARDS, UNPROVED_HAZARDS
from audits.consistency.releases import unchecked
from audits.reports import pictures
from audits.reports.standards import GOVERNANCE, SILENT, governance, nist, proved_text
from audits.reports.tables import released_tables
from audits.reports.terminal import room
from audits.reports.verified import programs
from audits.reports.words import (
    NOT_COVERED,
    OF_COUNTS,
    OWN_NOISE,
    SEARCHED,
    VERDICTS,
    VERIFY,
    CertifyResult,
    by_machine,
    declared,
    hidden_change,
    missing,
    observed,
    outcome,
    promise,
    protected_from,
    rule_summary,
    step_text,
    trusted,
    what_it_means,
)
from dpaccount.checker.facts import ANYONE
from dpaccount.exact import as_exact, to_digits
from dpaccount.schemas.certificate import Certificate
from dpaccount.schemas.fields import titles

ASSUMED = "What the proof assumes of the code, and how it was tested"
SIGNED = ("Reviewer", "Approver", "Date")
MAX_LENGTH = 4000  #: characters of a value on a page; all of it is in the certificate
EMPTY: tuple[Any, ...] = (None, "", [], {})  #: empty values of a document
MAX_TABLES = 20  #: released statistics on a page
MAX_ROWS = 60  #: rows of each
MAX_DRAWN = 30  #: and of its chart


@dataclass(frozen=True)
class Block:
    """One block: ``text`` or ``list`` of lines, ``table``, ``picture`` (SVG, words) or ``steps``."""

    kind: str
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading, its anchor, and its content; the `first` ones make up page one, before the contents."""

    title: str
    anchor: str
    blocks: tuple[Block, ...] = field(default=())
    first: bool = False


def sections(
    certificate: CertifyResult, ledger: Mapping[str, Any] | None = None, added: Sequence[Section] = ()
) -> list[Section]:
    """Return the report of a certificate.

    `ledger` is the result of `Ledger.show`; `added` are sections of other packages.
    """
    own = (each for each in certificate["hazards"] if each not in (*HAZARDS, *UNPROVED_HAZARDS))
    not_covered = Block("list", (*NOT_COVERED, *own))
    return [
        Section("In plain words", "words", _words(certificate), first=True),
        *_published(certificate),
        Section("What is not covered", "not-covered", (not_covered,), first=True),
        Section("How to verify this", "verify", _verified(certificate), first=True),
        Section("Sign-off", "sign-off", (table_block([(who, "") for who in SIGNED]),), first=True),
        Section("What is promised", "promised", _terms(certificate)),
        Section(
            "Pictures",
            "pictures",
            (
                picture_block(pictures.profile(certificate), PROFILE),
                picture_block(pictures.trade_off(certificate), TRADE_OFF),
            ),
        ),
        Section("Proof", "proof", _proof(certificate)),
        Section(ASSUMED, "assumed", _assumed(certificate)),
        Section("Attack", "attack", _attack(certificate)),
        *added,
        Section("Budget", "budget", (table_block(_budget(certificate, ledger)),)),
        Section("Accountability", "governance", (table_block(_governance(certificate)),)),
        Section("Points of NIST SP 800-226", "nist", (table_block(nist(certificate), ("point", "answer")),)),
        Section("Limits and hazards", "limits", (Block("list", tuple(certificate["hazards"])),)),
        Section("This document", "document", (table_block(_document(certificate)),)),
    ]


def table_block(rows: Sequence[tuple[str, ...]], head: tuple[str, ...] = ()) -> Block:
    """Return a table of texts below its head."""
    return Block("table", head=head, rows=tuple(rows))


def _words(certificate: CertifyResult) -> tuple[Block, ...]:
    refuted = f" What is refuted: the {certificate['refutes']}." if certificate["refutes"] else ""
    meant = what_it_means(certificate)
    short = [f"{each[0].upper()}{each[1:]}." for each in missing(certificate)]
    accepted = [
        f"Accepted without a test: {entry['rule']} of {entry['query']}. Reason given: "
        f"{certificate['claim']['assume'][entry['rule'] + ' ' + entry['query']]}"
        for entry in certificate["sensitivity"]
        if entry["status"] == "accepted"
    ]
    return (
        Block("text", (VERDICTS[certificate["verdict"]] + refuted, *short, *accepted)),
        table_block(_decided(certificate)),
        Block("text", (" ".join(promise(certificate)),)),
        Block("text", (" ".join(meant),)),
    )


def _decided(certificate: CertifyResult) -> list[tuple[str, str]]:
    """Return what a decision rests on: who is protected from what, the budget, and who answers for it."""
    guarantee, release = certificate["guarantee"], certificate["release"]
    money = [("Charged", "nothing: no data were read")]
    if release is not None:
        names = {"The ledger's budget": "Budget", "Spent after it": "Spent so far", "Left after it": "Left"}
        noted = _spending(release["budget"]) if "budget" in release else []
        rows = [(names[key], value) for key, value in noted if key in names]
        entry = (
            f"entry {release['ledger_entry']} of {certificate['claim'].get('data', {}).get('ledger', SILENT)}"
        )
        money = [("Charged to", f"{_payers(certificate)}: {entry}")]
        money += rows or [("Budget left", "see the ledger")]
    sure, data = certificate["verdict"] == "CERTIFIED", certificate["claim"].get("data", {})
    bounds = [f"at most {data['max_rows']} rows of a unit are used"] if "max_rows" in data else []
    bounds += [f"{data['rows']} units declared"] if "rows" in data else []
    counted = f" ({'; '.join(bounds)})" if bounds else ""
    return [
        ("Who is protected" if sure else "Who was to be protected", guarantee["unit"] + counted),
        ("Protected from", protected_from(certificate)),
        ("What change is hidden", hidden_change(guarantee)),
        ("Claimed", f"ε = {guarantee['epsilon']}, δ = {guarantee['delta']}"),
        ("Proved", proved_text(certificate)),
        *money,
        ("You must trust", trusted(certificate)),
        ("Signature", _signed(certificate)),
        ("Made", certificate["created"]),
        ("Valid until", governance(certificate)["valid_until"]),
    ]


def _payers(certificate: CertifyResult) -> str:
    """Return which units the ledger charged: those that the theorem names, else all."""
    steps = certificate["proved"]["derivation"]
    # The units of a conclusion come last; one about all units may lack them.
    units = steps[-1]["gives"][5] if steps and len(steps[-1]["gives"]) > 5 else None
    return "every unit" if units in (None, [*ANYONE]) else f"units {units[0]} to {units[1]}"


def _verified(certificate: CertifyResult) -> tuple[Block, ...]:
    """Return how to check the certificate without trust in its authors, and which digests to compare."""
    release = certificate["release"]
    public = certificate["claim"].get("data", {}).get("public", False)
    compared = "the file's own" if public else "keyed: only the ledger's holder can compare it with the file"
    digests = [
        ("Certificate", certificate["digest"]),
        ("Code", certificate["subject"]["code"] or "no digest"),
        ("Data", "no data were read" if release is None else f"{release['data']}, {compared}"),
        *programs().items(),
    ]
    return Block("list", VERIFY if certificate["subject"]["code"] else VERIFY[:-1]), table_block(digests)


def _promised(certificate: CertifyResult) -> list[tuple[str, str]]:
    claim, subject = certificate["guarantee"], certificate["subject"]
    study, given = certificate["claim"]["subject"]["use"] == STUDY, subject.get("parameters", {})
    apart = ("statistic", "statistics") if study else ()  # they have a table
    listed = {name: each for name, each in given.items() if name not in apart}
    radius = f", one row moves by at most {claim['radius']} in ℓ2 norm" if "radius" in claim else ""
    return [
        (
            "Guarantee",
            f"{claim['model']} differential privacy, ε = {claim['epsilon']}, δ = {claim['delta']},"
            f" neighbours: {claim['relation']}{radius}",
        ),
        ("Mechanism", f"{subject['name']} ({subject.get('status')}; {subject.get('source')})"),
        *[(f"Parameter {name}", value) for name, value in flat(listed)],
    ]


def _terms(certificate: CertifyResult) -> tuple[Block, ...]:
    """Return tables: what is promised, the statistics of a study, the declarations of columns."""
    claim, parameters = certificate["claim"], certificate["subject"].get("parameters", {})
    listed = parameters.get("statistic", []) if claim["subject"]["use"] == STUDY else []
    data = claim.get("data", {})
    columns = [{"column": name, **each} for name, each in data.get("columns", {}).items()]
    columns += [{"column": name, "formula": text} for name, text in data.get("derived", {}).items()]
    blocks = [table_block(_promised(certificate))]
    for rows in ([{"name": each.get("name"), **each} for each in listed], columns):
        head = tuple(dict.fromkeys(name for row in rows for name in row))
        cells = [tuple(flat(row[name])[0][1] if name in row else "" for name in head) for row in rows]
        blocks += [table_block(cells, head)] if rows else []
    return tuple(blocks)


PROFILE = (
    "Privacy profile: δ as a function of ε. Square: the claim. Dots: proved bounds. Triangles: lower bounds"
    " from the attack; they lie to the left of the proved curve unless something is wrong."
)
TRADE_OFF = (
    "Trade-off curve: the least false-negative rate at each false-positive rate, as proved."
    " Dashed: random guessing."
)


def _proof(certificate: CertifyResult) -> tuple[Block, ...]:
    proved = certificate["proved"]
    if proved["epsilon"] is None:
        return (Block("text", (f"No proof: {proved.get('reason')}.",)),)
    steps = tuple(
        (
            f"{number}. {step['rule']}: {rule_summary(step['rule'])}"
            + (f" From {', '.join(str(each) for each in step['from'])}." if step["from"] else ""),
            step_text(step),
        )
        for number, step in enumerate(proved["derivation"])
    )
    lower = proved["epsilon"]["lower"]
    exact = ""
    if lower is not None:
        exact = f" With this noise, no bound can be below ε = {to_digits(as_exact(lower), up=False)}."
    lines = [
        f"Proved: {proved_text(certificate)}, in {len(steps)} steps. `dpaccount check`, an independent"
        f" program, re-derives them.{exact}",
        by_machine({step["rule"] for step in proved["derivation"]}),
    ]
    other = proved.get("replace_one")
    if other:
        lines.append(
            f"If a row is replaced by any other, ε is at most {other['epsilon']['upper']} at δ ="
            f" {other['delta']}, for the same releases and under the same assumptions."
        )
    return Block("text", tuple(lines)), Block("steps", rows=steps)


def _assumed(certificate: CertifyResult) -> tuple[Block, ...]:
    entries = certificate["sensitivity"]
    if not entries:
        proof = certificate["proved"]["derivation"]
        return (Block("text", ("Nothing is assumed of the code." if proof else "There is no proof.",)),)
    blocks = [Block("text", (SEARCHED,))]
    for rule in dict.fromkeys(entry["rule"] for entry in entries):
        most = "largest count" if rule in OF_COUNTS else "largest observed change, ℓ2 norm"
        rows = [
            (
                entry["query"],
                declared(entry["value"]),
                outcome(entry, certificate["claim"]),
                str(entry["examples"]),
                observed(entry),
            )
            for entry in entries
            if entry["rule"] == rule
        ]
        head = ("of", "declared", "result", "pairs tried", most)
        blocks += [Block("text", (rule_summary(rule),)), table_block(rows, head)]
    blocks += [table_block(flat(entry["counterexample"])) for entry in entries if entry["counterexample"]]
    return tuple(blocks)


def _attack(certificate: CertifyResult) -> tuple[Block, ...]:
    lines = Block("text", tuple(explained(certificate)))
    audit = certificate["audit"]
    if audit is None:
        return (lines,)
    head = ("bound", "allowed ε", "at δ", "shown: ε at least", "event observed")
    rows = [
        (
            point["of"],
            str(point["limit"]),
            str(point["delta"]),
            to_digits(as_exact(point["epsilon_lower"]), up=False),
            f"{point['hits']} of {point['runs']} against {point['alarms']} of {point['other_runs']}",
        )
        for point in audit["points"]
    ]
    quick = ["This quick attack made a tenth of the requested runs."] if audit["quick"] else []
    elsewhere = audit["attack"].startswith(ELSEWHERE)
    about = "The two sets of results:" if elsewhere else "The attacked pair of datasets is synthetic:"
    pair = Block("text", (*quick, about))
    witness = {key: each for key, each in audit["witness"].items() if key != "wrong"}  # no counterexample
    return lines, table_block(rows, head), pair, table_block(flat(witness))


def _published(certificate: CertifyResult) -> list[Section]:
    """Return what was released: each statistic with a chart of its intervals and a table."""
    if certificate["release"] is None:
        return []
    blocks: list[Block] = []
    tables = released_tables(certificate)
    for each in tables[:MAX_TABLES]:
        blocks.append(Block("text", (f"{each.name}: {each.of}" if each.of else each.name,)))
        if len(each.bars) > 1:
            caption = f"Each dot is a released number; its line is the {each.head[-1]}."
            blocks.append(picture_block(pictures.strips(each.bars[:MAX_DRAWN], each.name), caption))
        blocks.append(table_block([tuple(row) for row in each.rows[:MAX_ROWS]], tuple(each.head)))
        if len(each.rows) > MAX_ROWS:
            blocks.append(
                Block("text", (f"{len(each.rows) - MAX_ROWS} more rows are in the released files.",))
            )
    if len(tables) > MAX_TABLES:
        blocks.append(Block("text", (f"{len(tables) - MAX_TABLES} more are in the released files.",)))
    if certificate["claim"]["subject"]["use"] == STUDY:
        blocks.append(Block("text", (OWN_NOISE,)))
    if left := unchecked(certificate):
        blocks.append(Block("text", ("What `dpaccount check` does not re-derive:",)))
        blocks.append(Block("list", tuple(left.split("; "))))
    scores = certificate["release"].get("evaluation")
    if scores:
        figures = {
            key: to_digits(each, up=None, digits=6) if isinstance(each, float) else each
            for key, each in scores.items()
            if key != "note"
        }
        blocks += [Block("text", (str(scores["note"]).capitalize() + ".",)), table_block(flat(figures))]
    return [Section("What was published", "release", tuple(blocks), first=True)]


def picture_block(svg: str, caption: str) -> Block:
    """Return a picture in SVG with the words below it."""
    return Block("picture", (svg, caption))


def _budget(certificate: CertifyResult, ledger: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    release = certificate["release"]
    if release is None:
        return [("Charged", "nothing: no data were read")]
    rows = [
        ("Ledger", str(certificate["claim"].get("data", {}).get("ledger", SILENT))),
        ("Entry", str(release["ledger_entry"])),
        ("Head after the charge", str(release.get("ledger_head", SILENT))),
        ("This release costs at most", proved_text(certificate)),
    ]
    if "budget" in release:
        rows += _spending(release["budget"])
    elif ledger is None:
        return [*rows, ("Budget, spent and left", "unknown; give the ledger with --ledger URL")]
    if ledger is None:
        return rows
    return rows + flat(dict(ledger), "Ledger today:")


def _spending(budget: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a certificate noted about its ledger's budget before and after its charge."""
    promised = f"ε = {budget['epsilon']} at δ = {budget['delta']} for each unit, {budget['unit']}"

    def spent(when: str) -> str:
        most = budget[when]["upper"]
        if most == "inf":
            return "without a bound"
        return f"ε ≤ {to_digits(as_exact(most), up=True)} at the budget's δ = {budget['delta']}"

    left, ends = budget.get("left", {}), budget["rest"]
    known = left or ends["lower"] is not None
    rest = f"another charge of {room({**left, 'epsilon': ends})} fits" if known else "not known"
    if left and ends["lower"] is None and ends["upper"] != "inf":
        rest += f" (on its own, ε ≤ {to_digits(as_exact(ends['upper']), up=True)} at δ = {budget['delta']})"
    if budget["measure"] not in ("pure", "approximate"):
        rest += f". In {budget['measure']}, the ε of several charges do not simply add up"
    if "life_epsilon" in budget:
        promised += f", in a period, and ε = {budget['life_epsilon']} in all of them"
    return [
        ("The ledger's budget", f"{promised} ({budget['relation']}, measure: {budget['measure']})"),
        ("Spent before this release", spent("before")),
        ("Spent after it", spent("after")),
        ("Left after it", rest),
    ]


def _governance(certificate: CertifyResult) -> list[tuple[str, str]]:
    return [
        (f"{key.replace('_', ' ')} ({GOVERNANCE[key]})" if key in GOVERNANCE else key, value)
        for key, value in governance(certificate).items()
    ]


def _document(certificate: CertifyResult) -> list[tuple[str, str]]:
    release = certificate["release"]
    return [
        *((title, str(certificate.get(name, SILENT))) for name, title in titles(Certificate).items()),
        ("Signature", _signed(certificate)),
        ("Digest of the mechanism's code", str(certificate["subject"].get("code", SILENT))),
        ("Digest of the data", "no data were read" if release is None else str(release["data"])),
        ("Releasable", "yes" if certificate["releasable"] else "no: no secure release was made"),
        ("Created with", ", ".join(f"{key} {value}" for key, value in certificate["environment"].items())),
    ]


def _signed(certificate: CertifyResult) -> str:
    sig = certificate["signature"]
    if sig is None:
        return "none. Anyone can rewrite an unsigned document: compare its digest with one from its author"
    return f"by {sig['key']} on {sig['signed']}; check with --key"


def flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Return a document as rows of a table: the name of each value in it, and the value as text."""
    members: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        members = [(str(key).replace("_", " "), each) for key, each in value.items() if each not in EMPTY]
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        members = [(str(place), each) for place, each in enumerate(value, 1)]
    if members:
        return [row for key, each in members for row in flat(each, f"{name} {key}".strip())]
    texts = [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in _listed(value)
    ]
    text = ", ".join(texts) or "none"
    return [(name, text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} …")]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in EMPTY else [value]


# ------------------------------------------------------------------ what an attack shows


def explained(certificate: CertifyResult) -> list[str]:
    """Return what the attack did, what it shows, why that is less than what is proved, and its power."""
    audit, proved = certificate["audit"], bool(certificate["proved"]["derivation"])
    if audit is None:
        return ["No attack was run. Only the proof speaks for the claim." if proved else "No attack was run."]
    point = audit["points"][0]
    runs, others = point["runs"], point["other_runs"]
    shown, risk = as_exact(point["epsilon_lower"]), as_exact(point["risk"])
    delta = as_exact(point["delta"])
    rest = audit["trials"] - runs - others
    chose = f" ({rest} more runs chose what is counted)" if rest > 0 else ""
    elsewhere = audit["attack"].startswith(ELSEWHERE)
    attacked = "Results drawn elsewhere were compared" if elsewhere else "The running code was attacked"
    other = "another dataset" if elsewhere else "a synthetic neighbour"
    less = "An attack shows less than is proved." if proved else "An attack proves nothing by failing."
    scope = " The proof holds for all pairs and events." if proved else ""
    sentences = [
        f"{attacked}. Method: {audit['attack']}. The bounds count {runs} runs on one"
        f" dataset and {others} on {other}{chose}. Result: ε is at least"
        f" {to_digits(shown, up=False)} at δ = {point['delta']}, with confidence {audit['confidence']} over"
        " all points together.",
        f"{less} It sees one pair of datasets, one event and finitely many runs.{scope}",
    ]
    most = clopper_pearson((runs, runs), (0, others), delta, risk, Threshold(0)).epsilon_lower
    sentences.append(
        f"Even if the code released the raw data, this many runs could have shown at most"
        f" ε = {to_digits(Fraction(most), up=True)}."
    )
    return [*sentences, _twin(certificate, point, delta, risk)]


def _twin(certificate: CertifyResult, point: dict[str, Any], delta: Fraction, risk: Fraction) -> str:
    """Return what the same runs would be expected to show of the same code with half the noise."""
    distance = certificate["audit"].get("distance")
    if not distance:
        kinds = "this pair meets several kinds of noise"
        why = kinds if certificate["proved"]["derivation"] else "the noise of the code is not known"
        return f"What half the noise would have shown is unknown: {why}."
    mu = 2 * math.sqrt(distance)
    expected = max(_expected(mu, at, point, delta, risk) for at in np.linspace(-3, 6, 37))
    claimed = as_exact(point["limit"])
    verdict = "This would have refuted the claim"
    if expected <= claimed:
        verdict = "That is within the claim, so these runs would not have revealed the missing noise"
    return (
        "With half the noise in the same code, these runs would be expected to show"
        f" about ε = {expected:.3g} on this pair. {verdict}. The estimate assumes Gaussian noise."
    )


def _expected(mu: float, at: float, point: dict[str, Any], delta: Fraction, risk: Fraction) -> float:
    """Return the bound from the counts that are expected above a threshold."""
    normal = NormalDist()
    runs, others = point["runs"], point["other_runs"]
    hits, alarms = round(runs * (1 - normal.cdf(at - mu))), round(others * (1 - normal.cdf(at)))
    return clopper_pearson((hits, runs), (alarms, others), delta, risk, Threshold(at)).epsilon_lower
