"""Plans from what other libraries know: DpEvent trees, Opacus histories, OpenDP's serialized measurements.

Every kind of event keeps its meaning there, or is refused by its name; nothing is guessed, and nothing
that a file names is imported.  Numbers are the decimals that the other library prints.
"""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.exact import double, to_digits
from dpaccount.numerics.bisection import bisect
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.plan import events as ev
from dpaccount.plan.event_base import Event
from dpaccount.plan.events import Plan
from dpaccount.relation import Relation

TREE = "dpaccount/dp-event/1"  #: of the script that runs with dp_accounting
MEAN_ERROR = 1e-9  #: relative, by which a mean in floats may be off
FLOAT_SUM = Fraction(1, 10**9)  #: by how much weights in floats may miss a sum of 1
ROW_BY_ROW = (
    "make_clamp",
    "make_cast_default",
    "make_cast_inherent",
    "make_impute_constant",
    "make_is_equal",
)
EPSILON_DIGITS = 20  #: of an ε that no decimal is
NO_NOISE = ev.Approximate(epsilon=0, delta=1)  #: a release without noise: nothing is guaranteed
OPENDP = ("0.12", "0.13", "0.14", "0.15", "0.16")  #: versions whose serialized form is known


def _gaussian(multiplier: Place) -> Event:
    """Return Gaussian noise of a multiplier; of 0, which other libraries accept, a release without noise."""
    sigma = multiplier.real(0)
    return ev.Gaussian(sigma=sigma) if sigma else NO_NOISE


# ------------------------------------------------------------------ Opacus


def opacus_history(place: Place) -> Plan:
    """Return the plan of an accountant's ``history``, or of its ``state_dict()``, written as JSON.

    Each entry is [noise multiplier, sample rate, steps]: Poisson samples, one example more or less.
    """
    if isinstance(place.value, dict):
        place = place.table(("history",), ("mechanism",))["history"]
    steps = []
    for entry in place.items():
        parts = list(entry.items())
        if len(parts) != 3:
            raise entry.wrong(
                f"found {len(parts)} numbers", "an entry is [noise multiplier, sample rate, steps]"
            )
        noise = _gaussian(parts[0])
        rate, count = parts[1].real(0, 1), parts[2].integer(1)
        steps.append(ev.PoissonSubsampled(rate=rate, of=noise, count=count))
    return Plan(Relation.ADD_REMOVE, steps)


# ------------------------------------------------------------------ dp_accounting


def dp_event_tree(place: Place, relation: Relation = Relation.ADD_REMOVE) -> Plan:
    """Return the plan of a tree of DpEvents, as written by the script that runs with dp_accounting.

    `relation` is that of their accountant.  Their noise multiplier is of the norm of one
    record's value in a sum (`dp_event.py`); where a record is replaced the sum moves by two of them, as their
    PLD accountant counts.  Raises `InputError` naming a type that has no meaning here, or where the file has
    another relation.
    """
    table = place.table(("schema", "event"), ("relation",))
    table["schema"].text(TREE)
    if "relation" in table:
        table["relation"].text(Relation(relation).value)
    events = _dp_events(table["event"])
    return Plan(relation, events if relation == Relation.ADD_REMOVE else map(_replaced, events))


def _replaced(event: Event) -> Event:
    """Return an event of sums in which one record is replaced: twice as much moves."""
    if isinstance(event, ev.Sequence):
        return replace(event, of=tuple(map(_replaced, event.of)))
    if isinstance(event, ev.PoissonSubsampled):  # there a record's value counts against a sample without it
        if event.of == NO_NOISE:  # whoever is drawn is seen
            return replace(NO_NOISE, delta=event.rate, count=event.count)
        return ev.PoissonReplaced(rate=event.rate, of=event.of, count=event.count)
    if isinstance(event, ev.TruncatedPoisson):  # likewise
        given = {key: getattr(event, key) for key in ("rate", "population", "batch", "of", "count")}
        return ev.TruncatedReplaced(**given)
    if isinstance(event, ev.SampledWithoutReplacement | ev.Repeated):
        return replace(event, of=_replaced(event.of))
    if isinstance(event, ev.Gaussian | ev.Laplace | ev.DiscreteLaplace):
        return replace(event, sensitivity=2 * event.sensitivity)
    return event


