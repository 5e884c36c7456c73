"""The proof kernel: theorems, their language, and the hypotheses about the code that they rest on.

A theorem is `hypotheses ⊢ conclusion`.  Each rule matches its premises, checks its side conditions
and either returns a theorem or raises `RuleError` with what was needed and what was found.  Numbers
are exact fractions; an inequality between real numbers is decided by ball arithmetic (`curves`),
refusing whatever it cannot decide.  Search happens elsewhere: a rule is handed its witness.

The trusted base is this file, `rules` and `curves`.  The guard against made-up theorems stops accidents
only: the stand-alone checker infers the written derivation again.  R0 … R22: see docs/kernel.md.
"""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final, NoReturn

from dpaccount.errors import RuleError

REPLACE_ONE: Final = "replace-one"
ADD_REMOVE: Final = "add-remove"
RELATIONS: Final = (REPLACE_ONE, ADD_REMOVE)
CENTRAL: Final = "central"
JOINT: Final = "joint"
LOCAL: Final = "local"
SOURCES: Final = ("public", "coin", "dp-output")

Cover = tuple[int, int]
Shift = tuple[int, ...]
ANYONE: Final[Cover] = (1, 2**63)  #: units of covers lie below its end, so that nothing is beyond anyone
TRANSFORMS: Final = ("joint", "centred", "factorised", "buffered")  #: public, of a query before its noise
MAX_KEY = 200  #: characters of the key of a draw
MAX_NUMBER_BITS = 3000  #: so that every number of a derivation can be written and read


# ------------------------------------------------------------------ privacy curves


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
    A shift stands for all its rearrangements and sign changes: the noise has these symmetries.
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


# ------------------------------------------------------------------ judgements


@dataclass(frozen=True)
class Contribution:
    """Each unit adds one vector of a known set to `query`.

    `kind` says which set: ``points`` (a finite set of integer vectors, `points`), ``interval``
    (`low` to `high`), ``ball`` (ℓ2 norm squared at most `high`), ``rank-one`` (the symmetric matrix
    of (φ, y) without its y² corner, ‖φ‖ ≤ 1, |y| ≤ `high`), ``outer`` (the same with it) or ``cell``
    (a 1 in one cell of a table).  The vector depends on the unit's own data, its own coins, public values
    and earlier releases only, and it is the same one in every release that covers the unit.

    `source` says who chose the constants: they are ``public``, a public ``coin`` chose them, or an earlier
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

    A unit of the interval `units` is read by at most `most` releases, one by just so many; others by none.
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
class Shifts:
    """Between neighbours, `query` moves by one of these integer vectors, up to order and signs."""

    query: str
    shifts: tuple[Shift, ...]
    relation: str


@dataclass(frozen=True)
class Apart:
    """Some two neighbours are apart as `law` and exact `numbers` say.

    ``number`` (m,), ``vector`` (m²,), ``symmetric`` (m²,): the query moves so far.  ``gaussian`` (μ²,): they
    are told apart as well as N(0, 1) from N(μ, 1); ``laplace`` (m,): as Laplace of scale 1 from itself moved
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

    It reads the units of the interval `units` only (None: of any interval over which it is drawn).
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
    """What `query` shows to a person is a function of the releases, public values and coins.

    For the audience ``others`` it may read the person's own data too: nobody else sees it then.
    For ``everyone`` it may not.  The coins are independent of the noise.  `releases` are the keys of all
    the noise that it reads, sorted.
    """

    query: str
    audience: str
    releases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rounds:
    """Round t of `query` reads unit t and no other: a unit enters one round, whose number is the unit's.

    With `times` above 1 a unit enters up to so many rounds, any two of them at least `apart` apart.
    """

    query: str
    rounds: int
    times: int = 1
    apart: int = 1


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
class Rare:
    """`query` departs with probability at most `probability` from what is proved of it.

    `kind` says how: ``event`` (over its own coins, as likely on all data; given its complement all that
    is proved holds) or ``distance`` (its output law is within this total variation, on every input).
    """

    query: str
    kind: str
    probability: Fraction


