"""The limits that every certificate states first, and how its numbers are written."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpaccount.checker.certificate import exceeded
from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.certificate.tables import ORDERED
from dpaccount.checker.documents import brief, ensure
from dpaccount.checker.facts import fact_of
from dpaccount.checker.relation import ADDED, has_radius

#: Hazards of every certificate with a proof.
HAZARDS = (
    "The proof rests on the listed assumptions. Their tests search for counterexamples and prove nothing.",
    "Not covered: malicious code in the same process, timing, and power loss beyond what fsync guarantees."
    " Also not covered: data that leave by any route other than the output, such as printed text, logs,"
    " warnings, files or the network.",
    "Not covered: anything that the code reads besides the declared rows, such as other files, stores and"
    " copies of the data.",
    "Not tested: what the code does on rare inputs, such as one special value that no test tries.",
    "The proof assumes that each noise value is drawn exactly once, from its stated distribution, and that"
    " only one part of a mixture is drawn. The running code enforces this; no document can show it.",
    "The reader must check what one unit is, who made this document, and whether the digests are those of the"
    " intended code and data.",
)
#: Hazards of every other one.
UNPROVED_HAZARDS = (
    "A failed attack proves nothing.",
    "Not covered: malicious code, timing, and data that leave by any route other than the result, such as"
    " printed text, logs, warnings, files or the network.",
)
#: Of a proof whose noise is other people's random answers.
SHUFFLED = (
    "The noise is drawn by the participants' devices, not here. The guarantee fails against the shuffler, and"
    " against those who know other participants' answers or control their devices."
)
#: How the attack's description begins where neither code nor datasets were seen; also the subject's source.
ELSEWHERE = "results drawn elsewhere"
UNSEEN = (
    "The results were drawn elsewhere. The code and the datasets were not seen here. The counts are valid if"
    " each file has independent results on one dataset, and the two datasets are neighbours."
)

#: Subjects that are tested as smaller members of their families, whose certificates need not state `family`:
#: they were made before a subject declared it.
EARLIER = ("arm-phases", "moment-gp-ucb", "phased-gp-ucb", "phased-posterior")
FEWER_UNITS = "The tests and the attack ran on {} units, not on {}. {}."
SAME_PROOF = (
    "The proof is the same for every number of units, apart from sizes. That the code is the same, too, rests"
    " on code review"
)
SUM = "The query is a sum, to which each row adds its own part"
NONE_LATE = "In tests and attack all answers came at once; late ones, where they count, were not tried."
OWN_EPSILON = (
    "The parameter epsilon = {} is not the guarantee's: it is the mechanism's own, such as of one answer, and"
    " more is proved of the whole."
)
NO_TEST = "Code that no test covers: "  #: begins the hazard that names lines of the subject's own files
#: Endings of files whose rows are not lines.
COLUMNAR = (".parquet", ".arrow", ".feather", ".ipc")
LINES = (
    "Each line of a CSV file is one row. A line break within a cell begins another row, and perhaps another"
    " unit: the guarantee needs a file without such line breaks."
)
LEFT_OUT = "A missing cell, or one of another type, is left out of the statistics of its column: {}."
EACH_ROW = "Each row is one unit: a person with several rows is not protected as a whole."


def hazards_of(document: dict[str, Any]) -> list[str]:
    """Return the hazards that a certificate must list: what it trusts, what it does not cover."""
    claim, notes = document["claim"], []
    for entry in document["sensitivity"]:
        if entry["status"] == "accepted":
            name = f"{entry['rule']} {entry['query']}"
            reason = claim.get("assume", {}).get(name, "")
            ensure(reason.strip() != "", f"the claim does not accept {brief(name)}, or gives no reason")
            notes.append(f"Accepted without a test: {name}, because: {reason}")
    steps = document["proved"]["derivation"]
    notes += [*HAZARDS, *scope(document)] if steps else UNPROVED_HAZARDS
    if any(step["rule"] == "shuffled" for step in steps):
        notes.append(SHUFFLED)
    if drawn_elsewhere(document):
        notes.append(UNSEEN)
    if "examples" in claim["subject"]:
        notes.append(
            "Neighbours of example tables were tried too; the claim states that these tables are public or"
            " synthetic."
        )
    if "follows" in claim:
        notes.append(
            f"The claim states that edition {claim['edition']} follows the release {claim['follows']}: the"
            " promise is for the statistics that it adds, and the ledger has the total of all editions."
        )
    if "own_epsilon" in document["subject"] and steps:
        more = exceeded(document, fact_of(steps[-1]["gives"]))
        notes += [] if more is None else [OWN_EPSILON.format(more)]
    notes += unit_of_rows(document)
    data = claim.get("data", {})
    if data:
        notes.append(
            "The code that reads the data file is trusted to read each row independently of the others."
        )
    notes += table_hazards(claim, data)
    if data.get("public", False):
        notes.append("The claim declares the protected data public: the evaluation uses them without noise.")
    delta = exact_of(document["guarantee"]["delta"], "delta") or Fraction(0)
    if delta > Fraction(1, 100_000):
        notes.append(
            f"delta = {float(delta):.6g} is large: publishing each record in the clear with that"
            " probability would satisfy it; values up to 1e-5 are usual."
        )
    if document["subject"]["status"] != "sound":
        notes.append(f"The subject's status is {document['subject']['status']!r}.")
    return notes


def drawn_elsewhere(document: dict[str, Any]) -> bool:
    """Return whether a certificate names results drawn elsewhere in any way: by one, it must in all."""
    audit = document["audit"] or {}
    seen = audit.get("witness", {})
    files = any(isinstance(seen.get(side), dict) for side in ("left", "right"))
    source = document["subject"].get("source")
    return files or source == ELSEWHERE or audit.get("attack", "").startswith(ELSEWHERE)


def scope(document: dict[str, Any]) -> Iterator[str]:
    """Yield what tests and attack of a catalogued subject left out: most of its units, and late answers."""
    subject, audit = document["subject"], document["audit"] or {}
    if ":" in subject["use"] or "witness" not in audit:
        return
    held, seen = subject["parameters"], audit["witness"]
    family = subject.get("family", subject["use"] in EARLIER)
    # Whether a family is stated or left out hides no size; a pair of example tables may have fewer rounds.
    rounds = () if "examples" in document["claim"]["subject"] else ("rounds",)
    sizes = [held["rounds"]] if family else []
    sizes += [held[name] for name in ("persons", "rows", *rounds) if name in held][:1]
    for size in sizes:
        units = exact_of(size, "a size")
        if units is None or seen["rows"] < units:
            yield FEWER_UNITS.format(seen["rows"], size, SAME_PROOF if family else SUM)
            break
    steps = document["proved"]["derivation"]
    late = any(s["rule"] == "assume_rounds" and "participations" in s["with"] for s in steps)
    if late and family:  # a record that holds the time of its person's answer has one more number
        numbers = numbers_of(held)
        if numbers is None or len(seen["left"]) <= numbers:
            yield NONE_LATE


def numbers_of(held: Mapping[str, Any]) -> Fraction | None:
    """Return how many numbers a record has beside the time of its answer; None if that is not said."""
    # Arms have a reward each, as have actions beside a context; candidates have coordinates each, too.
    names = ("arms", "actions", "candidates", "dimension")
    sizes = [exact_of(held.get(name, 0), name) for name in names]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or held.keys().isdisjoint(names):
        return None
    arms, actions, candidates, dimension = known
    return arms + actions + candidates + dimension * (candidates or 1)


def unit_of_rows(document: dict[str, Any]) -> list[str]:
    """Return the hazards of rows that move by a radius; none for other relations."""
    promise, proved = document["guarantee"], document["proved"]
    if not has_radius(promise["relation"]) or proved["derivation"] == []:
        return []
    notes = [
        f"Neighbours differ in one row, which moves by at most {promise['radius']} in the l2 norm, in the"
        " data's own coordinates; everything else is equal. Larger differences between rows are protected"
        " less."
    ]
    facts = [fact_of(step["gives"]) for step in proved["derivation"] if step["rule"] == "assume_lipschitz"]
    ways = {f.reach / f.factor for f in facts if f.factor > 0}
    if len(ways) == 1 and (way := ways.pop()) > 0:
        share = (exact_of(promise["radius"], "radius") or 0) / way
        notes.append(
            f"The query distinguishes rows up to a distance of {rough(way)}; the radius is {rough(share)} of"
            " it."
        )
    other = proved.get("replace_one")
    if other is None:
        return [*notes, "Nothing is proved if a row is replaced by any other."]
    at = f"epsilon <= {other['epsilon']['upper']} at delta = {other['delta']}"
    return [
        *notes,
        f"A row that is replaced by any other is protected with {at}, under the same assumptions.",
    ]


def rough(value: Fraction) -> str:
    """Return a number to six digits, for a reader."""
    return f"{float(value):.6g}" if value < 10**300 else "more than 1e300"


def table_hazards(claim: dict[str, Any], data: dict[str, Any]) -> list[str]:
    """Return the hazards of a claim on a table: what is public in it."""
    if "columns" not in data:
        return []
    units = f"distinct values of {data['id']}" if "id" in data else "rows"
    if claim["guarantee"]["relation"] == ADDED:
        about = f"The table is assumed to have at most {data['rows']} {units}; this number is public."
    else:
        about = f"The number and the order of {units} in the table are public."
        if "id" in data:
            about = f"The {units} in the table are public, as are their number and order."
    public = (
        f"The claim states that these joined tables are public: {', '.join(sorted(data.get('join', {})))}."
    )
    lines = [] if data.get("file", ".arrow").lower().endswith(COLUMNAR) else [LINES]
    lines += [] if "id" in data else [EACH_ROW]
    return [
        about,
        *lines,
        *([public] if "join" in data else []),
        *_counted(data["columns"], later="schema" in data),
    ]


def _counted(columns: dict[str, dict[str, Any]], *, later: bool) -> list[str]:
    """Return the defaults of cells without a value: they look like measured values.

    From schema 2 of studies on these are the ones that are declared, and other cells are left out.
    In the order of the names: a sealed document does not keep the order of its tables.
    """
    listed = columns.items() if not later else [pair for pair in columns.items() if "missing" in pair[1]]
    held = {name: each for name, each in listed if later or each["type"] in (*ORDERED, "boolean")}
    left = sorted(columns.keys() - held.keys()) if later else []
    lines = [LEFT_OUT.format(", ".join(left))] if left else []
    cells = [
        f"{name} by {str(each.get('missing', each.get('low', False))).lower()}"
        for name, each in sorted(held.items())
    ]
    if not cells:
        return lines
    return [
        *lines,
        f"Cells that are missing or of another type are replaced, not refused: {', '.join(cells)}.",
    ]
