"""Powers H(a) = E S^a of the mean S of t independent log-normals e^X/t, X ~ N(−μ²/2, μ²), for complex a.

With n whole, b = n − a and Re b > 0, along any ray u = e^{w + iθ}, 0 ≤ θ < π/2,

    Γ(b)·H(a) = e^{ibθ} ∫ e^{bw} G(e^{w + iθ}) dw,    G(u) = E S^n e^{−uS}.

G/n! is the coefficient of v^n in (Σ_j v^j φ_j(u)/j!)^t, φ_j(u) = E Y^j e^{−uY}, Y = e^X/t, and φ_j is a
Gaussian integral. A ray near the imaginary axis keeps the terms of powers with a large imaginary part small.

Both integrals are trapezoid sums. What they leave out is bounded (`_InnerErrors`, `MeanPowers`):

- Tails of the outer sum: e^{βw} = e^{(β−β′)w}e^{β′w}, and the whole sum at β′ = n − a′ is at most
  (1 + alias)·Γ(β′)H(a′), with H(a′) bounded for real a′ by `moment_bound`.
- Aliases (Poisson summation): the sum is Σ_m F(τ + 2πm/h) with |F(y)| = e^{θy}|Γ(β + iy)||H(α + iy)| and
  b = β + iτ. For every ψ < π/2, |Γ(β + iy)| ≤ Γ(β)(cos ψ)^{−β}e^{−ψ|y|}; and |H(α + iy)| ≤
  H(α)e^{−y²μ²/(2t)}: a common shift of all X moves ln S by as much, so that ln S is a Gaussian of variance
  μ²/t plus something independent of it.
- Inside, the line x − iψ/μ and lines y above and below it stay where Re uY ≥ 0: |e^{−uY}| ≤ e^{−|u|Y cos χ},
  χ the angle of uY, and E Y^j e^{−cY} ≤ min(E Y^j, (j/(ec))^j).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import acb, acb_mat, acb_series, arb, arb_mat, arb_series, ctx

from dpaccount.numerics import exponential_sums
from dpaccount.numerics.fourier.transforms import blurred
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, affordable, bearable, kept, spend

ROWS = 128  #: of a matrix that are multiplied at once
MAX_TABLE = 8e6  #: entries of it
MIN_REAL_PART = 12  #: of Re b: larger ones take more derivatives, smaller ones longer sums
SPARE = 40.0  #: nats by which single terms of a power may exceed it
MOST_POWER = 511  #: moments beyond which nothing is computed
STEPS_TO_A_PRODUCT = 0.01  #: of three numbers of 333 bits, in steps of work
AWAY = (1.5, 3.0, 6.0, 12.0, math.inf)  #: rays are tried that are β/τ times these from the imaginary axis
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97)  #: of the way from a to the largest a′ of a left tail
RIGHTS = tuple((f, g) for f in (0.1, 0.3, 1, 3, 10) for g in (0, 5, 20))  #: a − a′ = fβ + g of right tails
ANGLES = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98)  #: of the way to π/2


@dataclass(frozen=True)
class LogNormals:
    """`steps` log-normals of μ² = `mu2` each."""

    steps: int
    mu2: Fraction

    @property
    def mu(self) -> float:
        """Return an estimate of μ."""
        return math.sqrt(float(self.mu2))

    def variance(self) -> arb:
        """Return the variance of the Gaussian part of ln S, μ²/t."""
        return ball(self.mu2 / self.steps)


def moments(law: LogNormals, most: int) -> list[arb]:
    """Return log E S^m, m = 0 … most at least, as balls."""
    bearable(most, MOST_POWER)
    # A power of two, so that a search that goes on to larger orders finds its moments in the cache.
    return _moments(law, max(32, 1 << most.bit_length()))


@kept(64)
def _moments(law: LogNormals, most: int) -> list[arb]:
    spend(most * most / 16)
    with precision(192):
        mu2, log_t = ball(law.mu2), ball(law.steps).log()
        row = [(mu2 * j * (j - 1) / 2 - j * log_t - arb(j + 1).lgamma()).exp() for j in range(most + 1)]
        found = _power(row, law.steps)
        return [value.log() + arb(m + 1).lgamma() for m, value in enumerate(found)]


def moment_bound(law: LogNormals, a: arb, most: int) -> arb:
    """Return an upper bound on log E S^a, a real: between whole powers it is convex in a.

    For a in [0, 1] it is at most 0; for a < 0, S is at least the geometric mean of its terms.
    """
    if a < 0:
        return -a * ball(law.mu2) / 2 + a * a * law.variance() / 2
    low = int(a.lower().floor().unique_fmpz())
    bearable(low + 1, most)
    known, share = moments(law, most), (a - low).max(arb(0)).min(arb(1))
    ends = [known[low].upper(), known[low + 1].upper()] if low else [arb(0), arb(0)]
    return ends[0] + share * (ends[1] - ends[0]) if low else ends[0].max(ends[1] if a <= 1 else known[2])


def _power(row: list[Any], count: int) -> list[Any]:
    """Return as many coefficients of a power series' power: by logarithm, or by squaring where that fails."""
    kind, cap = (acb_series if isinstance(row[0], acb) else arb_series), ctx.cap
    try:
        ctx.cap = len(row)
        found = kind([arb("nan")])
        if row[0] != 0:
            found = ((kind(row) / row[0]).log() * count).exp() * row[0] ** count
        # A first coefficient whose ball holds 0 cannot be divided by; squaring takes longer and divides by
        # nothing.
        if not all(each.is_finite() for each in found):
            found = kind(row) ** count
    finally:
        ctx.cap = cap
    known = list(found)
    return [*known, *[arb(0)] * (len(row) - len(known))]


