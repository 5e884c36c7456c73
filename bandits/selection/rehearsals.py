"""Which private bandit to run: all subjects of a setting rehearse on the same public worlds.

The choice reads the privacy asked for, the horizon and what is private; never data.  A world is drawn as the
setting says, or from the public prior of a surface, and rehearsals have the noise that the proof demands.
Subjects that are behind by more than three standard errors of paired differences leave the race.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.selection.forecasts import Selection, quietest
from bandits.simulation.simulated_people import simulated_people
from bandits.simulation.surfaces import Surface, surface
from bandits.statistics.additive_model import SCALES
from bandits.statistics.arrays import Floats
from bandits.surface_gp_ucb import SurfaceGpUcb
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.work.run import Series, run

Play = Callable[[int], float]  #: number of a rehearsal ↦ its regret

STAGES = (8, 32, 96)  #: rehearsals of each subject that is left, before the race is looked at
AT_ONCE = 8  #: rehearsals that are done and kept together
FIRST_SEED = 18_000_000  #: rehearsals' worlds are no reproduction's
MAX_REHEARSED_ROUNDS = 4096  #: rounds of a rehearsal; longer horizons are chosen for by noise
REHEARSED_NOISE = 0.1  #: standard deviation of rehearsed rewards on a surface


@dataclass(frozen=True)
class Runner:
    """A subject in the race, the parameters that make it, and its rehearsal."""

    subject: str
    parameters: dict[str, str | Fraction]
    play: Play

    @property
    def label(self) -> str:
        """Return what it is called in a reason."""
        return " ".join([self.subject, *map(str, self.parameters.values())])


@lru_cache(maxsize=256)
def choose(
    privacy: str,
    epsilon: Fraction,
    delta: Fraction,
    rounds: int,
    *,
    candidates: int = 25,
    dimension: int = 2,
    name: str = "camelback",
) -> Selection:
    """Return the bandit of least mean regret in public rehearsals, for a kind of privacy, budget and horizon.

    ``joint``: contexts and rewards are private; people bring `candidates` points.  ``reward``: the points of
    the surface `name` are public, rewards private.  ``local``: nobody is trusted with either.  Each kind is
    another promise, none stands in for another.  Raises `InputError` for parameters that make no sense.
    """
    if epsilon <= 0 or not 0 < delta < 1 or rounds < 2:
        raise out_of_range("epsilon > 0, 0 < delta < 1 and rounds >= 2")
    if privacy == "joint":
        if rounds > MAX_REHEARSED_ROUNDS:
            return quietest(epsilon, delta, rounds, MomentGpUcb.size)
        return race(_contextual(epsilon, delta, rounds, candidates, dimension))
    if privacy == "reward":
        if rounds > 10 * MAX_REHEARSED_ROUNDS:
            most = 10 * MAX_REHEARSED_ROUNDS
            why = f"more than {most} rounds are not rehearsed; a batch's sum has noise for one release"
            return Selection("phased-posterior", {}, why)
        return race(_on_surface(name, epsilon, delta, rounds))
    if privacy == "local":
        return Selection(
            "local-gp-ucb", {}, "nobody is trusted, so every person noises a message of their own"
        )
    raise InputError(f"privacy is {privacy[:40]!r}", "known: joint, reward, local")


def race(runners: Sequence[Runner]) -> Selection:
    """Rehearse on the same worlds, in stages; return the runner of least mean regret among those left."""
    left = list(runners)
    found: dict[str, list[float]] = {runner.label: [] for runner in runners}
    for before, most in pairwise((0, *STAGES)):
        seeds = range(FIRST_SEED + before, FIRST_SEED + most)
        plays = [(f"rehearse {runner.label}", partial(_played, runner.play)) for runner in left]
        series = [Series(label, play, seeds, AT_ONCE) for label, play in plays]
        for runner, done in zip(left, run(series), strict=True):
            found[runner.label] += done.tolist()
        best = np.array(min((found[r.label] for r in left), key=lambda each: float(np.mean(each))))
        left = [runner for runner in left if not _behind(np.array(found[runner.label]) - best)]
        if len(left) == 1:
            break
    winner = min(left, key=lambda runner: float(np.mean(found[runner.label])))
    listed = ", ".join(
        f"{label} {np.mean(each):.4g} ± {np.std(each, ddof=1) / sqrt(len(each)):.2g}"
        for label, each in sorted(found.items(), key=lambda item: float(np.mean(item[1])))
    )
    count = sum(map(len, found.values()))
    return Selection(winner.subject, winner.parameters, f"mean regret in {count} public rehearsals: {listed}")


def _played(play: Play, seeds: range) -> Floats:
    return np.array([play(seed) for seed in seeds])


def _behind(differences: Floats) -> bool:
    """Return whether paired regrets are above the leader's by more than three standard errors."""
    error = float(np.std(differences, ddof=1)) / sqrt(len(differences))
    return float(np.mean(differences)) > 3 * error