Assumption = Contribution | Covered | View | Rounds | Numbers | Choice | Split | Rare
Judgement = Assumption | Stable | Shifts | Apart | Private | Refuted


# ------------------------------------------------------------------ theorems

_SEAL = object()


@dataclass(frozen=True, eq=False, repr=False)
class Theorem:
    """A proved judgement with the rule, premises and witness that proved it; made by rules only."""

    conclusion: Judgement
    rule: str
    premises: tuple["Theorem", ...]
    witness: dict[str, Any]
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        """Refuse everyone but the rules."""
        if seal is not _SEAL:
            raise RuleError("a Theorem comes from a rule of the kernel; call the rule instead")

    def __init_subclass__(cls) -> None:
        """Refuse subclasses."""
        raise RuleError("Theorem cannot be subclassed")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling and copying: a theorem travels as a derivation, and is checked on arrival."""
        raise RuleError("a Theorem cannot be pickled or copied; write its derivation instead")

    def __repr__(self) -> str:
        """Show the conclusion and the rule."""
        return f"⊢ {self.conclusion}  [{self.rule}]"


def proved(rule: str, conclusion: Judgement, premises: Sequence[Theorem] = (), **witness: Any) -> Theorem:
    """Make a theorem: for the rules of the trusted base only."""
    return Theorem(conclusion, rule, tuple(premises), witness, _SEAL)


def need(holds: bool, rule: str, needed: str) -> None:  # noqa: FBT001
    """Refuse unless a side condition is exactly True."""
    if holds is not True:
        raise RuleError(f"{rule}: {needed}")


def conclusion_of(theorem: Theorem, rule: str) -> Judgement:
    """Return what a premise says, refusing whatever is not a theorem."""
    need(type(theorem) is Theorem, rule, f"a premise must be a Theorem, found {type(theorem).__name__}")
    return theorem.conclusion


def private(theorem: Theorem, rule: str) -> Private:
    """Return a privacy statement, refusing any other premise."""
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Private):
        raise RuleError(f"{rule}: needed a privacy statement, found {type(fact).__name__}")
    return fact


def stable(theorem: Theorem, rule: str, norm: str) -> Stable:
    """Return a sensitivity in this norm, refusing any other premise."""
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Stable) or fact.norm != norm:
        raise RuleError(f"{rule}: needed a bound in {norm}, found {fact}")
    return fact


def releases(theorem: Theorem) -> tuple[str, ...]:
    """Return the keys of all the noise that a theorem rests on, and the names of filters, sorted."""
    found, seen, waiting = set(), {id(theorem)}, [theorem]
    while waiting:
        part = waiting.pop()
        if "key" in part.witness or part.rule == "assume_filter":
            found.add(str(part.witness.get("key", part.witness.get("query"))))
        waiting += [premise for premise in part.premises if id(premise) not in seen]
        seen.update(map(id, part.premises))
    return tuple(sorted(found))


def one_draw(parts: Sequence[Theorem], rule: str) -> None:
    """Refuse parts that state one key of noise, drawn once, on two queries or over two lists of covers.

    a + X and b + X, shown together, tell a − b exactly; bounds and relations of one query may differ.
    """
    found: dict[str, tuple[Any, ...]] = {}
    waiting: list[tuple[Theorem, Theorem | None]] = [(part, None) for part in parts]
    seen: set[tuple[int, int]] = set()
    while waiting:
        part, over = waiting.pop()
        if (id(part), id(over)) in seen:
            continue
        seen.add((id(part), id(over)))
        if part.rule in ("nodes", "local"):
            over = part.premises[1]
        if "key" in part.witness or part.rule == "assume_filter":
            name = str(part.witness.get("key", part.witness.get("query")))
            drawn = (_value(part), None if over is None else _said(over))
            same = found.setdefault(name, drawn) == drawn
            need(same, rule, f"the key {name!r} is drawn on two queries; give each draw a key of its own")
        else:
            waiting += [(premise, over) for premise in part.premises]


def _value(noise: Theorem) -> list[Any]:
    """Return what noise is drawn on: the name of a query, and the public transformations of it."""
    if not noise.premises:
        return [noise.rule]  # a filter, which draws nothing itself
    query = noise.premises[0]
    steps: list[Any] = [getattr(query.conclusion, "query", "")]
    while query.rule in TRANSFORMS:
        steps.append((_said(query), [part.conclusion for part in query.premises[1:2]]))
        query = query.premises[0]
    return steps


def _said(part: Theorem) -> tuple[str, dict[str, Any]]:
    return part.rule, {k: v for k, v in part.witness.items() if k not in ("because", "most")}


def key_of(key: str, rule: str) -> str:
    """Return the key of a draw, refusing one that is too long to be written often."""
    need(type(key) is str and len(key) <= MAX_KEY, rule, f"a key is a text of at most {MAX_KEY} characters")
    return key


def number(value: Fraction | int, rule: str, name: str) -> Fraction:
    """Return an exact number; floats are refused."""
    need(type(value) in (int, Fraction), rule, f"{name} must be exact, found {type(value).__name__}")
    exact = Fraction(value)
    size = exact.numerator.bit_length() + exact.denominator.bit_length()
    need(size <= MAX_NUMBER_BITS, rule, f"{name} has {size} bits, more than derivations hold")
    return exact


def positive(value: Fraction | int, rule: str, name: str) -> Fraction:
    """Return an exact number above 0."""
    found = number(value, rule, name)
    need(found > 0, rule, f"the {name} must be above 0, found {found}")
    return found


def whole(value: int, rule: str, name: str, least: int = 1) -> int:
    """Return an integer of at least `least`."""
    fine = type(value) is int and value >= least
    need(fine, rule, f"{name} must be an integer of at least {least}, found {value}")
    return value


def unit(value: int, rule: str, name: str, least: int = 1) -> int:
    """Return the number of a unit, or of so many units: below the end of `ANYONE`."""
    need(
        whole(value, rule, name, least) < ANYONE[1], rule, f"{name} must be below {ANYONE[1]}, found {value}"
    )
    return value


def one_of(value: str, rule: str, name: str, known: Sequence[str]) -> None:
    """Refuse a word that is not among the known ones."""
    need(value in known, rule, f"the {name} is one of {', '.join(known)}, found {value!r}")


def neighbouring(relation: str, rule: str) -> None:
    """Refuse an unknown relation."""
    one_of(relation, rule, "relation", RELATIONS)


# ------------------------------------------------------------------ hypotheses: what the code must do
#
# `because` names the evidence.  Numbers that come from the private data have no place in a proof (R20).


def _contribution(rule: str, fact: Contribution, **witness: Any) -> Theorem:
    neighbouring(fact.relation, rule)
    one_of(fact.source, rule, "source of constants", SOURCES)
    witness |= {"relation": fact.relation} | ({} if fact.source == "public" else {"source": fact.source})
    return proved(rule, fact, query=fact.query, **witness)


def assume_points(
    query: str, points: Sequence[Shift], relation: str, because: str, source: str = "public"
) -> Theorem:
    """Assume that every unit adds one of these integer vectors."""
    rule = "assume_points"
    wide = {len(point) for point in points}
    need(len(wide) == 1 and 0 not in wide, rule, "points must be vectors of one dimension, at least one")
    need(all(type(v) is int for point in points for v in point), rule, "points must be integer vectors")
    listed = tuple(sorted(set(map(tuple, points))))
    fact = Contribution(query, "points", Fraction(0), Fraction(0), listed, relation, source)
    return _contribution(rule, fact, points=[list(p) for p in listed], because=because)


def assume_clipped(
    query: str, low: Fraction, high: Fraction, relation: str, because: str, source: str = "public"
) -> Theorem:
    """Assume that every unit adds one number in [low, high], clipped there (R1)."""
    rule = "assume_clipped"
    low, high = number(low, rule, "low"), number(high, rule, "high")
    need(low <= high, rule, f"low must be at most high, found {low} > {high}")
    fact = Contribution(query, "interval", low, high, (), relation, source)
    return _contribution(rule, fact, low=str(low), high=str(high), because=because)


def assume_ball(query: str, radius: Fraction, relation: str, because: str, source: str = "public") -> Theorem:
    """Assume that every unit adds a vector of ℓ2 norm at most `radius` (R1)."""
    rule = "assume_ball"
    radius = number(radius, rule, "radius")
    need(radius >= 0, rule, f"the radius must not be negative, found {radius}")
    fact = Contribution(query, "ball", Fraction(0), radius**2, (), relation, source)
    return _contribution(rule, fact, radius=str(radius), because=because)


def assume_rank_one(
    query: str,
    reward: Fraction,
    relation: str,
    because: str,
    kind: str = "rank-one",
    source: str = "public",
) -> Theorem:
    """Assume that every unit adds [φφᵀ, φy; yφᵀ, 0], ‖φ‖ ≤ 1 and |y| ≤ `reward`; ``outer``: with y² (R1)."""
    rule = "assume_rank_one"
    reward = number(reward, rule, "reward")
    need(relation == REPLACE_ONE, rule, f"the closed form is for {REPLACE_ONE}, found {relation!r}")
    need(reward >= 0, rule, f"the reward bound must not be negative, found {reward}")
    one_of(kind, rule, "kind", ("rank-one", "outer"))
    fact = Contribution(query, kind, Fraction(0), reward, (), relation, source)
    return _contribution(rule, fact, reward=str(reward), kind=kind, because=because)


def assume_cell(query: str, relation: str, because: str) -> Theorem:
    """Assume that every unit adds 1 to one cell of a table, which is as long as the data make it."""
    fact = Contribution(query, "cell", Fraction(0), Fraction(1), (), relation)
    return _contribution("assume_cell", fact, because=because)


def assume_covers(query: str, covers: Sequence[Cover], because: str) -> Theorem:
    """Assume that release i of `query` sums the units of covers[i] = [first, last] and no others."""
    rule = "assume_covers"
    spans = [(first, last) for first, last in covers]
    need(bool(spans), rule, "needed at least one cover")
    for first, last in spans:
        unit(first, rule, "the first unit")
        unit(last, rule, "the last unit", first)
    # at one position the end (-1, standing at last + 1) sorts before a start (+1)
    edges = sorted([(first, 1) for first, _ in spans] + [(last + 1, -1) for _, last in spans])
    most = max(accumulate(change for _, change in edges))
    units = (min(first for first, _ in spans), max(last for _, last in spans))
    widest = max(last - first + 1 for first, last in spans)
    fact = Covered(query, len(spans), most, widest, units)
    return proved(rule, fact, query=query, covers=[list(span) for span in spans], because=because)


def assume_tree(query: str, rounds: int, because: str, levels: int | None = None) -> Theorem:
    """Assume that `query` is released once for every complete node of a binary tree over the rounds.

    A round lies in one node of each level at most; all ⌊log₂ N⌋ + 1 or the lowest (Chan et al. 2011) (R10).
    """
    rule = "assume_tree"
    every = unit(rounds, rule, "rounds").bit_length()
    most = whole(every if levels is None else levels, rule, "levels")
    need(most <= every, rule, f"{rounds} rounds have {every} levels, found {most}")
    fact = Covered(query, sum(rounds >> j for j in range(most)), most, 2 ** (most - 1), (1, rounds))
    return proved(rule, fact, query=query, rounds=rounds, levels=most, because=because)


def assume_view(query: str, audience: str, because: str, keys: Sequence[str] = ()) -> Theorem:
    """Assume that what `query` shows to a person is a function of releases, as `View` says (R12, R13, R21).

    `keys` are those of the releases.  Without `keys`, the rule that uses it names all those of its part.
    """
    one_of(audience, rule := "assume_view", "audience", ("everyone", "others"))
    fact = View(query, audience, tuple(sorted(set(keys))))
    need(len(fact.releases) == len(keys), rule, f"needed the keys of releases, each once, found {keys}")
    given: dict[str, Any] = {"query": query, "audience": audience, "releases": list(fact.releases)}
    return proved(rule, fact, **given, because=because)


def assume_rounds(query: str, rounds: int, because: str, times: int = 1, apart: int = 1) -> Theorem:
    """Assume which unit enters which round of a stream or row of a table, as `Rounds` says (R11)."""
    rule = "assume_rounds"
    unit(rounds, rule, "the number of rounds, or rows,")
    whole(times, rule, "participations")
    whole(apart, rule, "separation")
    need(times > 1 or apart == 1, rule, f"one round a unit has no separation, found {apart}")
    many: dict[str, Any] = {"participations": times, "separation": apart} if times > 1 else {}
    fact = Rounds(query, rounds, times, apart)
    return proved(rule, fact, query=query, rounds=rounds, **many, because=because)


def assume_numbers(query: str, most: int, because: str) -> Theorem:
    """Assume that a release of `query` has at most so many numbers, as `Numbers` says (R18)."""
    fact = Numbers(query, whole(most, rule := "assume_numbers", "coordinates"))
    return proved(rule, fact, query=query, most=most, because=because)


def assume_choice(query: str, parts: Sequence[Sequence[str]], because: str) -> Theorem:
    """Assume that one part is drawn, which a public coin chooses, as `Choice` says (R16)."""
    rule, listed = "assume_choice", tuple(tuple(sorted(set(part))) for part in parts)
    fine = len(listed) >= 1 and list(map(list, listed)) == list(map(list, parts))
    need(fine, rule, f"needed the sorted keys of every part, found {parts}")
    return proved(rule, Choice(query, listed), query=query, parts=list(map(list, listed)), because=because)


def assume_split(query: str, cells: Sequence[str], because: str) -> Theorem:
    """Assume that every record is read in one of the cells, as `Split` says (R9)."""
    rule, names = "assume_split", tuple(cells)
    need(len(set(names)) == len(names) >= 1, rule, f"needed the names of cells, each once, found {cells}")
    return proved(rule, Split(query, names), query=query, cells=list(names), because=because)


def assume_rare(query: str, kind: str, probability: Fraction, because: str) -> Theorem:
    """Assume that `query` departs from what is proved of it with small probability, as `Rare` says (R18)."""
    chance = number(probability, rule := "assume_rare", "probability")
    one_of(kind, rule, "kind", ("event", "distance"))
    need(0 <= chance <= 1, rule, f"the probability must lie in [0, 1], found {chance}")
    fact = Rare(query, kind, chance)
    return proved(rule, fact, query=query, kind=kind, probability=str(chance), because=because)


def assume_range(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that neighbours' scores differ by d(o) with max d − min d ≤ `width` over all outputs o (R6)."""
    return _scores("assume_range", "range", query, width, relation, because)


