"""The sentences of Zhou & Tan 2020 on their figures, judged by our rows."""

from collections.abc import Iterator
from math import hypot
from typing import Any

from papers.reproduction import Sentence

BEST = "MoMA tends to outperform the other two in both settings"
CHEAP = "MoMA has reduced complexity"
NAMES = ("ata-gp-ucb", "tgp-ucb", "moma-gp-ucb")
Rows = list[dict[str, Any]]
Found = dict[str, dict[str, Any]]  #: a row of each of the three


def judged(rows: Rows) -> list[Sentence]:
    """Return both sentences, each by setting and constants."""
    sentences = []
    for constants in ("theory", "practical"):
        for setting, private in (("private", True), ("not private", False)):
            panels = [
                three
                for three in _panels(rows, constants)
                if (three["moma-gp-ucb"]["epsilon"] is not None) == private
            ]
            if panels:
                where = f"{setting}, {constants} constants"
                sentences += [_outperforms(panels, where), _is_cheaper(panels, where)]
    return sentences


def _panels(rows: Rows, constants: str) -> Iterator[Found]:
    """Return the three algorithms' rows of each panel."""
    kept: dict[tuple[Any, ...], Found] = {}
    for row in rows:
        name = row["algorithm"].removeprefix("ldp-")
        if name in NAMES and row["constants"] == constants:
            kept.setdefault((row["data"], row["kernel"], row["epsilon"]), {})[name] = row
    yield from kept.values()


def _outperforms(panels: list[Found], where: str) -> Sentence:
    """Judge who is best: confirmed where MoMA has less mean regret than both others in most panels.

    It is denied where in most panels another has less than MoMA.  Less is by two standard errors of the
    difference; where neither holds, these rows do not decide.
    """
    won = sum(all(_less(three, NAMES[2], name) for name in NAMES[:2]) for three in panels)
    lost = sum(any(_less(three, name, NAMES[2]) for name in NAMES[:2]) for three in panels)
    numbers = "; ".join(_regrets(three) for three in panels)
    text = f"MoMA less by two standard errors in {won} of {len(panels)} panels, another in {lost}; "
    confirmed = True if 2 * won > len(panels) else False if 2 * lost > len(panels) else None
    return Sentence(BEST, where, confirmed, f"{text}regret of ATA, TGP, MoMA: {numbers}")


def _less(three: Found, name: str, than: str) -> bool:
    """Return whether a mean regret is less than another by two standard errors of the difference."""
    error = hypot(three[name]["standard_error"], three[than]["standard_error"])
    return bool(three[than]["value"] - three[name]["value"] > 2 * error)


def _regrets(three: Found) -> str:
    row = three["moma-gp-ucb"]
    panel = row["data"] if row["data"] != "synthetic" else row["kernel"]
    at = "" if row["epsilon"] is None else f" at {row['epsilon']:g}"
    return f"{panel}{at} " + ", ".join(f"{three[name]['value']:.0f}" for name in NAMES)


def _is_cheaper(panels: list[Found], where: str) -> Sentence:
    """Judge the work: confirmed where MoMA updates its approximation less often than ATA (section 4.4)."""
    # Seconds differ by machine; kept work has no clock.
    work = {name: sum(three[name]["updates"] for three in panels) // len(panels) for name in NAMES}
    cheaper = work["moma-gp-ucb"] < work["ata-gp-ucb"]
    text = f"than ATA; updates in a trial of ATA, TGP, MoMA: {', '.join(str(work[name]) for name in NAMES)}"
    return Sentence(CHEAP, where, cheaper, text)
