"""What follows for the claim: that it is proved, that something is refuted, or neither."""

import re
from fractions import Fraction
from typing import Any

from ..derivation import NOISE, Step, conclusions, reachable
from ..documents import brief, ensure, integer, text
from ..facts import Fact, Private, Refuted
from ..intervals import number
from ..relation import OF_PERSONS, has_radius, written_relation
from .counts import attacked, audited
from .draws import STUDY
from .evidence import Entry, evidence
from .hazards import ELSEWHERE, NO_TEST
from .replaced import check_point, neighbours_of
from .shapes import exact_of

LEAST_RUNS = 30  #: a side, as an attack on a proof makes

SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def unproved(document: dict[str, Any], final: Fact | None) -> str | None:
    """Return why the claim is not proved by the derivation and its evidence, or None if it is."""
    proved = document["proved"]
    if final is None or proved["epsilon"] is None:
        nothing = final is None and proved["epsilon"] is None and proved["delta"] is None
        ensure(nothing, "a proved epsilon and a derivation go together")
        ensure(document["sensitivity"] == [], "evidence on a hypothesis that the derivation does not use")
        return "there is no derivation"
    ensure(isinstance(final, Private), "the last step is not a statement about privacy")
    ensure(final.subject == document["subject"]["name"], f"the derivation is about {brief(final.subject)}")
    seen = [step["gives"][:2] for step in reachable(proved["derivation"])]
    ensure(["View", final.subject] in seen, "what the subject shows is not among the steps")
    check_point(proved, final)
    return shortfall(document, evidence(document), final)


def shortfall(document: dict[str, Any], entries: dict[str, Entry], final: Private) -> str | None:
    """Return what the derivation and its evidence lack for the claim, or None."""
    promise, proved = document["guarantee"], document["proved"]
    relation = written_relation(final.relation)
    if relation != neighbours_of(promise):
        return f"the derivation is for {relation}"
    if final.observer != promise["model"]:
        return f"the derivation is for the {final.observer} model"
    wanted = exact_of(promise["epsilon"], "guarantee.epsilon")
    upper = exact_of(proved["epsilon"]["upper"], "proved.epsilon.upper")
    allowed, delta = exact_of(promise["delta"], "guarantee.delta"), exact_of(proved["delta"], "proved.delta")
    if allowed is None or delta is None or delta > allowed:
        return "the proved delta exceeds the claim's"
    if wanted is not None and (upper is None or upper > wanted):
        return "the proved epsilon exceeds the claim's"
    if document["audit"] is None or not attacked(document["audit"]):
        return "there is no audit" + ("" if document["audit"] is None else " of any event that was ever seen")
    fewer = uncounted(proved["derivation"], final, document["claim"].get("data", {}))
    if fewer is not None:
        return fewer
    further = unmeasured(document["claim"]) or uncovered(document)
    if further is not None:
        return further
    about = relations(proved["derivation"], relation)
    return next(filter(None, (untested(name, entries[name], about[name]) for name in entries)), None)


def uncovered(document: dict[str, Any]) -> str | None:
    """Return that the claim refuses code that no test covers, of which there is some; or None."""
    refuses = document["claim"].get("audit", {}).get("uncovered") == "refuse"
    some = any(each.startswith(NO_TEST) for each in document["hazards"])
    return "the claim refuses code that no test covers" if refuses and some else None


def relations(steps: list[Step], relation: str) -> dict[str, str]:
    """Return the relation of each step, by digest: on rows, below a statement on persons."""
    about = {len(steps) - 1: relation}
    for index in sorted(range(len(steps)), reverse=True):
        for premise in steps[index]["from"] if index in about else ():
            of_rows = steps[index]["rule"] == "persons" and premise == steps[index]["from"][0]
            speaks = steps[steps[index]["from"][1]]["with"]["rows"] if of_rows else about[index]
            ensure(about.setdefault(premise, speaks) == speaks, "one step is about rows and about persons")
    return {steps[index]["digest"]: speaks for index, speaks in about.items()}


