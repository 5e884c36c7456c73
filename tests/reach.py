"""Which files of tests a change reaches, nearest first.

    python -m tests.reach [REF]       since a commit, with what is not committed yet (HEAD by default)

First the tests that changed; then those that bear the name of a changed module, those of its folder, those that
import it; last those that bear the name of a module that imports it.
"""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
GIT = shutil.which("git") or "git"
TOPS = ("dpaccount", "mechanisms", "audits", "bandits", "papers", "service")


def git(*words: str) -> str:
    """Return what git says."""
    done = subprocess.run([GIT, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def changed_since(ref: str) -> list[str]:
    """Return the files that differ from a commit, with those that git does not know yet."""
    new = git("ls-files", "--others", "--exclude-standard").splitlines()
    return sorted({*git("diff", "--name-only", ref).splitlines(), *new})


def module_of(file: str) -> str:
    """Return the name by which a file is imported."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules that each file of Python imports, in functions too; names of a module count as modules."""
    found = {}
    for top in (*TOPS, "tests"):
        for path in sorted((ROOT / top).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            found[file] = set(_imports(file, ast.parse(path.read_text())))
    return found


def _imports(file: str, tree: ast.Module) -> Iterator[str]:
    package = module_of(file).split(".") if file.endswith("__init__.py") else module_of(file).split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{each.name}" for each in node.names)


def is_test(file: str) -> bool:
    """Return whether pytest collects a file."""
    return file.startswith("tests/") and Path(file).name.startswith("test_") and file.endswith(".py")


def mirrored(file: str) -> tuple[list[str], list[str]]:
    """Return the tests that bear a module's name, and the others of the folder that mirrors the module's."""
    path = Path(file)
    folder = Path("tests", *(part for part in path.parent.parts if part != "tests"))
    while folder != Path("tests") and not (ROOT / folder).is_dir():
        folder = folder.parent
    if folder == Path("tests"):
        return [], []
    names = sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / folder).glob("test_*.py"))
    own = [name for name in names if Path(name).stem.startswith(f"test_{path.stem.strip('_')}")]
    return own, [name for name in names if name not in own]


def reached(changed: Iterable[str]) -> list[str]:
    """Return the files of tests that a change reaches, nearest first."""
    files = list(changed)
    code = [file for file in files if file.endswith(".py") and file.split("/")[0] in (*TOPS, "tests")]
    importers = {
        file: [other for other, modules in imports().items() if module_of(file) in modules] for file in code
    }
    ranks = [
        [file for file in files if is_test(file)],
        [test for file in files for test in mirrored(file)[0]],
        [test for file in files if not is_test(file) for test in mirrored(file)[1]],
        [test for file in code for test in importers[file] if is_test(test)],
        [test for file in code for other in importers[file] for test in mirrored(other)[0]],
    ]
    return [
        file for file in dict.fromkeys(test for rank in ranks for test in rank) if (ROOT / file).is_file()
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(reached(changed_since(*(sys.argv[1:] or ["HEAD"])))) + "\n")
