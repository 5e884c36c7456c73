"""Which private bandit to run: all subjects of a setting rehearse on the same public worlds.

The choice reads the privacy asked for, the horizon and what is private; never data.  Worlds are drawn by
public laws, or from the public prior of a surface, and rehearsals have the noise that the proof demands.
Subjects that are behind by more than three standard errors of paired differences leave the race, and so does
the worse half of each stage: subjects close to each other would take most of its time.  For private contexts,
pure ε is a stronger promise: a subject that makes it leaves only by standard errors, and otherwise wins.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise, product
from math import sqrt
from statistics import fmean
from typing import Any

import numpy as np

from bandits.arm_phases import ArmPhases
from bandits.arms.design import FOR_REGRET, MOST_MIXED
from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning.features import MAX_MAP_FEATURES, RADIUS
from bandits.local_gp_ucb import MOST_FEATURES, LocalGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_cells import PhasedCells
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.selection.forecasts import Selection, Value, quietest
from bandits.simulation.simulated_people import LINEAR, ONE_AXIS, PAPER, WORLD_LAWS, WorldLaw
from bandits.simulation.surfaces import Surface, surface
from bandits.space.points import Space
from bandits.statistics.additive_model import SCALES
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import exact, one_of, whole
from bandits.statistics.first_moments import HALF
from bandits.surface_gp_ucb import SurfaceGpUcb
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.work.run import Series, run

Play = Callable[[int], float]  #: number of a rehearsal ↦ its regret

STAGES = (8, 32, 96)  #: rehearsals of each subject that is left, before the race is looked at
FINALISTS = 3  #: subjects in the last stage at least, if nobody is surely ahead
AT_ONCE = 8  #: rehearsals that are done and kept together
FIRST_SEED = 18_000_000  #: rehearsals' worlds are no reproduction's
MAX_REHEARSED_ROUNDS = 4096  #: rounds of a rehearsal
PROXY = 1024  #: rounds of a rehearsal in place of more
MOST_PAPER_AXES = 4  #: on which the paper's worlds are drawn in time, if there are other laws
CELLS = 20  #: of a histogram, at most
MAP_FEATURES = 512  #: where the default number of nodes would make many more, on more than three axes
MATRIX_FEATURES = 64  #: of bandits that release a matrix of them, there
#: more laws where people bring candidates: rewards that depend on one coordinate, or are rare or common among
#: unevenly distributed candidates; the mean of all base rates stays ½
OF_CANDIDATES = (
    WorldLaw(ONE_AXIS),
    WorldLaw("matern-3/2", 1.0, 0.2, uneven=True),
    WorldLaw("matern-3/2", 1.0, 0.8, uneven=True),
)
PRIVACIES = ("joint", "reward", "shuffled", "local")
REHEARSED_NOISE = 0.1  #: standard deviation of rewards in rehearsals on a surface

#: told, while a choice is made, which share of the rehearsals that it may need is done, 0 to 1
SHARE_DONE: ContextVar[Callable[[float], object]] = ContextVar("SHARE_DONE", default=lambda _: None)


@dataclass(frozen=True)
class Runner:
    """A subject in the race, the parameters that make it, and its rehearsal."""

    subject: str
    parameters: dict[str, Value]
    play: Play
    pure: bool = False  #: whether it meets ε at a δ of 0
    bandit: Any = None  #: which is rehearsed

    @property
    def label(self) -> str:
        """Return the name and parameters, as a reason lists them."""
        return " ".join([self.subject, *map(str, self.parameters.values())])


def choose(  # noqa: PLR0913
    privacy: str,
    epsilon: Fraction,
    delta: Fraction,
    rounds: int,
    *,
    candidates: int = 25,
    dimension: int = 2,
    space: Space | str | None = None,
    laws: Sequence[WorldLaw] = WORLD_LAWS,
    trials: int | None = None,
) -> Selection:
    """Return the bandit that wins public rehearsals (`race`), for a kind of privacy, budget and horizon.

    `privacy`: ``joint`` if contexts and rewards are private; ``reward`` if the points of `space` are public
    and only rewards private; ``shuffled`` if rewards also stay on devices, whose bits a shuffler mixes;
    ``local`` if no one is trusted with either.  These are different promises: none replaces another.
    `epsilon`, `delta`: the budget of the whole run, ε > 0 and 0 < δ < 1.
    `rounds`: the number of people, at least 2; many are rehearsed by fewer, at a larger ε.
    `candidates`, `dimension`: points of each person, and their coordinates, where there is no space.
    `space`: the points that are played; or the name of a surface, by default camelback.
    `laws`: those of the rehearsed worlds, taken in turn; a surface has worlds of its own.
    `trials`: rehearsals of each bandit at most (`stages`), where what is chosen for has no more itself.
    Raises `InputError` for parameters that make no sense.
    """
    one_of("privacy", privacy, PRIVACIES)
    exact(epsilon=epsilon, delta=delta)
    whole(rounds=rounds, candidates=candidates, dimension=dimension, trials=2 if trials is None else trials)
    if epsilon <= 0 or not 0 < delta < 1 or rounds < 2 or not laws:
        raise out_of_range("epsilon > 0, 0 < delta < 1, rounds >= 2 and a law of worlds at least")
    if not all(isinstance(law, WorldLaw) for law in laws):
        raise InputError("laws are no laws of worlds", 'give a list, such as [WorldLaw("linear")]')
    if space is not None and not isinstance(space, Space | str):
        raise InputError("space is no public points", "give bandits.space.reading.of_table(points)")
    if isinstance(space, str) and privacy in ("joint", "local"):
        raise InputError("a surface is for public points", "give a space, or none")
    if dimension < 1 or (privacy == "joint" and space is None and candidates < 2):
        raise out_of_range("dimension >= 1 and, as there is nothing to choose from one, candidates >= 2")
    # 1 and Fraction(1) are one budget
    given = (privacy, Fraction(epsilon), Fraction(delta), rounds, candidates, dimension)
    return _chosen(given, space, tuple(laws), trials)


@lru_cache(maxsize=256)
def _chosen(
    given: tuple[str, Fraction, Fraction, int, int, int],
    space: Space | str | None,
    laws: tuple[WorldLaw, ...],
    trials: int | None,
) -> Selection:
    privacy, epsilon, delta, rounds, candidates, dimension = given
    if privacy == "local":
        nodes = int(MOST_FEATURES ** (1 / dimension))
        said: dict[str, Value] = {"nodes_per_axis": nodes} if nodes < LocalGpUcb.nodes_per_axis else {}
        people: Any = {"candidates": candidates, "dimension": dimension, **said}
        of = people if space is None else {"space": space}
        bandit = LocalGpUcb(rounds=rounds, epsilon=epsilon, delta=delta, **of)
        why = "nobody is trusted, so every person noises a message of their own; not rehearsed"
        return Selection("local-gp-ucb", {} if space else said, why, bandit)
    if privacy == "shuffled" and not isinstance(space, Space):
        raise InputError("a shuffler mixes bits about arms", "give a space, whose points are the arms")
    laws += OF_CANDIDATES * (privacy == "joint" and laws == WORLD_LAWS)
    if space is None and dimension > MOST_PAPER_AXES:
        laws = tuple(law for law in laws if law.kernel != PAPER) or laws
    named = privacy == "reward" and not isinstance(space, Space)
    asked = rounds
    longest = (10 if named else 1) * MAX_REHEARSED_ROUNDS
    where = "" if named else f" in worlds {', '.join(map(str, laws))} (as shares of uniform choices' regret)"
    left_out = "other laws and rates, late or missing answers, drift"
    if rounds > longest:
        # of fewer people, whose noise is the same share of the deviation of their rewards' sum
        epsilon = Fraction(float(epsilon) * sqrt(rounds / PROXY)).limit_denominator(1000)
        rounds, left_out = PROXY, f"more than {longest} people, {left_out}"
        where = f" of {PROXY} people at ε = {float(epsilon):.3g}{where}"
    if isinstance(space, Space) and privacy == "reward":
        runners = _on_points(space, epsilon, delta, rounds, laws)
    elif isinstance(space, Space) and privacy == "shuffled":
        bits: dict[str, Value] = {"law": "shuffled", "delta": delta}
        runners = _on_arms(space, epsilon, rounds, laws, bits)
    elif isinstance(space, Space) or (space is None and privacy == "joint"):
        runners = _contextual(epsilon, delta, rounds, candidates, dimension, space, laws)
    else:
        runners = _on_surface(space or "camelback", epsilon, delta, rounds)
    looks = stages(trials)
    selection = race(runners, looks)
    few = f"; at most {looks[-1]} of each" if looks != STAGES else ""
    # what a proxy of fewer people says in people is said of all of them
    parameters = dict(selection.parameters)
    if "refresh" in parameters:
        parameters["refresh"] = int(parameters["refresh"]) * asked // rounds
    because = f"{selection.because}{where}{few}; not rehearsed: {left_out}"
    batch = {key: value for key, value in parameters.items() if key == "refresh"}
    bandit = replace(selection.bandit, rounds=asked, epsilon=given[1], **batch)
    return Selection(selection.subject, parameters, because, bandit)


def stages(trials: int | None = None) -> tuple[int, ...]:
    """Return after how many rehearsals of each subject a race is looked at, the last of which ends it.

    They are `STAGES`, cut where the run that is chosen for has fewer `trials`, but at 2 at the least: with
    less there is no standard error.  A run of so few trials cannot show what a longer race finds.
    """
    most = STAGES[-1] if trials is None else min(max(trials, 2), STAGES[-1])
    return (*(each for each in STAGES if each < most), most)


def race(runners: Sequence[Runner], looks: tuple[int, ...] | None = None) -> Selection:
    """Rehearse on the same worlds, in stages; return who wins, by least mean regret or a stronger promise."""
    left, looks, told = list(runners), looks or stages(), 0
    regrets: dict[str, list[float]] = {runner.label: [] for runner in runners}
    parts = [*pairwise((0, *looks))]
    fields = [max(len(runners) >> stage, min(FINALISTS, len(runners))) for stage in range(len(parts))]
    whole = sum(field * (most - before) for field, (before, most) in zip(fields, parts, strict=True))

    def tell(more: int) -> None:
        nonlocal told
        told += more
        SHARE_DONE.get()(told / whole)

    def mean_of(runner: Runner) -> float:
        return float(np.mean(regrets[runner.label]))

    tell(0)
    for field, (before, most) in zip(fields, parts, strict=True):
        left = sorted(left, key=lambda each: (not each.pure, mean_of(each)))[:field] if before else left
        seeds = range(FIRST_SEED + before, FIRST_SEED + most)
        plays = [(f"rehearse {runner.label}", partial(played, runner.play)) for runner in left]
        series = [Series(label, play, seeds, AT_ONCE) for label, play in plays]
        for runner, done in zip(left, run(series, tell), strict=True):
            regrets[runner.label] += done.tolist()
        # Differences are taken world by world: worlds differ more than bandits do, and their own luck
        # cancels.
        first = min(left, key=mean_of)
        best = np.array(regrets[first.label])
        left = [runner for runner in left if not _behind(np.array(regrets[runner.label]) - best)]
        if len(left) == 1:
            break
    winner = min(left, key=lambda each: (not each.pure, mean_of(each)))
    why = "" if winner is first else f"; {winner.label} wins: it is of pure epsilon, and not surely behind"
    listed = ", ".join(
        f"{label} {np.mean(each):.4g} ± {np.std(each, ddof=1) / sqrt(len(each)):.2g}"
        for label, each in sorted(regrets.items(), key=lambda item: float(np.mean(item[1])))
    )
    count = sum(map(len, regrets.values()))
    because = f"mean regret in {count} public rehearsals: {listed}{why}"
    return Selection(winner.subject, winner.parameters, because, winner.bandit)


def played(play: Callable[[int], Any], seeds: range) -> Floats:
    """Return what every seed's play gives, a row each."""
    return np.array([play(seed) for seed in seeds])


