"""The certificate of the published transform: REFUTED, by a column-space test on synthetic rows.

The rows are uniform, with the same n and d as the file, whose own rows are never used.  Z of the first
dataset lies in its column space up to rounding; Z of a neighbour, in which one row moves by the radius,
does not.
"""

from fractions import Fraction

import numpy as np
from msgspec import convert
from msgspec.structs import replace as changed

from audits.attack.rules import Threshold
from audits.attack.white_box import Target
from audits.certificate.document import audited, describe_proof, describe_subject, draft
from audits.claim import Claim
from bandits.statistics.arrays import Floats
from dpaccount.exact import shown
from dpaccount.proof import assume_event, refute, write
from dpaccount.schemas import certificate as parts
from papers.kharkovskii.po_curator import PoCurator
from papers.kharkovskii.published import lifted, outside, width

RUNS_A_SIDE = 500  #: on either side: ε is at least 4.9 then, if all are told apart
MIN_DIGITS_INSIDE = 9.0  #: −log₁₀ of the share outside the column space, above which Z counts as inside
EVENT = "Z lies in the column space of the first data: those are centred and of full rank, n >= d + 2"
SCORE = "-log10 of the share of Z outside that space"
REASON = (
    "Theorem 1 of Kharkovskii et al. 2020 is false where n >= d + 2: Z lies in the column space of the"
    " centred data, which a neighbour moves"
)
UNSOUND = "What was written protects nobody: whoever holds it tells neighbouring data apart for certain."


def refuted(claim: Claim, subject: PoCurator) -> parts.Draft:
    """Return the certificate of Algorithm 1 at the claim's ε, δ, n, d and r, not yet sealed."""
    claim.check_in_force()
    promise, confidence = claim.guarantee, claim.audit.confidence
    held, out = _scores(subject, (float(promise.epsilon), float(promise.delta)), claim.audit.seed)
    bound = Threshold(MIN_DIGITS_INSIDE).measure(held, out, promise.delta, 1 - confidence)
    apart = (bound.hits, bound.alarms) == (bound.runs, 0)
    beaten = apart or bound.epsilon_lower > promise.epsilon
    points = [audited(Target("claim", promise.epsilon, promise.delta), bound, SCORE)]
    data = f"made-up rows ({subject.rows} of {subject.columns} numbers); row 0 moves by {subject.unit}"
    shares = f"outside: at most {10.0 ** -held.min():.2g} of Z, and at least {10.0 ** -out.max():.2g}"
    report = parts.AuditResult(
        attack="does Z lie in the column space of the first data? on made-up rows of the same n, d and r",
        trials=2 * RUNS_A_SIDE,
        quick=False,
        confidence=shown(confidence),
        epsilon_lower=bound.epsilon_lower,
        points=points,
        witness=parts.AttackedPair(base=data, unit=0, findings=[shares, REASON]),
    )
    proved = describe_proof(None, REASON)
    if apart:
        proved = changed(proved, refutation=_refutation(claim))
    verdict: tuple[parts.Verdict, parts.Refuted] = ("REFUTED", "claim") if beaten else ("UNPROVEN", None)
    return draft(claim, describe_subject(claim, subject), verdict, proved, report, hazards=(UNSOUND,))


def _refutation(claim: Claim) -> list[parts.DerivationStep]:
    """Return the derivation that Z lies in the first data's space for certain, and in the neighbour's never.

    Only if every run showed it: a run that did not would be a fault of the test.
    """
    promise = claim.guarantee
    event = assume_event("po-curator", Fraction(1), Fraction(0), promise.neighbours, EVENT, promise.model)
    return convert(write(refute(event, promise.epsilon, promise.delta)), list[parts.DerivationStep])


def _scores(subject: PoCurator, point: tuple[float, float], seed: int) -> tuple[Floats, Floats]:
    """Return −log₁₀ of the share of Z outside the first data's column space: of these, of a neighbour."""
    rng = np.random.default_rng(seed)
    rows = float(subject.radius) / 2 * rng.uniform(-1, 1, size=(subject.rows, subject.columns))
    other = rows.copy()
    other[0, 0] += float(subject.unit)
    # The first data's space for both scores: the test is whether Z lies in this one, not in its own.
    basis = np.linalg.qr(rows - rows.mean(axis=0))[0]
    threshold = width(*point, subject.dimension)

    def score(data: Floats) -> Floats:
        lift = lifted(data, threshold)
        shares = [outside(lift.projected(subject.dimension, rng), basis) for _ in range(RUNS_A_SIDE)]
        return -np.log10(np.maximum(shares, 1e-18))

    return score(rows), score(other)