def aliases(beta: arb, step: arb, turn: arb, variance: arb, ray: arb) -> arb:
    """Return a bound on Σ_{m≠0} |F(τ + 2πm/h)| over Γ(β)H(α), for all τ in [0, turn]."""
    far = 2 * arb.pi() / step
    near = far - turn
    if not near > 0:
        return arb.pos_inf()
    right = left = arb.pos_inf()
    for share in ANGLES:
        up, down = ray + (arb.pi() / 2 - ray) * share, arb.pi() / 2 * share
        fall = (-(up - ray) * far).exp()
        size = (-beta * up.cos().log() - far * far * variance / 2).exp()
        right = right.min(size * fall / (1 - fall))
        size = (-beta * down.cos().log() - (down + ray) * near - near * near * variance / 2).exp()
        left = left.min(size / (1 - (-(down + ray) * far).exp()))
    return right + left


def _log_gamma(beta: float, turn: float) -> float:
    """Return an estimate of log |Γ(β + iτ)|."""
    with precision(64):
        return float(acb(beta, turn).lgamma().real.mid())


@dataclass(frozen=True)
class _NodeDesign:
    """What is chosen in floats: a bad choice widens balls, and never makes them wrong."""

    ray: float  #: θ
    turned: float  #: ψ, by which the inner line is turned
    first: float  #: w of the first outer node
    step: float  #: between outer nodes
    count: int
    fine: int  #: an inner step, in X, is coarse/fine of an outer one
    coarse: int
    left: float  #: z of the first inner node
    size: int  #: number of inner nodes
    height: float  #: of the strip around the inner line
    bits: int

    @property
    def plain(self) -> bool:
        """Say whether e^{−uY} is real on the inner line."""
        return self.ray == self.turned

    def steps(self, top: int) -> float:
        """Return the steps of work that the sums for φ_j, j ≤ top, take."""
        parts = 1 if self.ray == 0 else 2 if self.plain else 4
        products = self.count * (self.size * parts * (top + 1) + 200 * top)
        return products * STEPS_TO_A_PRODUCT * max(self.bits, 100) / 333


