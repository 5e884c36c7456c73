"""A log of Vowpal Wabbit's contextual bandits as a table that `policy-value` and `arm-means` read.

A line is ``action:cost:probability 'tag |namespace feature:value feature``: one action of 1, 2, …, what it
cost, and the chance with which it was chosen (`--cb`).  Numbers are exact, and rounded once.  Logs whose
examples have several lines (ADF) are refused.  No message quotes a line, but which one is refused follows
from private data: it is for the holder of the log.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Final

from dpaccount.documents import OWN, atomically, creating, csv_text, using
from dpaccount.errors import InputError

#: what costs are ↦ the reward of no cost
REWARDS: Final = {"-cost": 0, "1 - cost": 1}
HEADER: Final = ("action", "chance", "reward", "policy_chance")
#: few digits, as a number of 10⁹ would be one of a gigabyte when it is exact
DECIMAL: Final = re.compile(r"[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,2})?", re.ASCII)
LABEL: Final = re.compile(r"([1-9]\d{0,8}):([^:]+):([^:]+)", re.ASCII)
BLANKS: Final = re.compile(r"[ \t]+")
NO_FEATURES: Final[Mapping[str, str]] = {}

#: the logged action, and the record's declared features ↦ the chance that the other policy gives the action
Policy = Callable[[int, Mapping[str, float]], float]


def to_table(
    log: Path,
    table: Path,
    *,
    reward: str,
    features: Mapping[str, str] = NO_FEATURES,
    policy: Policy | None = None,
) -> int:
    """Write the records of a log to a new CSV file, for its owner alone; return how many there are.

    `reward` says what costs are: "-cost" or "1 - cost", in [0, 1].  Columns are action, chance (in [0, 1]),
    reward, with a `policy` policy_chance, then `features`: by column their names in the log,
    ``namespace^feature``, or ``feature`` of the namespace without a name; 0 where a record has none.
    A `policy` is public: what was learned from this log would make a row of many people's records.
    Raises `InputError`, writing nothing, with the number of a line that is malformed.
    """
    if reward not in REWARDS:
        raise InputError(f"reward is {str(reward)[:40]!r}", f"known: {', '.join(REWARDS)}")
    if features.keys() & {*HEADER}:
        raise InputError("a feature has the name of another column", f"not {', '.join(HEADER)}")
    if table.exists():
        raise InputError("there is a file of this name", "name a new one", table)
    rows = []
    with using(log, "give the path of a readable file", "unreadable"), log.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            try:
                rows.append(_row(raw, REWARDS[reward], features, policy))
            except InputError as error:
                raise error.inside(f"{log}: line {number}") from None
    own = HEADER if policy else HEADER[:-1]
    if not rows:
        raise InputError("the log has no records", "write a line for each", log)
    try:
        with using(table, "name a file that can be written"), creating(table) as draft:
            atomically(draft, csv_text([[*own, *features], *rows]), mode=OWN)
    except FileExistsError:
        raise InputError("there is a file of this name", "name a new one", table) from None
    return len(rows)


def _row(raw: bytes, best: int, declared: Mapping[str, str], policy: Policy | None) -> list[float]:
    """Return the numbers of a line; raises `InputError`, which has nothing of it."""
    try:
        line = raw.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise InputError("this is no text", "write UTF-8") from None
    action, cost, chance = _label(line)
    earned = best - cost
    if not 0 <= earned <= 1:
        raise InputError("the reward leaves [0, 1]", "say what costs are, or scale them by a public bound")
    if not 0 <= chance <= 1:
        raise InputError("the probability leaves [0, 1]", "write the chance of the logged action")
    found = _features(line.partition("|")[2], set(declared.values())) if declared else {}
    by_column = {column: float(found.get(name, 0)) for column, name in declared.items()}
    given = [] if policy is None else [policy(action, {**by_column})]
    if not all(isinstance(each, Real) and 0 <= each <= 1 for each in given):  # neither is NaN
        raise InputError("the policy gives no chance in [0, 1]", "return that of the logged action")
    return [action, float(chance), float(earned), *map(float, given), *by_column.values()]


def _label(line: str) -> tuple[int, Fraction, Fraction]:
    """Return the action, its cost and its probability, of what is before the first bar."""
    before, bar, _ = line.partition("|")
    if not bar or before.startswith("shared"):
        right = "write action:cost:probability | features in one line (ADF logs have several for an example)"
        raise InputError("this is no example of one line", right)
    words = [word for word in before.split(" ") if word]
    # A word that touches the bar is a tag for Vowpal Wabbit, even if it looks like a label.
    if words and (words[-1].startswith("'") or not before.endswith(" ")):
        words.pop()
    label = LABEL.fullmatch(words[0]) if len(words) == 1 else None
    if label is None or "\t" in before:  # of which Vowpal Wabbit takes what follows the tab
        right = "write action:cost:probability of the one logged action, from 1, and a blank before the bar"
        raise InputError("the label is malformed", right)
    return int(label[1]), _number(label[2]), _number(label[3])


def _features(text: str, wanted: set[str]) -> dict[str, Fraction]:
    """Return the values of the `wanted` features, times the weight of their namespace."""
    found: dict[str, Fraction] = {}
    for part in text.split("|"):
        space, *words = BLANKS.split(part)  # nothing is before a blank: the namespace without a name
        name, colon, weight = space.partition(":")
        for word in filter(None, words):
            feature, valued, value = word.partition(":")
            full = f"{name}^{feature}" if name else feature
            if full not in wanted:
                continue
            if not name and "^" in feature:  # it has the name of another namespace's feature
                raise InputError("a declared feature has two meanings", "give no feature a name with ^")
            if full in found:
                raise InputError("a declared feature appears twice", "write each once")
            found[full] = (_number(value) if valued else Fraction(1)) * (_number(weight) if colon else 1)
    return found


def _number(text: str) -> Fraction:
    if not DECIMAL.fullmatch(text):
        raise InputError("a number is malformed", "write a decimal number, such as 0.25 or 1e-3")
    return Fraction(text)
