"""Why an attack shows less than is proved, and what it would have shown of code with half the noise."""

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from audits.attack.thresholds import clopper_pearson
from audits.consistency.hazards import ELSEWHERE
from audits.reports.words import CertifyResult
from dpaccount.exact import as_exact, to_digits


def explained(certificate: CertifyResult) -> list[str]:
    """Return what the attack did, what it shows, why that is less than what is proved, and its power."""
    audit, proved = certificate["audit"], bool(certificate["proved"]["derivation"])
    if audit is None:
        return ["No attack was run. Only the proof speaks for the claim." if proved else "No attack was run."]
    point = audit["points"][0]
    runs, others = point["runs"], point["other_runs"]
    shown, risk = as_exact(point["epsilon_lower"]), as_exact(point["risk"])
    delta = as_exact(point["delta"])
    rest = audit["trials"] - runs - others
    chose = f" ({rest} more runs chose what is counted)" if rest > 0 else ""
    elsewhere = audit["attack"].startswith(ELSEWHERE)
    attacked = "Results drawn elsewhere were compared" if elsewhere else "The running code was attacked"
    other = "another dataset" if elsewhere else "a synthetic neighbour"
    less = "An attack shows less than is proved." if proved else "An attack proves nothing by failing."
    whole = " The proof holds for all pairs and events." if proved else ""
    sentences = [
        f"{attacked}. Method: {audit['attack']}. The bounds count {runs} runs on one"
        f" dataset and {others} on {other}{chose}. Result: ε is at least"
        f" {to_digits(shown, up=False)} at δ = {point['delta']}, with confidence {audit['confidence']} over"
        " all points together.",
        f"{less} It sees one pair of datasets, one event and finitely many runs.{whole}",
    ]
    most = _counted(runs, others, runs, 0, delta, risk)
    sentences.append(
        f"Even if the code released the raw data, this many runs could have shown at most"
        f" ε = {to_digits(Fraction(most), up=True)}."
    )
    return [*sentences, _twin(certificate, point, delta, risk)]


def _twin(certificate: CertifyResult, point: dict[str, Any], delta: Fraction, risk: Fraction) -> str:
    """Return what the same runs would be expected to show of the same code with half the noise."""
    distance = certificate["audit"].get("distance")
    if not distance:
        kinds = "this pair meets several kinds of noise"
        why = kinds if certificate["proved"]["derivation"] else "the noise of the code is not known"
        return f"What half the noise would have shown is unknown: {why}."
    mu = 2 * math.sqrt(distance)
    expected = max(_expected(mu, at, point, delta, risk) for at in np.linspace(-3, 6, 37))
    claimed = as_exact(point["limit"])
    verdict = (
        "This would have refuted the claim"
        if expected > claimed
        else "That is within the claim, so these runs would not have revealed the missing noise"
    )
    return (
        "With half the noise in the same code, these runs would be expected to show"
        f" about ε = {expected:.3g} on this pair. {verdict}. The estimate assumes Gaussian noise."
    )


def _expected(mu: float, at: float, point: dict[str, Any], delta: Fraction, risk: Fraction) -> float:
    """Return the bound from the counts that are expected above a threshold."""
    normal = NormalDist()
    runs, others = point["runs"], point["other_runs"]
    hits, alarms = round(runs * (1 - normal.cdf(at - mu))), round(others * (1 - normal.cdf(at)))
    return _counted(runs, others, hits, alarms, delta, risk)


def _counted(runs: int, others: int, hits: int, alarms: int, delta: Fraction, risk: Fraction) -> float:
    held, out = np.zeros(runs), np.zeros(others)
    held[:hits], out[:alarms] = 1, 1
    return clopper_pearson(held, out, 0.5, delta, risk, "left").epsilon_lower
