"""The certificate of one run: counts of guesses, and a bound that the checker confirms."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np

import dpaccount
from audits.consistency import one_run as checked
from audits.one_run.audit import OneRun
from audits.one_run.canaries import Canaries
from audits.one_run.guessing import by_score
from audits.tradeoff import CurveClaim, MuClaim
from dpaccount.checker.documents import Rejected, digest
from dpaccount.documents import atomically, now, writing
from dpaccount.errors import InputError
from dpaccount.exact import shown, to_digits

PLACES = 4  #: decimal places of a bound
STEPS_DOWN = (0, 1, 3, 10, 30, 60, 100, 150, 200, 300)  #: of its last place, by which a bound is lowered
SHARES = (0.95, 0.9, 0.8, 0.6, 0.4, 0.2)  #: of a bound, where these steps are too small
CURVE_POINTS = 48  #: of the curve of a mu

Points = list[tuple[Fraction, Fraction]]  #: (ε, δ)


def write_certificate(
    path: Path, one_run: OneRun, canaries: Canaries, confidence: Fraction, seed: int
) -> None:
    """Write the certificate of an audit to a file; raises `InputError` for a plan as the claim."""
    document = certificate(one_run, canaries, confidence, seed)
    with writing(path.parent):
        atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def certificate(one_run: OneRun, canaries: Canaries, confidence: Fraction, seed: int) -> checked.Document:
    """Return the document; its bound is the first of a few lower ones that the checker confirms.

    Raises `InputError` for a whole curve as the claim, and a seed of more than 256 bits.
    """
    claim = one_run.claim
    if seed.bit_length() > 256:
        raise InputError("the seed is longer than a certificate holds", "give one below 2^256")
    if isinstance(claim, CurveClaim):
        right = "claim mu, or epsilon and delta"
        raise InputError("a certificate of one run holds no bound on a plan's whole curve", right)
    ordered = by_score(canaries.scores, canaries.included, seed)
    rule = next(rule for rule in one_run.rules if 2 * rule.each == one_run.best.made)
    of_mu = isinstance(claim, MuClaim)
    delta = Fraction(0) if isinstance(claim, MuClaim) else claim.delta
    document: checked.Document = {
        "schema": checked.SCHEMA,
        "claim": {claim.name: shown(claim.level), **({} if of_mu else {"delta": shown(delta)})},
        "confidence": shown(confidence),
        "canaries": {
            "count": len(ordered),
            "included": int(canaries.included.sum()),
            "sha256": canaries.digest,
            "seed": seed,
        },
        "rules": [{"each": r.each, "risk": to_digits(r.risk, up=False)} for r in one_run.rules],
        "best": {"each": rule.each, "right": one_run.best.right},
        "hazards": list(checked.HAZARDS),
        "environment": {"dpaccount": dpaccount.__version__},
        "created": now(),
    }
    if len(ordered) <= checked.MAX_CANARIES:
        document["canaries"]["coins"] = "".join("1" if coin else "0" for coin in ordered)
    places = 10**PLACES
    most = int(one_run.lower * places)
    tried = [*(most - less for less in STEPS_DOWN), *(int(most * share) for share in SHARES)]
    for lower in (Fraction(each, places) for each in tried):
        if lower <= 0:
            continue
        points = _points_of_mu(lower) if of_mu else [(lower, delta)]
        whole = _sealed(document, claim.level, lower, points)
        try:
            checked.judged(whole)
        except Rejected:
            continue
        return whole
    return _sealed(document, claim.level, Fraction(0), [] if of_mu else [(Fraction(0), delta)])


def _sealed(document: checked.Document, level: Fraction, lower: Fraction, points: Points) -> checked.Document:
    body = {
        **document,
        "verdict": "REFUTED" if lower > level else "UNPROVEN",
        "lower": shown(lower),
        "points": [[shown(epsilon), shown(delta)] for epsilon, delta in points],
    }
    return {**body, "digest": digest(body)}


def _points_of_mu(mu: Fraction) -> Points:
    """Return points (ε, δ) that μ-Gaussian differential privacy implies, δ rounded up."""
    from scipy.special import log_ndtr

    size = float(mu)
    levels = np.round(np.linspace(0, size * size / 2 + 5 * size, CURVE_POINTS), 6)
    one, other = levels / size - size / 2, levels / size + size / 2
    spent = np.exp(log_ndtr(-one)) - np.exp(levels + log_ndtr(-other))
    upwards = np.clip(spent * (1 + 1e-9) + 1e-15, 0, 1)  # over cancellation and what scipy errs by
    columns = (map(Fraction, map(repr, values.tolist())) for values in (levels, upwards))
    return list(zip(*columns, strict=True))
