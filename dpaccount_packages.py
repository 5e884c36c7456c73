"""Finds `mechanisms`, `audits`, `bandits`, `papers` and `service`, and never in place of a project's own.

The names are common words.  A wheel therefore keeps them beside this module, in a folder that is not on
`sys.path`, and `import dpaccount` calls `install`.  In a source tree they stand beside this file too.  Every
other finder is asked before this one answers, whatever kind of project it knows: a folder on the path, an
editable installation with a finder of its own, or the parts of a namespace package, which are joined with
ours as parts of one namespace are.

Our own programs, the command line and the processes that run audited code, start by `run`: there ours win.
What is pickled for other machines is read by `called`.

PYTEST_DONT_REWRITE: pytest would warn of a module that is imported before it starts.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

CORE = ("mechanisms", "audits")
RESEARCH = (
    "bandits",
    "papers",
    "service",
)  #: found by entry points, as other packages are: the core does without
NAMES = (*CORE, *RESEARCH)
FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (`pathlib` costs every start 5 ms)


class Finder:
    """A finder on `sys.meta_path` that knows these names."""

    ours_win: tuple[str, ...] = ()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a package is: a project's own if it has one, else ours."""
        if name not in NAMES or path is not None:
            return None
        ours, parts = PathFinder.find_spec(name, [FOLDER], target), list[str]()
        for finder in sys.meta_path:
            ask = None if finder is cls else getattr(finder, "find_spec", None)
            found: ModuleSpec | None = ask(name, None, target) if ask else None
            if found is not None and found.loader is None:  # a namespace, of which others may know more
                parts += found.submodule_search_locations or ()
            elif found is not None and name not in cls.ours_win:
                return found
        if ours is not None and ours.submodule_search_locations is not None:
            folders = list(ours.submodule_search_locations)
            parts = [part for part in parts if part not in folders]
            ours.submodule_search_locations = folders + parts if name in cls.ours_win else parts + folders
        return ours


def install() -> None:
    """Let this process find our packages."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)


def folders() -> dict[str, str]:
    """Return where each of our packages stands; of those for research, if it is installed."""
    beside = os.path.dirname(FOLDER) if __file__.endswith("__init__.py") else FOLDER  # noqa: PTH120
    whole = [name for name in RESEARCH if os.path.isfile(f"{FOLDER}/{name}/__init__.py")]  # noqa: PTH113
    return {"dpaccount": f"{beside}/dpaccount", **{name: f"{FOLDER}/{name}" for name in (*CORE, *whole)}}


def is_ours(module: str) -> bool:
    """Return whether a loaded module is of one of our packages, not of a project's own of that name.

    Its own file decides: a project's namespace of that name is joined with ours, so that the package is ours
    where its module is not.
    """
    folder = folders().get(module.partition(".")[0])
    file = getattr(sys.modules.get(module), "__file__", None)
    if folder is None or file is None:
        return False
    return os.path.realpath(file).startswith(os.path.realpath(folder) + os.sep)


def need(*names: str) -> None:
    """Raise `ImportError`, in one sentence, where a package of another project hides one of ours.

    Without names, one of those that every command needs.
    """
    from importlib.util import find_spec

    install()
    for name in names or ("dpaccount", *CORE):
        folder, spec = folders().get(name, ""), find_spec(name)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
        found = next(filter(None, places), None)
        if found is None or os.path.realpath(found) != os.path.realpath(f"{folder}/__init__.py"):
            where = "is not installed" if found is None else f"is hidden by {found}"
            raise ImportError(
                f"dpaccount cannot run here: its package {name} {where}; give that one another name, or use"
                " the command `dpaccount`, which finds its own packages first"
            )


def run(module: str, function: str = "main", names: tuple[str, ...] = CORE) -> None:
    """Run a function of one of our modules, in a process where our packages of these names win.

    Those for research do not where audited code runs: a function of a project's own `papers` is meant.
    """
    import gc
    from importlib import import_module

    Finder.ours_win = names
    install()
    gc.disable()  # what is imported stays: to seek garbage in it takes a tenth of a short command
    main = getattr(import_module(module), function)
    gc.freeze()
    gc.enable()
    main()


def called(function: bytes, *given: Any) -> Any:
    """Call a function that our own code pickled: a process that never imported `dpaccount` finds it, too."""
    import pickle

    install()
    return pickle.loads(function)(*given)  # noqa: S301 - of our own command


def command() -> None:
    """Run the command line; its version needs none of it, which takes most of a start."""
    if sys.argv[1:] == ["--version"]:
        from dpaccount import __version__

        sys.stdout.write(f"{__version__}\n")
    else:
        run("audits.cli", names=NAMES)
