"""The privacy profile δ(ε) of a plan and its trade-off curve, as points to tabulate or to draw."""

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

from dpaccount.documents import atomically, csv_text
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, printed
from dpaccount.numerics.intervals import ball, floor_of, precision
from dpaccount.numerics.work_budget import PROFILE, allowance

POINTS = 33
MIN_DELTA = Fraction(1, 10**10)  #: δ at the right end of a profile
MAX_DRAWN_EPSILON = 1e300  #: the largest ε of a drawing


class Costs(Protocol):
    """What has a profile: ε at a δ, and δ at an ε; an `Accountant`."""

    def epsilon(self, delta: Fraction, gap: Fraction = ..., /) -> Enclosure:
        """Return the least ε with δ(ε) ≤ delta, within gap·max(1, ε) where that can be."""
        ...

    def delta(self, epsilon: Fraction, gap: Fraction = ..., /) -> Enclosure:
        """Return δ(ε), within gap·δ where that can be."""
        ...


@dataclass(frozen=True)
class Point:
    """An ε and the enclosure of δ(ε)."""

    epsilon: Fraction
    delta: Enclosure


def profile_points(accountant: Costs, points: int = POINTS, smallest: Fraction = MIN_DELTA) -> list[Point]:
    """Return δ at evenly spaced ε from 0 to where δ falls to `smallest` (to 10 where it never does)."""
    if points < 2:
        raise InputError(f"{points} points are no profile", "ask for at least 2")
    top = accountant.epsilon(smallest).upper
    end = Fraction(10) if top == math.inf else Fraction(math.floor(top * 1000) + 1, 1000)
    steps = [end * j / (points - 1) for j in range(points)]
    found = [accountant.delta(at) for at in steps]
    # δ(ε) never rises: an upper bound at one ε holds at every larger one, whose own may be wider.
    uppers = accumulate((bounds.upper for bounds in found), min)
    return [
        Point(at, Enclosure(bounds.lower, upper))
        for at, bounds, upper in zip(steps, found, uppers, strict=True)
    ]


def trade_off(points: Sequence[Point], false_alarm: Fraction) -> Fraction:
    """Return a lower bound on the miss rate of any attack with this false-alarm rate α in [0, 1].

    Whatever tells two neighbours apart obeys α + e^ε β ≥ 1 − δ(ε) and e^ε α + β ≥ 1 − δ(ε) at every ε, so
    that β ≥ max over ε of 1 − δ(ε) − e^ε α and e^{−ε}(1 − δ(ε) − α), at least 0 (Wasserman & Zhou 2010; Dong,
    Roth & Su 2022). Every point of a profile gives two lines; more points give more of the
    curve.
    """
    if not 0 <= false_alarm <= 1:
        raise InputError(
            f"the false-alarm rate {float(false_alarm):g} is out of range", "it must be in [0, 1]"
        )
    best = Fraction(0)
    with precision(96):
        for point in points:
            grown, kept = ball(point.epsilon).exp(), 1 - ball(Fraction(point.delta.upper))
            for line in (kept - grown * ball(false_alarm), (kept - ball(false_alarm)) / grown):
                if line > 0:
                    best = max(best, floor_of(line))
    return best


def write_profile(accountant: Costs, path: Path) -> None:
    """Write the profile as .csv (epsilon, lower, upper) or .svg, by a temporary file beside it."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".svg"):
        raise InputError(
            f"--profile {path}: unknown kind {path.suffix!r}", "use a name ending in .csv or .svg"
        )
    with allowance(PROFILE):
        points = profile_points(accountant)
        text = _csv(points) if kind == ".csv" else svg_of(lambda axes: draw_profile(points, axes))
    try:
        atomically(path, text)
    except OSError as error:
        raise InputError(
            f"--profile {path}: {error.strerror}", "give a path in a writable directory"
        ) from None


def _csv(points: Sequence[Point]) -> str:
    rows = ((printed(point.epsilon, up=True), *point.delta.as_json().values()) for point in points)
    return csv_text([("epsilon", "delta_lower", "delta_upper"), *rows])


def svg_of(draw: Callable[[Any], object], size: tuple[float, float] = (6, 4), **layout: Any) -> str:
    """Draw on new axes, and return the picture as SVG text."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "dpaccount"  # the same input draws the same file
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=size, **layout)
    draw(axes)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    return out.getvalue()


def draw_profile(points: Sequence[Point], axes: Any) -> None:
    """Draw δ(ε) on a logarithmic scale; the band between the bounds is filled."""
    if points[-1].epsilon > MAX_DRAWN_EPSILON:
        raise InputError(f"an ε beyond {MAX_DRAWN_EPSILON:.0e} cannot be drawn", "ask for a .csv file")
    x = [float(point.epsilon) for point in points]
    upper = [max(float(point.delta.upper), 1e-300) for point in points]
    lower = [max(float(point.delta.lower or 0), 1e-300) for point in points]
    axes.fill_between(x, lower, upper, alpha=0.4)
    axes.plot(x, upper)
    axes.set_yscale("log")
    axes.set_ylim(bottom=max(min(upper), 1e-14))
    axes.set_xlabel("ε")
    axes.set_ylabel("δ(ε)")


RATES = 65  #: false-alarm rates of a drawn trade-off curve


def draw_trade_off(points: Sequence[Point], axes: Any) -> None:
    """Draw the least miss rate of any attack over its false-alarm rate; the dashed line is guessing."""
    rates = [Fraction(j, RATES - 1) ** 2 for j in range(RATES)]
    axes.plot([float(rate) for rate in rates], [float(trade_off(points, rate)) for rate in rates])
    axes.plot([0, 1], [1, 0], linestyle="--", linewidth=0.8)
    axes.set_xlabel("false alarms")
    axes.set_ylabel("misses, at least")


def plotted(accountant: Costs, kind: str, axes: Any) -> Any:
    """Return Matplotlib axes with the ``profile`` or the ``trade-off`` curve; new ones where `axes` is None.

    Raises `InputError` for another kind, or where Matplotlib is not installed.
    """
    drawers = {"profile": draw_profile, "trade-off": draw_trade_off}
    if kind not in drawers:
        raise InputError(f"unknown picture {kind!r}", f"known here: {', '.join(drawers)}")
    axes = given_or_new(axes)
    with allowance(PROFILE):
        drawers[kind](profile_points(accountant), axes)
    return axes


def given_or_new(axes: Any) -> Any:
    """Return Matplotlib's axes: those given, or new ones where they are None."""
    if axes is None:
        from matplotlib import pyplot as plt

        axes = plt.subplots(figsize=(6, 4))[1]
    return axes
