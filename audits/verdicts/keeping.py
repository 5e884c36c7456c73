"""Whether a verdict on a function may be kept: asked before it is attacked, and answered after."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from audits.verdicts.by_value import differing_names, fingerprint
from audits.verdicts.kept import Reached, Verdicts, key_of
from audits.verdicts.places import origin


@dataclass(frozen=True)
class Keeping:
    """A question's place among the verdicts of a folder; `why` it has none."""

    verdicts: Verdicts
    key: str
    why: str = ""

    def sound(self) -> dict[str, Any] | None:
        """Return the sound answer that was kept and still holds."""
        return None if self.why else self.verdicts.sound(self.key)

    def keep(self, answer: dict[str, Any], reached: Reached | None) -> str:
        """Keep a sound answer; return why that cannot be, empty where it was kept."""
        why = self.why or _why_not(reached)
        if not why and reached is not None:
            self.verdicts.keep(self.key, answer, reached)
        return why


def keeping(
    verdicts: Verdicts, function: Callable[..., Any], file: str | None, patched: str, *terms: object
) -> Keeping:
    """Return the place of a question about a function; `file` is its module's where it goes by name.

    `patched` is what the test is known to have patched, if anything.
    """
    if patched:
        return Keeping(verdicts, "", patched)
    said, reasons = ("", []) if file is not None else fingerprint(function)
    if file is not None and origin(file) != "theirs":
        reasons = [f"{file} is not the project's own"]
    try:
        key = key_of(file, function.__qualname__ if file else "", said, *terms)
    except (TypeError, ValueError) as error:
        return Keeping(verdicts, "", str(error))
    return Keeping(verdicts, key, reasons[0] if reasons else "")


def _why_not(reached: Reached | None) -> str:
    """Return why what the code reached does not fix its verdict; empty where it does."""
    if reached is None:
        return "a process that ran it died, and what it read is not known"
    if reached["refused"]:
        return "; ".join(reached["refused"])
    other = differing_names(reached["names"])
    if other:
        return (
            f"it ran as the files say, and here {other[0]} is another (patched, or made anew in each process)"
        )
    return ""
