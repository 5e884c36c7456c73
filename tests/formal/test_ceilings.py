"""What the extracted checker decides of one release, against the curves of dpaccount/pairs: above, and hardly so."""

import json
import random
import subprocess
from fractions import Fraction

from flint import arb

from dpaccount.numerics.closed.sampled_curves import on_sample, with_infinite_mass
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.discrete import DiscreteGaussianPair, GeometricPair, ResponsePair
from dpaccount.pairs.gaussian import GaussianPair
from dpaccount.pairs.laplace import LaplacePair
from tests.depth import deep
from tests.formal.test_agreement import BUILT, CHECKER

pytestmark = [BUILT, deep]

BITS, PARTS, NODES = 96, 20, 81  # at e^(i/20), i from -40 to 40
EXCESS = 2.0**-80


def drawn(rng):
    """Return an event, and its curves in both directions."""

    def number(low, high):
        return Fraction(rng.randint(low, high), 1000)

    scale, shift = number(300, 20_000), rng.randint(1, 8)
    noise = {"sensitivity": shift}
    kinds = {
        "pure": ({"epsilon": scale / 4}, lambda: ResponsePair(scale / 4)),
        "approximate": ({"epsilon": scale / 4, "delta": "1/50"}, lambda: ResponsePair(scale / 4)),
        "randomized_response": (
            {"epsilon": scale / 4, "k": shift + 1},
            lambda: ResponsePair(scale / 4, shift + 1),
        ),
        "laplace": ({"scale": scale, **noise}, lambda: LaplacePair(shift / scale)),
        "discrete_laplace": ({"scale": scale, **noise}, lambda: GeometricPair(scale, shift)),
        "gaussian": ({"sigma": scale, **noise}, lambda: GaussianPair(((shift / scale) ** 2,) * 2)),
        "discrete_gaussian": ({"sigma": scale, **noise}, lambda: DiscreteGaussianPair(scale, shift)),
    }
    name = rng.choice([*kinds])
    members, pair = kinds[name]
    event = {"event": name, **{k: v if type(v) is int else str(v) for k, v in members.items()}}
    curve = pair().curve(3 * BITS)
    if name == "approximate":
        curve = with_infinite_mass(curve, Fraction(1, 50), Fraction(1, 50))
    there = back = curve
    samples = 0 if name == "randomized_response" else rng.choice([0, 1, 1, 2])
    for _ in range(samples):
        rate = number(1, 999)
        event = {"event": "poisson_subsampled", "rate": str(rate), "of": event}
        there, back = (on_sample(rate, there, back, 3 * BITS, added=added) for added in (False, True))
    return event, (there, back)


def test_what_is_decided_of_a_release_is_above_its_hockey_stick_and_hardly_more():
    rng = random.Random(7)
    releases = [drawn(rng) for _ in range(150)]
    lines = "".join(json.dumps(event) + "\n" for event, _ in releases)
    command = [CHECKER, "--ceilings", str(BITS), str(PARTS), str(-(NODES // 2)), str(NODES)]
    said = subprocess.run(
        command, input=lines, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = [[int(z) for z in line.split()] for line in said]
    assert [len(values) for values in found] == 2 * len(releases) * [NODES]
    with precision(2 * BITS):
        for number, (event, curves) in enumerate(releases):
            for curve, values in zip(curves, found[2 * number :], strict=False):
                for index, value in enumerate(values):
                    true = curve(Fraction(index - NODES // 2, PARTS))
                    excess = arb(value) / arb(2) ** BITS - true
                    assert not excess < 0, event
                    assert excess < EXCESS, event
