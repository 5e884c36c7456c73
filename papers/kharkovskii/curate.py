"""Writes a table for outsourced optimisation: as certified, or as published and marked.

The output is the release (or Z) and public facts: never a row of the file.
"""

import csv
import json
import os
from dataclasses import dataclass, replace
from math import hypot, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import convert
from msgspec.structs import replace as changed

from audits.certificate import release
from audits.certificate.document import seal, unsealed
from audits.certificate.folder import check_outputs, write_all
from audits.certificate.valid import valid_certificate
from audits.claim import Claim, read_claim
from audits.consistency import hazards_of
from audits.subjects import catalogue
from bandits.statistics.arrays import Floats
from dpaccount.documents import creating, csv_text, sha256, using
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.schemas.certificate import Certificate, Draft
from mechanisms.gaussian_rows import GaussianRows
from mechanisms.k_norm import KNorm
from mechanisms.table.reading import Remote
from mechanisms.table.rows import read_rows
from papers.kharkovskii import published_certificate
from papers.kharkovskii.po_curator import PoCurator
from papers.kharkovskii.published import lifted, width

SCHEMA = "dpaccount/outsourced-table/1"
PUBLISHED = "po-curator"  #: listed and named by claims, without a proof: `--published-unsound` runs it
CHOSEN = "The claim left the noise open, and public numbers chose it"
OUTPUTS = (
    "Not protected: outputs that the curator answers in the clear, by assumption, and which rows are asked."
)


@dataclass(frozen=True)
class Order:
    """A request to write `source` as `target`, by the claim; `ledger` if the claim names none.

    `out_of_bounds` is the treatment of rows beyond the declared norm or bounds: ``clip`` or
    ``refuse``; `again` makes a new, charged release.  The certificate of the released table is
    written to `folder`, if given.
    """

    claim: Path
    source: Path
    target: Path
    ledger: str | None = None
    certificate: Path | None = None
    out_of_bounds: str = "clip"
    unsound: bool = False
    again: bool = False
    folder: Path | None = None


@dataclass(frozen=True)
class Curated:
    """The result: the certificate, the rows written, and how many input rows exceeded the norm.

    `because` is the reason for the chosen noise, if the claim left it open.
    """

    certificate: dict[str, Any]
    rows: Floats
    clipped: int
    because: str | None = None


def curate(order: Order) -> Curated:
    """Check, charge, draw and write; raises `InputError` before anything is charged or written."""
    if order.out_of_bounds not in ("clip", "refuse"):
        raise InputError(f"--out-of-bounds is {order.out_of_bounds[:40]!r}", "say clip or refuse")
    if not order.target.parent.is_dir():
        raise InputError(f"{order.target.parent} is no folder", "name a file in one that is there")
    for path in (order.target, facts_file(order.target)):
        if os.path.lexists(path):
            raise InputError(f"{path} is there already", "name a file that is not")
    claim = read_claim(order.claim)
    if (claim.use == PUBLISHED) != order.unsound:
        raise InputError(
            f"{claim.use} protects nobody (its theorem is refuted); use row-noise, or say --published-unsound"
            if claim.use == PUBLISHED
            else "--published-unsound goes with a claim about po-curator; leave it out"
        )
    claim = _on_file(order, claim)
    if order.folder is not None:
        check_outputs(claim, order.folder)
    return _as_published(order, claim) if order.unsound else _certified(order, claim)


def facts_file(target: Path) -> Path:
    """Return the path of the public facts about a table."""
    return target.with_name(f"{target.name}.json")


def _on_file(order: Order, claim: Claim) -> Claim:
    """Return the claim about the given file; raises `InputError` if it is about another one."""
    if claim.table is None:
        raise InputError("no table is declared", "give [data.columns] and rows", claim.path)
    named = claim.data_file
    if isinstance(named, Remote) or (named is not None and named.resolve() != order.source.resolve()):
        raise InputError(
            f"{claim.path} is about {claim.data_file}", "curate that file, or name none in [data]"
        )
    url = claim.paid_by(order.ledger)
    if url is None and not order.unsound:
        raise InputError("--ledger is missing", "give the URL of the ledger that pays")
    return replace(claim, data_file=order.source, ledger=url)


# ------------------------------------------------------------------ as certified


def _certified(order: Order, claim: Claim) -> Curated:
    subject = catalogue.subject_of(claim)
    if not isinstance(subject, KNorm | GaussianRows):
        raise InputError(f"{claim.use} hands out no rows", "use k-norm, gaussian-rows or row-noise")
    document = valid_certificate(claim, subject, order.certificate)
    clipped = _out_of_bounds(order, claim, _validated_numbers(order.source, claim), float(subject.radius))
    prepared = release.prepare(claim, subject)
    if prepared is None:
        raise InputError("no data file or ledger to release from", "give both", claim.path)
    run = release.find_run(prepared, again=order.again)
    hazards = (OUTPUTS,) if claim.because is None else (OUTPUTS, f"{CHOSEN}: {claim.because}.")
    proved = Proved(subject.proof(claim.guarantee.delta))
    released = run.certificate or release.make(run, proved, _unreleased(document, hazards))[0]
    rows = np.array(released["release"]["report"]["rows"], dtype=np.float64)
    # The modeler's kernel needs the noise, and its box the radius: both follow from the claim, not from rows.
    facts = {"noise_variance": _variance(subject), "radius": float(subject.radius)}
    chosen = {} if claim.because is None else {"noise_chosen": claim.because}
    names = [f"z{k + 1}" for k in range(rows.shape[1])]
    _hand_out(order, released, names, rows, {**facts, **chosen})
    return Curated(released, rows, clipped, claim.because)


