"""The page about the papers' claims is true: every claim has its row and verdict, and one is added as it says."""

import json
import re

from papers import claims as papers
from tests.depth import deep


@deep
def test_every_claim_has_a_row_on_the_page_that_begins_with_its_verdict(root):
    """Of every name in a row's first cell: the verdict at the defaults begins the last cell."""
    text = re.sub(r"```.*?```", "", (root / "docs" / "claims.md").read_text(), flags=re.DOTALL)
    rows = re.findall(r"^\| (`[^|]*`) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    printed = {name: verdict for names, verdict in rows for name in re.findall(r"`([a-z0-9-]+)`", names)}
    verdicts = {claim["name"]: claim["verdict"] for claim in papers.claims()}
    assert verdicts.keys() == printed.keys()
    wrong = {
        name: (verdict, printed[name])
        for name, verdict in verdicts.items()
        if not printed[name].startswith(verdict)
    }
    assert not wrong


@deep
def test_adding_a_claim_takes_the_three_files_that_are_described(root, copy_of):
    """The section followed literally, in a copy of the project."""
    text = (root / "docs" / "claims.md").read_text()
    section = (root / "docs" / "add-a-claim.md").read_text()
    copy = copy_of("papers", "tests", "docs")
    registry, page = copy.folder / "papers" / "claims" / "__init__.py", copy.folder / "docs" / "claims.md"
    (copy.folder / "papers/claims/dwork.py").write_text(copy.blocks(section, "python")[0])
    (diff,) = copy.blocks(section, "diff")
    lines = diff.splitlines()
    for old, new in zip(lines[::2], lines[1::2], strict=True):
        assert old[0] + new[0] == "-+"
        assert registry.read_text().count(old[1:] + "\n") == 1
        registry.write_text(registry.read_text().replace(old[1:] + "\n", new[1:] + "\n"))
    assert copy.follow(section).returncode == 1  # the page lacks the row
    (row,) = copy.blocks(section, "markdown")
    last = "| `pavlovic-scale` |"
    page.write_text(text.replace(last, row + last))
    done = copy.follow(section)
    assert done.returncode == 0, done.stdout[-3000:]
    for b, verdict, refuted in ((1, "SOUND", False), (3, "REFUTED", True), ("1/2", "LOOSE", False)):
        asked = f"papers.certify_claim('dwork-sum', {{'b': Fraction('{b}')}})"
        finished = copy.run(
            [
                "-c",
                f"import json\nfrom fractions import Fraction\nfrom papers import claims as papers\nprint(json.dumps({asked}))",
            ]
        )
        answer = json.loads(finished.stdout)
        assert answer["verdict"] == verdict
        assert answer["derivation"]
        assert answer["certified"]["refuted"] is refuted
        assert answer["certified"].get("replay", {"refutes": refuted})["refutes"] is refuted
