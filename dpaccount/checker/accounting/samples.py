"""Events on a random sample of the units: what they run, and who may be drawn."""

from fractions import Fraction
from typing import Any

from ..documents import ensure
from .events import Event, add_event, event
from .releases import Releases, ReleaseTally, real, whole

#: what the pairs of a replaced row, and of random allocation, are known for
ALLOCATED_NOISE = {"gaussian", "gdp", "pure", "sequence"}
MOST_EXAMPLES = 256  # of a unit
REPLACED_NOISE = ALLOCATED_NOISE | {"laplace", "discrete_laplace", "permute_and_flip"}


def parts_of(given: Event) -> list[Any]:
    """Return what an event runs, which was read before."""
    of = given.get("of", [])
    return of if isinstance(of, list) else [of]


def names_in(given: Event) -> set[str]:
    """Return the names of an event and of all inside it."""
    return {given["event"]}.union(*map(names_in, parts_of(given)))


def _sampled(given: Event) -> Releases:
    add_event(inner := ReleaseTally(), given["of"], given["relation"], 1, inside=True)
    return inner.total()


def _noise_of(given: Event, known: set[str]) -> Releases:
    """Return what is sampled: Gaussian releases, or one other of the known kinds."""
    on = _sampled(given)
    one = on.others == () or (on.mu_squared == 0 and [count for _, count in on.others] == [1])
    ensure(one and names_in(given["of"]) <= known, f"no pair is known for what is in {given['event']}")
    return on


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
    rate, on = real(given["rate"], "rate", 0, 1), _noise_of(given, REPLACED_NOISE)
    if rate and on != Releases(Fraction(0), ()):
        tally.put(times, "replaced", rate, on=on)


@event("steps", "of", optional=("times",))
def random_allocation(tally: ReleaseTally, given: Event, times: int) -> None:
    """One of so many steps, or an epoch of ⌊steps/times⌋ for each time: Gaussian steps, or ε-DP ones."""
    steps, parts = whole(given["steps"], "steps"), whole(given.get("times", 1), "times")
    on = _noise_of(given, ALLOCATED_NOISE)
    ensure(parts <= steps, "times exceeds steps")
    if steps // parts == 1:
        add_event(tally, given["of"], given["relation"], times * parts, inside=True)
    elif on != Releases(Fraction(0), ()):
        tally.put(times * parts, "allocated", steps // parts, on=on)


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
    """Return the largest population that an event, or one inside it, draws from or shuffles.

    Whoever may be drawn pays: a cover must hold them all.
    """
    own = whole(given["population"], "population") if "population" in given else 0
    return max([own, *map(drawn_from, parts_of(given))])
