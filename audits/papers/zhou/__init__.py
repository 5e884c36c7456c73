"""The paper of Zhou and Tan on locally private Bayesian optimisation: its claims, its figures."""

from audits.papers.zhou.claims import CLAIMS

__all__ = ["CLAIMS"]
