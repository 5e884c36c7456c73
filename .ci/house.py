"""Measure the code's size and structure against the limits of house.toml: `make house`.

A measure above its `most` ends with exit code 1.  Limits only fall: ``--lower`` writes what is measured where
that is less.  A rise needs an entry that names the issue which paid for it (tests/test_house.py).
"""

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOPS = ("dpaccount", "mechanisms", "audits", "bandits", "papers")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
REASON = re.compile(r"^ *# ?(?!-)\w\S*(?: \S+){3}", re.MULTILINE)
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


def size(*folders: str, characters: bool = False) -> int:
    """Return the number of lines, or of characters, of Python in folders."""
    texts = [file.read_text() for folder in folders for file in (ROOT / folder).rglob("*.py")]
    return sum(len(text) if characters else len(text.splitlines()) for text in texts)


def lines_for_each_reason() -> int:
    """Return how many lines of the product there are for one that is a comment of four words or more.

    Comments that describe a constant (``#:``) and headings say what, not why.
    """
    reasons = sum(len(REASON.findall(text)) for text in product().values())
    return size(*TOPS) // max(reasons, 1)


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


INIT = "ledger init sqlite:///{} --epsilon 1 --delta 1e-6 --unit person --relation replace-one"
#: what each command is given, in a folder with a ledger and an account of a plan
COMMANDS = {
    "ledger init": INIT.format("new.db"),
    "ledger charge": "ledger charge sqlite:///ledger.db plan.json --purpose a-mean",
    "account": "account plan.json --delta 1e-6",
    "check": "check account.json",
    "list": "list",
}
PLAN = """{"schema": "dpaccount/events/1", "relation": "replace-one",
 "events": [{"event": "gaussian", "sigma": 100}]}"""
COUNTED = f"""
import atexit, sys
def said():
    names = [name for name in sys.modules if name.partition(".")[0] in {TOPS!r}]
    sys.stderr.write(f"modules {{len(names)}}\\n")
atexit.register(said)
import dpaccount_packages
dpaccount_packages.command()
"""


def modules_of(command: str) -> int:
    """Return how many modules of ours a command imports."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plan.json").write_text(PLAN)
        for before in (
            COMMANDS["ledger init"].replace("new", "ledger"),
            "account plan.json --delta 1e-6 --certificate account.json",
        ):
            _ran(before, folder)
        return int(_ran(COMMANDS[command], folder).split()[-1])


def _ran(words: str, folder: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *words.split()],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    if done.returncode or "modules" not in done.stderr:
        raise SystemExit(f"`dpaccount {words}` could not be measured:\n{done.stderr}")
    return done.stderr


CORE, RESEARCH = TOPS[:3], TOPS[3:]
SIZES = {
    **{each: (each,) for each in TOPS},
    "the core": CORE,
    "research": RESEARCH,
    "the trusted checker": ("dpaccount/checker",),
    "the ledger": ("dpaccount/ledger",),
    "the service": ("service",),
    "tests": ("tests",),
}
MEASURES: dict[str, Callable[[], int]] = {
    **{f"lines of {name}": partial(size, *folders) for name, folders in SIZES.items()},
    **{f"characters of {name}": partial(size, *folders, characters=True) for name, folders in SIZES.items()},
    "dict[str, Any]": loose_dicts,
    "constants defined in more than 3 files": scattered_constants,
    "files that name the relation bounded-row": lambda: files_that_name("BOUNDED_ROW", "bounded-row"),
    "lines for each comment that says why": lines_for_each_reason,
    **{f"modules imported by {command}": partial(modules_of, command) for command in COMMANDS},
}
LIMITS = ROOT / ".ci" / "house.toml"


def lowered(text: str, name: str, value: int) -> str:
    """Return the text of the limits with a measure's limit at this value."""
    return re.sub(rf'(?m)^("{re.escape(name)}" = .*most = )[\d_]+', rf"\g<1>{value:_}", text)


def main() -> int:
    """Print each measure with its limit; return 1 where one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--lower", action="store_true", help="write limits that are above what is measured")
    asked = parser.parse_args()
    text = LIMITS.read_text()
    limits, over = tomllib.loads(text)["limits"], []
    for name in asked.only:
        value, most = MEASURES[name](), limits[name]["most"]
        sys.stdout.write(f"{name:<42} {value:>9} {most:>9}  {'above its limit' if value > most else ''}\n")
        over += [name] if value > most else []
        text = lowered(text, name, min(value, most))
    if asked.lower:
        LIMITS.write_text(text)
    if over:
        what = "lower them; a rise needs an entry that names the issue which paid for it"
        sys.stdout.write(f"above the limits of .ci/house.toml: {', '.join(over)}; {what}\n")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
