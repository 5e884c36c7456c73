"""A claim that is refuted outright: by the derivation of an event that tells two neighbours apart (R22)."""

from typing import Any

from ..derivation import conclusions, reachable
from ..documents import ensure
from ..facts import Refuted
from ..intervals import number
from .replaced import neighbours_of
from .shapes import exact_of

LEAST_RUNS = 30  #: a side, as an attack on a proof makes


def separated(document: dict[str, Any]) -> bool:
    """Say whether a refutation is held; verify that it is of this claim, and that every run showed its event.

    The event is certain for one neighbour and impossible for the other: an assumption, which a single run
    that was seen otherwise would contradict.
    """
    steps = document["proved"].get("refutation")
    if steps is None:
        return False
    final, promise = conclusions(steps)[-1], document["guarantee"]
    ensure(isinstance(final, Refuted), "what is held as a refutation refutes nothing")
    ensure(len(list(reachable(steps))) == len(steps), "the refutation holds a step that it does not need")
    same = (final.subject, final.relation, final.observer)
    right = (document["subject"]["name"], neighbours_of(promise), promise["model"])
    ensure(same == right, "the refutation is not about the subject's neighbours, as they are seen")
    point = exact_of(promise["epsilon"], "epsilon"), exact_of(promise["delta"], "delta")
    of_claim = point == (number(final.epsilon), number(final.delta))
    ensure(of_claim, "the refutation is not of the claim's epsilon and delta")
    assumed = [s["with"] for s in steps if s["rule"].startswith("assume_")]
    certain = [(given.get("likely"), given.get("rarely")) for given in assumed] == [("1", "0")]
    ensure(certain, "the refutation should assume one event, certain here and impossible there")
    ensure(document["audit"] is not None, "no run showed the event of the refutation")
    for seen in document["audit"]["points"]:
        enough = min(seen["runs"], seen["other_runs"]) >= LEAST_RUNS
        ensure(enough, f"fewer than {LEAST_RUNS} runs a side showed the event of the refutation")
        shown = seen["hits"] == seen["runs"] and seen["alarms"] == 0
        ensure(shown, "a run contradicts the event of the refutation")
    return True
