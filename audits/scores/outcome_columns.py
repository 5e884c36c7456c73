"""Features of outcomes: a table of numbers from which a score can be learned.

In addition to the values themselves: which structure and text an outcome has, the lowest set bit of every
double (where floating-point noise leaks), order statistics, repeated values, differences between
entries (where noise is reused), and one learned direction.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from audits.sandbox.outcomes import Outcome
from audits.scores.sketch import BLOCKS, FEATURES, KEPT_ENTRIES
from dpaccount.forks import cached_property
from dpaccount.noise.samplers import Floats

Place = tuple[str, int]  #: "text" or "part of the kind", and its index in an outcome
MAX_ENTRIES = 48  #: number of entries of an outcome with a column each
LEAST_SPREAD = 1e-6  #: floor of an entry's variance, as a fraction of the usual one
SEEN = 1.5  #: standard errors up to which a shift of a median counts as 0
PAIRWISE = 8  #: up to this many entries, all differences are columns
RARE = -1.0  #: the code of a rare text or kind


@dataclass(frozen=True)
class OutcomeColumn:
    """One column; `codes` are the values of kinds or texts, None if values are numbers."""

    name: str  #: for display
    rank: int  #: complexity: 0 an entry, a text or the kind; 1 a length; 2 a combination; 3 bits
    codes: Mapping[str, float] | None = None
    keyed: bool = False  #: whether the name is a key of the result

    def meaning(self, value: float) -> str:
        """Return a value for display: a number, or the kind or text that it encodes."""
        if not self.codes:
            return f"{value:.6g}"
        text = next((text for text, code in self.codes.items() if code == value), None)
        return "one of the rare ones" if text is None else repr(text[:60].replace(r"\x20", " "))


SHIFT = OutcomeColumn("the direction in which the entries move", 2)
CLIPPED = OutcomeColumn("the entries that move, clipped", 2)


@dataclass
class Columns:
    """Maps outcomes to columns; learned once on training outcomes, then only applied."""

    structures: dict[str, float] = field(default_factory=dict)
    texts: dict[tuple[str, ...], float] = field(default_factory=dict)
    wholes: dict[object, float] = field(default_factory=dict)
    #: the codes of texts and parts of the structure with a column each
    places: dict[Place, dict[str, float]] = field(default_factory=dict)
    signs: dict[tuple[bytes, ...], float] = field(default_factory=dict)
    entries: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    broken: set[int] = field(default_factory=set)  #: entries with non-integer values
    width: int = 0
    reduced: bool = False  #: whether numbers are features of wide results (`audits.scores.sketch`)
    kinds: bool = False  #: whether structures differ, so that their parts are compared
    signed: bool = False  #: whether there are negative zeros or unusual NaN bits, coded by `signs`
    #: the means: weights that are learned again then do not move a sum by their errors times these
    center: Floats = field(default_factory=lambda: np.zeros(0))
    direction: Floats = field(default_factory=lambda: np.zeros(0))
    shift: Floats = field(default_factory=lambda: np.zeros(0))  #: weights of all entries
    #: for every entry: the midpoint of the two medians, half of the shift, and a weight
    clipped: tuple[Floats, Floats, Floats] | None = None
    called: dict[Place, str] = field(default_factory=dict)  #: numbers, texts and parts by their keys

    def name(self, kind: str, place: int, description: str) -> str:
        """Return the display name of a number ("entry"), a text or a part: its keys, else its index."""
        return self.called.get((kind, place), f"{kind} {description}")

    def entry(self, place: int) -> str:
        """Return the display name of a number."""
        return self.name("entry", place, str(place))

    @cached_property
    def each(self) -> list[OutcomeColumn]:
        """Return the columns, in the order of the table."""
        return [column for column, _ in self.filled([])]

    def table(self, outcomes: Sequence[Outcome]) -> Floats:
        """Return one row for each outcome; missing entries are NaN."""
        return np.column_stack([values for _, values in self.filled(outcomes)])

    def filled(self, outcomes: Sequence[Outcome]) -> list[tuple[OutcomeColumn, Floats]]:
        """Return the columns with their values."""
        numbers = padded(outcomes, self.width)
        first_texts = {texts[0] if texts else "": code for texts, code in self.texts.items()}
        text_lengths = np.array([float(len("".join(o.labels))) for o in outcomes])
        wholes = np.full(len(outcomes), RARE)
        if self.wholes:  # no result of continuous noise repeats
            wholes = _coded(self.wholes, [o.key() for o in outcomes])
        found = [
            (
                OutcomeColumn("the kind of result", 0, self.structures),
                _coded(self.structures, [o.structure for o in outcomes]),
            ),
            (OutcomeColumn("the text", 0, first_texts), _coded(self.texts, [o.labels for o in outcomes])),
            (OutcomeColumn("the length of the text", 1), text_lengths),
            (OutcomeColumn("the whole result", 2, {}), wholes),
            (OutcomeColumn("the number of entries", 1), np.array([float(len(o.numbers)) for o in outcomes])),
        ]
        parts = {structure: structure.split(" ") for structure in {o.structure for o in outcomes}}
        for (kind, at), codes in self.places.items():
            column = OutcomeColumn(self.name(kind, at, f"{at + 1}"), 0, codes, (kind, at) in self.called)
            each = [o.labels if kind == "text" else parts[o.structure] for o in outcomes]
            values = [codes.get(tokens[at], RARE) if at < len(tokens) else np.nan for tokens in each]
            found.append((column, np.array(values)))
        if self.signed:
            odd = _coded(self.signs, _signs(outcomes))
            found.append((OutcomeColumn("signs of zeros and bits of NaN", 3), odd))
            found += [
                (OutcomeColumn(f"the bits of {self.entry(place)}", 3), _own_bits(numbers[:, place]))
                for place in self.entries.tolist()
            ]
        if self.width:
            for place in self.entries.tolist():
                column = OutcomeColumn(self.entry(place), 0, keyed=("entry", place) in self.called)
                found.append((column, numbers[:, place]))
                if place in self.broken:  # whole numbers have no bits below the point
                    bits = OutcomeColumn(f"the lowest set bit of {self.entry(place)}", 3)
                    found.append((bits, lowest_bit(numbers[:, place])))
        if self.width > 1:
            shared = {} if self.reduced else _shared_columns(numbers)
            shared |= _differences(numbers, self.entry, KEPT_ENTRIES if self.reduced else range(self.width))
            found += [(OutcomeColumn(name, 2), values) for name, values in shared.items()]
            with np.errstate(invalid="ignore", over="ignore"):
                if len(self.direction):
                    some, weights = self.entries, self.direction
                    weighted = numbers[:, some] @ weights - self.center[some] @ weights
                    found.append((OutcomeColumn("a weighted sum of the entries", 2), weighted))
                if self.clipped is not None:
                    found.append((CLIPPED, _clipped(numbers, *self.clipped)))
                if len(self.shift):
                    found.append((SHIFT, numbers @ self.shift - self.center @ self.shift))
        return found


def learn(left: Sequence[Outcome], right: Sequence[Outcome], moved: Floats | None = None) -> Columns:
    """Return the columns for outcomes like these two samples.

    `moved` is the difference of two runs with the same noise, if known: under Gaussian noise the optimal
    score is linear in that direction, in any dimension.
    """
    both = [*left, *right]
    columns = Columns(width=max((len(o.numbers) for o in both), default=0))
    columns.structures = _codes([o.structure for o in both])
    columns.texts = _codes([o.labels for o in both])
    columns.kinds = len({o.structure for o in both}) > 1
    columns.called = _keys(both)
    if columns.kinds or any(o.labels for o in both):
        _learn_places(columns, left, right)
    signs = _signs(both)
    columns.signed = any(signs)
    if columns.signed:
        columns.signs = _codes(signs)
    columns.wholes = _codes([o.key() for o in both])
    if not columns.width:
        return columns
    a, b = padded(left, columns.width), padded(right, columns.width)
    columns.entries = _most_different(a, b)
    known = np.nan_to_num(np.concatenate([a, b]), posinf=0.0, neginf=0.0)
    columns.broken = set(np.flatnonzero((known != np.floor(known)).any(axis=0)).tolist())
    columns.reduced = any(o.reduced for o in both)
    if columns.reduced:
        columns.entries, columns.broken = np.arange(FEATURES - BLOCKS), columns.broken & {*KEPT_ENTRIES}
    if columns.width > 1:
        with np.errstate(over="ignore"):
            # Sums that were not centred showed nothing in two of four attacks on twenty columns with mean
            # 1,000: the two halves learn slightly different weights, and the difference times the mean is
            # larger than the shift.
            columns.center = np.nan_to_num(known.mean(axis=0), posinf=0.0, neginf=0.0)
        columns.direction = _direction(a[:, columns.entries], b[:, columns.entries])
        known_shift = moved if moved is not None and len(moved) == columns.width else None
        if known_shift is not None:
            columns.shift = _weights(known_shift, a, b)
        columns.clipped = None if columns.reduced else _laplace_parameters(a, b, known_shift)
    return columns


def _keys(outcomes: Sequence[Outcome]) -> dict[Place, str]:
    """Return the unique keys of numbers and texts in the outcome that has most of them."""
    fullest = max(outcomes, key=lambda outcome: len(outcome.names) + len(outcome.titles))
    keys: dict[Place, str] = {}
    for kind, names, word in (
        ("entry", fullest.names, "result"),
        ("text", fullest.titles, "the text of result"),
    ):
        for place, name in enumerate(names):
            full_name = f"{word}{name}" if name.startswith("[") else name
            keys[kind, place] = f"{full_name} ({place})" if names.count(name) > 1 else full_name
    return keys


def _tokens(outcome: Outcome, kinds: bool) -> dict[Place, str]:  # noqa: FBT001
    """Return the texts of an outcome, and the parts of its structure, by their places."""
    tokens = {("text", at): label for at, label in enumerate(outcome.labels)}
    parts = outcome.structure.split(" ") if kinds else []
    return tokens | {("part of the kind", at): part for at, part in enumerate(parts)}


def _learn_places(columns: Columns, left: Sequence[Outcome], right: Sequence[Outcome]) -> None:
    """Assign codes to the texts at the positions where the samples differ most."""
    counts: dict[Place, dict[str, list[int]]] = {}
    for side, outcomes in enumerate((left, right)):
        for outcome in outcomes:
            for place, token in _tokens(outcome, columns.kinds).items():
                counts.setdefault(place, {}).setdefault(token, [0, 0])[side] += 1
    apart = {
        place: sum(abs(a / len(left) - b / len(right)) for a, b in texts.values() if a + b > 2)
        for place, texts in counts.items()
    }
    for place in sorted(apart, key=lambda place: -apart[place])[:MAX_ENTRIES]:
        if place[0] != "text":  # name the part by its most frequent value
            usual = max(counts[place].items(), key=lambda texts: sum(texts[1]))[0]
            shown = usual[:60].replace(r"\x20", " ")
            columns.called[place] = f"{place[0]} {place[1] + 1} ({shown})"
        often = sorted(
            (t for t, n in counts[place].items() if sum(n) > 2), key=lambda t: -sum(counts[place][t])
        )
        columns.places[place] = {token: float(i) for i, token in enumerate(often[:256])}


NAN = np.array([np.nan]).view(np.uint64)[0]


def _signs(outcomes: Sequence[Outcome]) -> list[tuple[bytes, ...]]:
    """Return of each outcome what number comparison misses: signs of zeros, bits of unusual NaN."""
    each = [outcome.numbers for outcome in outcomes]
    flat = np.concatenate([np.zeros(0), *each])
    odd = ((flat == 0) & np.signbit(flat)) | (np.isnan(flat) & (flat.view(np.uint64) != NAN))
    if not odd.any():
        return [()] * len(each)
    parts = np.split(odd, np.cumsum([len(numbers) for numbers in each])[:-1])
    found = zip(parts, each, strict=True)
    return [
        (np.flatnonzero(part).tobytes(), numbers[part].tobytes()) if part.any() else ()
        for part, numbers in found
    ]


def _own_bits(values: Floats) -> Floats:
    """Return the payload of a NaN with its sign, −1 for a negative zero, 0 for other numbers."""
    bits = values.view(np.int64) if values.flags.c_contiguous else values.copy().view(np.int64)
    odd = np.isnan(values)
    low = (bits & (2**52 - 1)).astype(np.float64) * np.where(bits < 0, -1.0, 1.0)
    return np.where(odd, low, np.where((values == 0) & np.signbit(values), -1.0, 0.0))


def _codes(keys: Sequence[Any]) -> dict[Any, float]:
    """Return numbers for the keys that repeat, the most frequent first."""
    often = [key for key, n in Counter(keys).most_common(256) if n > 2]
    return {key: float(i) for i, key in enumerate(often)}


def _coded(codes: Mapping[Any, float], keys: Sequence[object]) -> Floats:
    """Return the codes of keys; one without is rare."""
    return np.array([codes.get(key, RARE) for key in keys])


def padded(outcomes: Sequence[Outcome], width: int) -> Floats:
    """Return the numbers as rows of equal length; absent entries are NaN."""
    if outcomes and {len(outcome.numbers) for outcome in outcomes} == {width}:  # the usual case, at once
        return np.concatenate([outcome.numbers for outcome in outcomes]).reshape(len(outcomes), width)
    table = np.full((len(outcomes), width), np.nan)
    for row, outcome in zip(table, outcomes, strict=True):
        part = outcome.numbers[:width]
        row[: len(part)] = part
    return table


def _most_different(a: Floats, b: Floats) -> NDArray[np.int64]:
    """Return the entries (at most `MAX_ENTRIES`) whose ranks differ most between the samples."""
    if a.shape[1] <= MAX_ENTRIES:
        return np.arange(a.shape[1])
    both = np.nan_to_num(np.concatenate([a, b]), nan=-1.5e300, posinf=1e300, neginf=-1e300)
    moving = np.flatnonzero((both != both[0]).any(axis=0))
    if len(moving) <= MAX_ENTRIES:
        return moving
    from scipy.stats import rankdata  # slow to import

    ranks = rankdata(both[:, moving], axis=0)  # ties share their rank: no spread if constant
    apart = np.abs(ranks[: len(a)].mean(axis=0) - ranks[len(a) :].mean(axis=0))
    spread = np.abs(np.abs(ranks[: len(a)] - len(both) / 2).mean(axis=0) - len(both) / 4)
    return moving[np.sort(np.argsort(-(apart + spread))[:MAX_ENTRIES])]


def _direction(a: Floats, b: Floats) -> Floats:
    """Return Fisher's discriminant: the pooled covariance's inverse on the difference of means."""
    a, b = a[np.isfinite(a).all(axis=1)], b[np.isfinite(b).all(axis=1)]
    if (
        not a.shape[1]
        or min(len(a), len(b)) < 2 * a.shape[1] + 10
        or max(np.abs(a).max(), np.abs(b).max()) > 1e100
    ):
        return np.zeros(0)
    moved = a.mean(axis=0) - b.mean(axis=0)
    pooled = np.atleast_2d((np.cov(a.T) + np.cov(b.T)) / 2)
    weights: Floats = np.linalg.pinv(pooled, rcond=1e-10) @ moved
    return weights if np.isfinite(weights).all() and weights.any() else np.zeros(0)


def _weights(moved: Floats, a: Floats, b: Floats) -> Floats:
    """Return a shift divided by each entry's variance; empty if that is 0 or not finite."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"), catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # of an entry that no run on a side has
        spread = (np.nanvar(a, axis=0) + np.nanvar(b, axis=0)) / 2
        usual = np.median(spread[spread > 0]) if (spread > 0).any() else 1.0
        weights: Floats = np.where(moved == 0, 0.0, moved / np.maximum(spread, LEAST_SPREAD * usual))
    return weights if np.isfinite(weights).all() and weights.any() else np.zeros(0)


