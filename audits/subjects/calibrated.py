"""The noise of a claim that does not say it: the least that meets an ε, or the most within an accuracy."""

import math
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from audits.claim import Claim
from dpaccount.documents import flat
from dpaccount.errors import InputError, RuleError
from dpaccount.exact import Number, to_digits
from dpaccount.noise.receipt import NoNoise
from dpaccount.proof import point
from dpaccount.relation import adjacency
from mechanisms.subject import Subject
from mechanisms.table.user_level import ByPerson, named

RATE: Final = "rate"  #: one over a noise
NOISES: Final = ("scale", "sigma", RATE)
TARGETS: Final = ("epsilon", "accuracy")  #: what a claim may say in place of its noise
NOISE_BITS: Final = 16  #: significant ones of a calibrated noise, which is a double then
FIRST_STEP: Final = 1.02  #: ratio of the first two noises that are tried
NEXT_NOISE: Final = 1 + 2.0**-13  #: ratio of two noises between which the search ends
FARTHEST: Final = 2.0**50  #: times the class's own noise, up and down
SAME_WIDTH: Final = 1e-6  #: relative difference of widths that are the same
#: mechanisms whose intervals have one width whatever the data, but where they end at a bound
STEADY: Final = (
    "clipped_mean",
    "count",
    "count_by_group",
    "gaussian_sum",
    "histogram",
    "laplace_sum",
    "laplace_vector",
    "linear_queries",
)
EXAMPLE_ROWS: Final = 50  #: on which the width of an interval is compared with that on no rows

Noisy = Callable[[Fraction], Subject | None]  #: the subject with a noise; None where it takes none so large


def noise_of(made_by: type) -> str | None:
    """Return the parameter of a class that is its noise, if it is one that a claim may leave out."""
    known = {field.name: field.default for field in fields(made_by)} if is_dataclass(made_by) else {}
    names = [name for name in NOISES if isinstance(known.get(name), int | Fraction)]
    return names[0] if names and not known.keys() & set(TARGETS) else None


def with_noise(claim: Claim, subject: Subject) -> Subject:
    """Return a claim's subject with the noise that follows from the claim, if the claim does not say it.

    With `epsilon` among the parameters it is the least with which that ε is proved at the claim's δ, with
    `accuracy` the most whose 95 % intervals have at most that half-width, with neither the least that meets
    the guarantee.  A class with an ε of its own in place of a noise gets the guarantee's.  Raises
    `InputError` where there is none; a claim without a target keeps the noise of the class then, with which
    it is not proved.
    """
    key, promise, place = noise_of(type(named(subject))), claim.guarantee, claim.parameters
    given = {} if place is None else place.value
    targets = [name for name in TARGETS if name in given]
    if key is None:
        return subject if {"epsilon", "sigma"} & given.keys() else _with_epsilon(claim, subject, given)
    if key in given and not targets:
        return subject
    who: tuple[Any, ...] = (subject, key, frozenset(given))
    least = _fitted(*who, "epsilon", promise.epsilon, promise.delta)
    if place is None or not targets:
        return subject if least is None else least
    if len(targets) > 1 or key in given:
        raise place.wrong(f"two of {key}, epsilon and accuracy are given", "give one of them")
    asked = place.child(targets[0])
    goal = asked.positive()
    if targets == ["epsilon"]:
        if goal > promise.epsilon:
            raise asked.wrong("it is above the guarantee's epsilon", "lower it, or raise that")
        fitted = _fitted(*who, "epsilon", goal, promise.delta)
        if fitted is None:
            raise asked.wrong(f"no {key} is proved to meet it", "raise epsilon, or the guarantee's delta")
        return fitted
    with asked.placing():
        fitted = _fitted(*who, "accuracy", goal, promise.delta)
        if fitted is not None and _proved(fitted, promise.delta) <= promise.epsilon:
            return fitted
        if fitted is None and half_width(subject, promise.delta) <= goal:
            raise asked.wrong("the bounds of the values give it with any noise", "ask for less")
        reached = None if least is None else half_width(least, promise.delta)
    more = "" if reached is None else f", or ask for {to_digits(reached, up=True, digits=4)} or more"
    raise asked.wrong("it needs more than the guarantee's epsilon", f"raise that{more}")


def _with_epsilon(claim: Claim, subject: Subject, given: Collection[str]) -> Subject:
    """Return a subject that makes its noise from an ε of its own with the guarantee's, if it takes that."""
    mechanism: Any = named(subject)
    promised = {"epsilon": claim.guarantee.epsilon, "delta": claim.guarantee.delta}
    known = {field.name for field in fields(mechanism)} - set(given)
    own = {name: value for name, value in promised.items() if name in known}
    if "epsilon" not in own:
        return subject
    try:
        changed = replace(mechanism, **own)
    except InputError:
        return subject
    noisy = replace(subject, mechanism=changed) if isinstance(subject, ByPerson) else changed
    return noisy if _proved(noisy, claim.guarantee.delta) <= claim.guarantee.epsilon else subject


