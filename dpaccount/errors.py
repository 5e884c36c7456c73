"""The exceptions that dpaccount raises, and the exit code that each becomes on the command line.

Every message is one sentence in two halves: what is wrong; what would be right.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType


class DpaccountError(Exception):
    """Base of all errors that dpaccount raises on purpose."""

    exit_code = 2


class InputError(DpaccountError):
    """The request itself is wrong: a malformed file, a number out of range, an unknown name.

    `what` is wrong, `right` says what would be right, `where` names the file, key, option or parameter.
    """

    def __init__(self, what: str, right: str | None = None, where: str | Path | None = None) -> None:
        super().__init__(what, right, where)  # what unpickling passes on
        self.what, self.right = what, right
        self.where = None if where is None else str(where)

    def __str__(self) -> str:
        """Return one sentence, ``where: what; right``, without the parts that are not given."""
        sentence = self.what if self.right is None else f"{self.what}; {self.right}"
        return sentence if self.where is None else f"{self.where}: {sentence}"

    def inside(self, where: str) -> "InputError":
        """Return the same error, placed in an outer file, key or option."""
        return InputError(self.what, self.right, where if self.where is None else f"{where}: {self.where}")


def out_of_range(needed: str) -> InputError:
    """Return the error to raise about parameters that do not meet these conditions."""
    return InputError("a parameter is out of range", f"needed {needed}")


def no_attribute(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error to raise about a module's missing name; it says the closest `known` one."""
    from difflib import get_close_matches  # only a mistake needs it

    near = [] if name.startswith("_") else get_close_matches(name[:100], known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{meant}")


def posix_module(name: str) -> ModuleType:
    """Return a module that Linux and macOS have; raises `InputError` elsewhere, when it is first needed."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise InputError(POSIX_ONLY.format(f"the module {name}")) from None


POSIX_ONLY = "this needs {} of Linux or macOS; run it there, on Windows in WSL (accounting works without)"


class RuleError(DpaccountError):
    """A proof rule refused: a premise of the wrong shape or a side condition that does not hold."""

    exit_code = 3


class BudgetError(DpaccountError):
    """A charge would exceed the budget; it was refused and nothing was drawn."""

    exit_code = 1


class LedgerError(DpaccountError):
    """The ledger cannot be used: missing, damaged, of another kind, or opened with another measure."""


class NoLedgerError(LedgerError):
    """There is no ledger at this path; `command` makes one."""

    def __init__(self, path: object, command: str = "dpaccount ledger init") -> None:
        super().__init__(f"{path} does not exist; create a ledger with `{command}`")
        self.path = path


#: after one error of the disk SQLite reports corruption to every later call of the process
MAY_BE_WHOLE = (
    "close this process, check the disk and run `dpaccount ledger verify` anew: the ledger may be whole, and"
    " a backup spends again what was charged since"
)


def damaged(what: str) -> LedgerError:
    """Return the error to raise about a ledger that does not read as it was written."""
    return LedgerError(f"{what}; {MAY_BE_WHOLE}")


class ReceiptError(DpaccountError):
    """Noise was requested that no receipt pays for."""


class NumericsError(DpaccountError):
    """Two certified computations of one number disagree: a defect in dpaccount, never an answer."""

    exit_code = 70
