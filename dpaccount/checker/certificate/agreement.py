"""Members that say one thing twice: counts and their files or cells, numbers and their intervals, noise."""

import re
from fractions import Fraction
from typing import Any

from ..derivation import NOISE
from ..documents import brief, ensure, integer, text
from ..intervals import number
from .draws import STUDY
from .hazards import ELSEWHERE
from .shapes import exact_of

SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


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
        inside = name != "counts" or all(a <= x <= b for a, x, b in known)
        ensure(inside, f"a number of {brief(name)} is beyond its interval")


def flat(value: Any) -> list[Any]:
    """Return the numbers that lists hold, in their order."""
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]
