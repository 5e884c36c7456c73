"""Plans from what other libraries know: DpEvent trees, Opacus histories, OpenDP's serialized measurements.

Every kind of event is read as what it means there, or refused by its name; nothing is guessed, and nothing
that a file names is imported.  Numbers are the decimals that the other library prints.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.plan import events as ev
from dpaccount.plan.event_base import Event
from dpaccount.plan.events import Plan
from dpaccount.relation import Relation

TREE = "dpaccount/dp-event/1"  #: what the script beside dp_accounting writes
OPENDP = ("0.12", "0.13", "0.14", "0.15", "0.16")  #: versions whose serialized form is known

# ------------------------------------------------------------------ Opacus


def opacus_history(place: Place) -> Plan:
    """Return the plan of an accountant's ``history``, or of its ``state_dict()``, written as JSON.

    Each entry is [noise multiplier, sample rate, steps]: Poisson samples, one example more or less.
    """
    if isinstance(place.value, dict):
        if "history" not in place.value:
            raise place.wrong("the key 'history' is missing", "write accountant.state_dict() as JSON")
        place = place.child("history")
    steps = []
    for entry in place.items():
        parts = list(entry.items())
        if len(parts) != 3:
            raise entry.wrong(
                f"found {len(parts)} numbers", "an entry is [noise multiplier, sample rate, steps]"
            )
        noise = ev.Gaussian(sigma=parts[0].positive())
        rate, count = parts[1].real(0, 1), parts[2].integer(1)
        steps.append(ev.PoissonSubsampled(rate=rate, of=noise, count=count))
    return Plan(Relation.ADD_REMOVE, steps)


# ------------------------------------------------------------------ dp_accounting


def dp_event_tree(place: Place, relation: Relation = Relation.ADD_REMOVE) -> Plan:
    """Return the plan of a tree of DpEvents, as the script beside dp_accounting writes it.

    `relation` is the one that their accountant was asked for.  Raises `InputError` naming a type that has no
    meaning here.
    """
    table = place.table(("schema", "event"))
    table["schema"].text(TREE)
    return Plan(relation, _dp_events(table["event"]))


def _dp_events(place: Place) -> list[Event]:
    if not isinstance(place.value, dict) or "type" not in place.value:
        raise place.wrong("this is no DpEvent", 'an event is {"type": "GaussianDpEvent", …}')
    kind = place.child("type").text()
    if kind not in _DP_EVENTS:
        known = ", ".join(_DP_EVENTS)
        raise place.wrong(f"{kind} has no meaning here", f"read are {known}")
    keys, make = _DP_EVENTS[kind]
    return make(place.table(("type", *keys)))


def _together(place: Place) -> Event:
    """Return what is inside an event as one event."""
    found = _dp_events(place)
    return found[0] if len(found) == 1 else ev.Sequence(of=tuple(found))


def _several(table: dict[str, Place]) -> list[Event]:
    count = table["count"].integer(0)
    return [each * count for each in _dp_events(table["event"])] if count else []


def _listed(table: dict[str, Place]) -> list[Event]:
    return [found for each in table["events"].items() for found in _dp_events(each)]


def _concentrated(table: dict[str, Place]) -> list[Event]:
    if table["xi"].number(0) > 0:
        raise table["xi"].wrong("an approximate zCDP with xi above 0", "only xi = 0 is read")
    return [ev.Zcdp(rho=table["rho"].number(0))]


def _tree(table: dict[str, Place]) -> list[Event]:
    """Return one node's noise on every level of the largest tree: a record is in one leaf of one tree."""
    counts = table["step_counts"]
    steps = [each.integer(0) for each in counts.items()] if isinstance(counts.value, list) else None
    most = max(steps, default=0) if steps is not None else counts.integer(0)
    noise = ev.Gaussian(sigma=table["noise_multiplier"].positive())
    return [noise * most.bit_length()] if most else []


_DP_EVENTS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Place]], list[Event]]]] = {
    "NoOpDpEvent": ((), lambda _: []),
    "GaussianDpEvent": (
        ("noise_multiplier",),
        lambda table: [ev.Gaussian(sigma=table["noise_multiplier"].positive())],
    ),
    "LaplaceDpEvent": (
        ("noise_multiplier",),
        lambda table: [ev.Laplace(scale=table["noise_multiplier"].positive())],
    ),
    "DiscreteLaplaceDpEvent": (
        ("noise_parameter", "sensitivity"),
        lambda table: [
            ev.DiscreteLaplace(
                scale=1 / table["noise_parameter"].positive(), sensitivity=table["sensitivity"].integer(0)
            )
        ],
    ),
    "ZCDpEvent": (("rho", "xi"), _concentrated),
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
    "SingleEpochTreeAggregationDpEvent": (("noise_multiplier", "step_counts"), _tree),
}