def _dp_events(place: Place) -> list[Event]:
    if not isinstance(place.value, dict) or "type" not in place.value:
        raise place.wrong("this is no DpEvent", 'an event is {"type": "GaussianDpEvent", …}')
    kind = place.child("type").text()
    if kind in _REFUSED:
        raise place.wrong(f"{kind} has no meaning here", _REFUSED[kind])
    if kind not in _DP_EVENTS:
        known = ", ".join(_DP_EVENTS)
        raise place.wrong(f"{kind} has no meaning here", f"read are {known}")
    keys, make = _DP_EVENTS[kind]
    return make(place.table(("type", *keys)))


def _together(place: Place) -> Event:
    """Return the inner events of an event as one event."""
    events = _dp_events(place)
    return events[0] if len(events) == 1 else ev.Sequence(of=tuple(events))


def _several(table: dict[str, Place]) -> list[Event]:
    count = table["count"].integer(0)
    return [each * count for each in _dp_events(table["event"])] if count else []


def _listed(table: dict[str, Place]) -> list[Event]:
    return [event for each in table["events"].items() for event in _dp_events(each)]


def _concentrated(table: dict[str, Place]) -> list[Event]:
    return [ev.Zcdp(rho=table["rho"].number(0), xi=table["xi"].number(0))]


def _mixture(table: dict[str, Place]) -> list[Event]:
    """Return the mixture; what floats leave out of the sum of weights moves farthest."""
    moves = [each.number(0) for each in table["sensitivities"].items()]
    weights = [each.number(0, 1) for each in table["sampling_probs"].items()]
    missing = 1 - sum(weights, Fraction(0))
    if moves and len(moves) == len(weights) and abs(missing) <= FLOAT_SUM:
        at = moves.index(max(moves) if missing > 0 else min(moves))  # what is too much moves least
        weights[at] = max(weights[at] + missing, Fraction(0))
    sigma = table["standard_deviation"].real(0)
    with table["sampling_probs"].placing():
        mixture = ev.GaussianMixture(sigma=sigma or 1, moves=moves, weights=weights)
    return [mixture] if sigma else [NO_NOISE]


def _truncated(table: dict[str, Place]) -> list[Event]:
    """Return a truncated Poisson sample; theirs may be cut to more than there are examples."""
    size, batch = (table[key].integer(0) for key in ("dataset_size", "truncated_batch_size"))
    rate, noise = table["sampling_probability"].number(0, 1), _gaussian(table["noise_multiplier"])
    if noise == NO_NOISE or not (size and batch and rate):
        return [noise] if size and batch and rate else []
    return [ev.TruncatedPoisson(rate=rate, population=size, batch=min(batch, size), of=noise)]


def _laplace(table: dict[str, Place]) -> list[Event]:
    scale = table["noise_multiplier"].real(0)
    return [ev.Laplace(scale=scale) if scale else NO_NOISE]


def _response(table: dict[str, Place]) -> list[Event]:
    """Return the response of p and k: the truth has 1 − p + p/k, each other answer p/k; ε is rounded up."""
    p, k = table["noise_parameter"].number(0, 1), table["num_buckets"].integer(1)
    if k == 1 or not p:  # one answer says nothing, and without noise each says all
        return [] if k == 1 else [NO_NOISE]
    with precision(128):
        epsilon = to_digits(ceil_of(ball(k * (1 - p) / p).log1p()), up=True, digits=EPSILON_DIGITS)
    return [ev.RandomizedResponse(epsilon=epsilon, k=k)]


def _discrete_gaussian(table: dict[str, Place]) -> list[Event]:
    """Return that noise: their sensitivity is that of a function, not of a record's value in a sum.

    Of an unknown dimension what holds in all of them is charged, as of two.
    """
    unknown = table["dimension"].value is None
    sigma, moved = table["sigma"].real(0), table["sensitivity"].number(0)
    dimension = 2 if unknown else table["dimension"].integer(1)
    with table["sensitivity"].placing():
        noise = ev.DiscreteGaussian(sigma=sigma or 1, sensitivity=moved, dimension=dimension)
    return [noise] if sigma else [NO_NOISE]


