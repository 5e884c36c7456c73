"""Zhou & Tan 2020: Figures 2 and 3 with and without privacy, and the list of what is reproduced.

The figures' values are not in the paper's text; what the text states is printed next to ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from bandits.ldp_ata_gp_ucb import LdpAtaGpUcb
from bandits.ldp_gp_ucb import LdpGpUcb
from bandits.ldp_moma_gp_ucb import LdpMomaGpUcb, replays
from bandits.ldp_tgp_ucb import LdpTgpUcb
from bandits.local_posterior import LocalPosterior
from bandits.local_privacy.payoffs import CONSTANTS
from bandits.local_privacy.subject import LocalRewards
from bandits.papers.reproduction import Cell, Claim, Reproduction
from bandits.papers.zhou.lower_bound import cells as lower_bound
from bandits.papers.zhou.panels import Panel, channel_of, details, played, rational
from bandits.papers.zhou.sentences import judged
from bandits.statistics.arrays import Floats

SE, MATERN = "squared-exponential", "matern-5/2"
PUBLISHED: dict[str, type[LocalRewards]] = {
    "ata-gp-ucb": LdpAtaGpUcb,
    "tgp-ucb": LdpTgpUcb,
    "moma-gp-ucb": LdpMomaGpUcb,
}
OURS: dict[str, type[LocalRewards]] = {"ldp-gp-ucb": LdpGpUcb, "local-posterior": LocalPosterior}
BUDGETS = (Fraction(2), Fraction(1), Fraction(1, 2))

# ------------------------------------------------------------------ a panel


def private(panel: Panel, rounds: int) -> list[Cell]:
    """Return the published algorithms as they are, on Laplace noise, and ours on a channel of less."""
    cells = [
        _cell(panel, f"ldp-{name}", _published(panel, name, rounds, constants, channel="laplace"))
        for constants in CONSTANTS
        for name in PUBLISHED
    ]
    channel = channel_of(panel.epsilon or Fraction(0))
    ours = {name: panel.subject(kind, rounds, channel=channel) for name, kind in OURS.items()}
    return cells + [_cell(panel, name, subject) for name, subject in ours.items()]


def heavy(panel: Panel, rounds: int) -> list[Cell]:
    """Return the algorithms without privacy, on noise of which the second moment is known."""
    moment = rational(panel.noise_moment)
    cells = [
        _cell(panel, name, _published(panel, name, rounds, constants, noise_moment=moment))
        for constants in CONSTANTS
        for name in PUBLISHED
    ]
    return [*cells, _cell(panel, "gp-ucb", panel.subject(LdpGpUcb, rounds))]


def _published(panel: Panel, name: str, rounds: int, constants: str, **more: Any) -> LocalRewards:
    """Return a published algorithm; where there are fewer people than an epoch takes, all are one epoch."""
    if name == "moma-gp-ucb":
        more["people"] = min(replays(rounds, constants), rounds)
    return panel.subject(PUBLISHED[name], rounds, constants=constants, **more)


def _cell(panel: Panel, name: str, subject: LocalRewards) -> Cell:
    is_private = panel.epsilon is not None
    row = {
        **panel.row,
        "algorithm": name,
        "constants": getattr(subject, "constants", None),
        "channel": subject.channel if is_private else None,
    }
    published = name.removeprefix("ldp-") in PUBLISHED and is_private
    return Cell(
        row,
        partial(played, panel, subject),
        subject=subject if is_private else None,
        claim=_claim(name, subject) if published else None,
        details=partial(_details, panel, subject.rounds // getattr(subject, "replays", 1)),
    )


def _details(panel: Panel, updates: int, seeds: Sequence[int], runs: Floats) -> dict[str, Any]:
    """Return a row's additional entries, with how often a learner updates what it knows of all points."""
    return {**details(panel, seeds, runs), "updates": updates}


