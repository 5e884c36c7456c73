"""The mutator makes the slips it should; nightly, no unexplained mutant of the checker survives."""

import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent


def loaded(name: str) -> ModuleType:
    """Load a file of this directory, which is no package."""
    sys.path.insert(0, str(HERE))
    try:
        spec = importlib.util.spec_from_file_location(f"mutation_tool_{name}", HERE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(HERE))
    return module


SOURCE = '''
MAX_STEPS = 300

def limit(a: int, b=[0]):
    """A sentence with 1 + 1."""
    ensure(a <= b[0], "1 is less than 2")
    if not a or a > 3:
        raise ValueError("2 < 3")
    return down.next_plus(max(a, 2))
'''


def test_the_slips_that_are_made():
    mutants = loaded("mutants")
    made = {(m.before, m.after) for m in mutants.mutants(SOURCE)}
    for wanted in (
        ("a <= b[0]", "a < b[0]"),
        ("a <= b[0]", "a >= b[0]"),
        ("0", "1"),
        ("ensure(a <= b[0], '1 is less than 2')", "pass"),
        ("not a or a > 3", "not a and a > 3"),
        ("not a", "a"),
        ("a > 3", "a >= 3"),
        ("3", "4"),
        ("3", "2"),
        ("raise ValueError('2 < 3')", "pass"),
        ("down.next_plus(max(a, 2))", "max(a, 2)"),
        ("down.next_plus", "down.next_minus"),
        ("down", "up"),
        ("max", "min"),
    ):
        assert wanted in made, wanted
    assert not any("300" in before or "sentence" in before for before, _ in made)


def test_every_mutant_differs_in_one_place_and_the_source_is_whole_again():
    import ast

    mutants = loaded("mutants")
    honest, seen = ast.dump(ast.parse(SOURCE)), set()
    for mutant in mutants.mutants(SOURCE):
        wrong = ast.dump(mutant.tree)
        assert wrong != honest
        seen.add(wrong)
        compile(mutant.tree, "mutant", "exec")
    assert len(seen) > 12


def test_a_mutant_takes_the_place_of_its_function():
    """Every reference sees the change, and a module-level constant is run again."""
    mutants, survivors = loaded("mutants"), loaded("survivors")
    source = "LIMIT = 5\n\ndef above(x):\n    return x > LIMIT\n"
    for mutant in mutants.mutants(source):
        module = ModuleType("mutation_example")
        sys.modules[module.__name__] = module
        exec(compile(source, "honest", "exec"), module.__dict__)  # noqa: S102
        held = module.above
        survivors.put(module, compile(mutant.tree, "mutant", "exec"), mutant.function)
        answers = [held(x) for x in (4, 5, 6, 7)]
        assert answers != [False, False, True, True], mutant.name
    del sys.modules["mutation_example"]


def explained(program: str) -> list[tuple[str, str]]:
    """Return (function, part of the change) of every survivor that is known to be harmless."""
    rows = tomllib.loads((HERE / "survivors.toml").read_text())[program]
    return [(row["function"], row["part"]) for row in rows]


def test_the_table_of_survivors_says_why():
    rows = tomllib.loads((HERE / "survivors.toml").read_text())
    assert set(rows) == {"checker", "kernel"}
    for row in (*rows["checker"], *rows["kernel"]):
        assert set(row) == {"function", "part", "why"}
        assert row["function"]
        assert len(row["why"]) > 3, row


KERNEL = ("kernel_sides", "noise_rules", "release_rules", "refutations", "kernel", "curves")
CHECKER = (
    "checker_sides",
    "checker_certificate_sides",
    "checker_numbers",
    "checker_limits",
    "checker",
    "release_rules",
)
RUNS = {
    "dpaccount.checker": CHECKER,
    **dict.fromkeys(("dpaccount.proof.kernel", "dpaccount.proof.rules", "dpaccount.proof.curves"), KERNEL),
}


@pytest.mark.nightly
@pytest.mark.parametrize("module", RUNS)
def test_every_survivor_is_explained(module, tmp_path):
    """Half an hour on an idle core for the checker, ten minutes for each file of the kernel."""
    out = tmp_path / "survivors.json"
    files = [str(next(TESTS.rglob(f"test_{name}.py"))) for name in RUNS[module]]
    command = [sys.executable, str(HERE / "survivors.py"), module, *files, "--out", str(out)]
    subprocess.run([*command, "--most", "0.3"], check=True, timeout=4 * 3600)
    # what survives the quick tests meets the slower ones; on a busy machine those are more
    out.write_text(json.dumps(unexplained(module, out)))
    subprocess.run(
        [*command, "--most", "2", "--limit", "100", "--only", str(out)], check=True, timeout=4 * 3600
    )
    assert [found["name"] for found in unexplained(module, out)] == []


def unexplained(module: str, out: Path) -> list[dict[str, str]]:
    """Return the survivors that no row explains."""
    rows = explained("checker" if module.startswith("dpaccount.checker") else "kernel")
    return [
        found
        for found in json.loads(out.read_text())
        if not any(found["name"].startswith(where) and what in found["name"] for where, what in rows)
    ]
