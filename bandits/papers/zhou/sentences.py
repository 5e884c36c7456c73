"""What Zhou & Tan 2020 say of their figures, judged by the rows of ours."""

from collections.abc import Iterator
from math import hypot
from typing import Any

from bandits.papers.reproduction import Sentence

BEST = "MoMA tends to outperform the other two in both settings"
CHEAP = "MoMA has reduced complexity"
NAMES = ("ata-gp-ucb", "tgp-ucb", "moma-gp-ucb")
Rows = list[dict[str, Any]]
Found = dict[str, dict[str, Any]]  #: a row of each of the three


def judged(rows: Rows) -> list[Sentence]:
    """Return both sentences, each by setting and constants."""
    found = []
    for constants in ("theory", "practical"):
        for setting, private in (("private", True), ("not private", False)):
            panels = [
                three
                for three in _panels(rows, constants)
                if (three["moma-gp-ucb"]["epsilon"] is not None) == private
            ]
            if panels:
                where = f"{setting}, {constants} constants"
                found += [_outperforms(panels, where), _is_cheaper(panels, where)]
    return found


def _panels(rows: Rows, constants: str) -> Iterator[Found]:
    """Return the three algorithms' rows of each panel."""
    kept: dict[tuple[Any, ...], Found] = {}
    for row in rows:
        name = row["algorithm"].removeprefix("ldp-")
        if name in NAMES and row["constants"] == constants:
            kept.setdefault((row["data"], row["kernel"], row["epsilon"]), {})[name] = row
    yield from kept.values()


def _outperforms(panels: list[Found], where: str) -> Sentence:
    """Judge who is best: confirmed where MoMA has the least mean regret in more than half of the panels.

    It is denied only where in more than half another's is less by two standard errors of the difference.
    """
    best = [min(NAMES, key=lambda name: three[name]["value"]) for three in panels]
    wins = best.count("moma-gp-ucb")
    numbers = "; ".join(_regrets(three) for three in panels)
    said = f"MoMA best in {wins} of {len(panels)} panels; regret of ATA, TGP, MoMA: {numbers}"
    behind = sum(map(_behind, panels))
    said = f"{said}; behind by two standard errors in {behind}"
    return Sentence(
        BEST, where, True if 2 * wins > len(panels) else False if 2 * behind > len(panels) else None, said
    )


def _behind(three: Found) -> bool:
    """Return whether another has less mean regret than MoMA by two standard errors of the difference."""
    moma, best = three["moma-gp-ucb"], min(three.values(), key=lambda row: row["value"])
    error = hypot(moma["standard_error"], best["standard_error"])
    return moma["value"] - best["value"] > 2 * error


def _regrets(three: Found) -> str:
    row = three["moma-gp-ucb"]
    panel = row["data"] if row["data"] != "synthetic" else row["kernel"]
    at = "" if row["epsilon"] is None else f" at {row['epsilon']:g}"
    return f"{panel}{at} " + ", ".join(f"{three[name]['value']:.0f}" for name in NAMES)


def _is_cheaper(panels: list[Found], where: str) -> Sentence:
    """Judge the work: confirmed where MoMA updates its approximation less often than ATA (section 4.4)."""
    made = {name: sum(three[name]["updates"] for three in panels) // len(panels) for name in NAMES}
    cheaper = made["moma-gp-ucb"] < made["ata-gp-ucb"]
    said = f"than ATA; updates in a trial of ATA, TGP, MoMA: {', '.join(str(made[name]) for name in NAMES)}"
    return Sentence(CHEAP, where, cheaper, said)