def uncounted(steps: list[Step], final: Private, data: dict[str, Any]) -> str | None:
    """Return how the derivation and the claim's table differ on a person's rows, or None.

    Where several rows of a person count, the derivation is about persons with as many rows, or twice as many
    where persons are replaced but rows are added or removed.  One about persons rests on no other rows.
    """
    most = exact_of(data.get("max_rows", 1), "max_rows") or Fraction(1)
    for step in reachable(steps):
        if step["rule"] == "persons":
            given = steps[step["from"][1]]["with"]
            times = 2 if given["relation"] != given["rows"] else 1
            if Fraction(given["most"]) != times * most:
                return f"a person's change is {times * most} steps of rows, {brief(given['most'])} are proved"
    if most > 1 and OF_PERSONS not in final.relation:
        return "what is drawn of rows is not of persons, of whom several rows count"
    return None


def unmeasured(claim: dict[str, Any]) -> str | None:
    """Return how a row can move further than the radius of the claim's file, or None.

    A column that is read twice counts twice in a distance; identities and codes of texts do not move by one.
    """
    read = claim["subject"].get("parameters", {}).get("columns", [])
    table = claim.get("data", {}).get("columns", {})
    if not has_radius(claim["guarantee"]["relation"]) or not table or not isinstance(read, list):
        return None
    wrong = [name for name in read if read.count(name) > 1 or name == claim["data"].get("id")]
    wrong += [name for name in read if name in table and table[name]["type"] != "number"]
    return f"the column {brief(wrong[0])} moves further in a row than in the file" if wrong else None


def untested(name: str, entry: Entry, relation: str) -> str | None:
    """Return what evidence on a hypothesis lacks, or None."""
    if entry["status"] not in ("tested", "accepted") or entry["examples"] < 1:
        return f"the hypothesis {name[:15]}… has no passing evidence"
    if entry["relation"] != relation:
        return f"the hypothesis {name[:15]}… was tested for {brief(entry['relation'])}"
    return None


def refutation(document: dict[str, Any], final: Fact | None) -> bool:
    """Return whether the certificate holds a refutation, re-checking the counts of its audits."""
    false = any(entry["status"] == "refuted" for entry in document["sensitivity"])
    beaten = audited(document, final) if document["audit"] is not None else set()
    apart = separated(document)
    kinds = {"claim": "claim" in beaten or apart, "proof": "proof" in beaten, "hypothesis": false}
    if document["refutes"] is not None:
        first = next((name for name, holds in kinds.items() if holds), "")
        ensure(document["refutes"] == first, f"what is refuted first is {first or 'nothing'}")
    return any(kinds.values())


def separated(document: dict[str, Any]) -> bool:
    """Return whether there is a refutation, of this claim and with its event in each run.

    The event is assumed certain for one neighbour and impossible for the other: a single other
    outcome would contradict this.
    """
    steps = document["proved"].get("refutation")
    if steps is None:
        return False
    final, promise = conclusions(steps)[-1], document["guarantee"]
    ensure(isinstance(final, Refuted), "what is held as a refutation refutes nothing")
    ensure(len(list(reachable(steps))) == len(steps), "the refutation holds a step that it does not need")
    same = (final.subject, final.relation, final.observer)
    right = (document["subject"]["name"], neighbours_of(promise), promise["model"])
    ensure(same == right, "the refutation is not about the subject's neighbours, as they are seen")
    point = exact_of(promise["epsilon"], "epsilon"), exact_of(promise["delta"], "delta")
    of_claim = point == (number(final.epsilon), number(final.delta))
    ensure(of_claim, "the refutation is not of the claim's epsilon and delta")
    assumed = [s["with"] for s in steps if s["rule"].startswith("assume_")]
    certain = [(given.get("likely"), given.get("rarely")) for given in assumed] == [("1", "0")]
    ensure(certain, "the refutation should assume one event, certain here and impossible there")
    ensure(document["audit"] is not None, "no run showed the event of the refutation")
    for seen in document["audit"]["points"]:
        enough = min(seen["runs"], seen["other_runs"]) >= LEAST_RUNS
        ensure(enough, f"fewer than {LEAST_RUNS} runs a side showed the event of the refutation")
        shown = seen["hits"] == seen["runs"] and seen["alarms"] == 0
        ensure(shown, "a run contradicts the event of the refutation")
    return True


