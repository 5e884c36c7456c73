"""Which share of a program's mutants the tests of the quick run kill by themselves.

    python tests/mutation/default_set.py kernel [COUNT] [SEED]

Mutants are drawn from those that all tests kill: every mutant that no row of survivors.toml explains
(the deep run of all tests fails on any other survivor; a row may also cover mutants that are
killed, and these are not drawn).  A mutant is drawn by the digest of its name, so that a change of
one file leaves the draw from the others as it is.

The tests are those of the quick run in the files that `test_mutation.RUNS` names for the program: a part of
`make test`, so the share is that of `make test` or below it, with the standard error √(p(1-p)/n) of a sample
of n.
"""

import hashlib
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from scipy.stats import beta

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(Path(__file__).parent)]

import survivors  # noqa: E402
import test_mutation  # noqa: E402
from mutants import mutants  # noqa: E402

PATIENCE = 2  #: a mutant counts as killed after this many times the processor time of all tests


def drawn(program: str, count: int, seed: str = "") -> list[tuple[str, str]]:
    """Return (module, mutant) of `count` mutants of a program that no row explains, drawn by digest.

    :raises SystemExit: if it has fewer
    """
    rows = test_mutation.explained(program)
    names = {
        (module, mutant.name)
        for module in test_mutation.RUNS
        if test_mutation.table(module) == program
        for mutant in mutants(_source(module))
        if not any(mutant.name.startswith(f"{f}:") and part in mutant.name for f, part in rows)
    }
    if len(names) < count:
        raise SystemExit(f"{program} has {len(names)} mutants; {count} were to be drawn")
    return sorted(
        names, key=lambda name: hashlib.sha256("\0".join((seed + name[0], name[1])).encode()).digest()
    )[:count]


def missed(program: str, wanted: Sequence[tuple[str, str]]) -> list[str]:
    """Return which of these mutants no quick test kills; raise if the tests fail without any change."""
    parts = {part for module, _ in wanted for part in test_mutation.RUNS[module]}
    survivors._settle()
    modules = {module: importlib.import_module(module) for module, _ in wanted}
    checks = list(survivors.checks([test_mutation.file_of(part) for part in sorted(parts)]))
    seconds = survivors.killer(lambda: survivors.durations(checks), 1800)
    if not seconds.startswith("{"):
        raise SystemExit(f"the tests fail without any change ({seconds}); run them with pytest")
    costs: dict[str, float] = json.loads(seconds)
    total = sum(costs.values())
    sys.stdout.write(f"{program}: {len(costs)} tests, {total:.0f} s of processor time\n")

    def how(number: int) -> str:
        module, name = wanted[number]
        # a name may be that of several mutants: the first one is meant
        mutant = next(each for each in mutants(_source(module)) if each.name == name)
        code = compile(mutant.tree, module, "exec")
        where = "" if mutant.declared else mutant.function
        order = _order(module, costs)
        killed = survivors.killer(
            lambda: survivors.run_mutant(modules[module], (code, where), checks, order, costs),
            PATIENCE * total,
        )
        if os.environ.get("VERBOSE"):
            sys.stdout.write(f"{killed or 'SURVIVES':50s} {module} {name}\n")
            sys.stdout.flush()
        return killed

    alive = survivors.surviving(f"{program}, quick tests", wanted, len(wanted), how)
    return [" ".join(wanted[number]) for number in alive]


def _order(module: str, costs: dict[str, float]) -> list[str]:
    """Return the tests, those of the module's own files first, and the quick ones first among them."""
    own = {Path(part).name for part in test_mutation.RUNS[module]}
    return sorted(costs, key=lambda name: (name.partition("::")[0] not in own, costs[name]))


def _source(module: str) -> str:
    path = TESTS.parent.joinpath(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


def main(program: str, count: str = "60", seed: str = "") -> list[str]:
    """Print and return the drawn mutants that the quick tests miss."""
    alive = missed(program, drawn(program, int(count), seed))
    for name in alive:
        sys.stdout.write(f"  {name}\n")
    killed, all_ = int(count) - len(alive), int(count)
    least = beta.ppf(0.05, killed, all_ - killed + 1) if killed else 0.0
    sys.stdout.write(
        f"{program}: {killed} of {all_} mutants killed; of all, at least {least:.1%} at 95 % confidence\n"
    )
    return alive


if __name__ == "__main__":
    main(*sys.argv[1:])