def _behind(differences: Floats) -> bool:
    """Return whether paired regrets are above the leader's by more than three standard errors."""
    error = float(np.std(differences, ddof=1)) / sqrt(len(differences))
    return float(np.mean(differences)) > 3 * error


def noise_of(subject: Any, seed: int) -> Noise:
    """Return the noise of a rehearsal: as large as the proof demands, from the seed."""
    return rehearse(proved(subject), Rehearsal(np.random.SeedSequence([seed, 3])))


@lru_cache(maxsize=16)
def proved(subject: Any, delta: Fraction | None = None) -> Proved:
    """Return what a subject's rehearsals draw by: its proof at `delta`, by default its own."""
    return Proved(subject.proof(subject.delta if delta is None else delta))


def baselines(rounds: int, dimension: int) -> list[dict[str, Value]]:
    """Return parameters that make `moment-gp-ucb` a simple baseline, whose batches are released separately.

    Batches of half the earlier people; a quarter of all, then the others; and the first as a histogram.
    """
    phases: dict[str, Value] = {"stream": "separate", "growth": HALF, "refresh": max(rounds // 16, 1)}
    once: dict[str, Value] = {"growth": Fraction(3), "refresh": -(-rounds // 4)}
    cells: dict[str, Value] = {"basis": "cells", "nodes_per_axis": max(int(CELLS ** (1 / dimension)), 2)}
    histogram = [{**phases, **cells}] if 2**dimension <= MAX_MAP_FEATURES else []
    return [phases, {**phases, **once}, *histogram]


def _models(dimension: int) -> list[dict[str, Value]]:
    """Return what `phased-gp-ucb` may believe of rewards: of fewer features less noise is learned."""
    few: dict[str, Value] = {"size": 10}
    return [{}, few, {**few, "lengthscale": Fraction(2)}, {"kernel": "linear", "size": dimension}]


def _contextual(
    epsilon: Fraction,
    delta: Fraction,
    rounds: int,
    candidates: int,
    dimension: int,
    space: Space | None,
    laws: tuple[WorldLaw, ...],
) -> list[Runner]:
    """Return the jointly private bandits for people who bring their own points."""
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rounds": rounds, "space": space}
    if space is None:
        common |= {"candidates": candidates, "dimension": dimension}
    quiet = quietest(epsilon, delta, rounds, MomentGpUcb.size).parameters
    dimension = dimension if space is None else space.dimension
    few: dict[str, Value] = {}
    fewer: dict[str, Value] = {}
    if space is None and dimension > 3:
        few = {"nodes_per_axis": int(MAP_FEATURES ** (1 / dimension))}
        fewer = {"nodes_per_axis": int(MATRIX_FEATURES ** (1 / dimension))}
    base = Fraction(fmean(law.base for law in laws)).limit_denominator(1000)
    told: dict[str, Value] = {} if base == HALF else {"base": base}
    moments = [{**few, **each} for each in (quiet, *baselines(rounds, dimension))]
    phased = [{**few, **told, **each} for each in _models(dimension)]
    kinds: list[tuple[str, type[Any], dict[str, Value]]] = [
        *(("moment-gp-ucb", MomentGpUcb, each) for each in moments),
        *(("phased-gp-ucb", PhasedGpUcb, each) for each in phased),
        ("jdp-gp-ucb", JdpGpUcb, {**fewer, "stream": "honaker"}),
        ("doubling-gp-ucb", DoublingGpUcb, fewer),
        ("phased-cells", PhasedCells, {}),
    ]
    return [
        Runner(name, parameters, partial(_on_people, made, laws), kind is PhasedCells, made)
        for name, kind, parameters in kinds
        for made in [kind(**common, **parameters)]
    ]


def _on_people(subject: Any, laws: tuple[WorldLaw, ...], seed: int) -> float:
    law, offered = laws[seed % len(laws)], subject.offered
    people = law.people(subject.rounds, subject.candidates, subject.dimension, seed, offered)
    view = subject.play(people.records(), noise_of(subject, seed), seed)
    return people.share(np.asarray(view.own["action"]))


def _on_points(
    space: Space, epsilon: Fraction, delta: Fraction, rounds: int, laws: tuple[WorldLaw, ...]
) -> list[Runner]:
    """Return the bandits that offer a space to everybody, rewards of 0 or 1 being private."""
    common: dict[str, Any] = {"space": space, "epsilon": epsilon, "rounds": rounds}
    kinds: list[tuple[str, type[Any], dict[str, Value]]] = [
        ("phased-posterior", PhasedPosterior, {"stream": stream, "reward_noise": "estimated"})
        for stream in ("separate", "correlated")
    ]
    kinds += [("surface-gp-ucb", SurfaceGpUcb, {})]
    runners = [
        Runner(name, parameters, partial(_of_space, made, laws), bandit=made)
        for name, kind, parameters in kinds
        for made in [kind(**common, delta=delta, **parameters)]
    ]
    return runners if rounds < 2 * len(space) else runners + _on_arms(space, epsilon, rounds, laws, {})


def _on_arms(
    space: Space, epsilon: Fraction, rounds: int, laws: tuple[WorldLaw, ...], noise: dict[str, Value]
) -> list[Runner]:
    """Return `arm-phases` on a space, by index and belief, with this noise."""
    made: Any = partial(ArmPhases, space=space, epsilon=epsilon, rounds=rounds)
    lines = len(space) > MOST_MIXED or all(law.kernel == LINEAR for law in laws)
    believed = "linear" if lines else "mixed"
    kinds = [*product(FOR_REGRET, ("apart", believed)), ("elimination", believed)]
    made_of = [{"index": index, "belief": belief, **noise} for index, belief in kinds]
    bandits = [made(**each) for each in made_of]
    return [
        Runner("arm-phases", each, partial(_of_space, bandit, laws), bandit=bandit)
        for each, bandit in zip(made_of, bandits, strict=True)
    ]


def _of_space(subject: Any, laws: tuple[WorldLaw, ...], seed: int) -> float:
    space = subject.space if subject.space.alike else subject.space.in_ball(RADIUS)
    people = laws[seed % len(laws)].people(subject.rounds, len(space), space.dimension, seed, space)
    public = subject.play(people.rewards, noise_of(subject, seed), seed).public
    return people.share(np.asarray(public["arms"] if "arms" in public else public["points"][:, 0]))


def _on_surface(name: str, epsilon: Fraction, delta: Fraction, rounds: int) -> list[Runner]:
    """Return the bandits whose points are public, on functions drawn from the prior of a surface's points."""
    common: dict[str, Any] = {"surface": name, "epsilon": epsilon, "delta": delta, "rounds": rounds}
    phased = [PhasedPosterior(**common, stream=stream) for stream in ("separate", "correlated")]
    known = SurfaceGpUcb(**common)
    return [
        *(Runner("phased-posterior", {"stream": p.stream}, partial(_on_drawn, p), bandit=p) for p in phased),
        Runner("surface-gp-ucb", {}, partial(_on_drawn, known), bandit=known),
    ]


def _on_drawn(subject: PhasedPosterior | SurfaceGpUcb, seed: int) -> float:
    rng = np.random.default_rng([seed, 5])
    known = replace(subject, sigma=subject.noise_scale)
    world = known.__dict__["world"] = drawn(subject.surface, rng)  # in place of the surface itself
    data = rng.normal(0, REHEARSED_NOISE, (subject.rounds, 1))
    view = known.play(data, noise_of(subject, seed), seed)
    return float(world.regret(np.asarray(view.public["points"])).sum())


def drawn(name: str, rng: np.random.Generator) -> Surface:
    """Return a function on the points of a surface, from a prior of random scale and length."""
    model = PhasedPosterior(surface=name).model
    prior = model.prior_root(int(rng.integers(1, len(SCALES) - 1)), int(rng.integers(model.lengths)))
    weights = prior.times(rng.normal(size=prior.size))
    tables = [features @ weights[part] for part, features in zip(model.slices, model.groups, strict=True)]
    return replace(surface(name), tables=tuple(tables))
