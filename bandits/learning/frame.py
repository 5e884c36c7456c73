"""Which bandit is which point of one frame: domain × contribution × stream × belief × policy.

The contribution, what a person adds to a sum, is all that is computed from their reward; the stream makes
the sums and adds the noise; belief and policy read released sums and public numbers.  So privacy is a
matter of contribution and stream alone, and regret of all five.
"""

from dataclasses import dataclass
from typing import Final

#: what can be played: points that each person brings, or a public grid's, alone or with a context
BROUGHT, GRID = "points brought", "public grid"
CELLS, ARMS = "actions x contexts", "arms x contexts"
#: how sums are released: batches apart, nodes of trees, rows of a factorisation, or single messages
APART, TREES, ROWS, MESSAGES = "batches apart", "trees", "factorisation", "messages"
#: nothing is summed and released: a mechanism chooses on all records
SCORES: Final = "private choice"


@dataclass(frozen=True)
class Design:
    """One bandit's place in the frame; `stream` is that of its default parameters."""

    domain: str
    contribution: str
    stream: str
    belief: str
    policy: str


BANDITS: Final = {
    "arm-phases": Design(GRID, "y − ½", APART, "independent normals", "Thompson"),
    "moment-gp-ucb": Design(BROUGHT, "φ(y − ½)", ROWS, "independent weights", "UCB"),
    "phased-gp-ucb": Design(BROUGHT, "g(y − ½)", ROWS, "linear posterior", "greedy"),
    "jdp-gp-ucb": Design(BROUGHT, "[φ, y][φ, y]ᵀ", TREES, "ridge regression", "UCB"),
    "doubling-gp-ucb": Design(BROUGHT, "[φ, y][φ, y]ᵀ", TREES, "ridge regression", "UCB"),
    "local-gp-ucb": Design(BROUGHT, "[φ, y][φ, y]ᵀ", MESSAGES, "ridge regression", "UCB"),
    "surface-gp-ucb": Design(GRID, "[φ, y][φ, y]ᵀ", TREES, "ridge regression", "UCB"),
    "phased-posterior": Design(GRID, "g·clip(y − ŷ)", ROWS, "linear posterior", "Thompson"),
    "function-release": Design(CELLS, "g·clip(y − ŷ)", APART, "linear posterior", "greedy at last"),
    "usca": Design(CELLS, "h(w)·y", SCORES, "scores", "private choice"),
    "range-predictor": Design(CELLS, "h(w)·y", SCORES, "scores", "private choice"),
    "logged-policy": Design(ARMS, "sum and count of arms", APART, "mixture of normals", "Thompson"),
    "policy-value": Design(CELLS, "w(2y − 1) and w", APART, "none", "the other policy"),
    "local-posterior": Design(GRID, "clip(y − ŷ)", MESSAGES, "Gaussian process", "Thompson"),
    "ldp-gp-ucb": Design(GRID, "clip(y)", MESSAGES, "Gaussian process", "UCB"),
    "ldp-ctl-gp-ucb": Design(GRID, "y", MESSAGES, "Gaussian process", "UCB"),
    "ldp-ata-gp-ucb": Design(GRID, "clip(y)", MESSAGES, "truncated in every feature", "UCB"),
    "ldp-tgp-ucb": Design(GRID, "clip(y)", MESSAGES, "truncated once", "UCB"),
    "ldp-moma-gp-ucb": Design(GRID, "clip(y)", MESSAGES, "median of regressions", "UCB"),
}
