"""A ledger for those who review it: as one self-contained page, as JSON, as a table for spreadsheets."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from audits.reports import page
from audits.reports.pictures import Bar, strips
from audits.reports.sections import Block, Section, table_block
from audits.reports.standards import POINTS, SILENT
from audits.reports.tables import rounded
from audits.reports.terminal import NAMES, renewing, room
from dpaccount.documents import csv_text
from dpaccount.exact import to_digits
from dpaccount.ledger.balances.step_functions import LAST_UNIT

Report = dict[str, Any]
MAX_BARS = 30  #: of a chart
CSV_COLUMNS = ("table", "row", "name", "value")
OVER_LIFE = "what unit {} had spent over its life at the end of the day, or month"
OF_CHARGES = "what these charges cost unit {}; a returned reservation is not deducted"


def verdict(report: Report) -> str:
    """Return VALID where the chain, and the totals if they were recomputed, are in order; or DAMAGED."""
    return "VALID" if report["replay"]["valid"] else "DAMAGED"


def html(report: Report, name: str) -> str:
    """Return the page; it looks as those of certificates do, and has no scripts either."""
    return page.of_sections(verdict(report), f"ledger {name}", sections(report))


def table(report: Report) -> str:
    """Return the report as CSV, a row for each value: which table, which row of it, its name, the value."""
    return csv_text([CSV_COLUMNS, *_values(report)])


def _values(report: Report) -> Iterator[tuple[str, int, str, object]]:
    for name, member in report.items():
        rows = member.get("rows", [member]) if isinstance(member, dict) else member
        for place, row in enumerate(rows if isinstance(rows, list) else [{"": rows}], 1):
            for path, value in _leaves(row):
                yield name, place, path, value


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _leaves(member, f"{path}.{name}" if path else name)
    elif value is not None:
        yield path, value


def nist(report: Report) -> list[dict[str, str]]:
    """Return the points of NIST SP 800-226, each with what a ledger knows of it, or that it is not stated."""
    budget, life, scopes = report["budget"], report["guaranteed"], report["scopes"]
    caps = f"{len(scopes) - 1} scopes with caps of their own; " if len(scopes) > 1 else ""
    limits = f"budget ε = {budget['epsilon']}, δ = {budget['delta']}, a period"
    rounded = "sums are exact fractions, and what is charged is rounded up"
    known = {
        "Privacy parameters": f"{limits}; {caps}{_spent(life)} over its life",
        "What the parameters mean": "no unit lost more than what the most-exposed one spent",
        "Variant of differential privacy": f"(ε, δ), measure: {budget['measure']}",
        "Unit of privacy": budget["unit"],
        "Neighbouring datasets": budget["relation"],
        "Several records of one person": "each unit pays for every charge that covers it",
        "Proof": f"each charge's own; the chain of {report['heads']['entries']} entries: {replayed(report)}",
        "Floating point and randomness": f"{rounded}; noise is drawn through receipts or outside this ledger",
        "Side channels": "not covered by a ledger",
        "Budget over time and repeated queries": f"{_count(report, 'resets')}, {_count(report, 'refused')}",
    }
    return [{"point": point, "answer": known.get(point, SILENT)} for point in POINTS]


def _count(report: Report, name: str) -> str:
    return f"{report[name].get('in_ledger', report[name]['all'])} {name}"


def replayed(report: Report) -> str:
    """Return in words what was recomputed, and what came of it."""
    replay = report["replay"]
    if not replay["valid"]:
        return f"not valid; first bad: {replay['first_bad']}"
    totals = "and every total" if replay["totals"] else "and no totals (`ledger verify` does)"
    return f"every digest was recomputed {totals}; all are in order"


def sections(report: Report) -> list[Section]:
    """Return the report as sections of plain blocks."""
    heads = [*report["heads"].items()]
    return [
        Section("In plain words", "words", _first(report), first=True),
        Section("Scopes", "scopes", (_scopes(report["scopes"]),)),
        Section("Period, year, life", "sums", (_sums(report),)),
        Section("Units that spent most", "units", _rows(report["units"])),
        Section("Rounds: reservations", "reservations", _rows(report["reservations"])),
        Section("Rounds: drawn and returned", "marks", _rows(report["marks"])),
        Section("Nodes that were drawn", "nodes", _rows(report["nodes"])),
        Section("Spending over time", "spending", _spent_rows(report["spending"], OVER_LIFE)),
        Section(
            "Accepted charges by month, scope, person and purpose",
            "teams",
            _spent_rows(report["teams"], OF_CHARGES),
        ),
        Section("Accepted charges", "charged", _rows(report["charged"])),
        Section("Refused charges", "refused", _rows(report["refused"])),
        Section("Resets", "resets", _rows(report["resets"])),
        Section("Clocks that were believed or set right", "clocks", _rows(report["clocks"])),
        Section("What may have been lost", "forfeits", _rows(report["forfeits"])),
        Section("Points of NIST SP 800-226", "nist", _rows({"rows": report["nist"]})),
        Section("Heads and replay", "heads", (_pairs([*heads, ("replay", replayed(report))]),)),
    ]


def _first(report: Report) -> tuple[Block, ...]:
    """Return page one: words, and what was spent by scope and over time, of the caps."""
    budget = report["budget"]
    cap = float(Fraction(budget["epsilon"]))
    scopes = [(one["scope"] or "(all)", one["spent"]["epsilon"]["upper"]) for one in report["scopes"]]
    days = [
        (row["day"], next(iter((row["spent"] or {"": None}).values())))
        for row in report["spending"]["rows"]
        if row["day"]
    ]
    by_scope = "ε spent by each scope at its most-exposed unit. The dashed line is the whole ledger's budget."
    over_time = f"What the most-exposed unit had spent by each day or month, in {budget['measure']}."
    blocks = [Block("text", tuple(_words(report)))]
    for rows, caption, most in ((scopes, by_scope, cap), (days, over_time, None)):
        known = [(name, float(spent)) for name, spent in rows[-MAX_BARS:] if spent is not None]
        if bars := [Bar(name, 0.0, spent) for name, spent in known if math.isfinite(spent)]:
            blocks.append(Block("picture", (strips(bars, caption, most), caption)))
    return tuple(blocks)


def _words(report: Report) -> Iterator[str]:
    budget, whole = report["budget"], report["scopes"][0]
    if "dataset" in budget:
        declared = f" (declared in {budget['declaration']})" if "declaration" in budget else ""
        yield f"The data: {budget['dataset']}{declared}."
    yield (
        f"Who is protected: {budget['unit']}, under {budget['relation']}. Each may spend"
        f" ε = {budget['epsilon']} at δ = {budget['delta']} in a period (measure: {budget['measure']})."
    )
    yield (
        f"The most-exposed unit, {whole['worst_unit']}, has {_spent(whole['committed'])} committed and"
        f" {_spent(whole['reserved'])} reserved. A charge of {room(whole['remaining'])} still fits every"
        " unit."
    )
    yield (
        f"Over the ledger's life, with {_count(report, 'resets')}, a unit that was present throughout has"
        f" lost at most {_spent(report['guaranteed'])} at δ = {budget.get('life_delta', budget['delta'])}."
        " This is the guarantee."
    )
    if "life_epsilon" in budget:
        yield (
            f"Life cap: no unit ever loses more than ε = {budget['life_epsilon']} at δ ="
            f" {budget['life_delta']} by this ledger, whatever is reset."
        )
    for one in (scope for scope in report["scopes"] if "every" in scope):
        yield (
            f"The cap of {one['scope']} holds anew every {one['every']}: a unit may lose"
            f" ε = {one['cap']['epsilon']} there in each, and in all of them no more than the budget."
        )
    yield f"Replay: {replayed(report)}."
    if "only" in report:
        given = ", ".join(f"{name} {value}" for name, value in report["only"].items() if value is not None)
        yield f"Listed below are entries {given} only. What is spent and left is of the whole ledger."


def _scopes(scopes: list[Report]) -> Block:
    head = ("scope", "unit", "cap", "most-exposed unit", "committed", "reserved", "spent", "remaining")
    rows = [
        (
            one["scope"] or "(all)",
            f"{one['unit']} ({one['relation']})",
            f"ε {one['cap']['epsilon']}, δ {one['cap']['delta']}{renewing(one)}",
            str(one["worst_unit"]),
            *(_spent(one[name]) for name in ("committed", "reserved", "spent")),
            room(one["remaining"]),
        )
        for one in scopes
    ]
    return table_block(rows, head)


def _sums(report: Report) -> Block:
    return _pairs([(name, _spent(report[name])) for name in ("period", "year", "life")], ("sum", "at most"))


def _spent_rows(part: Report, of: str) -> tuple[Block, ...]:
    rows = [{**row, "spent": _inline(row["spent"])} for row in part["rows"]]
    return Block("text", (f"“spent” is {of.format(part['of_unit'])}.",)), *_rows({"rows": rows})


def _rows(report: Report) -> tuple[Block, ...]:
    rows = report["rows"]
    if not rows:
        return (Block("text", ("None.",)),)
    names = [name for name in rows[0] if name != "head"]
    block = table_block([tuple(_text(row.get(name)) for name in names) for row in rows], tuple(names))
    left = report.get("all", len(rows)) - len(rows)
    if left > 0:
        return Block("text", (f"The latest {len(rows)}; {left} earlier ones are in `ledger log`.",)), block
    if report.get("more"):
        return Block("text", (f"The {len(rows)} ranges of units with the largest sums.",)), block
    return (block,)


def _pairs(rows: list[tuple[str, Any]], head: tuple[str, ...] = ()) -> Block:
    return table_block([(str(name), _text(value)) for name, value in rows], head)


def _spent(amounts: Report) -> str:
    rest = _inline({name: value for name, value in amounts.items() if name != "epsilon"})
    return f"ε {_text(amounts['epsilon']['upper'])} ({rest})"


def _inline(amounts: Report | None) -> str:
    return ", ".join(f"{NAMES.get(name, name)} {_text(each)}" for name, each in (amounts or {}).items())


def _text(value: object) -> str:
    if isinstance(value, float):  # all are upper ends
        return rounded(to_digits(value, up=True), value)
    if value == LAST_UNIT:
        return rounded("the last one", value)
    return "" if value is None else str(value)
