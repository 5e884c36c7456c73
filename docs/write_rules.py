"""Write the tables of docs/rules.md from `dpaccount/proof` and the table of Coq proofs.

usage: python docs/write_rules.py
"""

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from dpaccount import proof
from dpaccount.checker.certificate.verdict import ATTAINED

PAGE = Path(__file__).with_name("rules.md")
FAMILIES = {
    "hypotheses": "Hypotheses: what the code must do",
    "sensitivity": "Sensitivity",
    "noise": "Noise",
    "composition": "Composition and observers",
    "conversions": "Conversions, departures and groups",
    "refutations": "Refutations",
}
ROWS = tomllib.loads((PAGE.parents[1] / "formal" / "rules.toml").read_text())["rule"]
TAG = re.compile(r" ?\((R\d+(?:, R\d+)*)\)")
AWAY = re.compile(r" \((?:R\d+(?:, R\d+)*|docs/proofs.md|[^()]*\b(?:19|20)\d\d\b[^()]*)\)")
SOURCE = re.compile(r"\(([^()]*\b(?:19|20)\d\d\b[^()]*)\)")


def signature() -> Iterator[tuple[str, str, str]]:
    """Yield (family, name, what its line says) of every rule, as the door lists them."""
    family = ""
    for line in inspect.getsource(proof).splitlines():
        if opened := re.match(r"    # (\w+)$", line):
            family = opened[1]
        elif said := re.match(r"    (\w+),  # (.*)$", line):
            yield family, said[1], said[2]


def row(*cells: str) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def first_sentence(name: str) -> str:
    """Return what a docstring says first, without sources."""
    text = " ".join((inspect.getdoc(getattr(proof, name)) or "").split())
    return AWAY.sub("", text).split(". ")[0].rstrip(".")


def rule_row(name: str, line: str) -> str:
    """Return the line of a rule: R, name, premises → conclusion (and if attained), side conditions, source.

    A hypothesis has no premises and no curve: its line has what it assumes in their place.
    """
    text = " ".join((inspect.getdoc(getattr(proof, name)) or "").split())
    sources = SOURCE.findall(text) + ["[proof](proofs.md)"] * ("docs/proofs.md" in text)
    source = "; ".join(sources) or "–"
    tags, shape, sides = ", ".join(TAG.findall(text)), *line.partition("; ")[::2]
    if name.startswith("assume_"):
        assumed = re.sub(r"^Assume (that )?", "", first_sentence(name))
        return row(tags, f"`{name}`", assumed, sides or "–", source)
    shape += ", attained" * (name in ATTAINED)
    return row(tags, f"`{name}`", shape, sides or "–", source)


def by_machine() -> str:
    """Return which rules are proved in Coq, in a sentence."""
    names = {
        status: [f"`{each['name']}`" for each in ROWS if each["status"] == status]
        for status in ("proved", "assumed", "defined", "inferred")
    }
    parts = [f"{len(names['proved'])} rules are proved in Coq ([formal.md](formal.md))"]
    parts += [f"on assumptions: {', '.join(names['assumed'])}"] * bool(names["assumed"])
    parts += [f"on paper only: {', '.join(names['inferred'])}"] * bool(names["inferred"])
    return (
        f"{'; '.join(parts)}. The {len(names['defined'])} hypotheses are defined there, and tested on code."
    )


def table(lines: list[tuple[str, str, str]], family: str) -> list[str]:
    """Return the tables of a family: of its hypotheses, and of its rules."""
    parts: list[str] = []
    for assumed in (True, False):
        rows = [
            rule_row(name, line)
            for where, name, line in lines
            if where == family and name.startswith("assume_") == assumed
        ]
        columns = ["R", "rule", "assumes" if assumed else "premises → conclusion", "side conditions"]
        columns += ["source"]
        if rows:
            parts += ["", row(*columns), row(*["---"] * len(columns)), *rows]
    return parts


def page() -> str:
    """Return the text of docs/rules.md: the text before the tables is kept."""
    lines = list(signature())
    title = "## Judgements and curves\n"
    text = PAGE.read_text().partition(title)[0]
    text, replaced = re.subn(r"^\d+ rules are proved in Coq.*$", by_machine(), text, flags=re.M)
    if replaced != 1:
        raise SystemExit(f"error: {PAGE.name} has {replaced} lines `N rules are proved in Coq`; needed 1")
    parts = [text + title, "[The reference](reference.md#judgements) defines them."]
    for family, heading in FAMILIES.items():
        parts += [f"\n## {heading}\n", f"`dpaccount/checker/{family}.py`", *table(lines, family)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
