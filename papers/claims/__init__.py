"""The privacy claims of four papers: the statement, the true cost, and the verdict of each.

>>> from papers import claims as papers
>>> found = papers.claim("dubey-lemma2", {"alpha": 10, "B": 20})
>>> found["verdict"], round(found["mu"], 6)
('REFUTED', 7.329199)
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from dpaccount.errors import InputError, NumericsError
from dpaccount.exact import read_exact
from papers.claims.claim_check import EXIT_CODES, PaperClaim
from papers.claims.parameters import Value, Values


@lru_cache(maxsize=1)
def _entries() -> dict[str, PaperClaim]:
    from papers.claims import zhou
    from papers.claims.dubey import actions, joint, limits, local, steps
    from papers.claims.kharkovskii import theorem1
    from papers.claims.pavlovic import predictions, supremum

    papers = (joint, actions, local, limits, steps, zhou, theorem1, predictions, supremum)
    return {entry.name: entry for paper in papers for entry in paper.CLAIMS}


def names() -> tuple[str, ...]:
    """Return the names of all claims, by paper."""
    return tuple(_entries())


def read_settings(words: Iterable[str]) -> dict[str, Value]:
    """Return ``KEY=VALUE`` words as settings: exact numbers where a number is spelled, else words."""
    settings: dict[str, Value] = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or not key:
            raise InputError(f"{word[:60]!r} is not a setting", "write KEY=VALUE, such as alpha=10")
        if key in settings:
            raise InputError(f"{key[:60]!r} is set twice", "set it once")
        settings[key] = text if text.isalpha() else read_exact(text)
    return settings


def claims() -> list[dict[str, Any]]:
    """Return every claim checked at its defaults."""
    return [claim(name, {}) for name in names()]


def claim(name: str, settings: Mapping[str, Value]) -> dict[str, Any]:
    """Check a claim at these parameters (exact numbers or words; defaults for the rest).

    Raises `InputError` for an unknown name, an unknown parameter or a value out of range.
    """
    return _checked(find(name), settings)[1]


def certify_claim(name: str, settings: Mapping[str, Value], seed: int = 1) -> dict[str, Any]:
    """Check a claim and run its refutation or audit, seeded; the answer has one more key, `certified`.

    It holds what the run showed and, for a refuted claim, the replay of its written refutation; None
    where nothing is run: the derivation settles such a claim.
    """
    from papers.claims.replay import can_replay, replay

    entry = find(name)
    values, answer = _checked(entry, settings)
    with _within_reach(name):
        shown = {} if entry.run is None else entry.run(values, seed)
        again = {"replay": replay(answer)} if can_replay(answer) else {}
    return {**answer, "certified": {**shown, **again} or None}


def exit_code(answer: Mapping[str, Any]) -> int:
    """Return the exit code of one answer: 0 SOUND and LOOSE, 1 REFUTED, 3 UNPROVEN."""
    return EXIT_CODES[answer["verdict"]]


def _checked(entry: PaperClaim, settings: Mapping[str, Value]) -> tuple[Values, dict[str, Any]]:
    values = entry.read(settings)
    with _within_reach(entry.name):
        return values, entry.checked(values)


@contextmanager
def _within_reach(name: str) -> Iterator[None]:
    """Turn what overflows, or stays undecided at the highest precision, into an error about the input."""
    try:
        yield
    except (OverflowError, ZeroDivisionError, MemoryError, NumericsError):
        raise InputError("these parameters are too extreme", "give less extreme ones", name) from None


def find(name: str) -> PaperClaim:
    """Return a claim by its name; raises `InputError` with the known ones."""
    entries = _entries()
    if name not in entries:
        raise InputError(f"unknown claim {name[:60]!r}", f"known: {', '.join(entries)}")
    return entries[name]