def _repeated(table: dict[str, Place]) -> list[Event]:
    """Return the best of several runs: an infinite shape, written as text, is Poisson."""
    once, mean = _together(table["event"]), table["mean"].number(1, 10**100)
    if table["shape"].value == "inf":
        return [ev.Repeated(of=once, mean=mean)]
    shape = table["shape"].number(0)
    return [once] if mean == 1 else [ev.Repeated(of=once, shape=shape, gamma=_gamma(shape, mean))]


def _gamma(shape: Fraction, mean: Fraction) -> Fraction:
    """Return the γ of this mean η(1/γ − 1)/(1 − γ^η), or a smaller one, which costs more."""
    eta, most = float(shape), float(mean) * (1 + MEAN_ERROR)

    def few(x: float) -> bool:
        return math.expm1(-x) < most * (-math.expm1(eta * x) / eta if eta > MEAN_ERROR**2 else -x)

    return 1 / mean if shape == 1 else Fraction(math.exp(bisect(few, -600.0, -1e-12, 80)[0]))


def _tree(table: dict[str, Place]) -> list[Event]:
    """Return one node's noise on every level of the largest tree: a record is in one leaf of one tree."""
    counts = table["step_counts"]
    steps = [each.integer(0) for each in counts.items()] if isinstance(counts.value, list) else None
    most = max(steps, default=0) if steps is not None else counts.integer(0)
    noise = _gaussian(table["noise_multiplier"])
    # A tree of n rounds has ⌊log₂n⌋ + 1 levels, and a record lies under one node of each.
    return [noise * most.bit_length()] if most else []


_DP_EVENTS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Place]], list[Event]]]] = {
    "NoOpDpEvent": ((), lambda _: []),
    "NonPrivateDpEvent": ((), lambda _: [NO_NOISE]),
    "GaussianDpEvent": (
        ("noise_multiplier",),
        lambda table: [_gaussian(table["noise_multiplier"])],
    ),
    "LaplaceDpEvent": (("noise_multiplier",), _laplace),
    "DiscreteLaplaceDpEvent": (
        ("noise_parameter", "sensitivity"),
        lambda table: [
            ev.DiscreteLaplace(
                scale=1 / table["noise_parameter"].positive(), sensitivity=table["sensitivity"].integer(0)
            )
        ],
    ),
    "DiscreteGaussianDpEvent": (("sigma", "sensitivity", "dimension"), _discrete_gaussian),
    "RandomizedResponseDpEvent": (("noise_parameter", "num_buckets"), _response),
    "ExponentialMechanismDpEvent": (
        ("epsilon",),
        lambda table: [ev.Exponential(epsilon=table["epsilon"].number(0))],
    ),
    "PermuteAndFlipDpEvent": (
        ("epsilon",),
        lambda table: [ev.PermuteAndFlip(epsilon=table["epsilon"].number(0))],
    ),
    "EpsilonDeltaDpEvent": (
        ("epsilon", "delta"),
        lambda table: [ev.Approximate(epsilon=table["epsilon"].number(0), delta=table["delta"].number(0, 1))],
    ),
    "ZCDpEvent": (("rho", "xi"), _concentrated),
    "MixtureOfGaussiansDpEvent": (("standard_deviation", "sensitivities", "sampling_probs"), _mixture),
    "SelfComposedDpEvent": (("event", "count"), _several),
    "ComposedDpEvent": (("events",), _listed),
    "PoissonSampledDpEvent": (
        ("sampling_probability", "event"),
        lambda table: [
            ev.PoissonSubsampled(
                rate=table["sampling_probability"].number(0, 1), of=_together(table["event"])
            )
        ],
    ),
    "TruncatedSubsampledGaussianDpEvent": (
        ("dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier"),
        _truncated,
    ),
    "SampledWithoutReplacementDpEvent": (
        ("source_dataset_size", "sample_size", "event"),
        lambda table: [
            ev.SampledWithoutReplacement(
                size=table["sample_size"].integer(1),
                population=table["source_dataset_size"].integer(1),
                of=_together(table["event"]),
            )
        ],
    ),
    "RepeatAndSelectDpEvent": (("event", "mean", "shape"), _repeated),
    "SingleEpochTreeAggregationDpEvent": (("noise_multiplier", "step_counts"), _tree),
}
#: Their other types, and why.
_REFUSED = {
    "UnsupportedDpEvent": "it says of no mechanism what it costs: give an event of the one that was run",
    "SampledWithReplacementDpEvent": "no bound is known for samples with replacement: draw without it",
}