# ------------------------------------------------------------------ settings


def _noise(subject: Any, seed: int) -> Noise:
    return rehearse(_proved(subject), Rehearsal(np.random.SeedSequence([seed, 3])))


@lru_cache(maxsize=16)
def _proved(subject: Any) -> Proved:
    return Proved(subject.proof(subject.delta))


def _contextual(
    epsilon: Fraction, delta: Fraction, rounds: int, candidates: int, dimension: int
) -> list[Runner]:
    """Return the jointly private bandits for people who bring their own points."""
    common = {"epsilon": epsilon, "delta": delta, "rounds": rounds, "candidates": candidates}
    common["dimension"] = dimension
    quiet = quietest(epsilon, delta, rounds, MomentGpUcb.size).parameters
    made: list[tuple[str, type[Any], dict[str, str | Fraction]]] = [
        ("moment-gp-ucb", MomentGpUcb, quiet),
        ("phased-gp-ucb", PhasedGpUcb, {}),
        ("jdp-gp-ucb", JdpGpUcb, {"stream": "honaker"}),
        ("doubling-gp-ucb", DoublingGpUcb, {}),
    ]
    return [
        Runner(name, parameters, partial(_on_people, kind(**common, **parameters)))
        for name, kind, parameters in made
    ]


def _on_people(subject: Any, seed: int) -> float:
    people = simulated_people(subject.rounds, subject.candidates, subject.dimension, seed)
    view = subject.play(people.records(), _noise(subject, seed), seed)
    return people.regret(np.asarray(view.own["action"]))


def _on_surface(name: str, epsilon: Fraction, delta: Fraction, rounds: int) -> list[Runner]:
    """Return the bandits whose points are public, on functions drawn from the prior of a surface's points."""
    common: dict[str, Any] = {"surface": name, "epsilon": epsilon, "delta": delta, "rounds": rounds}
    phased = [PhasedPosterior(**common, stream=stream) for stream in ("separate", "correlated")]
    found = [Runner("phased-posterior", {"stream": p.stream}, partial(_on_drawn, p)) for p in phased]
    return [*found, Runner("surface-gp-ucb", {}, partial(_on_drawn, SurfaceGpUcb(**common)))]


def _on_drawn(subject: PhasedPosterior | SurfaceGpUcb, seed: int) -> float:
    rng = np.random.default_rng([seed, 5])
    known = replace(subject, sigma=subject.noise_scale)
    world = known.__dict__["world"] = drawn(subject.surface, rng)  # in place of the surface itself
    data = rng.normal(0, REHEARSED_NOISE, (subject.rounds, 1))
    view = known.play(data, _noise(subject, seed), seed)
    return float(world.regret(np.asarray(view.public["points"])).sum())


def drawn(name: str, rng: np.random.Generator) -> Surface:
    """Return a function on the points of a surface, from a prior of random scale and length."""
    model = PhasedPosterior(surface=name).model
    prior = model.prior_root(int(rng.integers(1, len(SCALES) - 1)), int(rng.integers(model.lengths)))
    weights = prior.times(rng.normal(size=prior.size))
    tables = [features @ weights[part] for part, features in zip(model.slices, model.groups, strict=True)]
    return replace(surface(name), tables=tuple(tables))
