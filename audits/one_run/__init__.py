"""Audits a training run from one run: canaries, each included by a fair coin, and a score for each.

>>> import numpy as np
>>> from fractions import Fraction
>>> from audits.one_run import MuClaim, audit_canaries
>>> rng = np.random.default_rng(1)
>>> included = rng.random(1000) < 0.5
>>> scores = 3.0 * included + rng.normal(size=1000)  # a third of the noise that the claim says
>>> found = audit_canaries(included, scores, MuClaim(Fraction(1)))
>>> found.verdict, found.lower > 1
('REFUTED', True)
"""

from audits.one_run.audit import OneRun, audit_canaries
from audits.one_run.guessing import RunClaim
from audits.tradeoff import CurveClaim, MuClaim, PointClaim

__all__ = ["CurveClaim", "MuClaim", "OneRun", "PointClaim", "RunClaim", "audit_canaries"]
