"""Pictures of a certificate as plain SVG: δ(ε) with claim, proof and attack, and the trade-off curve."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from audits.reports.words import CertifyResult, attacked
from dpaccount.exact import as_exact

WIDE, HIGH, LEFT, BOTTOM = 640, 300, 70, 45
MAX_LABEL = 26  #: characters of a bar's label
Dot = tuple[float, float]


class Bar(NamedTuple):
    """A line of a chart from `low` to `high`, with a dot at `at`."""

    label: str
    low: float
    high: float
    at: float | None = None


def profile(certificate: CertifyResult) -> str:
    """Return δ over ε on a logarithmic scale: claimed, asserted by the proof, shown by the attack."""
    guarantee, proved = certificate["guarantee"], certificate["proved"]
    claim = _dot(guarantee["epsilon"], guarantee["delta"])
    asserted = [_dot(proved["epsilon"]["upper"], proved["delta"])] if proved["epsilon"] is not None else []
    points = certificate["audit"]["points"] if certificate["audit"] else []
    asserted += [_dot(point["limit"], point["delta"]) for point in points if point["of"] == "proof"]
    shown = [_dot(point["epsilon_lower"], point["delta"]) for point in points]
    dots = [dot for dot in (claim, *asserted, *shown) if math.isfinite(dot[0])]
    right = max((dot[0] for dot in dots), default=1.0) * 1.08 or 1.0
    low = math.floor(min((dot[1] for dot in dots), default=-6.0)) - 0.5

    def at(dot: Dot) -> Dot:
        return place(min(dot[0], right) / right, max(dot[1], low) / low)

    parts = [axes("ε", "δ", right, [(at((0, float(k)))[1], f"1e{k}") for k in range(math.ceil(low), 1, 2)])]
    path = sorted(dot for dot in asserted if math.isfinite(dot[0]))
    parts.append(line([at(dot) for dot in _chords(path)], "proof"))
    parts += [_mark(at(dot), "proof", 4) for dot in path]
    for x, y in (at(dot) for dot in shown if math.isfinite(dot[0])):
        parts.append(f'<path class="attack" d="M{x:.1f} {y - 6:.1f}l6 11h-12z"/>')
    for x, y in [at(claim)] if math.isfinite(claim[0]) else []:
        parts.append(f'<rect class="claim" x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12"/>')
    return svg(parts, "delta over epsilon: claimed, proved, and shown by the attack", LEGEND)


def _chords(path: list[Dot]) -> list[Dot]:
    """Return the dots with what is proved between them: δ is convex in e^ε, so chords lie above it."""
    dots = path[:1]
    for (left, high), (right, low) in pairwise(path):
        steps = ((low - high) * j / 24 for j in range(1, 24)) if 0 < right - left < 700 and low < high else ()
        for step in steps:  # evenly in log δ, where a chord bends
            share = (1 - 10**step) / (1 - 10 ** (low - high))
            dots.append((left + math.log1p(share * math.expm1(right - left)), high + step))
        dots.append((right, low))
    return dots


LEGEND = (("claim", "claimed"), ("proof", "proved bound"), ("attack", "lower bound by attack"))


def trade_off(certificate: CertifyResult) -> str:
    """Return the least share of misses of any attack over its share of false alarms, by what is explained."""
    risk = attacked(certificate)
    known = [] if risk is None else [(float(p.epsilon), float(p.delta.upper)) for p in risk.points]
    # Squares: small rates, where the curve bends most, get more dots.
    dots = [(rate, _misses(known, rate)) for rate in ((j / 60) ** 2 for j in range(61))]

    def at(dot: Dot) -> Dot:
        return place(dot[0], 1 - dot[1])

    ticks = [(at((0, share))[1], f"{share:g}") for share in (0, 0.5, 1)]
    parts = [
        axes("false-positive rate", "false-negative rate", 1.0, ticks),
        line([at(dot) for dot in dots], "proof"),
    ]
    parts.append(line([at((0, 1)), at((1, 0))], "axis"))
    return svg(parts, "least false-negative rate of any attack at each false-positive rate", ())


def strips(bars: Sequence[Bar], label: str, most: float | None = None) -> str:
    """Return a line for each bar, from its low to its high end, and a dot; with a dashed line at `most`."""
    ends = [end for bar in bars for end in (bar.low, bar.high)] + ([] if most is None else [most])
    low, high = min(ends), max(ends)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    left = 24 + 8 * min(MAX_LABEL, max(len(bar.label) for bar in bars))
    base = 14 + 24 * len(bars)

    def at(value: float) -> float:
        return left + (WIDE - left - 40) * (value - low) / ((high - low) or 1)

    parts = [f'<path class="axis" d="M{left} {base}H{WIDE - 20}"/>']
    parts += [
        f'<text x="{at(tick):.1f}" y="{base + 18}" text-anchor="middle">{tick:.12g}</text>' for tick in ticks
    ]
    for place, bar in enumerate(bars):
        y = 18 + 24 * place
        name = bar.label if len(bar.label) <= MAX_LABEL else f"{bar.label[: MAX_LABEL - 1]}…"
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<path class="curve1-bar" d="M{at(bar.low):.1f} {y}H{at(bar.high):.1f}"/>')
        parts.append("" if bar.at is None else _mark((at(bar.at), y), "curve1", 4))
    if most is not None:
        parts.append(f'<path class="axis-line" d="M{at(most):.1f} 6V{base}"/>')
    return svg(parts, label, (), high=base + 28)


def _ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers, multiples of 1, 2 or 5, from `low` or above to `high` or below."""
    rough = max((high - low) / 5 or abs(high) or 1.0, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10, 20) if power * times >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)] or [low]