class MeanPowers:
    """H(a) for Re a in [low, high] and 0 ≤ Im a ≤ turn, to about `bits` bits of H(Re a)."""

    def __init__(self, law: LogNormals, low: float, high: float, turn: float, bits: int) -> None:
        self.law, self.turn = law, turn
        self.top = order(high)
        self.most = self.top + 2
        self.design = _designed(law, low, high, turn, bits)
        design = self.design
        affordable(design.steps(self.top))
        bearable(design.count * design.size, MAX_TABLE)
        with precision(design.bits):
            self.ray = arb(design.ray)
            mu = ball(law.mu2).sqrt()
            self.step = arb(design.step)
            self.nodes = [arb(design.first) + k * self.step for k in range(design.count)]
            rows = _inner(law, design, mu, self.nodes, self.top)
            self.series = [_power(row, law.steps) for row in rows]

    def line(self, at: arb, step: arb, count: int, most: arb | None = None) -> list[acb]:
        """Return H(at + i·n·step), n < count; `most` is a bound on H(at), where one is known."""
        whole, turn = order(float(at.mid())), step * max(count - 1, 0)
        # Sound for any turn, as the aliases below are those of this one; but beyond what the step was
        # designed for they are too large to be of use.
        if not turn <= arb(self.turn) * (1 + arb(1) / 1000) + arb(1) / 1000:
            raise OutOfReach("powers of larger imaginary part than were prepared")
        with precision(self.design.bits):
            beta, scale = whole - at, arb(whole + 1).gamma() * self.step
            weights = [
                scale * (beta * w).exp() * row[whole] for w, row in zip(self.nodes, self.series, strict=True)
            ]
            gamma, tails = beta.lgamma().exp(), self._tails(at, beta)
            size = gamma * moment_bound(self.law, at, self.most).exp()
            if most is not None:
                size = size.min(gamma * most)
            share = aliases(beta, self.step, arb(0), self.law.variance(), self.ray)
            if self.design.ray == 0 and share < arb(1) / 2:  # then all terms are positive
                size = size.min((sum(weights, arb(0)) + tails) / (1 - share))
            missing = tails + size * aliases(beta, self.step, turn, self.law.variance(), self.ray)
            points = [(acb(x), acb(w)) for x, w in zip(weights, self.nodes, strict=True)]
            sums = exponential_sums.along(points, step, count)
            found = []
            for n, value in enumerate(sums):
                b = acb(beta, n * step)
                known = blurred(acb(value), missing.upper())
                found.append((known * (acb(0, 1) * b * self.ray).exp() * b.rgamma()).conjugate())
            return found

    @staticmethod
    def work(law: LogNormals, low: float, high: float, turn: float, bits: int) -> float:
        """Return the steps of work that such powers take."""
        return _designed(law, low, high, turn, bits).steps(order(high))

    def logs(self, whole: int) -> tuple[list[float], list[float]]:
        """Return the outer nodes and the logarithms of what e^{bw} times is summed there (θ = 0).

        Both in floats; where little is known of a number its largest value is taken.
        """
        scale = math.lgamma(whole + 1) + math.log(self.design.step)
        values = [row[whole] for row in self.series]
        rough = [value if value.rel_accuracy_bits() > 8 else value.upper() for value in values]
        return [float(w.mid()) for w in self.nodes], [float(value.log().mid()) + scale for value in rough]

    def _tails(self, at: arb, beta: arb) -> arb:
        """Return a bound on what the outer sum leaves out at both ends, in absolute terms."""
        whole, away = at + beta, self.ray.cos().log()

        def bound(power: arb, w: arb) -> arb:
            rest = whole - power
            size = rest.lgamma() + moment_bound(self.law, power, self.most)
            tail = (size + (power - at) * (w + away) - beta * away).exp()
            return tail * (1 + aliases(rest, self.step, arb(0), arb(0), arb(0)))

        before, after = self.nodes[0] - self.step, self.nodes[-1] + self.step
        lefts = [bound(power, before) for power in _lefts(at, whole)]
        rights = [bound(power, after) for power in _rights(at, beta)]
        return _least(lefts) + _least(rights)


def order(a: float) -> int:
    """Return the n of powers with this real part: b is at least `MIN_REAL_PART`."""
    return max(0, math.ceil(a + MIN_REAL_PART))


def _least(found: list[arb]) -> arb:
    return min(found, key=lambda x: float(x.upper().log().mid()) if x.is_finite() else math.inf)


def _lefts(a: Any, whole: Any) -> list[Any]:
    """Return the powers a′ > a by which left tails are bounded."""
    end = whole if whole > 0 else 0
    return [a + (end - a) * share for share in SHARES]


def _rights(a: Any, beta: Any) -> list[Any]:
    """Return the powers a′ < a by which right tails are bounded."""
    return [a - beta * f - g for f, g in RIGHTS]


