"""A certificate in a few lines, for the terminal."""

import shlex
from fractions import Fraction
from typing import Any

from audits.claim import Guarantee
from audits.consistency.hazards import NO_TEST
from audits.reports.words import missing, upper_end
from dpaccount.accounting.measures import UNBOUNDED
from dpaccount.documents import flat, plain
from dpaccount.exact import in_digits, shown, to_digits
from dpaccount.ledger.requests import Charge

SYMBOLS = {"mu_squared": "μ²", "rho": "ρ", "pure": "pure ε"}  #: of a ledger's amounts
MAX_SHOWN = 12  #: maximum numbers of an array in a summary


def summary(certificate: dict[str, Any], path: object) -> str:
    """Return the verdict, what is promised, proved, tested, attacked and released, and the file's path."""
    refuted = f" (the {certificate['refutes']})" if certificate["refutes"] else ""
    lines = [f"{certificate['verdict']}{refuted}  {certificate['claim']['name']}"]
    lines += [f"  {word:<9} {sentence}" for word, sentence in parts_of(certificate)]
    return "\n".join(map(plain, [*lines, str(path)]))  # text from a claim is escaped


def parts_of(certificate: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what is promised, proved, tested, attacked and released, each after one word."""
    promise, proved = certificate["guarantee"], certificate["proved"]
    moves = f" by at most {promise['radius']}" if "radius" in promise else ""
    terms = f"{promise['model']} DP, ε = {promise['epsilon']}, δ = {promise['delta']}"
    terms += f", {promise['relation']}{moves}"
    parts = [("promised", f"{terms}, of {promise['unit']}"), *_noise(certificate)]
    if proved["epsilon"] is not None:
        upper, steps = upper_end(proved["epsilon"]["upper"]), len(proved["derivation"])
        parts.append(("proved", f"ε ≤ {upper} at δ = {proved['delta']}, in {steps} steps"))
        if "replace_one" in proved:
            parts.append(("replaced", _replaced(proved["replace_one"])))
        parts += [("missing", sentence) for sentence in missing(certificate)]
    else:
        parts.append(("proved", f"nothing: {proved['reason']}"))
    if "refutation" in proved:
        parts.append(("refuted", f"at this ε and δ, in {len(proved['refutation'])} steps"))
    parts += _evidence(certificate["sensitivity"])
    if certificate["audit"] is not None:
        parts += _audit(certificate["audit"])
    parts += [
        ("uncovered", each.removeprefix(NO_TEST))
        for each in certificate["hazards"]
        if each.startswith(NO_TEST)
    ]
    if certificate["release"] is not None:
        report = dict(certificate["release"]["report"])
        labels, accuracy = report.pop("labels", None), report.pop("accuracy", {})
        shown = report if labels is None else {key: _listed(value) for key, value in report.items()}
        parts.append(
            ("released", ", ".join(f"{_words(key)} {_value(value)}" for key, value in shown.items()))
        )
        parts += [("accuracy", _interval(key, each)) for key, each in accuracy.items()]
        evaluation = dict(certificate["release"]["evaluation"] or {})
        note = evaluation.pop("note", None)
        figures = ", ".join(f"{_words(key)} {_value(value)}" for key, value in evaluation.items())
        parts += [("evaluated", f"{figures} ({note})")] if note else []
    return parts


def _noise(certificate: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the noise that follows from the claim, where the claim does not state it."""
    held, given = certificate["subject"]["parameters"], certificate["claim"]["subject"].get("parameters", {})
    own = ":" in certificate["claim"]["subject"]["use"]  # that of a user's own class is what the class says
    noises = ("scale", "sigma", "rate", "epsilon")
    values = [(key, held[key]) for key in noises if held.get(key) is not None and key not in given]
    return [] if own else [("noise", f"{key} = {value}") for key, value in values]


def _replaced(replaced: dict[str, Any] | None) -> str:
    if replaced is None:
        return "nothing is proved if a row is replaced by any other"
    upper = upper_end(replaced["epsilon"]["upper"])
    return f"ε ≤ {upper} at δ = {replaced['delta']} if a row is replaced by any other"


def _evidence(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    failed = [entry for entry in entries if entry["status"] == "refuted"]
    if failed:
        return [("false", f"{e['rule']} of {e['query']}: {e['counterexample']['wrong']}") for e in failed]
    idle = [entry for entry in entries if entry["status"] == "untested"]
    if idle:
        return [("untested", f"{e['rule']} of {e['query']} ({e['value']})") for e in idle]
    trusted = [entry for entry in entries if entry["status"] == "accepted"]
    lines = [("accepted", f"{e['rule']} of {e['query']}, by the claim, without a test") for e in trusted]
    tested = len(entries) - len(trusted)
    if tested:
        examples = sum(entry["examples"] for entry in entries if entry not in trusted)
        lines.append(
            ("tested", f"{tested} assumptions on the running code, {examples} examples: none failed")
        )
    return lines


def _audit(audit: dict[str, Any]) -> list[tuple[str, str]]:
    effort = f"{audit['trials']} runs of the code, confidence {audit['confidence']}"
    lines = [("attacked", f"ε ≥ {_lower(audit['epsilon_lower'])} shown by {effort}")]
    for point in audit["points"]:
        if beaten(point):
            shown = f"ε ≥ {_lower(point['epsilon_lower'])} at δ = {point['delta']}"
            lines.append(("exceeded", f"{shown}, above the {point['of']}'s {point['limit']}"))
    return lines


def _lower(epsilon: float) -> str:
    return to_digits(epsilon, up=False, digits=4)


def beaten(point: dict[str, Any]) -> bool:
    """Return whether an audited point's lower bound exceeds its limit."""
    return bool(point["epsilon_lower"] > Fraction(point["limit"]))


def _words(key: str) -> str:
    return key.replace("_", " ")


def _listed(value: object, *, up: bool | None = None) -> object:
    """Return a released array's numbers in a row, to six digits; of many, the first ones."""
    if not isinstance(value, list):
        return value
    numbers = list(flat(value))
    shown = ", ".join(in_digits(number, 6, up=up) for number in numbers[:MAX_SHOWN])
    return f"[{shown}, …]" if len(numbers) > MAX_SHOWN else f"[{shown}]"


def _interval(key: str, each: dict[str, Any]) -> str:
    low, high = _listed(each["low"], up=False), _listed(each["high"], up=True)
    return f"{_words(key)} from {low} to {high}, noise alone, {each['level']:.0%}: {each['of']}"


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        parts = dict(value)
        ends = [parts.pop(end, None) for end in ("mean", "low", "high")]
        if None not in ends:  # a number with its interval
            low, high = (to_digits(end, up=up, digits=4) for end, up in ((ends[1], False), (ends[2], True)))
            parts = {"": f"{ends[0]:.4g} [{low}, {high}]", **parts}
        return ", ".join(f"{name} {_value(member)}".strip() for name, member in parts.items())
    if value is None:
        return "none"
    return " > ".join(map(str, value)) if isinstance(value, list) else str(value)


def cost_of(charge: Charge) -> str:
    """Return as text what a charge costs the unit that pays most, rounded up."""
    if charge.spends is None:
        raise AssertionError("a charge without a bound is refused")
    spends = dict(zip(charge.budget.measure.amounts, charge.spends, strict=True))
    numbers = {name: to_digits(each, up=True, digits=4) for name, each in spends.items()}
    if charge.budget.measure.name == "approximate":
        return f"ε {numbers['epsilon']} and δ {numbers['delta']}"
    known = [name for name, each in spends.items() if each < UNBOUNDED and name in SYMBOLS]
    sums = ", ".join(f"{SYMBOLS[name]} {numbers[name]}" for name in known)
    sums += f" and δ {numbers['delta']}" if "delta" in numbers else ""
    epsilon = f"ε {to_digits(charge.epsilon.upper, up=True, digits=4)}"
    return f"{sums} ({epsilon} at δ {shown(charge.budget.delta)})" if sums else epsilon


def init_command(url: str, promised: Guarantee) -> str:
    """Return the command that makes a ledger which pays once for what is promised."""
    # `approximate` is the measure that takes every kind of release.
    limits = ["--epsilon", shown(promised.epsilon), "--delta", shown(promised.delta)]
    counted = ["--unit", promised.unit, "--relation", promised.neighbours]
    return shlex.join(["dpaccount", "ledger", "init", url, *limits, *counted, "--measure", "approximate"])