def _claim(name: str, subject: LocalRewards) -> Claim:
    """Return the paper's own claim: Lemma 1, or for MoMA that each replay is a new person."""
    if name != "ldp-moma-gp-ucb":
        return "zhou-ctl", {"epsilon": subject.epsilon}
    settings: dict[str, Fraction | str] = {"T": Fraction(subject.rounds), "users": "distinct"}
    return "zhou-moma", {"epsilon": subject.epsilon, **settings}


# ------------------------------------------------------------------ the figures


def figure2(rounds: int) -> list[Cell]:
    """Return panels (a) to (c), private, and (d) to (f), heavy tails without privacy."""
    synthetic = [Panel("synthetic", kernel, epsilon) for kernel in (MATERN, SE) for epsilon in BUDGETS]
    real = [Panel(name, "empirical", Fraction(10)) for name in ("delays-by-hour", "delays-by-carrier")]
    without = [Panel("synthetic", MATERN, None)]
    without += [Panel(name, "empirical", None) for name in ("delays-by-hour", "delays-by-carrier")]
    cells = [cell for panel in synthetic + real for cell in private(panel, rounds)]
    return cells + [cell for panel in without for cell in heavy(panel, rounds)]


def figure3(rounds: int) -> list[Cell]:
    """Return more scenarios: squared-exponential at ε = 4 and without privacy, both data sets at 2 and 1."""
    panels = [Panel("synthetic", SE, Fraction(4))]
    panels += [
        Panel(name, "empirical", Fraction(e))
        for name in ("delays-by-hour", "delays-by-carrier")
        for e in (2, 1)
    ]
    cells = [cell for panel in panels for cell in private(panel, rounds)]
    return cells + heavy(Panel("synthetic", SE, None), rounds)


WITHOUT_VALUES = "(no values in the text)"
ASSUMED = (
    "the text states neither epsilon nor T, and figures only as pictures: T = 10 000, each epsilon as shown",
    "by appendix E figure 3's synthetic panel is squared-exponential, so figure 2's is taken for Matern,"
    " nu 2.5; figure 2 here has both, at epsilon 2, 1 and .5",
    "B = max |f| of each trial's made-up f counts as public, as the paper has it; a derivation is in units of"
    " the clip B + R, and the same for every trial",
    "the light sensors and stocks of the paper are not at hand: here are delays of flights by hour and by"
    " carrier, in units of the noise of their train rows; B, R"
    " (99 % of the noise) and the clip B + R are those of train rows, which count as public; the paper takes"
    " them from the rows that it protects",
    "published algorithms answer by Laplace noise of scale 2(B + R)/epsilon after a clip to B + R, ours by"
    " one bit, or by a piecewise answer where epsilon is above 2.324; local-posterior clips the reward's"
    " distance from what it predicts, at no more than B + R",
    "theory: the theorems' constants at delta = .01, so that MoMA asks 389 people at each point when T is"
    " 10 000; practical: of the same order, chosen here",
)

REPRODUCTIONS = (
    Reproduction(
        "zhou2020-figure2",
        f"Zhou & Tan 2020, Figure 2: regret with local privacy and with heavy tails {WITHOUT_VALUES}",
        10,
        10_000,
        ASSUMED,
        figure2,
        judged,
    ),
    Reproduction(
        "zhou2020-figure3",
        f"Zhou & Tan 2020, Figure 3: regret with local privacy in other scenarios {WITHOUT_VALUES}",
        10,
        10_000,
        (*ASSUMED, "panels: squared-exponential at epsilon 4 and without privacy, both data sets at 2 and 1"),
        figure3,
        judged,
    ),
    Reproduction(
        "zhou2020-lower-bound",
        "Zhou & Tan 2020, Theorem 1: its order against regret on the functions of its proof",
        10,
        10_000,
        (
            "orders have no constants: their quotient is to be compared between rows only",
            "C of appendix A.4, B and v are 1, the lengthscale .05 (squared-exponential) or .2 (Matern)",
            "above epsilon = ln 2 the functions are those of ln 2, where both orders meet: none are harder",
            "rewards by law (11): 0, or as large as 1/(2 gap), to which they are clipped; nothing is lost",
        ),
        lower_bound,
    ),
)
