"""Conclusions of theorems: privacy curves, hypotheses about the code, and inferred statements.

All of them are frozen data with exact numbers.  GDP carries μ², because μ is rarely rational.
"""

from dataclasses import dataclass
from fractions import Fraction

Cover = tuple[int, int]
Shift = tuple[int, ...]


@dataclass(frozen=True)
class Pure:
    """ε-DP; its dominating pair is binary randomised response (Kairouz, Oh & Viswanath 2015)."""

    epsilon: Fraction


@dataclass(frozen=True)
class Approximate:
    """(ε, δ)-differential privacy at this one point."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Zcdp:
    """ρ-zero-concentrated differential privacy (Bun & Steinke 2016)."""

    rho: Fraction


@dataclass(frozen=True)
class Gdp:
    """μ-Gaussian differential privacy (Dong, Roth, Su 2022), kept as μ²."""

    mu_squared: Fraction


@dataclass(frozen=True)
class NearGdp:
    """For every neighbouring pair, both output laws are within `distance` of those of a μ-GDP pair."""

    mu_squared: Fraction
    distance: Fraction  #: in total variation


@dataclass(frozen=True)
class Lattice:
    """Discrete Gaussian noise on ℤᵈ, `count` times the same shift, which is one of `shifts`.

    Noise has mass proportional to exp(−x²/(2·variance)) in every coordinate, independently.
    A shift represents all its rearrangements and sign changes: the noise has these symmetries.
    """

    variance: Fraction
    shifts: tuple[Shift, ...]
    count: int


@dataclass(frozen=True)
class BoundedRange:
    """η-bounded range: given the transcript before, losses differ by at most η (Durfee & Rogers 2019)."""

    eta: Fraction


@dataclass(frozen=True)
class Renyi:
    """Rényi divergence of order α at most the paired number, for each listed α > 1 (Mironov 2017)."""

    points: tuple[tuple[Fraction, Fraction], ...]


Curve = Pure | Approximate | Zcdp | Gdp | NearGdp | Lattice | BoundedRange | Renyi


@dataclass(frozen=True)
class Contribution:
    """Each unit adds one vector of a known set to `query`.

    `kind` is the set: ``points`` (a finite set of integer vectors, `points`), ``interval``
    (`low` to `high`), ``ball`` (ℓ2 norm squared at most `high`), ``rank-one`` (the symmetric matrix
    of (φ, y) without its y² corner, ‖φ‖ ≤ 1, |y| ≤ `high`), ``outer`` (the same with it) or ``cell``
    (a 1 in `high` cells of a table at most).  The vector depends on the unit's own data, its own coins,
    public values and earlier releases only, and it is the same one in every release that covers the unit.

    `source` is the origin of the constants: they are ``public``, a public ``coin`` chose them, or an earlier
    ``dp-output`` chose the unit in which they and the noise are measured.
    """

    query: str
    kind: str
    low: Fraction
    high: Fraction
    points: tuple[Shift, ...]
    relation: str
    source: str = "public"


@dataclass(frozen=True)
class Covered:
    """`query` is released `releases` times, each reading at most `widest` units.

    Units of the interval `units` are read by at most `most` releases (attained), others by none.
    """

    query: str
    releases: int
    most: int
    widest: int
    units: Cover


@dataclass(frozen=True)
class Stable:
    """Between neighbours, `query` moves by at most `bound` in `norm`.

    `norm` is ``l1``, ``range`` (of the difference of scores), ``each`` (every number of the query; all
    three as they are), ``l2-squared`` or ``frobenius-squared`` (squared, as the root is rarely rational).
    `units` are those of one vector made of rows or rounds, which is neither transformed nor released twice.
    """

    query: str
    norm: str
    bound: Fraction
    relation: str
    units: Cover | None = None


@dataclass(frozen=True)
class Lipschitz:
    """Where one row moves by ℓ in ℓ2, `query` moves by at most `factor`·ℓ + `slack`, and by at most `reach`.

    This holds for any two rows of a convex set, which every dataset's rows are of; all others stay.
    """

    query: str
    factor: Fraction
    slack: Fraction
    reach: Fraction


@dataclass(frozen=True)
class Shifts:
    """Between neighbours, `query` moves by one of these integer vectors, up to order and signs."""

    query: str
    shifts: tuple[Shift, ...]
    relation: str


@dataclass(frozen=True)
class Apart:
    """Some two neighbours differ as `law` and its exact `numbers` define.

    ``number`` (m,), ``vector`` (m²,), ``symmetric`` (m²,): the query moves so far.  ``gaussian`` (μ²,): they
    are as distinguishable as N(0, 1) and N(μ, 1); ``laplace`` (m,): as Laplace of scale 1 and itself moved
    by m; ``event`` (p, q): one event has probability at least p under one, at most q under the other.
    """

    query: str
    law: str
    numbers: tuple[Fraction, ...]
    relation: str
    observer: str


@dataclass(frozen=True)
class Private:
    """`subject` has this privacy curve for this relation, as seen by this observer.

    It reads the units of the interval `units` only (None: of any interval over which it is drawn).  The
    relation is one of rows, or after the rule `persons` one `OF_PERSONS`, and no other rule changes which.
    """

    subject: str
    curve: Curve
    relation: str
    observer: str
    units: Cover | None = None


@dataclass(frozen=True)
class Refuted:
    """`subject` is not (ε, δ)-private for this relation and observer."""

    subject: str
    epsilon: Fraction
    delta: Fraction
    relation: str
    observer: str


@dataclass(frozen=True)
class View:
    """The output of `query` to a person is a function of the releases, public values and coins.

    For the audience ``others`` it may read the person's own data too: no other person sees that output.
    For ``everyone`` it may not.  The coins are independent of the noise.  `releases` are the keys of all
    the noise that it reads, sorted.
    """

    query: str
    audience: str
    releases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rounds:
    """A unit enters one round of `query`, that of its number or of its batch; no unit above `last` does.

    With `times` above 1 a unit enters up to `times` rounds, any two of them at least `apart` apart.
    """

    query: str
    rounds: int
    times: int
    apart: int
    last: int


@dataclass(frozen=True)
class Numbers:
    """A release of `query` has at most `most` numbers; all rounds of a stream together."""

    query: str
    most: int


@dataclass(frozen=True)
class Choice:
    """Of `parts`, each the keys of its noise, a public coin chooses one; of the others nothing is drawn."""

    query: str
    parts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Split:
    """Every record of `query` is read in one of the `cells`, named by a public function of its own value.

    A record that leaves a cell leaves a hole there: no other record changes its position.
    """

    query: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Persons:
    """Neighbouring tables of persons give `query` rows at most `most` steps apart.

    A step is between rows that are neighbours under `rows`; persons are neighbours under
    `relation`.
    """

    query: str
    relation: str
    rows: str
    most: int


@dataclass(frozen=True)
class Rare:
    """`query` departs with probability at most `probability` from the behaviour that its proof assumes.

    `kind`: ``event`` (over its own coins, as likely on all data; given its complement all that
    is proved holds) or ``distance`` (its output law is within this total variation, on every input).
    """

    query: str
    kind: str
    probability: Fraction


Assumption = Contribution | Lipschitz | Covered | View | Rounds | Numbers | Choice | Split | Persons | Rare


Judgement = Assumption | Stable | Shifts | Apart | Private | Refuted
