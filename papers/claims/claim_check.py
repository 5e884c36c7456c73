"""What a claim is, what checking it finds, and the verdict that follows.

A claim is somebody's sentence "this is (ε, δ)-private at these parameters".  Checking it finds an
enclosure of what the published mechanism really costs; the verdict is a comparison, nothing else.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaccount.errors import InputError, RuleError
from dpaccount.exact import Enclosure, printed
from dpaccount.exact import Number as Bound
from dpaccount.proof import Theorem, write
from papers.claims.parameters import SIZE, Parameter, Settings, Value, Values, short

SCHEMA = "dpaccount/claim-check/1"
REFUTED, SOUND, LOOSE, UNPROVEN = "REFUTED", "SOUND", "LOOSE", "UNPROVEN"
EXIT_CODES = {SOUND: 0, LOOSE: 0, REFUTED: 1, UNPROVEN: 3}
TIGHT = Fraction(105, 100)  #: published over needed noise below this is SOUND, from here on LOOSE


@dataclass(frozen=True)
class Scales:
    """The scale that was published and the least that meets the claim; None if there is none."""

    published: Enclosure | None
    needed: Enclosure | None


@dataclass(frozen=True)
class Cost:
    """What a published mechanism costs at the claim's parameters.

    `claimed` is (ε, δ), None for what a claim does not speak of.  `epsilon` encloses the exact cost
    at `delta`, or else at the claimed δ; `loss_delta` encloses δ at the claimed ε.  `covers_all`:
    the cost is the supremum over all neighbours, not the cost of one pair: only then can a claim
    hold.  `holds` decides where the claim is about another number than ε or δ (a sensitivity, a step).
    `proof` derives what is proved, `refutation` that the claimed (ε, δ) does not hold.
    """

    claimed: tuple[Bound | None, Fraction | None]
    witness: dict[str, Any]
    epsilon: Enclosure | None = None
    loss_delta: Enclosure | None = None
    delta: Fraction | None = None
    mu: Enclosure | None = None
    noise: Scales | None = None
    factor: Enclosure | None = None
    proof: Callable[[], Theorem] | None = None
    refutation: Callable[[], Theorem] | None = None
    covers_all: bool = True
    holds: bool | None = None

    @property
    def verdict(self) -> str:
        """Compare the cost with the claim.

        REFUTED if the cost at the claimed δ, or δ at the claimed ε, surely exceeds the claim; UNPROVEN
        if it is not surely within it; else SOUND or, where 1.05 times less noise would do, LOOSE.
        """
        if self.holds is not None:
            return self._fit if self.holds else REFUTED
        compared = [
            (limit, cost)
            for limit, cost in zip(self.claimed, (self.epsilon, self.loss_delta), strict=True)
            if limit is not None and cost is not None
        ]
        if any(cost.lower is not None and cost.lower > limit for limit, cost in compared):
            return REFUTED
        # One pair that costs little proves nothing: another pair may cost more.
        if not self.covers_all or not any(cost.upper <= limit for limit, cost in compared):
            return UNPROVEN
        return self._fit

    @property
    def _fit(self) -> str:
        return SOUND if self.factor is None or self.factor.upper < TIGHT else LOOSE

    def derivation(self) -> list[dict[str, Any]]:
        """Return the steps behind the verdict; none where the checker does not reach these numbers."""
        build = self.refutation if self.verdict == REFUTED else self.proof
        if build is None:
            return []
        try:
            return write(build())
        # The verdict stands on the enclosures alone; a derivation that the checker has no numbers for is left
        # out.
        except RuleError:
            return []


Check = Callable[[Values], Cost]
Run = Callable[[Values, int], dict[str, Any]]


@dataclass(frozen=True)
class PaperClaim:
    """A named claim: its parameters and check, whose docstring says what is claimed, and where.

    `check` takes the parameters (exact numbers and words) and returns what it really costs.  `run`, where
    there is one, simulates the published algorithm at them with a seed, attacks it at the witness pair and
    returns what it saw: the attack, its numbers, and whether the claim is `refuted`, by a bound that fails
    with probability below 1 % where chance takes part.
    """

    name: str
    parameters: dict[str, Parameter]
    check: Check
    run: Run | None = None

    def read(self, settings: Settings) -> Values:
        """Return all parameters, defaults filled in; `InputError` for unknown or impossible ones."""
        unknown = [key for key in settings if key not in self.parameters]
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise InputError(f"{self.name} has no parameter {short(unknown[0])}", f"known: {known}")
        read = {k: kind.read(k, settings.get(k, kind.default)) for k, kind in self.parameters.items()}
        words = {key: value for key, value in read.items() if isinstance(value, str)}
        return Values({key: value for key, value in read.items() if not isinstance(value, str)}, words)

    def checked(self, values: Values) -> dict[str, Any]:
        """Return what checking finds, of schema dpaccount/claim-check/1; keys that do not apply are null."""
        finding = self.check(values)
        given: dict[str, Value] = {**values, **values.words}
        noise, at = finding.noise, finding.claimed[1] if finding.delta is None else finding.delta
        return {
            "schema": SCHEMA,
            "name": self.name,
            "parameters": {key: _plain(given[key]) for key in self.parameters},
            "claimed": {"epsilon": _plain(finding.claimed[0]), "delta": _plain(finding.claimed[1])},
            "proved": {
                "epsilon": None if finding.epsilon is None else finding.epsilon.as_json(),
                "delta": None if finding.epsilon is None else _plain(at),
            },
            "delta_at_claimed_epsilon": None if finding.loss_delta is None else finding.loss_delta.as_json(),
            "mu": _near(finding.mu),
            "noise": None
            if noise is None
            else {"published": _near(noise.published), "needed": _upper(noise.needed)},
            "verdict": finding.verdict,
            "factor": _near(finding.factor),
            "derivation": finding.derivation(),
            "witness": finding.witness,
        }


def _plain(value: Bound | str | None) -> int | float | str | None:
    """Return an exact number as JSON writes it: an integer, else the nearest double."""
    if value is None or isinstance(value, str):
        return value
    if value == math.inf:
        return "inf"
    exact = Fraction(value)
    if exact.denominator == 1 and abs(exact) < 2**53:
        return int(exact)
    return float(exact) if 1 / SIZE <= abs(exact) <= SIZE else printed(exact, up=True)


def _near(value: Enclosure | None) -> int | float | str | None:
    """Return the middle of a narrow enclosure, as a number that is not printed as a bound."""
    if value is None:
        return None
    if value.lower is None or value.upper == math.inf:
        return printed(value.upper, up=True)
    return _plain((Fraction(value.lower) + Fraction(value.upper)) / 2)


def _upper(value: Enclosure | None) -> float | str | None:
    return None if value is None else printed(value.upper, up=True)