def to_dp_event(plan: Plan) -> dict[str, Any]:
    """Return a plan as a tree of DpEvents, which the script loads; raises `InputError` for what they lack."""
    covered = next((event.name for event in plan.events if event.cover is not None), None)
    if covered is not None:
        raise InputError(f"{covered} has a cover, which a DpEvent cannot say; write the worst unit's events")
    return {"schema": TREE, "event": _composed([_out(event) for event in plan.events])}


def _composed(found: list[dict[str, Any]]) -> dict[str, Any]:
    return found[0] if len(found) == 1 else {"type": "ComposedDpEvent", "events": found}


def _out(event: Event) -> dict[str, Any]:
    if type(event) not in _OUT:
        known = ", ".join(kind.name for kind in _OUT)
        raise InputError(f"{event.name} is no DpEvent; written are {known}")
    once = _OUT[type(event)](event)
    return once if event.count == 1 else {"type": "SelfComposedDpEvent", "event": once, "count": event.count}


_OUT: dict[type[Event], Callable[[Any], dict[str, Any]]] = {
    ev.Gaussian: lambda event: {
        "type": "GaussianDpEvent",
        "noise_multiplier": _ratio(event.sigma, event.sensitivity),
    },
    ev.Laplace: lambda event: {
        "type": "LaplaceDpEvent",
        "noise_multiplier": _ratio(event.scale, event.sensitivity),
    },
    ev.Zcdp: lambda event: {"type": "ZCDpEvent", "rho": float(event.rho), "xi": 0.0},
    ev.PoissonSubsampled: lambda event: {
        "type": "PoissonSampledDpEvent",
        "sampling_probability": float(event.rate),
        "event": _out(event.of),
    },
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
        raise InputError("an event of sensitivity 0 costs nothing; leave it out")
    return float(noise / sensitivity)


# ------------------------------------------------------------------ OpenDP


def opendp_measurement(place: Place) -> Plan:
    """Return the plan of what ``opendp.prelude.serialize`` wrote, one individual more or less.

    Read are Laplace and Gaussian noise on whole numbers after `make_count`, or after `make_sum` of clamped
    ones, compositions and what comes after.  Sums of floats are refused: how far rounding moves them is for
    their library to say (``measurement.map(1)`` is the epsilon of an event ``pure``, or the rho of ``zcdp``).
    """
    return Plan(Relation.ADD_REMOVE, _measured(place))


def _call(place: Place) -> tuple[str, Place]:
    """Return the function that a serialized object calls, with its arguments, and hold its version."""
    table = place.table(("__function__", "__module__", "__kwargs__"), ("__version__",))
    if "__version__" in table and table["__version__"].text().rpartition(".")[0] not in OPENDP:
        raise table["__version__"].wrong("this version is not known", f"known: {', '.join(OPENDP)}")
    return table["__function__"].text(), table["__kwargs__"]


def _measured(place: Place) -> list[Event]:
    name, given = _call(place)
    if name in ("make_chain_pm", "make_chain_mt"):
        inner = given.child("measurement0" if name == "make_chain_pm" else "measurement1")
        if name == "make_chain_pm":
            return _measured(inner)
        return _noise(inner, _moved(given.child("transformation0")))
    if name in ("make_composition", "make_basic_composition", "make_sequential_composition"):
        return [event for each in given.child("measurements").items() for event in _measured(each)]
    raise place.wrong(
        f"{name} is not read", "give measurement.map(1) as the epsilon of an event pure, or the rho of zcdp"
    )


def _noise(place: Place, moved: int) -> list[Event]:
    name, given = _call(place)
    if name not in ("make_laplace", "make_gaussian"):
        raise place.wrong(
            f"{name} after a transformation is not read", "read are make_laplace, make_gaussian"
        )
    scale = given.child("scale").positive()
    if name == "make_laplace":
        return [ev.DiscreteLaplace(scale=scale, sensitivity=moved)]
    return [ev.DiscreteGaussian(sigma=scale, sensitivity=moved)]


def _moved(place: Place) -> int:
    """Return how far one individual more or less moves a whole number: 1 for counts, else a clamped entry."""
    name, given = _call(place)
    if name == "make_count":
        return 1
    if name == "make_chain_tt" and _call(given.child("transformation1"))[0] in ("make_count", "make_sum"):
        if _call(given.child("transformation1"))[0] == "make_count":
            return 1
        inner, bounds = _call(given.child("transformation0"))
        if inner == "make_clamp":
            return _largest(bounds.child("bounds"))
    raise place.wrong(
        f"how far {name} moves is not read here", "give measurement.map(1) as an event pure or zcdp"
    )


def _largest(place: Place) -> int:
    ends = list((place.child("__tuple__") if isinstance(place.value, dict) else place).items())
    if any(not isinstance(end.value, int) or isinstance(end.value, bool) for end in ends):
        raise place.wrong(
            "bounds of floats", "sums of floats round; give measurement.map(1) as an event pure or zcdp"
        )
    return max(abs(int(end.value)) for end in ends)


READERS: dict[str, Callable[[Place], Plan]] = {
    "dp-event": dp_event_tree,
    "opacus": opacus_history,
    "opendp": opendp_measurement,
}