def _laplace_parameters(a: Floats, b: Floats, moved: Floats | None) -> tuple[Floats, Floats, Floats] | None:
    """Return midpoints, half shifts and weights of the entries whose medians differ; None if none does.

    The log-likelihood ratio of Laplace noise is |x − right| − |x − left|: linear, clipped at both medians.
    """
    if np.isnan(a).any() or np.isnan(b).any():  # entries that some results do not have
        return None
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        one, other = np.median(a, axis=0), np.median(b, axis=0)
        size = (np.abs(a - one).mean(axis=0) + np.abs(b - other).mean(axis=0)) / 2
        shift = one - other if moved is None else moved
        if moved is None:
            shift = np.where(np.abs(shift) < SEEN * size * (1 / len(a) + 1 / len(b)) ** 0.5, 0.0, shift)
        weights = np.where((shift != 0) & (size > 0), np.sign(shift) / size, 0.0)
        middle = (one + other) / 2
    fine = all(np.isfinite(part).all() for part in (middle, shift, weights))
    return (middle, np.abs(shift) / 2, weights) if fine and weights.any() else None


def _clipped(numbers: Floats, middle: Floats, half: Floats, weights: Floats) -> Floats:
    """Return the weighted sum of deviations from the midpoints, each clipped to ± half a shift."""
    used = np.flatnonzero(weights)
    near = np.clip(numbers[:, used] - middle[used], -half[used], half[used])
    return near @ weights[used]


