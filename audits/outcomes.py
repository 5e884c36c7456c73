"""What one run gave, reduced to plain parts that can be sent, compared and counted.

An outcome is a structure (types, shapes, keys), labels (text) and numbers (doubles).  Whatever a
function does is an outcome: a value of any kind, an exception, an exit, a crash, no answer in time.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_NUMBERS = 1024  #: of one outcome; longer ones keep evenly spaced entries, the sum and the sum of squares
MAX_LABEL = 200
MAX_PARTS = 256
MAX_DEPTH = 8
SILENT = "no answer"  #: how the structure of a run that did not end begins, after a verb
VOID = re.compile(r"(?:^| )(?:None|object \S)")  #: in a structure: a member that cannot be compared


@dataclass(frozen=True)
class Outcome:
    """One run's result; `failed` where there is no value (structure then says why)."""

    structure: str
    labels: tuple[str, ...]
    numbers: NDArray[np.float64]
    failed: bool = False
    mutated: bool = False  #: the run changed the dataset that it was given

    @property
    def void(self) -> bool:
        """Say whether there is nothing to compare: no value, or None, NaN and objects alone.

        Something empty (a list without members) is a result.
        """
        if self.failed:
            return True
        if self.labels or not np.isnan(self.numbers).all():
            return False
        return len(self.numbers) > 0 or bool(VOID.search(self.structure))

    @property
    def silent(self) -> bool:
        """Say whether the run was given up because it did not end."""
        return self.failed and SILENT in self.structure

    def key(self) -> tuple[str, tuple[str, ...], bytes]:
        """Return what two outcomes must share to be the same, bit for bit."""
        return self.structure, self.labels, self.numbers.tobytes()

    def shown_as_failure(self) -> str:
        """Return what the run did instead of giving a result, in one printable line."""
        if not self.failed:
            what = "NaN" if len(self.numbers) else self.structure
            return f"returns {what.replace('object', 'an object of type', 1)}"
        said = "".join(c if c.isprintable() else " " for c in self.labels[0]) if self.labels else ""
        return f"{self.structure}: {said}" if said else self.structure

    def shown(self) -> str:
        """Return the outcome in one short line."""
        parts = [*(repr(label) for label in self.labels[:4]), *(f"{x:.6g}" for x in self.numbers[:6])]
        return f"{self.structure} {', '.join(parts)}"[:160].strip()


def of_value(value: object) -> Outcome:
    """Return the outcome of a run that returned `value`."""
    parts: list[str] = []
    labels: list[str] = []
    numbers: list[NDArray[np.float64]] = []
    _walk(value, parts, labels, numbers, 0)
    flat = np.concatenate(numbers) if numbers else np.zeros(0)
    if len(flat) > MAX_NUMBERS:
        kept = flat[np.linspace(0, len(flat) - 1, MAX_NUMBERS - 2).astype(np.int64)]
        flat = np.concatenate([kept, [flat.sum(), (flat * flat).sum()]])
    return Outcome(" ".join(parts), tuple(labels), flat)


def of_error(error: BaseException) -> Outcome:
    """Return the outcome of a run that raised or exited."""
    kind = "exits" if isinstance(error, SystemExit) else f"raises {type(error).__name__}"
    try:
        said = str(error)
    except Exception:
        said = ""
    return Outcome(kind, (said[:MAX_LABEL],), np.zeros(0), failed=True)


def _walk(
    value: Any, parts: list[str], labels: list[str], numbers: list[NDArray[np.float64]], depth: int
) -> None:
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("latin-1")
        parts.append(type(value).__name__)
        labels.append(text[:MAX_LABEL].encode("utf-8", "backslashreplace").decode())
    elif value is None:
        parts.append("None")
    elif isinstance(value, bool | int | float | complex | np.number | np.bool_ | np.ndarray):
        _numeric(value, parts, labels, numbers)
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        parts.append(f"dict{len(value)}")
        for key, member in list(value.items())[:MAX_PARTS]:
            parts.append(repr(key)[:40])
            _walk(member, parts, labels, numbers, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset) and depth < MAX_DEPTH:
        whole = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        parts.append(f"{type(value).__name__}{len(whole)}")
        for member in list(whole)[:MAX_PARTS]:
            _walk(member, parts, labels, numbers, depth + 1)
    else:
        parts.append(f"object {type(value).__name__}")


def _numeric(value: Any, parts: list[str], labels: list[str], numbers: list[NDArray[np.float64]]) -> None:
    if isinstance(value, int) and abs(value) >= 2**53:  # beyond what a double holds
        parts.append("int")
        labels.append(str(value)[:MAX_LABEL] if abs(value) < 10**4000 else "a very large int")
        return
    array = np.asarray(value)
    name = type(value).__name__
    parts.append(f"{array.dtype}{list(array.shape)}" if isinstance(value, np.ndarray) else name)
    if array.dtype.kind in "biuf":
        numbers.append(array.astype(np.float64).ravel())
    elif array.dtype.kind == "c":
        numbers.append(np.stack([array.real, array.imag], axis=-1).astype(np.float64).ravel())
    else:  # text and objects, entry by entry
        for member in array.ravel()[:MAX_PARTS].tolist():
            _walk(member, parts, labels, numbers, MAX_DEPTH)