def _unreleased(document: dict[str, Any], hazards: tuple[str, ...]) -> Draft:
    """Return a valid certificate as a draft without a release, with hazards for the table's readers."""
    own = document["hazards"][len(hazards_of(document)) :]
    return changed(convert(document, Certificate), release=None, hazards=[*own, *hazards])


def _variance(subject: KNorm | GaussianRows) -> float:
    """Return the variance of the noise in a coordinate."""
    if isinstance(subject, KNorm):
        return (subject.columns + 1) / float(subject.rate) ** 2
    return float(subject.sigma) ** 2


# ------------------------------------------------------------------ as published


def _as_published(order: Order, claim: Claim) -> Curated:
    subject, reading = catalogue.on_table(claim, PoCurator)
    if not isinstance(subject, PoCurator) or claim.table is None:
        raise InputError(f"{claim.path}: {PUBLISHED} takes a table of rows")
    clipped = _out_of_bounds(order, claim, _validated_numbers(order.source, claim), float(subject.radius))
    data = read_rows(order.source, claim.table, reading, claim.guarantee.relation)
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    data = data * np.minimum(1.0, float(subject.radius) / np.maximum(norms, 1e-300))
    epsilon, delta = float(claim.guarantee.epsilon), float(claim.guarantee.delta)
    if not (epsilon > 0 and 0 < delta < 1):
        raise InputError(
            "Algorithm 1 takes epsilon above 0 and delta between 0 and 1", "say such", claim.path
        )
    threshold = width(epsilon, delta, subject.dimension)
    lift = lifted(data, threshold)
    if threshold > lift.largest:
        raise InputError(
            f"omega is {threshold:.4g}, beyond every singular value of the rows: Z would be noise alone",
            "raise epsilon, or lower dimension",
        )
    body = seal(unsealed(published_certificate.refuted(claim, subject)))
    # The paper keeps M secret, so no seed is taken that somebody could draw it from again.
    rows = lift.projected(subject.dimension, np.random.default_rng())
    names = [f"not_private_{k + 1}" for k in range(subject.dimension)]
    _hand_out(order, body, names, rows, {"noise_variance": 0.0, "radius": None})
    return Curated(body, rows, clipped)


# ------------------------------------------------------------------ files


def _validated_numbers(path: Path, claim: Claim) -> Floats:
    """Return the table's numbers; raises `InputError` for a ragged row or a non-finite cell.

    The error goes to the file's owner, before anything is charged; it names the line and no value.
    """
    names = _names(claim)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(str(error), "give a readable CSV file", path) from None
    if not table or not set(names) <= set(table[0]):
        raise InputError("the header lacks a declared column", f"declared: {', '.join(names)}", path)
    places = [table[0].index(name) for name in names]
    rows = []
    for number, cells in enumerate(table[1:], start=2):
        if len(cells) != len(table[0]):
            raise InputError(f"line {number} has {len(cells)} cells", f"the header has {len(table[0])}", path)
        rows.append([_number(cells[place], path, number) for place in places])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


def _names(claim: Claim) -> list[str]:
    given = claim.written["subject"].get("parameters", {})
    return [str(name) for name in given.get("columns") or [given.get("column")]]


def _number(cell: str, path: Path, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InputError(f"line {line} holds a cell that is no finite number", "fix or drop the row", path)
    return value


def _out_of_bounds(order: Order, claim: Claim, data: Floats, radius: float) -> int:
    """Return how many rows exceed the declared norm or bounds; refuse them if requested."""
    columns = [claim.table.column(name) for name in _names(claim)] if claim.table else []
    low = np.array([float(column.low or 0) for column in columns])
    high = np.array([float(column.high or 0) for column in columns])
    outside = np.any((data < low) | (data > high), axis=1)
    long = np.array([hypot(*row) > radius * (1 + 1e-12) for row in data.tolist()], dtype=bool)
    count = int(np.count_nonzero(outside | long))
    if count and order.out_of_bounds == "refuse":
        raise InputError(
            f"{count} rows are longer than radius = {radius:g}, or beyond low or high",
            "scale or clip them",
            order.source,
        )
    return int(count)


def _hand_out(
    order: Order, certificate: dict[str, Any], names: list[str], rows: Floats, facts: dict[str, Any]
) -> None:
    """Write the certificate, the table and the file of its facts; the table and its facts both or neither.

    Neither is written over a file that is there.
    """
    target, proved = order.target, certificate["proved"]["epsilon"]
    if order.folder is not None:
        write_all(certificate, order.folder)
    raw = csv_text([names, *rows.tolist()]).encode()
    written = {
        "schema": SCHEMA,
        "verdict": certificate["verdict"],
        "certificate": certificate["digest"],
        "unit": certificate["guarantee"]["unit"],
        "epsilon": None if proved is None else proved["upper"],
        "outputs": "in the clear: not protected",
        **facts,
        **{"rows": len(rows), "columns": len(names), "sha256": sha256(raw)},
    }
    _new_file(facts_file(target), (json.dumps(written, indent=1) + "\n").encode())
    try:
        _new_file(target, raw)
    except BaseException:
        facts_file(target).unlink()  # it was made here
        raise


def _new_file(path: Path, raw: bytes) -> None:
    with using(path, "name a file that can be made; what is charged is kept"), creating(path) as draft:
        draft.write_bytes(raw)