def assume_each(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that every number of `query` moves by at most `width` between neighbours."""
    return _scores("assume_each", "each", query, width, relation, because)


def _scores(rule: str, norm: str, query: str, width: Fraction, relation: str, because: str) -> Theorem:
    fact = Stable(query, norm, number(width, rule, "width"), relation)
    neighbouring(relation, rule)
    need(fact.bound >= 0, rule, f"the width must not be negative, found {width}")
    return proved(rule, fact, query=query, width=str(fact.bound), relation=relation, because=because)


def assume_filter(
    query: str, measure: str, budget: Sequence[Fraction], relation: str, because: str
) -> Theorem:
    """Assume that charges may depend on the past, and none is admitted that would bring the sum over budget.

    Pure and (ε, δ) by sums, zCDP and GDP by Σρ and Σμ² (Rogers, Roth, Ullman & Vadhan 2016; Feldman &
    Zrnic 2021; Smith & Thakurta 2022) (R8).
    """
    rule = "assume_filter"
    neighbouring(relation, rule)
    makers = {"pure": Pure, "approximate": Approximate, "zcdp": Zcdp, "gdp": Gdp}
    one_of(measure, rule, "measure", list(makers))
    amounts = [number(amount, rule, "budget") for amount in budget]
    wanted = 2 if measure == "approximate" else 1
    need(len(amounts) == wanted and min(amounts) >= 0, rule, f"needed {wanted} amounts of at least 0")
    out, written = Private(query, makers[measure](*amounts), relation, CENTRAL), list(map(str, amounts))
    return proved(rule, out, query=query, measure=measure, budget=written, relation=relation, because=because)