def _differences(numbers: Floats, entry: Callable[[int], str], places: range) -> dict[str, Floats]:
    """Return columns about two of the entries at these places: of few all pairs, of many the neighbours."""
    pairs = (
        [(i, j) for i in places for j in range(i)]
        if len(places) <= PAIRWISE
        else [(i + 1, i) for i in places[:-1][:MAX_ENTRIES]]
    )
    with np.errstate(invalid="ignore", over="ignore"):
        return {f"{entry(i)} less {entry(j)}": numbers[:, i] - numbers[:, j] for i, j in pairs}


def _shared_columns(numbers: Floats) -> dict[str, Floats]:
    """Return columns about all entries together."""
    known = np.where(np.isnan(numbers), 0.0, numbers)
    with np.errstate(invalid="ignore", over="ignore"):
        inside = np.sort(np.clip(known, -1e300, 1e300), axis=1)
        return {
            "the sum": known.sum(axis=1),
            "the sum of squares": (known * known).sum(axis=1),
            "the largest entry": inside[:, -1],
            "the smallest entry": inside[:, 0],
            "the lead of the largest": inside[:, -1] - inside[:, -2],
            "where the largest is": known.argmax(axis=1).astype(np.float64),
            "where the smallest is": known.argmin(axis=1).astype(np.float64),
            "the number of zeros": (numbers == 0).sum(axis=1).astype(np.float64),
            "the number of different values": 1.0 + (np.diff(inside, axis=1) != 0).sum(axis=1),
            "the first entry that is not zero": (known != 0).argmax(axis=1).astype(np.float64),
            "the number of turns": (np.diff(np.sign(np.diff(known, axis=1)), axis=1) != 0)
            .sum(axis=1)
            .astype(np.float64),
        }


def lowest_bit(values: Floats) -> Floats:
    """Return the exponent of every double's lowest set bit; special values for 0 and non-finite.

    A sum of a value and floating-point noise has no bits below those of its largest term (Mironov 2012).
    """
    finite = np.isfinite(values) & (values != 0)
    mantissa, exponent = np.frexp(np.where(finite, values, 1.0))
    digits = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    zeros = np.log2((digits & -digits).astype(np.float64))
    bit = exponent - 53.0 + zeros
    return np.where(finite, bit, np.where(values == 0, 5000.0, 6000.0))
