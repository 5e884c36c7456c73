"""The limits that every certificate states first, and how its numbers are written."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..documents import brief, ensure
from ..relation import ADDED
from .conditions import ORDERED
from .replaced import unit_of_rows
from .shapes import exact_of

#: Hazards of every certificate with a proof.
HAZARDS = (
    "Proved under the listed hypotheses; their tests search for counterexamples and do not prove them.",
    "Not covered: a malicious author in the same process, timing, power loss beyond fsync's promise,"
    " and data that leaves by another way than what is shown: printing, logs, warnings, files, the network.",
    "Not covered: data that enters by another way than the rows that are read: other files and stores that"
    " the code opens, copies of the data among them.",
    "Not looked for: what the code does at rare places only, such as one special value that no test tries.",
    "Each key of the proof is drawn once, by its law, and of a mixture one part is drawn: receipts see to it"
    " where the code runs, and no document can show it.",
    "That the digests are of the code and data that are meant, what one unit is, and who made this"
    " document, are for its reader to check.",
)
#: Hazards of every other one.
UNPROVED_HAZARDS = (
    "An attack that fails proves nothing.",
    "Not covered: a malicious author, timing, and data that leaves by another way than the result:"
    " printing, logs, warnings, files, the network.",
)
#: How the attack's description begins where neither code nor datasets were seen.
ELSEWHERE = "results drawn elsewhere"
UNSEEN = (
    "The results were drawn elsewhere: nobody here saw the code or the datasets. The counts stand if"
    " each file has independent results on one dataset, and the two datasets are neighbours."
)

#: Subjects that are tested as smaller members of their families.
FAMILIES = ("arm-phases", "moment-gp-ucb", "phased-gp-ucb", "phased-posterior")
FEWER_UNITS = "Tests and attack ran on {} units, not on {}: {}."
SAME_PROOF = (
    "the proof is the same for every number of units, but for sizes; that the code is so, too, rests on its"
    " having been reviewed"
)
SUM = "the query is a sum, of which each row adds its own part"
NONE_LATE = "A session counts late answers; in tests and attack everybody answered at once."


def hazards_of(document: dict[str, Any]) -> list[str]:
    """Return the hazards that a certificate must list: what it trusts, what it does not cover."""
    claim, notes = document["claim"], []
    for entry in document["sensitivity"]:
        if entry["status"] == "accepted":
            name = f"{entry['rule']} {entry['query']}"
            reason = claim.get("assume", {}).get(name, "")
            ensure(reason.strip() != "", f"the claim does not accept {brief(name)}, or gives no reason")
            notes.append(f"Accepted without a test: {name}, because: {reason}")
    notes += [*HAZARDS, *scope(document)] if document["proved"]["derivation"] else UNPROVED_HAZARDS
    if (document["audit"] or {}).get("attack", "").startswith(ELSEWHERE):
        notes.append(UNSEEN)
    if "examples" in claim["subject"]:
        notes.append(
            "Neighbours of example tables were tried too; that these are public or made up is the claim's"
            " word."
        )
    if "follows" in claim:
        notes.append(
            f"By the claim's word, edition {claim['edition']} follows the release {claim['follows']}: what is"
            " promised is of the statistics that it adds, and the ledger has the total of all editions."
        )
    notes += unit_of_rows(document)
    data = claim.get("data", {})
    if data:
        notes.append("The reader of the data file is trusted to take every row by itself.")
    notes += table_hazards(claim, data)
    if data.get("public", False):
        notes.append(
            "The claim says that its data are public; figures in `evaluation` read them without noise."
        )
    delta = exact_of(document["guarantee"]["delta"], "delta") or Fraction(0)
    if delta > Fraction(1, 100_000):
        notes.append(
            f"delta = {float(delta):.6g} is large: publishing each record in the clear with that"
            " probability would satisfy it; values up to 1e-5 are usual."
        )
    if document["subject"]["status"] != "sound":
        notes.append(f"The subject's status is {document['subject']['status']!r}.")
    return notes


def scope(document: dict[str, Any]) -> Iterator[str]:
    """Yield what tests and attack of a catalogued subject left out: most of its units, and late answers."""
    subject, audit = document["subject"], document["audit"] or {}
    if ":" in subject["use"] or "witness" not in audit:
        return
    held, seen, family = subject["parameters"], audit["witness"], subject["use"] in FAMILIES
    size = held["rounds"] if family else held.get("persons", held.get("rows", seen["rows"]))
    units = exact_of(size, "a size")
    if units is None or seen["rows"] < units:
        yield FEWER_UNITS.format(seen["rows"], size, SAME_PROOF if family else SUM)
    steps = document["proved"]["derivation"]
    late = any(s["rule"] == "assume_rounds" and "participations" in s["with"] for s in steps)
    if late and family:  # a record that holds the time of its person's answer has one more number
        candidates, dimension = (exact_of(held[name], name) for name in ("candidates", "dimension"))
        if candidates is None or dimension is None or len(seen["left"]) <= candidates * (dimension + 1):
            yield NONE_LATE


def table_hazards(claim: dict[str, Any], data: dict[str, Any]) -> list[str]:
    """Return the hazards of a claim on a table: what is public in it."""
    if "columns" not in data:
        return []
    units = f"distinct values of {data['id']}" if "id" in data else "rows"
    if claim["guarantee"]["relation"] == ADDED:
        about = f"That the table has at most {data['rows']} {units} is assumed, and public."
    else:
        whose = f" Which values of {data['id']} are in it is public too." if "id" in data else ""
        about = f"The number of {units} in the table is public, and so is their order.{whose}"
    public = (
        f"That the joined tables are public is the claim's word: {', '.join(sorted(data.get('join', {})))}."
    )
    return [about, *([public] if "join" in data else []), *_counted(data["columns"])]


def _counted(columns: dict[str, dict[str, Any]]) -> list[str]:
    """Return the defaults of cells without a number: they look like measured values.

    In the order of the names: a sealed document does not keep the order of its tables.
    """
    numbers = {name: each for name, each in columns.items() if each["type"] in ORDERED}
    cells = [f"{name} as {each.get('missing', each['low'])}" for name, each in sorted(numbers.items())]
    return (
        [f"Cells that are missing or no numbers count, and are not refused: {', '.join(cells)}."]
        if cells
        else []
    )


def short_numbers(document: dict[str, Any]) -> None:
    """Verify that the numbers of a guarantee are written in one way: a text only where no double is exact."""
    for name in ("epsilon", "delta", "radius"):
        value = document["guarantee"].get(name)
        if isinstance(value, str) and value != "inf":
            plain = re.fullmatch(r"(0|[1-9]\d*)(\.\d*[1-9])?([eE][+-]?[1-9]\d*)?", value, re.ASCII)
            ensure(
                "/" in value or plain is not None, f"guarantee.{name} is {brief(value)}, not in short form"
            )
            exact = exact_of(value, name)
            short = (
                exact is not None
                and exact < 2**63
                and (exact == 0 or exact * 10**300 > 1)
                and Fraction(repr(float(exact))) == exact
            )
            ensure(not short, f"guarantee.{name} is {brief(value)}, which a JSON number says")