def _start(subject: Subject, key: str) -> float:
    """Return the noise of a subject."""
    own = float(getattr(named(subject), key))
    return 1 / own if key == RATE else own


def _noisy(subject: Subject, key: str, given: frozenset[str]) -> Noisy:
    """Return what makes the subject with a noise, and with what goes with it if that is not `given`."""
    mechanism: Any = named(subject)

    def made(noise: Fraction) -> Subject | None:
        also = {}
        vary = adjacency(mechanism.relation).rows_vary
        if vary and hasattr(mechanism, "count_scale") and "count_scale" not in given:
            also["count_scale"] = 2 * noise / (mechanism.high - mechanism.low)  # both cost the same
        if hasattr(mechanism, "threshold_scale") and "threshold_scale" not in given:
            also["threshold_scale"] = noise / 4
        try:
            own = _rounded(1 / float(noise)) if key == RATE else noise
            changed = replace(mechanism, **{key: own}, **also)
        except InputError:
            return None
        return replace(subject, mechanism=changed) if isinstance(subject, ByPerson) else changed

    return made


@lru_cache(maxsize=64)  # a command makes its subject several times
def _fitted(
    subject: Subject, key: str, given: frozenset[str], target: str, goal: Fraction, delta: Fraction
) -> Subject | None:
    """Return the subject with the least noise with which an `epsilon` of `goal` is proved; None: none is.

    Where the target is `accuracy`, with the most noise whose intervals have at most the half-width `goal`.
    """
    noisy, narrow = _noisy(subject, key, given), target == "accuracy"

    def enough(noise: Fraction) -> bool:
        candidate = noisy(noise)
        if narrow:
            return candidate is None or half_width(candidate, delta) > goal
        return candidate is not None and _proved(candidate, delta) <= goal

    edge = _edge(_start(subject, key), enough) if goal > 0 else None
    return None if edge is None else noisy(edge[0 if narrow else 1])


def _edge(start: float, enough: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction] | None:
    """Return two noises close to each other, the first too little and the second `enough`; None: none are."""
    # The class's own noise may be far off, so steps grow until the edge is passed; then they are halved.
    low = high = _rounded(start)
    step, up = FIRST_STEP, not enough(low)
    while not enough(high) if up else enough(low):
        if up:
            low, high = high, _rounded(float(high) * step)
        else:
            low, high = _rounded(float(low) / step), low
        if not 1 / FARTHEST < float(high) / start < FARTHEST:
            return None
        step = step**2
    while high / low > NEXT_NOISE:
        middle = _rounded(math.sqrt(float(low) * float(high)))
        low, high = (low, middle) if enough(middle) else (middle, high)
    # Of the noises that are as good the plainest is taken: claims and certificates show it.
    between = (_rounded(float(high), bits) for bits in range(1, NOISE_BITS))
    plain = next((noise for noise in between if low < noise <= high), high)
    return low, plain if enough(plain) else high


def _rounded(noise: float, bits: int = NOISE_BITS) -> Fraction:
    share, power = math.frexp(noise)
    return Fraction(math.ldexp(round(math.ldexp(share, bits)), power - bits))


def _proved(subject: Subject, delta: Fraction) -> Number:
    """Return the ε that is proved at `delta`; infinite where none is."""
    try:
        return point(subject.proof(delta))[0]
    except RuleError:
        return math.inf


def half_width(subject: Subject, delta: Fraction) -> float:
    """Return the half-width of a mechanism's 95 % intervals; `InputError` where it depends on the data."""
    mechanism: Any = named(subject)
    if type(mechanism).__module__.rpartition(".")[2] not in STEADY:
        raise InputError("the accuracy of this mechanism depends on the data", "give epsilon")
    try:
        subject.proof(delta)
    except RuleError as error:
        raise InputError(f"nothing is proved at this delta: {error}", "give a larger delta") from None
    domain = mechanism.domain()
    middle = (np.array(domain.low) + np.array(domain.high)) / 2  # farthest from bounds that end an interval
    sizes = []
    for rows in (np.zeros((0, len(domain.low))), np.tile(middle, (EXAMPLE_ROWS, 1))):
        view = mechanism.publish(mechanism.query(rows), NoNoise())
        ends = mechanism.accuracy(view)
        sizes.append([list(zip(flat(e["low"]), flat(e["high"]), strict=True)) for e in ends.values()])
    widths = [[max((high - low) / 2 for low, high in pairs) for pairs in each] for each in sizes]
    if any(max(same) - min(same) > SAME_WIDTH * max(same) for same in zip(*widths, strict=True)):
        raise InputError("the accuracy of this mechanism depends on the data", "give epsilon")
    widest: float = max(widths[0])
    return widest
