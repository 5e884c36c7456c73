"""Measure the code's size and structure against the limits of house.toml: `make house`.

A measure above its `most` ends with exit code 1.  `goal` is what it should come down to: `most` is lowered
with every change that allows it, and raised only with the reason in the commit.
"""

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOPS = ("dpaccount", "mechanisms", "audits", "bandits", "papers")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
#: constants with one meaning in every file: the claims or figures of a module, a document's schema, a type
CONVENTIONS = {"CLAIMS", "SCHEMA", "T"}


@lru_cache
def product() -> dict[Path, str]:
    """Return the text of every file of the product."""
    return {file: file.read_text() for top in TOPS for file in sorted((ROOT / top).rglob("*.py"))}


@lru_cache
def trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of every file of the product."""
    return {file: ast.parse(text) for file, text in product().items()}


def lines(*folders: str) -> int:
    """Return the number of lines of Python in folders."""
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return sum(len(file.read_text().splitlines()) for file in files)


def module_of(file: Path) -> str:
    """Return the name by which a file of the product is imported."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(file: Path) -> dict[str, tuple[str, str]]:
    """Return what a file calls the names that it imports: each one's module and its name there."""
    package = module_of(file) if file.name == "__init__.py" else module_of(file).rpartition(".")[0]
    found = {}
    for node in ast.walk(trees()[file]):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {each.asname or each.name: (module, each.name) for each in node.names}
    return found


def loose_dicts() -> int:
    """Return how often the product says `dict[str, Any]`, by that name or by a name given to it.

    A name counts where it is imported from the module that gave it: a class of the same name elsewhere
    is none.
    """
    loose = ast.dump(ast.parse("dict[str, Any]", mode="eval").body)
    called = {
        (module_of(file), target.id)
        for file, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.dump(node.value) == loose
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    total = 0
    for file, tree in trees().items():
        here = {name for module, name in called if module == module_of(file)}
        here |= {name for name, place in imported(file).items() if place in called}
        total += sum(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in here
            for node in ast.walk(tree)
        )
    return total + sum(text.count("dict[str, Any]") for text in product().values())


def constants(node: ast.stmt) -> list[str]:
    """Return the names of constants that a statement assigns, one or several at once."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    each = [one for target in targets for one in getattr(target, "elts", [target])]
    return [one.id for one in each if isinstance(one, ast.Name) and CONSTANT.fullmatch(one.id)]


def scattered_constants() -> int:
    """Return how many names of constants are defined in more than three files."""
    places = defaultdict(set)
    for file, tree in trees().items():
        for node in tree.body:
            for name in constants(node):
                places[name].add(file)
    return sum(len(files) > 3 for name, files in places.items() if name not in CONVENTIONS)


def files_that_name(*words: str) -> int:
    """Return how many files of the product contain one of the words."""
    pattern = re.compile("|".join(words))
    return sum(bool(pattern.search(text)) for text in product().values())


def modules_of_a_charge() -> int:
    """Return how many modules of ours one charge to a SQLite ledger imports."""
    code = (
        "import sys, tempfile\n"
        "from dpaccount.ledger.ledger import Ledger, init\n"
        "from dpaccount.plan.events import Gaussian, Plan\n"
        "from dpaccount.relation import Relation\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    url = f'sqlite:///{folder}/ledger.db'\n"
        "    init(url, epsilon=1, delta='1e-6', unit='a person', relation='replace-one')\n"
        "    with Ledger.open(url) as ledger:\n"
        "        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=100),)), 'a mean')\n"
        "print(sum(name.partition('.')[0] in ('dpaccount', 'mechanisms', 'audits', 'bandits', 'papers')"
        " for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"a charge could not be measured:\n{done.stderr}")
    return int(done.stdout.split()[-1])


MEASURES: dict[str, Callable[[], int]] = {
    "lines of the product": lambda: lines(*TOPS),
    "lines of the ledger": lambda: lines("dpaccount/ledger"),
    "lines of tests": lambda: lines("tests"),
    "dict[str, Any]": loose_dicts,
    "constants defined in more than 3 files": scattered_constants,
    "files that name the relation bounded-row": lambda: files_that_name("BOUNDED_ROW", "bounded-row"),
    "modules imported by one charge": modules_of_a_charge,
}


def main() -> int:
    """Print each measure with its limit and its goal; return 1 where one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(MEASURES), default=list(MEASURES))
    asked = parser.parse_args().only
    limits = tomllib.loads((ROOT / ".ci" / "house.toml").read_text())
    over = []
    for name in asked:
        value, most, goal = MEASURES[name](), limits[name]["most"], limits[name]["goal"]
        remark = "above its limit" if value > most else "" if value <= goal else "above the goal"
        sys.stdout.write(f"{name:<42} {value:>7} {most:>7} {goal:>7}  {remark}\n")
        over += [name] if value > most else []
    if over:
        what = "lower them, or raise `most` and give the reason in the commit"
        sys.stdout.write(f"above the limits of .ci/house.toml: {', '.join(over)}; {what}\n")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
