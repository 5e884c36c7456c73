"""Pavlovic, Salgia & Zhao 2025 measured: USCA as published, and ours.  It has no experiments.

All tables here are therefore ours, and so are their worlds: `ASSUMED` lists assumptions.
"""

from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

from bandits.function_release import FunctionRelease
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.papers.pavlovic import errors
from bandits.papers.pavlovic.errors import Draws
from bandits.papers.pavlovic.kernel_draws import DRAW_KINDS
from bandits.papers.reproduction import MEAN_SO_FAR, Cell, Reproduction, Sentence, frozen
from bandits.private_prediction.public_grid import PublicGrid
from bandits.range_predictor import RangePredictor
from bandits.usca import Usca

FIGURE_KERNELS = ("squared-exponential", "matern-5/2")
LENGTH = Fraction(1, 5)
SIDE = 32  #: actions, and cells of contexts
BUDGETS = tuple(map(Fraction, ("0.1", "0.3", "1", "3", "10")))
DELTA = Fraction(1, 10**6)
USES = (1, 2, 10, 100)
PURE_EPSILON = Fraction(1)

#: predictors of a single action, by what a row calls them
MECHANISMS: dict[str, Any] = {
    "usca": Usca(),
    "usca, public tau": Usca(tau="public"),
    "range-predictor": RangePredictor(),
    "range-predictor, permute-and-flip": RangePredictor(rule="permute-and-flip"),
}
#: releases of a function, for any number of predictions
RELEASES: dict[str, Any] = {
    "function-release, one phase": FunctionRelease(served=0, phases=1),
    "function-release": FunctionRelease(served=0),
    "function-release, k-norm": FunctionRelease(served=0, law="k-norm", delta=Fraction(0)),
}


def worlds(kernel: str, kind: str, rounds: int) -> Draws:
    """Return the worlds of a kernel, a kind of draws and a horizon."""
    return Draws(PublicGrid(SIDE, SIDE, kernel, LENGTH), kind, rounds)


def _cell(world: Draws, algorithm: str, play: Any, subject: Any, **more: Any) -> Cell:
    row = {
        "algorithm": algorithm,
        "kernel": world.grid.kernel,
        "draws": world.kind,
        "rounds": world.rounds,
        "epsilon": None if subject is None else float(subject.epsilon),
        **more,
    }
    return Cell(row, play, subject=subject, summary=MEAN_SO_FAR, details=partial(errors.details, world))


@cache
def _sigma(kernel: str, epsilon: Fraction) -> Fraction:
    """Return the calibrated σ, which rounds and phases do not enter."""
    return FunctionRelease(kernel=kernel, epsilon=epsilon).noise_scale


def _release(world: Draws, name: str, epsilon: Fraction, count: int, **more: Any) -> Cell:
    sigma = None if RELEASES[name].law == "k-norm" else _sigma(world.grid.kernel, epsilon)
    subject = errors.on(world, RELEASES[name], epsilon, sigma=sigma)
    return _cell(world, name, partial(errors.released, subject, world, count), subject, **more)


def _mechanism(world: Draws, name: str, epsilon: Fraction, count: int, uses: int = 1, **more: Any) -> Cell:
    delta = DELTA if uses > 1 else Fraction(0)
    subject = errors.on(world, MECHANISMS[name], epsilon, predictions=uses, delta=delta)
    return _cell(world, name, partial(errors.chosen, subject, world, count), subject, **more)


#: scale of a world's square within the ball of radius 2
JOINT_LENGTH = LENGTH * Fraction(errors.JOINT_SIDE).limit_denominator(1000)


def _joint(world: Draws, epsilon: Fraction, count: int) -> list[Cell]:
    """Return jointly private bandits on the same people: Dubey 2021's, with exact noise too, and ours."""
    shape: dict[str, Any] = {"rounds": world.rounds, "candidates": SIDE, "lengthscale": JOINT_LENGTH}
    shape |= {"epsilon": epsilon, "delta": DELTA, "refresh": 8}
    few = {**shape, "nodes_per_axis": 8}  # 64 features: with 16, 36 or 100 of them it errs more
    subjects = {
        "jdp-gp-ucb, as published": JdpGpUcb(**few, calibration="published"),
        "jdp-gp-ucb": JdpGpUcb(**few, stream="honaker"),
        "moment-gp-ucb": MomentGpUcb(**shape, nodes_per_axis=16, size=40, stream="sqrt-toeplitz"),
    }
    played = {name: frozen(subject) for name, subject in subjects.items()}
    return [
        _cell(world, name, partial(errors.joint, subject, world, count), subject)
        for name, subject in played.items()
    ]