# ------------------------------------------------------------------ members that say one thing twice


def check_samples(document: dict[str, Any]) -> None:
    """Verify that counts of results drawn elsewhere are of the files named: the half that chose no event."""
    audit = document["audit"]
    if audit is None or not audit["attack"].startswith(ELSEWHERE):
        return
    seen = audit["witness"]
    sides, at = [seen["left"], seen["right"]], text(seen["event"])
    for side in sides:
        ensure(side.keys() == {"file", "sha256", "results"}, "a file is named, with digest and results")
        ensure(SHA256.fullmatch(text(side["sha256"])) is not None, "a file's sha256 is no digest")
    ensure(sides[0]["sha256"] != sides[1]["sha256"], "one file is given for both datasets")
    drawn = [integer(side["results"]) for side in sides]
    ensure(sum(drawn) == audit["trials"], "the files hold other results than the audit has trials")
    held = [most - most // 2 for most in drawn]
    for point in audit["points"]:
        runs = [point["runs"], point["other_runs"]]
        ensure(runs == (held if " on the left, " in at else held[::-1]), "the counts are of other results")
        ensure(point["event"] == f"{text(seen['score'])}: {at}", "the event is not that of the witness")


def check_noise(document: dict[str, Any]) -> None:
    """Verify that a catalogued subject's parameters `scale` and `law` are those of noise that is proved."""
    held = document["subject"]["parameters"]
    drawn = [step for step in document["proved"]["derivation"] if step["rule"] in NOISE]
    if not drawn or ":" in document["subject"]["use"] or document["subject"]["use"] == STUDY:
        return
    laws = {"laplace" if step["rule"] == "laplace" else "gaussian" for step in drawn}
    ensure("law" not in held or laws == {held["law"]}, "the parameter law is not the proof's")
    if "scale" in held:
        scale = exact_of(held["scale"], "scale") or Fraction(0)
        noise = [("scale", scale), ("variance", scale**2)]
        same = [number(s["with"][name]) == x for s in drawn for name, x in noise if name in s["with"]]
        ensure(any(same), "the parameter scale is not the proof's")


def check_sizes(document: dict[str, Any]) -> None:
    """Verify that reported counts are of the cells, and intervals of the numbers, and around counts."""
    if document["release"] is None or ":" in document["subject"]["use"]:
        return
    report, held = document["release"]["report"], document["subject"]["parameters"]
    around, cells = report.get("accuracy", {}), report.get("cells")
    if "counts" in report and ("cells" in held or cells is not None):
        most = held["cells"] if cells is None else len(cells)
        ensure(len(report["counts"]) == most, "the counts that are reported are not of the cells")
    for name in around.keys() & report.keys():
        low, shown, high = map(flat, (around[name]["low"], report[name], around[name]["high"]))
        ensure(len(low) == len(shown) == len(high), f"the intervals of {brief(name)} are of other numbers")
        known = [each for each in zip(low, shown, high, strict=True) if None not in each]
        # a noisy count below 0 is of a count that is not
        inside = name != "counts" or all(a <= max(x, 0) <= b for a, x, b in known)
        ensure(inside, f"a number of {brief(name)} is beyond its interval")


def flat(value: Any) -> list[Any]:
    """Return the numbers that lists hold, in their order."""
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]
