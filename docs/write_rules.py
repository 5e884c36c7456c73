"""Write the tables of docs/rules.md from the kernel (signature and docstrings) and the table of Coq proofs.

usage: python docs/write_rules.py
"""

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from dpaccount import proof
from dpaccount.proof.search import ATTAINED

PAGE = Path(__file__).with_name("rules.md")
FAMILIES = {
    "hypotheses": "Hypotheses: what the code must do",
    "sensitivity": "Sensitivity",
    "noise": "Noise",
    "composition": "Composition and observers",
    "conversions": "Conversions, departures and groups",
    "refutations": "Refutations",
}
#: Rules that speak of no bound of their own.
KEPT = ("post_process", "billboard", "to_approximate", "apart", "refute")
#: What docs/formal.md says of a rule, by the status of its row.
BY_MACHINE = {"proved": "yes", "assumed": "on assumptions", "defined": "its meaning", "inferred": "no"}
ROWS = tomllib.loads((PAGE.parents[1] / "tests" / "formal" / "rules.toml").read_text())["rule"]
STATUS = {each["name"]: BY_MACHINE[each["status"]] for each in ROWS}
TAG = re.compile(r" ?\((R\d+(?:, R\d+)*)\)")
AWAY = re.compile(r" \((?:R\d+(?:, R\d+)*|docs/proofs.md|[^()]*\b(?:19|20)\d\d\b[^()]*)\)")
SOURCE = re.compile(r"\(([^()]*\b(?:19|20)\d\d\b[^()]*)\)")


def signature() -> Iterator[tuple[str, str, str]]:
    """Yield (file, name, what its line says) of everything that the door offers with a line of its own."""
    family = ""
    for line in inspect.getsource(proof).splitlines():
        if opened := re.match(r"from \.(\w+) import \($", line):
            family = opened[1]
        elif said := re.match(r"    (\w+),  # (.*)$", line):
            yield family, said[1], said[2]


def row(*cells: str) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def rule_row(name: str, line: str) -> str:
    """Return the line of a rule: R, name, premises → conclusion, side conditions, …, what it says, source."""
    said = " ".join((inspect.getdoc(getattr(proof, name)) or "").split())
    sources = SOURCE.findall(said) + ["[proofs.md](proofs.md)"] * ("docs/proofs.md" in said)
    tags, shape, sides = ", ".join(TAG.findall(said)), *line.partition("; ")[::2]
    says = AWAY.sub("", said).split(". ")[0].rstrip(".")
    given = "hypothesis" if name.startswith("assume_") else "–"
    attained = "yes" if name in ATTAINED else "–" if shape.startswith("→") or name in KEPT else "no"
    source = "; ".join(sources) or given
    return row(tags, f"`{name}`", shape, sides or "–", attained, STATUS[name], says, source)


def page() -> str:
    """Return the text of docs/rules.md: what stands before the tables stays."""
    lines = list(signature())
    title = "## Judgements and curves\n"
    parts = [PAGE.read_text().partition(title)[0] + title, row("word", "says"), row("---", "---")]
    for name in [name for family, name, _ in lines if family == "judgements"]:
        made = getattr(proof, name)
        if inspect.isclass(made):
            parts.append(row(f"`{name}`", " ".join((inspect.getdoc(made) or "").split())))
    for family, title in FAMILIES.items():
        columns = ("R", "rule", "premises → conclusion", "side conditions", "attained", "proved by machine")
        head = row(*columns, "says", "source")
        parts += [f"\n## {title}\n", f"`dpaccount/proof/{family}.py`\n", head, row(*["---"] * 8)]
        parts += [rule_row(name, line) for where, name, line in lines if where == family]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
