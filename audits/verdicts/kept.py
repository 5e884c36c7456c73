"""A folder of sound verdicts, each with all that it rests on; one is used only where nothing of that changed.

Whoever can write the folder can make tests pass, as with any cache of a build.
"""

import contextlib
import hashlib
import importlib
import importlib.machinery
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from audits.verdicts.places import digest, listing, packages, program, text_digest
from dpaccount.documents import atomically

SCHEMA = "dpaccount/verdict/1"
#: variables that Python or native libraries ask for themselves, where nothing shows it
UNSEEN = (
    *("PYTHON", "LD_", "DYLD_", "MALLOC_", "GLIBC_", "LC_", "LANG", "TZ", "RUST_"),
    *("OMP_", "OPENBLAS_", "MKL_", "BLIS_", "NPY_"),
)
Reached = dict[str, Any]  #: what `audits.verdicts.watch` records


@dataclass(frozen=True)
class Verdicts:
    """The verdicts in a folder; `added` are variables that processes which run code have beside ours."""

    folder: Path
    added: Mapping[str, str]

    def sound(self, key: str) -> dict[str, Any] | None:
        """Return the answer that was kept under a key, if all that it rests on is as it was."""
        try:
            kept = json.loads((self.folder / f"{key}.json").read_bytes())
            answer, reached = kept["answer"], kept["reached"]
            holds = kept["schema"] == SCHEMA and kept["key"] == key and not reached["refused"]
            still = holds and _still(reached, {**os.environ, **self.added})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # what is damaged is not there
        return dict(answer) if still else None

    def keep(self, key: str, answer: dict[str, Any], reached: Reached) -> None:
        """Keep an answer with what it rests on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {"schema": SCHEMA, "key": key, "answer": answer, "reached": {**reached, "names": {}}}
        atomically(self.folder / f"{key}.json", json.dumps(kept))


def key_of(*parts: object) -> str:
    """Return the name of a question: its terms, this program, Python, what is installed, where it is asked.

    Raises `TypeError` for terms that cannot be said in full.
    """
    python = (sys.version, sys.platform, platform.machine(), list(sys.flags), sys.prefix, sys.path)
    variables = {key: value for key, value in os.environ.items() if key.startswith(UNSEEN)}
    place = (python, packages(), program(), str(Path.cwd()), variables)
    said = msgspec.json.encode([parts, place], enc_hook=_in_full, order="deterministic")
    return hashlib.sha256(said).hexdigest()


def _in_full(value: object) -> object:
    if isinstance(value, Fraction | Path):
        return str(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return [value.dtype.str, value.shape, value.tobytes().hex()]
    raise TypeError(f"a {type(value).__name__} cannot be said in full")


def _still(reached: Reached, environment: Mapping[str, str]) -> bool:
    """Say whether everything is as it was when the code ran."""
    return (
        all(_digest(file) == held for file, held in reached["files"].items())
        and all(listing(folder) == held for folder, held in reached["folders"].items())
        and all(_variable(environment, key) == held for key, held in reached["environment"].items())
        and reached["whole_environment"] in (None, _whole(environment))
        and _imports(reached)
    )


def _variable(environment: Mapping[str, str], key: str) -> str | None:
    value = environment.get(key)
    return value and text_digest(value)


def _whole(environment: Mapping[str, str]) -> str:
    return text_digest("\0".join(f"{key}={value}" for key, value in sorted(environment.items())))


def _imports(reached: Reached) -> bool:
    """Say whether names still lead to the same files, and those that led nowhere still do."""
    importlib.invalidate_caches()
    found: Callable[..., Any] = importlib.machinery.PathFinder.find_spec
    for name, where, path in reached["modules"]:
        spec = found(name, path)
        if spec is None or not _same_place(spec, where):
            return False
    return all(found(name, path or reached["path"]) is None for name, path in reached["absent"])


def _same_place(spec: importlib.machinery.ModuleSpec, where: str | list[str]) -> bool:
    """Say whether a module is found in the same file, or in the same folders where it has no file."""
    if isinstance(where, list):
        return spec.origin is None and list(spec.submodule_search_locations or ()) == where
    return spec.origin is not None and Path(spec.origin).samefile(where)


def _digest(file: str) -> str | None:
    """Return `digest` of a file, computed once as long as the system says that it is the same."""
    with contextlib.suppress(OSError, ValueError):
        found = Path(file).stat()
        if found.st_size > 1 << 20:  # large files of libraries; small ones are read again
            return _digest_once(file, found.st_mtime_ns, found.st_size, found.st_ino)
    return digest(file)


@lru_cache(maxsize=4096)
def _digest_once(file: str, *_: int) -> str | None:
    return digest(file)