def _beside(world: Draws, count: int, **more: Any) -> list[Cell]:
    plain = partial(errors.without_privacy, world, count)
    chance = partial(errors.at_random, world, count)
    return [
        _cell(world, "posterior mean, not private", plain, None, **more),
        _cell(world, "at random", chance, None, **more),
    ]


def error(rounds: int) -> list[Cell]:
    """Return errors against ε and T: a quarter of `rounds`, `rounds`, four and sixteen times as many."""
    cells = []
    for kernel, kind, horizon in product(
        FIGURE_KERNELS, DRAW_KINDS, (rounds // 4, rounds, 4 * rounds, 16 * rounds)
    ):
        world = worlds(kernel, kind, horizon)
        cells += [_mechanism(world, name, budget, rounds) for name in MECHANISMS for budget in BUDGETS]
        cells += [_release(world, name, budget, rounds) for name in RELEASES for budget in BUDGETS]
        cells += _beside(world, rounds)
        if (kernel, kind, horizon) == (FIGURE_KERNELS[0], DRAW_KINDS[0], rounds):
            cells += [cell for budget in BUDGETS for cell in _joint(world, budget, rounds)]
    return cells


def predictions(rounds: int) -> list[Cell]:
    """Return errors at ε = 1 against the number of predictions, all of which are paid for."""
    cells = []
    for kernel, uses in product(FIGURE_KERNELS, USES):
        world, more = worlds(kernel, DRAW_KINDS[0], rounds), {"predictions": uses}
        cells += [_mechanism(world, name, PURE_EPSILON, rounds, uses, **more) for name in MECHANISMS]
        cells += [_release(world, name, PURE_EPSILON, rounds, **more) for name in RELEASES]
        cells += _beside(world, rounds, **more)
    return cells


def better_from(rows: list[dict[str, Any]]) -> list[Sentence]:
    """Judge from how many predictions on a released function errs less than the best mechanism."""
    judged = []
    for kernel in FIGURE_KERNELS:
        mine = [row for row in rows if row["kernel"] == kernel]
        pairs = [(uses, _least(mine, uses, MECHANISMS), _least(mine, uses, RELEASES)) for uses in USES]
        wins = [uses for uses, mechanism, release in pairs if release < mechanism]
        first = next((uses for uses in wins if all(each in wins for each in USES if each >= uses)), None)
        numbers = ", ".join(f"J = {uses}: {m:.4f} and {r:.4f}" for uses, m, r in pairs)
        statement = f"{kernel}: the best release errs less than the best mechanism from J = 2 on, or before"
        whence = "never" if first is None else f"from J = {first} on"
        judged.append(Sentence(statement, "ours", first is not None and first <= 2, f"{whence}; {numbers}"))
    return judged


def _least(rows: list[dict[str, Any]], uses: int, names: dict[str, Any]) -> float:
    return min(float(r["value"]) for r in rows if r["predictions"] == uses and r["algorithm"] in names)


ASSUMED = (
    "the text has no experiments: tables and worlds are ours",
    "f on [0, 1]^2 scaled to max |f| = 1: a sum of 100 kernels at uniform centres with normal weights (rkhs),"
    f" or a draw of the Gaussian process (process); radial kernels of length {float(LENGTH):g}",
    f"contexts uniform; {SIDE} actions, {SIDE} cells of contexts; rewards f + N(0, 0.1), clipped at B = 1",
    "tau is the noise variance 0.1, or public: a formula of public quantities; Z has TK points",
    "Eq. (1) over the grid's actions, of mechanisms the expectation over their coins; worst: the largest"
    " error of a context, mean over trials",
    "jdp-gp-ucb (Dubey 2021, as published and with exact noise) and moment-gp-ucb learn from people whom"
    " they serve: the mean loss of their last quarter of people",
    "one prediction is pure epsilon, more are composed at delta = 1e-6; function-release is (epsilon, 1e-6),"
    " with K-norm noise pure epsilon, for any number of predictions",
)

REPRODUCTIONS = (
    Reproduction("pavlovic2025-error", "Pavlovic et al. 2025, Eq. (1); our tables", 20, 1024, ASSUMED, error),
    Reproduction(
        "pavlovic2025-predictions",
        "Pavlovic et al. 2025, Eq. (1) for J predictions; our tables",
        20,
        1024,
        ASSUMED,
        predictions,
        better_from,
    ),
)
