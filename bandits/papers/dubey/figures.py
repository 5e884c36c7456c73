"""Dubey 2021: Figures 1 and 2 and Table 1, with the published calibration, ours, and no privacy at all.

The figures' values are not in the paper's text; Table 1's are.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.papers.dubey import regret
from bandits.papers.dubey.regret_bounds import remarks
from bandits.papers.reproduction import Cell, Claim, Reproduction, frozen
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.selection.rehearsals import choose
from bandits.simulation.simulated_people import WorldLaw
from bandits.surface_gp_ucb import SurfaceGpUcb

CANDIDATES = 25
TENTH = Fraction(1, 10)
STRICT = (Fraction(1, 10**5), Fraction(1, 10**6))  #: δ that protect, unlike the paper's .1

#: Table 1: cumulative regret at T = 10 000, by α (None: not private)
TABLE1: dict[str, dict[Fraction | None, int]] = {
    "camelback": {None: 519, Fraction(10): 775, Fraction(1): 1029, TENTH: 3324},
    "styblinski-tang-20": {None: 885, Fraction(10): 1667, Fraction(1): 2680, TENTH: 4493},
    "michalewicz-10": {None: 901, Fraction(10): 1558, Fraction(1): 2883, TENTH: 5002},
}
ALPHAS = (Fraction(10), Fraction(1), TENTH)
THEOREM = "Theorem 3 with Theorem 1's width, approximation errors left out"
ORDER = "Corollary 2's order sqrt(t/alpha), without constant and logarithms"
QUIET = Fraction(1, 100)  #: noise of a learner that is not private


def _row(algorithm: str, alpha: Fraction | None, delta: Fraction | None, **more: Any) -> dict[str, Any]:
    shown = {"alpha": alpha and float(alpha), "delta": delta and float(delta)}
    return {**more, "algorithm": algorithm, **shown}


# ------------------------------------------------------------------ the figures


#: what the selector may choose for people who bring their own points
FIGURE_KINDS: dict[str, type[Any]] = {
    "moment-gp-ucb": MomentGpUcb,
    "phased-gp-ucb": PhasedGpUcb,
    "jdp-gp-ucb": JdpGpUcb,
    "doubling-gp-ucb": DoublingGpUcb,
}


def _joint(rounds: int, alpha: Fraction, delta: Fraction) -> Cell:
    """Ours, as public rehearsals on the paper's law of worlds choose it."""
    choice = choose("joint", alpha, delta, rounds, candidates=CANDIDATES, laws=(WorldLaw(),))
    built = FIGURE_KINDS[choice.subject](
        rounds=rounds, candidates=CANDIDATES, epsilon=alpha, delta=delta, **choice.parameters
    )
    subject = frozen(built)
    row, play = _row(choice.subject, alpha, delta), partial(regret.contextual, subject)
    return Cell(row, play, subject=subject, details=partial(_chosen, choice.because))


def _estimated_prior(rounds: int, delta: Fraction) -> Cell:
    """Moments at α = 1, the precision of the weights not assumed."""
    subject = frozen(
        MomentGpUcb(rounds=rounds, candidates=CANDIDATES, epsilon=Fraction(1), delta=delta, prior="estimated")
    )
    row = _row("moment-gp-ucb, prior estimated", Fraction(1), delta)
    return Cell(row, partial(regret.contextual, subject), subject=subject)


def _chosen(because: str, *_: Any) -> dict[str, Any]:
    return {"because": because}


def _as_published(rounds: int, alpha: Fraction, delta: Fraction) -> list[Cell]:
    """Algorithms 1 and 2 with Lemma 2's noise and Lemma 3's shift, with remarks on both."""
    plain = JdpGpUcb(rounds=rounds, candidates=CANDIDATES, calibration="published", growth=Fraction(0))
    subject = frozen(replace(plain, epsilon=alpha, delta=delta))
    row, play = _row("jdp-gp-ucb published", alpha, delta), partial(regret.contextual, subject)
    return [
        Cell(row, play, subject=subject, claim=_lemma2(rounds, alpha, delta)),
        Cell(_row(THEOREM, alpha, delta), partial(regret.theorem3, subject)),
        Cell(_row(ORDER, alpha, delta), partial(regret.order, rounds, float(alpha))),
    ]


