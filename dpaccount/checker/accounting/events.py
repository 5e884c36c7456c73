"""Events, read one by one: what each kind adds to what a unit meets, alone or on a random sample."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..documents import Rejected, brief, ensure, items, spend
from ..intervals import added
from ..relation import ADDED, REPLACED
from .releases import Releases, ReleaseTally, real, whole
from .streams import banded_columns, ftrl_square

MAX_OUTCOMES = 4096  # of laws that are given outcome by outcome
#: what the pairs of a replaced row are known for
REPLACED_NOISE = {"gaussian", "gdp", "pure", "sequence", "laplace", "discrete_laplace", "permute_and_flip"}
MOST_EXAMPLES = 256  # of a unit
Event = dict[str, Any]
Add = Callable[[ReleaseTally, Event, int], None]
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Add]] = {}


def event(*required: str, optional: tuple[str, ...] = ()) -> Callable[[Add], Add]:
    """Declare how an event is read: its members, and what it adds."""

    def declare(add: Add) -> Add:
        KINDS[add.__name__.strip("_")] = (required, optional, add)
        return add

    return declare


#: The one relation under which an event is counted; the others are under both.
ONLY = {
    "randomized_response": REPLACED,
    "sampled_without_replacement": REPLACED,
    "poisson_replaced": REPLACED,
    "poisson_subsampled": ADDED,
    "poisson_examples": ADDED,
    "banded_poisson": ADDED,
}
# rare kinds, whose measures took a twentieth of this checker
UNCONFIRMED = ("random_allocation", "balls_in_bins", "shuffled", "gaussian_mixture")
COVERED_STREAMS = ("tree", "matrix_factorisation")


def add_event(tally: ReleaseTally, given: Any, relation: str, times: int, *, inside: bool) -> None:
    """Add an event, as often as it is released, to a tally."""
    name = given.get("event") if isinstance(given, dict) else None
    ensure(name not in UNCONFIRMED, f"this checker does not confirm {name}")
    if name not in KINDS:
        raise Rejected(f"unknown event {brief(given)[:60]}")  # quoted here only: events nest
    ensure(ONLY.get(name, relation) == relation, f"{name} is not counted under {relation}")
    refused = inside and (name in COVERED_STREAMS or name == "dominating_pair" or "cover" in given)
    ensure(not refused, f"{name} does not belong inside another event")
    required, optional, add = KINDS[name]
    known = {"event", "count", *required, *optional} | ({"cover"} if name not in COVERED_STREAMS else set())
    missing = (set(given) - known) | ({*required} - set(given))
    ensure(not missing, f"{name}: look at {', '.join(map(brief, sorted(missing)))}")
    spend(100)
    add(tally, {**given, "relation": relation}, times * whole(given.get("count", 1), "count"))


def _noise(given: Event, scale: str) -> tuple[Fraction, Fraction]:
    """Read the scale of noise, and how far neighbours move the value."""
    return real(given[scale], scale, None), real(given.get("sensitivity", 1), "sensitivity")


@event("sigma", optional=("sensitivity",))
def gaussian(tally: ReleaseTally, given: Event, times: int) -> None:
    """μ = sensitivity/σ."""
    sigma, moved = _noise(given, "sigma")
    tally.gaussian(times * (moved / sigma) ** 2)


@event("mu")
def gdp(tally: ReleaseTally, given: Event, times: int) -> None:
    """Whatever is μ-GDP."""
    tally.gaussian(times * real(given["mu"], "mu") ** 2)


@event(
    *("rounds", "sigma", "participations", "separation"),
    optional=("sensitivity", "mechanism", "bands", "coefficients", "rows"),
)
def dp_ftrl(tally: ReleaseTally, given: Event, times: int) -> None:
    """Noisy prefix sums of which a unit enters several rounds: what they move together, over the noise."""
    sigma, moved = _noise(given, "sigma")
    tally.gaussian(times * ftrl_square(given) * (moved / sigma) ** 2)


@event("rounds", "sigma", "rate", "parts", optional=("sensitivity", "coefficients", "rows"))
def banded_poisson(tally: ReleaseTally, given: Event, times: int) -> None:
    """Banded sums of which a unit may enter one round of each turn: the longest column of each."""
    (sigma, moved), rate = _noise(given, "sigma"), real(given["rate"], "rate", 0, 1)
    for square, turns in banded_columns(given):
        on = Releases(square * (moved / sigma) ** 2, ())
        if rate == 1:
            tally.gaussian(times * turns * on.mu_squared)
        elif rate and on.mu_squared and turns:
            tally.put(times * turns, "poisson", rate, on=on)


@event("scale", optional=("sensitivity",))
def laplace(tally: ReleaseTally, given: Event, times: int) -> None:
    """The Laplace pair of largest loss sensitivity/scale."""
    scale, moved = _noise(given, "scale")
    if moved:
        tally.put(times, "laplace", moved / scale)


@event("epsilon")
def permute_and_flip(tally: ReleaseTally, given: Event, times: int) -> None:
    """Dominated by the Laplace pair of largest loss ε (docs/numerics.md)."""
    epsilon = real(given["epsilon"], "epsilon")
    if epsilon:
        tally.put(times, "laplace", epsilon)


@event("scale", optional=("sensitivity",))
def discrete_laplace(tally: ReleaseTally, given: Event, times: int) -> None:
    """Two-sided geometric noise, moved by a whole number."""
    scale, moved = _noise(given, "scale")
    ensure(moved.denominator == 1, "sensitivity should be whole")
    if moved:
        tally.put(times, "geometric", scale, int(moved))


@event("sigma", optional=("sensitivity", "dimension"))
def discrete_gaussian(tally: ReleaseTally, given: Event, times: int) -> None:
    """Discrete Gaussian noise; in more dimensions what is known is its zCDP."""
    sigma, moved = _noise(given, "sigma")
    line = whole(given.get("dimension", 1), "dimension") == 1
    ensure(moved.denominator == 1 or not line, "sensitivity should be whole")
    if moved and line:
        tally.put(times, "discrete-gaussian", sigma, int(moved))
    elif moved:
        tally.put(times, "zcdp", (moved / sigma) ** 2 / 2)


@event("epsilon", optional=("k",))
def randomized_response(tally: ReleaseTally, given: Event, times: int) -> None:
    """k-ary randomised response."""
    epsilon, answers = real(given["epsilon"], "epsilon"), whole(given.get("k", 2), "k", 2)
    if epsilon:
        tally.put(times, "response", epsilon, answers)


@event("epsilon")
def pure(tally: ReleaseTally, given: Event, times: int) -> None:
    """Whatever is ε-DP: randomised response (Kairouz, Oh & Viswanath 2015)."""
    epsilon = real(given["epsilon"], "epsilon")
    if epsilon:
        tally.put(times, "response", epsilon, 2)


@event("epsilon", "delta")
def approximate(tally: ReleaseTally, given: Event, times: int) -> None:
    """Whatever is (ε, δ)-DP: a failure, else randomised response."""
    epsilon, delta = real(given["epsilon"], "epsilon"), real(given["delta"], "delta", 0, 1)
    if epsilon or delta:
        tally.put(times, "approximate", epsilon, delta)


@event("epsilon")
def exponential(tally: ReleaseTally, given: Event, times: int) -> None:
    """ε-bounded range."""
    bounded_range(tally, {"eta": given["epsilon"]}, times)


@event("eta")
def bounded_range(tally: ReleaseTally, given: Event, times: int) -> None:
    """η-bounded range."""
    eta = real(given["eta"], "eta")
    if eta:
        tally.put(times, "range", eta)


@event("rho", optional=("xi",))
def zcdp(tally: ReleaseTally, given: Event, times: int) -> None:
    """(ξ, ρ)-zCDP, D_α ≤ ξ + ρα; pure ξ where ρ is 0."""
    rho, xi = real(given["rho"], "rho"), real(given.get("xi", 0), "xi")
    if rho:
        tally.put(times, "zcdp", rho, *([xi] if xi else []))
    elif xi:
        tally.put(times, "response", xi, 2)


@event("points")
def rdp(tally: ReleaseTally, given: Event, times: int) -> None:
    """Rényi divergences at most so much at some orders."""
    points = [(real(a, "an order", None), real(e, "a divergence")) for a, e in items(given["points"])]
    ensure(points != [] and all(order > 1 for order, _ in points), "orders should exceed 1")
    tally.put(times, "rdp", tuple(points))


@event("p", "q")
def dominating_pair(tally: ReleaseTally, given: Event, times: int) -> None:
    """Two laws, outcome by outcome."""
    p, q = (tuple(real(each, "a probability") for each in items(given[key])) for key in "pq")
    ensure(len(p) == len(q) <= MAX_OUTCOMES and added(p) == added(q) == 1, "p and q should be laws alike")
    if p != q:
        tally.put(times, "table", p, q)


@event("of")
def sequence(tally: ReleaseTally, given: Event, times: int) -> None:
    """All of its members."""
    for part in items(given["of"]):
        add_event(tally, part, given["relation"], times, inside=True)


# ------------------------------------------------------------------ on a random sample of the units


def parts_of(given: Event) -> list[Any]:
    """Return what an event runs, which was read before."""
    of = given.get("of", [])
    return of if isinstance(of, list) else [of]


def names_in(given: Event) -> set[str]:
    """Return the names of an event and of all inside it."""
    return {given["event"]}.union(*map(names_in, parts_of(given)))


def _sampled(given: Event) -> Releases:
    add_event(inner := ReleaseTally(), given["of"], given["relation"], 1, inside=True)
    return inner.normal_form()


@event("rate", "of")
def poisson_subsampled(tally: ReleaseTally, given: Event, times: int) -> None:
    """What is run on a Poisson sample."""
    rate, on = real(given["rate"], "rate", 0, 1), _sampled(given)
    if rate == 1:
        add_event(tally, given["of"], given["relation"], times, inside=True)
    elif rate and on != Releases(Fraction(0), ()):
        tally.put(times, "poisson", rate, on=on)


@event("rate", "examples", "of")
def poisson_examples(tally: ReleaseTally, given: Event, times: int) -> None:
    """Gaussian noise on a Poisson sample from examples of which a unit holds so many: a group, all there."""
    rate, held, on = real(given["rate"], "rate", 0, 1), whole(given["examples"], "examples"), _sampled(given)
    known = names_in(given["of"]) <= {"gaussian", "gdp", "sequence"} and held <= MOST_EXAMPLES
    ensure(known, "no pair is known for what is in poisson_examples")
    if rate == 1:
        tally.gaussian(times * held**2 * on.mu_squared)
    elif rate and on.mu_squared:
        tally.put(times, "sampled-group", rate, held, 0, on=on)


@event("rate", "of")
def poisson_replaced(tally: ReleaseTally, given: Event, times: int) -> None:
    """Noise on a Poisson sample of which a row is replaced: Gaussian, or one other release."""
    rate, on = real(given["rate"], "rate", 0, 1), _sampled(given)
    one = on.others == () or (on.mu_squared == 0 and [count for _, count in on.others] == [1])
    known = one and names_in(given["of"]) <= REPLACED_NOISE
    ensure(known, "no pair is known for what is in poisson_replaced")
    if rate and on != Releases(Fraction(0), ()):
        tally.put(times, "replaced", rate, on=on)


@event("size", "population", "of")
def sampled_without_replacement(tally: ReleaseTally, given: Event, times: int) -> None:
    """What is run on a sample of so many."""
    size, population = whole(given["size"], "size"), whole(given["population"], "population")
    ensure(size <= population, "the size exceeds the population")
    ensure(drawn_from(given["of"]) <= size, "the sample holds fewer units than a population in it")
    on = _sampled(given)
    if size == population:
        add_event(tally, given["of"], given["relation"], times, inside=True)
    elif on != Releases(Fraction(0), ()):
        tally.put(times, "without-replacement", Fraction(size, population), on=on)


def drawn_from(given: dict[str, Any]) -> int:
    """Return the largest population that an event, or one inside it, draws from.

    Whoever may be drawn pays: a cover must hold them all.
    """
    own = whole(given["population"], "population") if "population" in given else 0
    return max([own, *map(drawn_from, parts_of(given))])
