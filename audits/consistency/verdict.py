"""What follows for the verdict from derivation, evidence and attack, and members that say one thing twice."""

from typing import Any

from audits.consistency.counts import attacked, audited
from audits.consistency.evidence import Entry, evidence
from audits.consistency.hazards import NO_TEST
from dpaccount.checker.certificate.verdict import Concluded
from dpaccount.checker.derivation import Step
from dpaccount.checker.documents import brief, ensure
from dpaccount.checker.relation import written_relation

LEAST_RUNS = 30  #: a side, as an attack on a proof makes


def check_verdict(document: dict[str, Any], concluded: Concluded) -> None:
    """Verify that the verdict follows, and what goes with it."""
    missing, refuted = unproved(document, concluded), refutation(document, concluded)
    verdict = document["verdict"]
    why = f": {missing}" if missing and verdict == "CERTIFIED" else ""
    right = "REFUTED" if refuted else "CERTIFIED" if missing is None else "UNPROVEN"
    ensure(verdict == right, f"the verdict {verdict!r} does not follow{why}")
    ensure((document["refutes"] is not None) == refuted, "refutes does not go with the verdict")


def unproved(document: dict[str, Any], concluded: Concluded) -> str | None:
    """Return what the derivation and its evidence lack for the claim, or None."""
    final = concluded.final
    if final is None:
        ensure(document["sensitivity"] == [], "evidence on a hypothesis that the derivation does not use")
        return concluded.missing
    entries, steps = evidence(document), document["proved"]["derivation"]
    if concluded.missing is not None:
        return concluded.missing
    if document["audit"] is None or not attacked(document["audit"]):
        return "there is no audit" + ("" if document["audit"] is None else " of any event that was ever seen")
    if uncovered(document):
        return "the claim refuses code that no test covers"
    about = relations(steps, written_relation(final.relation))
    return next(filter(None, (untested(name, entries[name], about[name]) for name in entries)), None)


def uncovered(document: dict[str, Any]) -> bool:
    """Return whether the claim refuses code that no test covers, of which there is some."""
    refuses = document["claim"].get("audit", {}).get("uncovered") == "refuse"
    return refuses and any(each.startswith(NO_TEST) for each in document["hazards"])


def relations(steps: list[Step], relation: str) -> dict[str, str]:
    """Return the relation of each step, by digest: on rows, below a statement on persons."""
    about = {len(steps) - 1: relation}
    for index in sorted(range(len(steps)), reverse=True):
        for premise in steps[index]["from"] if index in about else ():
            of_rows = steps[index]["rule"] == "persons" and premise == steps[index]["from"][0]
            speaks = steps[steps[index]["from"][1]]["with"]["rows"] if of_rows else about[index]
            ensure(about.setdefault(premise, speaks) == speaks, "one step is about rows and about persons")
    return {steps[index]["digest"]: speaks for index, speaks in about.items()}


def untested(name: str, entry: Entry, relation: str) -> str | None:
    """Return what evidence on a hypothesis lacks, or None."""
    if entry["status"] not in ("tested", "accepted") or entry["examples"] < 1:
        return f"the hypothesis {name[:15]}… has no passing evidence"
    if entry["relation"] != relation:
        return f"the hypothesis {name[:15]}… was tested for {brief(entry['relation'])}"
    return None


def refutation(document: dict[str, Any], concluded: Concluded) -> bool:
    """Return whether the certificate holds a refutation, re-checking the counts of its audits."""
    false = any(entry["status"] == "refuted" for entry in document["sensitivity"])
    beaten = audited(document, concluded.final) if document["audit"] is not None else set()
    if concluded.refuted:
        check_shown(document)
    kinds = {"claim": "claim" in beaten or concluded.refuted, "proof": "proof" in beaten, "hypothesis": false}
    if document["refutes"] is not None:
        first = next((name for name, holds in kinds.items() if holds), "")
        ensure(document["refutes"] == first, f"what is refuted first is {first or 'nothing'}")
    return any(kinds.values())


def check_shown(document: dict[str, Any]) -> None:
    """Verify that each run showed the event of a refutation on one side, and none on the other.

    The event is assumed certain for one neighbour and impossible for the other: a single other
    outcome would contradict this.
    """
    ensure(document["audit"] is not None, "no run showed the event of the refutation")
    for seen in document["audit"]["points"]:
        enough = min(seen["runs"], seen["other_runs"]) >= LEAST_RUNS
        ensure(enough, f"fewer than {LEAST_RUNS} runs a side showed the event of the refutation")
        shown = seen["hits"] == seen["runs"] and seen["alarms"] == 0
        ensure(shown, "a run contradicts the event of the refutation")