def _lemma2(rounds: int, alpha: Fraction, delta: Fraction) -> Claim:
    """Return Lemma 2 at these parameters, for rewards within ±1."""
    return "dubey-lemma2", {"alpha": alpha, "beta": delta, "T": Fraction(rounds), "B": Fraction(1)}


def _without(rounds: int) -> list[Cell]:
    return [
        Cell(
            _row("gp-ucb, not private", None, None),
            partial(regret.contextual_without_privacy, rounds, CANDIDATES),
        ),
        Cell(_row("at random", None, None), partial(regret.contextual_at_random, rounds, CANDIDATES)),
    ]


def figure1(rounds: int) -> list[Cell]:
    """Return the curves of Figure 1: β = .1, by α; ours at smaller δ too."""
    cells = _without(rounds)
    for alpha in (Fraction(10), Fraction(1), Fraction(1, 2), TENTH):
        cells += [*_as_published(rounds, alpha, TENTH), _joint(rounds, alpha, TENTH)]
        cells += [_joint(rounds, alpha, delta) for delta in STRICT]
    return cells + [_estimated_prior(rounds, delta) for delta in (TENTH, STRICT[0])]


def figure2(rounds: int) -> list[Cell]:
    """Return the curves of Figure 2: α = 1, by β; ours at smaller δ too."""
    cells, one = _without(rounds), Fraction(1)
    for beta in (Fraction(99, 100), Fraction(1, 2), TENTH, Fraction(1, 100)):
        cells += [*_as_published(rounds, one, beta), _joint(rounds, one, beta)]
    return cells + [_joint(rounds, one, delta) for delta in STRICT]


# ------------------------------------------------------------------ the table


def table1(functions: Sequence[str], rounds: int) -> list[Cell]:
    """Return the cells of Table 1, its calibration as measured, smaller δ, and what δ = .1 allows."""
    cells = []
    for function in functions:
        cells += _beside(rounds, function)
        cells += [_posterior(rounds, function, alpha, TENTH) for alpha in ALPHAS]
        cells += [_posterior(rounds, function, alpha, delta) for delta in STRICT for alpha in ALPHAS]
        cells += [_estimated(rounds, function, delta) for delta in (TENTH, STRICT[0])]
    return cells


def _beside(rounds: int, function: str) -> list[Cell]:
    """Return the rows without privacy, and those of the published calibration."""
    plain = PhasedPosterior(surface=function, rounds=rounds, sigma=QUIET)
    exact = SurfaceGpUcb(surface=function, rounds=rounds, sigma=QUIET)
    shown = regret.Published(plain, float(TENTH))
    name = "rewards published with probability .1"
    cells = [
        Cell(
            _row("phased-posterior, not private", None, None, function=function),
            partial(regret.surface, plain),
            _printed(rounds, function, None),
        ),
        Cell(
            _row("surface-gp-ucb, not private", None, None, function=function),
            partial(regret.surface, exact),
        ),
        Cell(_row("at random", None, None, function=function), partial(regret.surface_at_random, plain)),
        Cell(_row(name, None, TENTH, function=function), partial(regret.shown_rewards, shown)),
    ]
    for alpha in ALPHAS:
        subject = frozen(replace(exact, calibration="published", epsilon=alpha, delta=TENTH, sigma=None))
        row = _row("surface-gp-ucb published", alpha, TENTH, function=function)
        play, claim = partial(regret.surface, subject), _lemma2(rounds, alpha, TENTH)
        cells.append(Cell(row, play, _printed(rounds, function, alpha), subject, claim))
    return cells


def _posterior(rounds: int, function: str, alpha: Fraction, delta: Fraction) -> Cell:
    """Our rows, with the paper's number at the δ that is taken for the paper's β."""
    subject = frozen(PhasedPosterior(surface=function, rounds=rounds, epsilon=alpha, delta=delta))
    printed = _printed(rounds, function, alpha) if delta == TENTH else None
    row = _row("phased-posterior", alpha, delta, function=function)
    details = partial(_as_many, subject, delta) if alpha < 1 else None
    return Cell(row, partial(regret.surface, subject), printed, subject, details=details)