@kept(256)
def _designed(law: LogNormals, low: float, high: float, turn: float, bits: int) -> _NodeDesign:
    """Return the cheapest design of some: a ray nearer to the imaginary axis loses less, and aliases more."""
    steepest = max(order(a) - a for a in (low, high))
    rays = {max(0.0, math.pi / 2 - share * steepest / max(turn, 1e-9)) for share in AWAY}
    designs = [_on_ray(law, low, high, turn, bits, ray) for ray in sorted(rays)]
    return min(designs, key=lambda design: design.steps(order(high)))


def _on_ray(law: LogNormals, low: float, high: float, turn: float, bits: int, ray: float) -> _NodeDesign:
    """Return the design for one ray."""
    mu, top = law.mu, order(high)
    ends = [(a, order(a) - a) for a in sorted({low, high})]
    steepest = max(beta for _, beta in ends)
    cosine = math.log(math.cos(ray))

    def smallest(beta: float) -> float:
        return min(_log_gamma(beta, turn * k / 4) + ray * turn * k / 4 for k in range(5))

    depth = bits * math.log(2) + 1 + max(math.lgamma(beta) - smallest(beta) for _, beta in ends)
    with precision(64):
        variance, step = law.variance(), 1.0
        while not all(
            aliases(arb(beta), arb(step), arb(turn), variance, arb(ray)).log() < -depth for _, beta in ends
        ):
            spend()
            step *= 0.95

        def size(a: float) -> float:
            return float(moment_bound(law, arb(a), top + 2).mid())

        first, last = math.inf, -math.inf
        for a, beta in ends:
            whole, want = order(a), math.lgamma(beta) - depth + beta * cosine
            lefts = [(want - math.lgamma(whole - p) - size(p)) / (p - a) for p in _lefts(a, whole)]
            rights = [(math.lgamma(whole - p) + size(p) - want) / (a - p) for p in _rights(a, beta)]
            first, last = min(first, max(lefts) - cosine), max(last, min(rights) - cosine)
    # Turning the inner line by ψ multiplies its terms by up to e^{ψ²/(2μ²)}, all of which cancels: at most
    # e^18.
    turned = min(ray, 6 * mu)
    spare = SPARE + (turned / mu) ** 2 / 2 - steepest * cosine
    inner = depth + spare
    height = min(min(1.1, 0.75 * (math.pi / 2 - ray + turned)) / mu, math.sqrt(2 * inner))
    finest = 2 * math.pi * height / (inner + (height + turned / mu) ** 2 / 2)
    fine, coarse = math.ceil(step / (mu * finest)), max(1, int(mu * finest / step))
    first, last = first - step, last + step
    # right of it e^{−uY} is negligible for the least u, or the tilted Gaussian is
    far = (math.log(law.steps * (inner + 20 * top)) - first - cosine + mu * mu / 2) / mu + 1
    right = max(1.0, min(top * mu + math.sqrt(2 * inner) + 1, far))
    left = -math.sqrt(2 * inner)
    size_inner = math.ceil((right - left) * mu * fine / (step * coarse)) + 2
    return _NodeDesign(
        ray,
        turned,
        first,
        step,
        math.ceil((last - first) / step) + 2,
        fine,
        coarse,
        left,
        size_inner,
        height,
        int((depth - steepest * cosine + spare) / math.log(2)) + 60,
    )


def _inner(law: LogNormals, design: _NodeDesign, mu: arb, nodes: list[arb], top: int) -> list[list[Any]]:
    """Return balls around φ_j(u)/j!, j ≤ top, at the outer nodes.

    Outer and inner nodes are so spaced that ln(|u|Y) takes few values.
    """
    fine, coarse, size = design.fine, design.coarse, design.size
    reach = fine * (len(nodes) - 1) + coarse * (size - 1) + 1
    spend(reach + 2 * size)
    unit = arb(design.step) / fine
    step = unit * coarse / mu
    log_t = ball(law.steps).log()
    z = [arb(design.left) + i * step for i in range(size)]
    y = [(mu * x - mu * mu / 2 - log_t).exp() for x in z]
    start = nodes[0] + mu * z[0] - mu * mu / 2 - log_t
    towards = acb(0, arb(design.ray) - arb(design.turned)).exp()
    sizes = [-(start + i * unit).exp() for i in range(reach)]
    decaying = [x.exp() for x in sizes] if design.plain else [(towards * x).exp() for x in sizes]
    shift = arb(design.turned) / mu
    scale = step * (shift * shift / 2).exp() / (2 * arb.pi()).sqrt()
    column: list[Any] = [scale * (-x * x / 2).exp() * acb(0, x * shift).exp() for x in z]
    turn = acb(0, -arb(design.turned)).exp()
    columns = [column]
    for j in range(1, top + 1):
        columns.append([value * turn * each / j for value, each in zip(columns[-1], y, strict=True)])
    table = [decaying[fine * k : fine * k + coarse * size : coarse] for k in range(len(nodes))]
    sums = _products(table, columns, real=design.ray == 0, plain=design.plain)
    spend(design.steps(top))
    errors = _InnerErrors(law, design, mu, (z[0], y[0]), (z[-1], y[-1]), top)
    return [
        [blurred(value, error) for value, error in zip(row, errors.at(node.exp()), strict=True)]
        for row, node in zip(sums, nodes, strict=True)
    ]