def to_dp_event(plan: Plan) -> dict[str, Any]:
    """Return a plan as a tree of DpEvents, which the script loads; raises `InputError` for what they lack.

    Doubles are rounded so that the written plan costs no less.  A sensitivity under replace-one is written as
    the norm of one record's value, which is at least the needed one: the plan read back may cost more.
    """
    covered = next((event.name for event in plan.events if event.cover is not None), None)
    if covered is not None:
        raise InputError(
            f"{covered} has a cover, which a DpEvent cannot hold", "write the worst unit's events"
        )
    event = _composed([_out(event) for event in plan.events])
    return {"schema": TREE, "relation": plan.relation.value, "event": event}


def _composed(events: list[dict[str, Any]]) -> dict[str, Any]:
    return events[0] if len(events) == 1 else {"type": "ComposedDpEvent", "events": events}


def _out(event: Event) -> dict[str, Any]:
    if type(event) not in _OUT:
        known = ", ".join(kind.name for kind in _OUT)
        raise InputError(f"{event.name} is no DpEvent", f"written are {known}")
    once = _OUT[type(event)](event)
    return once if event.count == 1 else {"type": "SelfComposedDpEvent", "event": once, "count": event.count}


def _poisson_out(event: ev.PoissonSubsampled | ev.PoissonReplaced) -> dict[str, Any]:
    return {
        "type": "PoissonSampledDpEvent",
        "sampling_probability": _double(event.rate, up=True),
        "event": _out(event.of),
    }


_OUT: dict[type[Event], Callable[[Any], dict[str, Any]]] = {
    ev.Gaussian: lambda event: {
        "type": "GaussianDpEvent",
        "noise_multiplier": _ratio(event.sigma, event.sensitivity),
    },
    ev.Laplace: lambda event: {
        "type": "LaplaceDpEvent",
        "noise_multiplier": _ratio(event.scale, event.sensitivity),
    },
    ev.Zcdp: lambda event: {
        "type": "ZCDpEvent",
        "rho": _double(event.rho, up=True),
        "xi": _double(event.xi, up=True),
    },
    ev.PoissonSubsampled: _poisson_out,
    ev.PoissonReplaced: _poisson_out,
    ev.SampledWithoutReplacement: lambda event: {
        "type": "SampledWithoutReplacementDpEvent",
        "source_dataset_size": event.population,
        "sample_size": event.size,
        "event": _out(event.of),
    },
    ev.Sequence: lambda event: _composed([_out(part) for part in event.of]),
}


def _ratio(noise: Fraction, sensitivity: Fraction) -> float:
    if sensitivity == 0:
        raise InputError("an event of sensitivity 0 costs nothing", "leave it out")
    multiplier = _double(noise / sensitivity, up=False)
    if multiplier == 0:
        raise InputError("a noise multiplier below every double cannot be written", "it hides nothing")
    return multiplier


def _double(value: Fraction, *, up: bool) -> float:
    found = double(value, up=up)
    if math.isinf(found):
        raise InputError("a number beyond every double cannot be written as a DpEvent", "use a smaller one")
    return found


# ------------------------------------------------------------------ OpenDP


def opendp_measurement(place: Place) -> Plan:
    """Return the plan of what ``opendp.prelude.serialize`` wrote, one individual more or less.

    Read are Laplace and Gaussian noise on whole numbers after `make_count`, or after `make_sum` of clamped
    ones, compositions and post-processing.  Sums of floats are refused: only their library knows how far
    rounding moves them (``measurement.map(1)`` is the epsilon of an event ``pure``, or the rho of ``zcdp``).
    """
    return Plan(Relation.ADD_REMOVE, _measured(place))


