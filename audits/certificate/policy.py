"""Policies for gates in CI: the largest ε and δ, and the relations and models that a team allows."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from audits.claim import MODELS, RELATIONS, Guarantee
from dpaccount.documents import parse_toml, read_bytes
from dpaccount.exact import shown


@dataclass(frozen=True)
class Policy:
    """What is allowed; a bound that is None is not set."""

    epsilon: Fraction | None
    delta: Fraction | None
    relations: tuple[str, ...]
    models: tuple[str, ...]
    refuse: bool = False  #: code with lines that no test covers


def read_policy(path: Path) -> Policy:
    """Return the policy in a TOML file; epsilon, delta, relations, models and uncovered are optional."""
    place = parse_toml(read_bytes(path), str(path))
    table = place.table((), ("schema", "epsilon", "delta", "relations", "models", "uncovered"))
    if "schema" in table:
        table["schema"].text("dpaccount/policy/1")
    return Policy(
        epsilon=table["epsilon"].real(least=0) if "epsilon" in table else None,
        delta=table["delta"].real(0, 1) if "delta" in table else None,
        relations=tuple(p.text(*RELATIONS) for p in table["relations"].items())
        if "relations" in table
        else RELATIONS,
        models=tuple(p.text(*MODELS) for p in table["models"].items()) if "models" in table else MODELS,
        refuse="uncovered" in table and table["uncovered"].text("name", "refuse") == "refuse",
    )


def violations(policy: Policy, promise: Guarantee, verdict: str) -> list[str]:
    """Return one sentence for every rule of the policy that a certified promise breaks."""
    broken = []
    if verdict != "CERTIFIED":
        broken.append(f"the verdict is {verdict}, the policy asks for CERTIFIED")
    for name, limit, value in (
        ("epsilon", policy.epsilon, promise.epsilon),
        ("delta", policy.delta, promise.delta),
    ):
        if limit is not None and value > limit:
            broken.append(f"{name} {shown(value)} exceeds the policy's {shown(limit)}")
    if promise.relation not in policy.relations:
        broken.append(f"the relation {promise.relation} is not among {', '.join(policy.relations)}")
    if promise.model not in policy.models:
        broken.append(f"the model {promise.model} is not among {', '.join(policy.models)}")
    return broken
