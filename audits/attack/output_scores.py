"""Scores of a run's output: a claim is about the output, not about the noisy releases inside.

The log-likelihood ratio is known for the releases.  If the output determines them, it is a score of
the output too: an affine map from output numbers to releases is fitted on training runs.  On a run
where the map errs, the ratio is taken at the decoded releases, so the score is always a function
of the output alone.  Otherwise, or if the output depends on the data in other ways, a score is
learned: the mean ratio of the training runs with the same output, or a linear score.  A poor score costs
power, never validity.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from audits.hypothesis_tests.replay import Part, Run
from dpaccount.noise.samplers import Floats, Integers

Ratio = Callable[[dict[Part, Integers]], float]  #: log-likelihood ratio of any releases, by replays
CONSTANT_FEATURE = np.ones(1)  #: the feature whose weight is the constant of a map
FITTED = 2  #: runs per output number, to fit a map
MAX_FITTED = 1500  #: maximum number of output numbers for which a map is fitted


@dataclass(frozen=True)
class Sample:
    """A training run: its output, its releases, and their log-likelihood ratio.

    `certain`: for the same releases the other side has another output, so the output reveals the side.
    """

    seen: bytes
    numbers: Floats | None
    layout: tuple[tuple[Part, tuple[int, ...]], ...]
    released: Floats
    ratio: float
    certain: bool = False


@dataclass(frozen=True)
class ShownScore:
    """A score of the output: by `decode` if there is a map to the releases, else a learned one."""

    layout: tuple[tuple[Part, tuple[int, ...]], ...] = ()
    weights: Floats | None = None
    means: dict[bytes, float] = field(default_factory=dict)
    slope: Floats | None = None

    def of(self, run: Run, ratio: float, again: Ratio, unit: int) -> float:
        """Return the score of a run whose releases have this `ratio`; `again` gives that of other ones."""
        numbers = visible_numbers(run, unit)
        if self.weights is not None:
            decoded = self.decode(numbers)
            if decoded is None:
                return 0.0
            same = decoded.keys() == run.released.keys() and all(
                np.array_equal(values, run.released[part]) for part, values in decoded.items()
            )
            return ratio if same else again(decoded)
        if self.slope is not None:
            fits = numbers is not None and len(numbers) + 1 == len(self.slope)
            return float(np.concatenate([numbers, CONSTANT_FEATURE]) @ self.slope) if fits else 0.0
        return self.means.get(visible_bytes(run, unit), 0.0)

    def decode(self, numbers: Floats | None) -> dict[Part, Integers] | None:
        """Return the releases that the output numbers determine, or None if their form differs."""
        if numbers is None or self.weights is None or len(numbers) + 1 != len(self.weights):
            return None
        flat = np.rint(np.concatenate([numbers, CONSTANT_FEATURE]) @ self.weights)
        if not (np.abs(flat) < 2.0**62).all():
            return None
        shown, start = {}, 0
        for part, shape in self.layout:
            size = int(np.prod(shape))
            shown[part] = flat[start : start + size].astype(np.int64).reshape(shape)
            start += size
        return shown


def sample_of(run: Run, ratio: float, unit: int, *, certain: bool = False) -> Sample:
    """Return the sample that is stored for a training run."""
    layout = tuple((part, values.shape) for part, values in run.released.items())
    flat = [values.ravel().astype(np.float64) for values in run.released.values()]
    return Sample(
        visible_bytes(run, unit),
        visible_numbers(run, unit),
        layout,
        np.concatenate([np.zeros(0), *flat]),
        ratio,
        certain,
    )


def visible_arrays(run: Run, unit: int) -> list[tuple[str, NDArray[np.generic]]]:
    """Return the arrays that everyone except `unit` sees: public ones and their own (0: all)."""
    own = [(name, np.delete(a, unit - 1, 0) if unit else a) for name, a in run.view.own.items()]
    return [*run.view.public.items(), *own]


def visible_bytes(run: Run, unit: int) -> bytes:
    """Serialise the visible arrays, injectively."""
    return repr([(name, a.dtype.str, a.shape, _bytes(a)) for name, a in visible_arrays(run, unit)]).encode()


def _bytes(array: NDArray[np.generic]) -> bytes:
    return array.tobytes() if array.dtype.kind != "O" else repr(array.tolist()).encode()


def visible_numbers(run: Run, unit: int) -> Floats | None:
    """Return the visible numbers in order; None if they are too many or not finite."""
    parts = [a.ravel() for _, a in visible_arrays(run, unit) if a.dtype.kind in "biuf"]
    if sum(map(len, parts)) > MAX_FITTED:
        parts = [a.ravel() for a in run.view.public.values() if a.dtype.kind in "biuf"]
    if sum(map(len, parts)) > MAX_FITTED:
        return None
    numbers = np.concatenate([np.zeros(0), *parts]).astype(np.float64)
    return numbers if np.isfinite(numbers).all() else None


def runs_to_fit(samples: Sequence[Sample]) -> int:
    """Return the number of runs needed to fit a map."""
    return FITTED * (1 + max((len(each.numbers) for each in samples if each.numbers is not None), default=0))


def learn(samples: Sequence[Sample]) -> ShownScore:
    """Return the score that training runs suggest: of decoded releases, of repeated views, or linear."""
    if not samples:
        return ShownScore()
    decoder = None if any(each.certain for each in samples) else _decoder(samples)
    if decoder is not None:
        return decoder
    ratios: dict[bytes, list[float]] = {}
    for each in samples:
        ratios.setdefault(each.seen, []).append(each.ratio)
    if 2 * len(ratios) > len(samples):
        slope = _slope(samples)
        if slope is not None:
            return ShownScore(slope=slope)
    return ShownScore(means={seen: float(np.mean(seen_ratios)) for seen, seen_ratios in ratios.items()})


def _table(samples: Sequence[Sample]) -> Floats | None:
    """Return the output numbers, one row per run with a final 1; None if their form differs."""
    rows = [each.numbers for each in samples if each.numbers is not None]
    if len(rows) < len(samples) or len({len(row) for row in rows}) != 1:
        return None
    return np.hstack([np.array(rows), np.ones((len(rows), 1))])


def _decoder(samples: Sequence[Sample]) -> ShownScore | None:
    table = _table(samples)
    if table is None or len({each.layout for each in samples}) != 1:
        return None
    released = np.array([each.released for each in samples])
    weights = _verbatim(table, released)
    if weights is None and len(samples) >= FITTED * table.shape[1]:
        weights = np.linalg.lstsq(table, released, rcond=None)[0]
    if weights is None or not np.array_equal(np.rint(table @ weights), released):
        return None
    return ShownScore(layout=samples[0].layout, weights=weights)


def _verbatim(table: Floats, released: Floats) -> Floats | None:
    """Return the weights if the output shows every release up to a power of two; else None."""
    weights = np.zeros((table.shape[1], released.shape[1]))
    shown: dict[bytes, int] = {}
    for column in range(table.shape[1] - 1):
        shown.setdefault(_direction(table[:, column])[0], column)
    for index in range(released.shape[1]):
        name, size = _direction(released[:, index])
        if not size:  # always zero: the constant covers it
            continue
        part = shown.get(name)
        if part is None:
            return None
        weights[part, index] = size / _direction(table[:, part])[1]
    return weights


def _direction(column: Floats) -> tuple[bytes, float]:
    """Return a column divided by a signed power of two near its largest entry, and that power."""
    largest = float(column[np.argmax(np.abs(column))])
    if not largest:
        return b"", 0.0
    scale = float(np.copysign(2.0 ** np.floor(np.log2(abs(largest))), largest))
    return (column / scale + 0.0).tobytes(), scale


def _slope(samples: Sequence[Sample]) -> Floats | None:
    """Return the weights of the linear score that fits the ratios best, a little shrunk, or None."""
    table = _table(samples)
    if table is None:
        return None
    ratios = np.clip([each.ratio for each in samples], -50, 50)
    largest = np.abs(table[:, :-1]).max(axis=0)
    largest[largest == 0] = 1.0
    shown = table[:, :-1] / largest
    middle, spread = shown.mean(axis=0), shown.std(axis=0)
    spread[spread == 0] = np.inf  # constant: no weight
    # standardised: the system stays well-conditioned for numbers of any magnitude
    scaled = (shown - middle) / spread
    gram = scaled.T @ scaled + np.diag(np.full(scaled.shape[1], 1e-3 * len(samples)))
    slope = np.linalg.solve(gram, scaled.T @ (ratios - ratios.mean())) / spread
    with np.errstate(over="ignore"):
        coefficients = np.append(slope / largest, ratios.mean() - middle @ slope)
    return coefficients if np.isfinite(coefficients).all() else None
