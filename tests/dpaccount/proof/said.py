"""What tests of rules say of a theorem: it is refused in a sentence, or the checker infers the same."""

import pytest

from dpaccount import checker
from dpaccount.checker import Rejected, derivation
from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import RuleError
from dpaccount.proof.derivation import write


def refuses(rule, *arguments, match=None, **named):
    with pytest.raises(RuleError, match=match):
        rule(*arguments, **named)


def confirmed(theorem):
    """The checker infers the same; return the conclusion."""
    steps = write(theorem)
    assert check_derivation(steps)[-1] == steps[-1]["gives"]
    return theorem.conclusion


def checker_refuses(rule, parts, given=None, match="names two draws"):
    """The checker refuses to put the parts' own steps together, as the kernel does."""
    steps, ends = [], []
    for part in parts:
        index = {}
        for at, step in enumerate(write(part)):
            known = next((k for k, old in enumerate(steps) if old["digest"] == step["digest"]), None)
            index[at] = len(steps) if known is None else known
            if known is None:
                steps.append({**step, "from": [index[k] for k in step["from"]]})
        ends.append(index[max(index)])
    check_derivation(steps)
    gives = derivation.infer(rule, [steps[k]["gives"] for k in ends], given or {})
    body = {"rule": rule, "with": given or {}, "gives": gives}
    digest = checker.digest({**body, "from": [steps[k]["digest"] for k in ends]})
    with pytest.raises(Rejected, match=match):
        check_derivation([*steps, {**body, "from": ends, "digest": digest}])