def _estimated(rounds: int, function: str, delta: Fraction) -> Cell:
    """Ours at α = 1, the rewards' noise not assumed to be that of the simulation."""
    plain = PhasedPosterior(surface=function, rounds=rounds, epsilon=Fraction(1), delta=delta)
    subject = frozen(replace(plain, reward_noise="estimated"))
    row = _row("phased-posterior, reward noise estimated", Fraction(1), delta, function=function)
    return Cell(row, partial(regret.surface, subject), subject=subject)


def _as_many(subject: PhasedPosterior, delta: Fraction, *_: Any) -> dict[str, Any]:
    """Return how many people give the same accuracy at α = 1: signal grows with people, noise is σ."""
    least = replace(subject, epsilon=Fraction(1), delta=delta, sigma=None).noise_scale
    people = int(subject.rounds * least / subject.noise_scale)
    here, there = float(subject.noise_scale), float(least)
    why = (
        f"{subject.rounds} people at sigma {here:.4g} say as much as {people} at {there:.4g}, that of alpha 1"
    )
    return {"people_at_alpha_1": people, "because": why}


def _printed(rounds: int, function: str, alpha: Fraction | None) -> int | None:
    """Return the paper's number of one of its functions, at its own horizon."""
    return TABLE1[function][alpha] if rounds == 10_000 and function in TABLE1 else None


SETTING = "d = 2, k = exp(-|x-y|^2/2), 25 candidates, Bernoulli rewards with negative means taken as 0"
SURFACES = (
    "contexts are public here and rewards private; the paper's algorithm protects both",
    "surface-gp-ucb: eigenfeatures of the grid with a kernel error of at most .05 (8 quadrature nodes an axis"
    " err by .99 on the additive functions), lambda 1, width .5, zeta .1, 25 people a point",
)
INFORMED = (
    "phased-posterior assumes that a reward deviates by .1 from its mean, which is what the simulation draws:"
    " a constant informed by the simulated noise; rows with it estimated from releases stand beside"
)
PRIOR = (
    "moment-gp-ucb's prior (precision 4, reward variance .22) was chosen on made-up people of this setting;"
    " rows with the precision estimated from releases stand beside; phases and constants of"
    " phased-gp-ucb were chosen so, too"
)
TEXTBOOK = ("styblinski-tang-20-textbook", "michalewicz-10-textbook")
WARNINGS = remarks(2, 4, 1.0, 4.0, 1024)  # Theorem 2 is on the unit box; inputs here have a width of 4
OPEN = "lambda, rho, zeta and m are not in the paper: lambda 1, zeta .1 and 4 nodes an axis"

REPRODUCTIONS = (
    Reproduction(
        "dubey2021-figure1",
        "Dubey 2021, Figure 1: regret by alpha at beta = .1 (no values in the text)",
        20,
        1024,
        (SETTING, OPEN, PRIOR, *WARNINGS),
        figure1,
    ),
    Reproduction(
        "dubey2021-figure2",
        "Dubey 2021, Figure 2: regret by beta at alpha = 1 (no values in the text)",
        20,
        1024,
        (SETTING, OPEN, *WARNINGS),
        figure2,
    ),
    Reproduction(
        "dubey2021-table1",
        "Dubey 2021, Table 1: cumulative regret at T = 10K",
        10,
        10_000,
        (
            "the paper states no beta for Table 1; .1 is taken",
            "the functions of the package that the paper cites: camelback on a 25 x 25 grid over -5 (-1.147"
            " to .206); Styblinski-Tang (d 20, on [-4, 4]) and Michalewicz without the inner square (d 10,"
            " on [-pi/6, 7 pi/6]) on 41 points an axis, over their maximum (-.26 to 1.00 and -.28 to .97)",
            "the paper says neither how it scales functions nor its reward noise (.1 here): ratios to it are"
            " not like for like",
            INFORMED,
            *SURFACES,
        ),
        partial(table1, tuple(TABLE1)),
    ),
    Reproduction(
        "dubey2021-table1-textbook",
        "the textbook's functions of the names in Dubey 2021, Table 1: other functions than the paper's",
        10,
        10_000,
        (
            "Styblinski-Tang (d 20) on [-5, 5] and Michalewicz with the inner square (d 10) on [0, pi],"
            " 41 points an axis, over their maximum (-3.19 to 1.00 and 0 to .95); reward noise .1",
            INFORMED,
            *SURFACES,
        ),
        partial(table1, TEXTBOOK),
    ),
)
