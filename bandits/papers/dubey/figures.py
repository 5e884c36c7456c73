"""Dubey 2021: Figures 1 and 2, with the published calibration, ours, and no privacy at all.

Their values are not in the paper's text.  Our algorithms are chosen by rehearsals there, and the paper's
bounds are drawn too, so these figures are code.  Table 1 is a file.
"""

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
from bandits.selection.rehearsals import choose
from bandits.simulation.simulated_people import WorldLaw

CANDIDATES = 25
TENTH = Fraction(1, 10)
STRICT = (Fraction(1, 10**5), Fraction(1, 10**6))  #: δ that protect, unlike the paper's .1

THEOREM = "Theorem 3 with Theorem 1's width, approximation errors left out"
ORDER = "Corollary 2's order sqrt(t/alpha), without constant and logarithms"


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


SETTING = "d = 2, k = exp(-|x-y|^2/2), 25 candidates, Bernoulli rewards with negative means taken as 0"
PRIOR = (
    "moment-gp-ucb's prior (precision 4, reward variance .22) was chosen on made-up people of this setting;"
    " rows with the precision estimated from releases stand beside; phases and constants of"
    " phased-gp-ucb were chosen so, too"
)
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
)