def _call(place: Place) -> tuple[str, Place]:
    """Return the function that a serialized object calls, with its arguments, and hold its version."""
    table = place.table(("__function__", "__module__", "__kwargs__"), ("__version__",))
    if "__version__" in table and table["__version__"].text().rpartition(".")[0] not in OPENDP:
        raise table["__version__"].wrong("this version is not known", f"known: {', '.join(OPENDP)}")
    return table["__function__"].text(), table["__kwargs__"]


def _given(place: Place, key: str) -> Place:
    """Return one argument of a call, which must be there."""
    if not isinstance(place.value, dict) or key not in place.value:
        raise place.wrong(f"the argument {key!r} is missing", "give what opendp.prelude.serialize wrote")
    return place.child(key)


def _measured(place: Place) -> list[Event]:
    name, given = _call(place)
    if name == "make_chain_pm":
        return _measured(_given(given, "measurement0"))
    if name == "make_chain_mt":
        return _noise(_given(given, "measurement1"), _moved(_given(given, "transformation0")))
    if name in ("make_composition", "make_basic_composition"):
        return [event for each in _given(given, "measurements").items() for event in _measured(each)]
    raise place.wrong(
        f"{name} is not read", "give measurement.map(1) as the epsilon of an event pure, or the rho of zcdp"
    )


def _noise(place: Place, moved: int) -> list[Event]:
    name, given = _call(place)
    if name not in ("make_laplace", "make_gaussian"):
        raise place.wrong(
            f"{name} after a transformation is not read", "read are make_laplace, make_gaussian"
        )
    scale = _given(given, "scale").real(0)
    if scale == 0:
        return [NO_NOISE] if moved else []
    if name == "make_laplace":
        return [ev.DiscreteLaplace(scale=scale, sensitivity=moved)]
    return [ev.DiscreteGaussian(sigma=scale, sensitivity=moved)]


METRICS = ("symmetric_distance", "insert_delete_distance")  #: in which one individual is one step


def _metrics(value: Any) -> list[str]:
    """Return the names of all metrics that a serialized object mentions."""
    if isinstance(value, list):
        return [name for each in value for name in _metrics(each)]
    if not isinstance(value, dict):
        return []
    own = [str(value.get("__function__"))] if value.get("__module__") == "metrics" else []
    return own + [name for each in value.values() for name in _metrics(each)]


def _moved(place: Place) -> int:
    """Return how far one individual more or less moves a whole number: 1 for counts, else a clamped entry."""
    known = _metrics(place.value)
    other = next((name for name in known if name not in METRICS), None)
    if other is not None or not known:
        raise place.wrong(f"the metric {other or 'is missing'}", f"read are {', '.join(METRICS)}")
    name, given = _call(place)
    if name == "make_chain_tt":
        (last, to), first = _call(_given(given, "transformation1")), _given(given, "transformation0")
        if last == "make_count" and _row_by_row(first):
            return _counted(to)
        if last == "make_sum" and _call(first)[0] == "make_clamp":
            return _largest(_given(_call(first)[1], "bounds"))
    if name == "make_count":
        return _counted(given)
    raise place.wrong(
        f"how far {name} moves is not read here", "give measurement.map(1) as an event pure or zcdp"
    )


def _row_by_row(place: Place) -> bool:
    """Return whether a transformation is known to map each row by itself; others may move more than one."""
    name, given = _call(place)
    if name == "make_chain_tt":
        return all(_row_by_row(_given(given, f"transformation{at}")) for at in (0, 1))
    return name in ROW_BY_ROW


def _counted(given: Place) -> int:
    if re.fullmatch(r"[iu](8|16|32|64|128|size)", _given(given, "TO").text()) is None:
        raise given.child("TO").wrong("a count as a float", "counts as whole numbers are read")
    return 1


def _largest(place: Place) -> int:
    ends = list((_given(place, "__tuple__") if isinstance(place.value, dict) else place).items())
    if len(ends) != 2 or any(not isinstance(end.value, int) or isinstance(end.value, bool) for end in ends):
        raise place.wrong(
            "these are no bounds of whole numbers",
            "sums of floats round; give measurement.map(1) as an event pure or zcdp",
        )
    return max(abs(int(end.value)) for end in ends)


READERS: dict[str, Callable[[Place], Plan]] = {
    "dp-event": dp_event_tree,
    "opacus": opacus_history,
    "opendp": opendp_measurement,
}