def _misses(points: Iterable[tuple[float, float]], rate: float) -> float:
    """Return 1 − δ − e^ε α and e^−ε(1 − δ − α), the best over all points, a little low."""
    best = 0.0
    for epsilon, delta in points:
        if epsilon < 700:
            kept = (1 - delta - math.exp(epsilon) * rate, math.exp(-epsilon) * (1 - delta - rate))
            best = max(best, *kept)
    return max(0.0, best * (1 - 1e-9))


def _dot(epsilon: object, delta: object) -> Dot:
    """Return (ε, log₁₀ δ) as drawn; δ = 0 at the bottom."""
    share = float(as_exact(str(delta)))
    where = math.inf if epsilon == "inf" else float(as_exact(str(epsilon)))
    return where, math.log10(share) if share > 0 else -12.0


def place(along: float, down: float) -> Dot:
    """Return where a dot is drawn, from its shares of the axes."""
    return LEFT + (WIDE - LEFT - 20) * along, 15 + (HIGH - BOTTOM - 15) * down


def axes(right: str, up: str, most: float, ticks: list[tuple[float, str]]) -> str:
    """Return the axes, named, with numbers."""
    base, end = HIGH - BOTTOM, WIDE - 20
    parts = [f'<path class="axis" d="M{LEFT} 10V{base}H{end}"/>']
    for tick in _ticks(0.0, most):
        x = LEFT + (end - LEFT) * tick / most
        parts.append(f'<text x="{x:.1f}" y="{base + 18}" text-anchor="middle">{tick:.6g}</text>')
    parts += [
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>' for y, text in ticks
    ]
    parts.append(f'<text x="{(LEFT + end) / 2}" y="{base + 36}" text-anchor="middle">{escape(right)}</text>')
    middle = f'x="16" y="{base / 2}" transform="rotate(-90 16 {base / 2})"'
    parts.append(f'<text {middle} text-anchor="middle">{escape(up)}</text>')
    return "".join(parts)


def line(dots: list[Dot], kind: str) -> str:
    """Return a line through dots."""
    if len(dots) < 2:
        return ""
    return f'<path class="{kind}-line" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in dots)}"/>'


def _mark(dot: Dot, kind: str, size: int) -> str:
    return f'<circle class="{kind}" cx="{dot[0]:.1f}" cy="{dot[1]:.1f}" r="{size}"/>'


def svg(parts: list[str], label: str, legend: tuple[tuple[str, str], ...], high: int = HIGH) -> str:
    """Return a picture of these parts."""
    keys = "".join(
        f'<rect class="{kind}" x="{WIDE - 190}" y="{14 + 20 * j}" width="12" height="12"/>'
        f'<text x="{WIDE - 172}" y="{25 + 20 * j}">{escape(text)}</text>'
        for j, (kind, text) in enumerate(legend)
    )
    head = f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDE} {high}">'
    return f"{head}{''.join(parts)}{keys}</svg>"