def _products(table: list[list[Any]], columns: list[Any], *, real: bool, plain: bool) -> list[list[Any]]:
    """Return the product of a table's rows with columns, some rows at a time."""
    count = len(columns)
    if plain:
        parts = [[value.real for value in column] for column in columns]
        parts += [] if real else [[value.imag for value in column] for column in columns]
    kind = arb_mat if plain else acb_mat
    right = kind([list(row) for row in zip(*(parts if plain else columns), strict=True)])
    found: list[list[Any]] = []
    for start in range(0, len(table), ROWS):
        found += (kind(table[start : start + ROWS]) * right).tolist()
    if real or not plain:
        return found
    return [[acb(*pair) for pair in zip(row[:count], row[count:], strict=True)] for row in found]


class _InnerErrors:
    """What the inner sums leave out at most: aliases from both sides, and tails at both ends."""

    def __init__(
        self,
        law: LogNormals,
        design: _NodeDesign,
        mu: arb,
        first: tuple[arb, arb],
        last: tuple[arb, arb],
        top: int,
    ) -> None:
        step = arb(design.step) * design.coarse / design.fine / mu
        height = arb(design.height)
        shift, rest = arb(design.turned) / mu, arb(design.ray) - arb(design.turned)
        turns = (-2 * arb.pi() * height / step).exp()
        self.sides = []
        for moved, angle in ((height - shift, rest + mu * height), (height + shift, rest - mu * height)):
            if not abs(angle) < arb.pi() / 2:
                raise OutOfReach("a line leaves the strip")
            self.sides.append(((moved * moved / 2).exp() * turns / (1 - turns), angle.cos()))
        self.cosine = rest.cos()
        grown, root = (shift * shift / 2).exp(), arb(2).sqrt()
        self.below, self.above = grown * (-first[0] / root).erfc() / 2, grown * (last[0] / root).erfc() / 2
        self.low, self.high = first[1], last[1]
        log_t = ball(law.steps).log()
        self.moments = [(mu * mu * j * (j - 1) / 2 - j * log_t).exp() for j in range(top + 1)]
        self.beyond = [
            grown * moment * ((last[0] - j * mu) / root).erfc() / 2 if last[0] > j * mu else arb.pos_inf()
            for j, moment in enumerate(self.moments)
        ]
        if not (first[0] < 0 and last[0] > 0):
            raise OutOfReach("a quadrature without tails")

    def at(self, u: arb) -> list[arb]:
        """Return the bounds for φ_j(u)/j!, in order of j, where |u| is given."""
        spend(len(self.moments) / 4)
        found, factorial = [], arb(1)
        last = (-u * self.cosine * self.high).exp() * self.above
        reached, low, high = u * self.cosine * self.high, arb(1), arb(1)
        rates = [1 / (u * cosine * arb(1).exp()) for _, cosine in self.sides]
        for j, moment in enumerate(self.moments):
            total = self.below * low
            for (ratio, _), rate in zip(self.sides, rates, strict=True):
                total += ratio * (moment.min((j * rate) ** j) if j else moment)
            # Y^j e^{−cY} falls right of j/c
            total += (high * last).min(self.beyond[j]) if reached >= j else self.beyond[j]
            found.append((total / factorial).upper())
            low, high, factorial = low * self.low, high * self.high, factorial * (j + 1)
        return found
