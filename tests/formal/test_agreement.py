"""Two programs on one derivation: the checker extracted from the proofs, and the Python checker.

`make formal` builds the extracted one; without it these tests say that they are skipped.
"""

import json
import math
import random
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpaccount.checker import Rejected
from dpaccount.checker.derivation import check_derivation
from dpaccount.checker.distributions import shuffled_delta
from dpaccount.checker.documents import Work
from dpaccount.checker.facts import RULES
from dpaccount.checker.intervals import Interval
from dpaccount.proof import REPLACE_ONE, assume_l1, assume_points, laplace, shuffled, to_gdp, write
from tests.depth import deep
from tests.dpaccount.rules.statements import DERIVATIONS
from tests.dpaccount.rules.test_units import KEEPS, REFUSES
from tests.formal.damaged import forged, honest_digests
from tests.formal.grown import MOST_EPSILON, grown

FORMAL = Path(__file__).parents[2] / "formal"
CHECKER = FORMAL / "check" / "checker"
SOURCES = [*FORMAL.rglob("*.v"), CHECKER.with_name("driver.ml")]

pytestmark = BUILT = pytest.mark.skipif(
    not CHECKER.exists() or any(file.stat().st_mtime > CHECKER.stat().st_mtime for file in SOURCES),
    reason="`make formal` has not built the extracted checker from these sources",
)


def by_python(steps):
    """Return the number of steps that hold, or that of the first that does not; None where there are no steps."""
    try:
        return ("valid", len(check_derivation(steps)))
    except Rejected as why:
        found = re.match(r"step (\d+) ", str(why))
        return ("invalid", int(found[1]) if found else None)


def unread(numbers):
    """Return which of these texts the extracted checker refuses as numbers that are not in their shortest form."""
    lines = "".join(f'{{"schema": "dpaccount/derivation/1", "steps": [{text}]}}\n' for text in numbers)
    said = subprocess.run([CHECKER, "--lines"], input=lines, capture_output=True, text=True, check=True)
    answers = said.stdout.splitlines()
    assert len(answers) == len(numbers)
    return [text for text, answer in zip(numbers, answers, strict=True) if "shortest form" in answer]


@deep
def test_every_double_is_read_as_python_writes_it_and_no_other_way(depth):
    """Above a power of two doubles are twice as far apart as below: their nearest decimal may not read back."""
    powers = [2.0**exponent for exponent in range(-1074, 1024)]
    drawn = depth.rng(1).integers(0, 2**63, 20_000).view(np.float64)
    numbers = [*powers, *(-each for each in powers[::50]), *drawn[np.isfinite(drawn)].tolist()]
    assert unread([repr(number) for number in numbers if number]) == []
    longer = ["0.10", "1.00", "5.9604644775390625e-08", "0.30000000000000005", "1e-3"]
    assert unread(longer) == longer


def by_extracted(documents):
    lines = [json.dumps({"schema": "dpaccount/derivation/1", "steps": steps}) for steps in documents]
    said = subprocess.run(
        [CHECKER, "--lines"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    found = []
    for line in said.stdout.splitlines():
        verdict = re.fullmatch(r"(valid|invalid|error): .*?(\d+)?( steps)?", line)
        number = re.search(r"\d+", line)
        found.append(("valid" if verdict[1] == "valid" else "invalid", int(number[0]) if number else None))
    assert len(found) == len(documents)
    return found


def agree(documents):
    verdicts = [by_python(steps) for steps in documents]
    assert by_extracted(documents) == verdicts
    return sum(verdict == "valid" for verdict, _ in verdicts)


def rests_on_persons(steps):
    """Return whether a premise of the last step rests on the rule `persons`."""
    found = []
    for step in steps:
        before = any(found[k] for k in step["from"])
        found.append(before or step["rule"] == "persons")
    return before


def test_both_accept_what_every_rule_gives():
    assert agree(DERIVATIONS) == len(DERIVATIONS) > 20


def counted(rng, size, above):
    """Return a derivation of shuffled bits whose delta is a little above the least one, or below it."""
    truth, share = Fraction(rng.randint(501, 999), 1000), Fraction(rng.randint(0, 90), 100)
    ratio = truth / (1 - truth)
    epsilon = share * Fraction(min(1, 6 / math.sqrt(size)) * math.log(ratio)).limit_denominator(10**6)
    Work.begin()
    least = Fraction(float(shuffled_delta(Interval(40), ratio, size, epsilon)[1]))
    answers = assume_points("q", [(0,), (1,)], REPLACE_ONE, "t")
    bit = ((truth, 1 - truth), (1 - truth, truth))
    steps = write(shuffled(answers, bit, size, epsilon, Fraction(1), "k"))
    steps[1]["with"]["delta"] = steps[1]["gives"][2][2] = str(least * (1 + Fraction(above, 10**12)))
    honest_digests(steps)
    return steps


@deep
def test_both_count_alike_what_shuffled_bits_tell():
    """200 deltas that differ from the least one by 1e-12 of it, and two for the most bits."""
    rng = random.Random("shuffled")
    sizes = (2, 3, 7, 40, 333) * 20 + (10_000,)
    documents = [counted(rng, size, above) for size in sizes for above in (1, -1)]
    assert agree(documents) == len(sizes)


def test_the_extracted_one_refuses_what_it_has_not_the_digits_for():
    """As docs/formal.md says; random derivations stay below."""
    losses = [Fraction(MOST_EPSILON), Fraction(10_000)]
    pure = [laplace(assume_l1("s", loss, REPLACE_ONE, "t"), Fraction(1), Fraction(1), "k") for loss in losses]
    documents = [write(to_gdp(part, part.conclusion.curve.epsilon**2 * 2)) for part in pure]
    assert [by_python(steps)[0] for steps in documents] == ["valid", "valid"]
    assert by_extracted(documents) == [("valid", 3), ("invalid", 2)]


def lengthy(radius):
    """Return the derivation of how far a sum moves, over a ball of this radius."""
    given = {"query": "q", "radius": str(radius), "relation": "replace-one", "because": "t"}
    inside = ["Contribution", "q", "ball", "0", str(radius**2), [], "replace-one", "public"]
    moves = ["Stable", "q", "l2-squared", str(4 * radius**2), "replace-one", None]
    steps = [
        {"rule": "assume_ball", "from": [], "with": given, "gives": inside},
        {"rule": "linear", "from": [0], "with": {}, "gives": moves},
    ]
    honest_digests(steps)
    return steps


def test_both_refuse_a_conclusion_with_a_number_of_more_than_1000_characters():
    """Of 999 and 1,000 characters; then the second conclusion has 1,001, and the first."""
    radii = [3 * 10**499, 5 * 10**499, 10**500, Fraction(1, 2 * 10**498), Fraction(1, 10**499)]
    verdicts = [("valid", 2), ("invalid", 1), ("invalid", 0), ("valid", 2), ("invalid", 0)]
    documents = [lengthy(Fraction(radius)) for radius in radii]
    assert [len(steps[1]["gives"][3]) for steps in documents[:2]] == [1000, 1001]
    assert by_extracted(documents) == [by_python(steps) for steps in documents] == verdicts


@deep
def test_both_accept_what_the_catalogue_proves():
    from tests.mechanisms.test_catalogued import SUBJECTS

    deltas = (Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 100))
    documents = [write(case.values[0].proof(delta)) for case in SUBJECTS for delta in deltas]
    assert agree(documents) == len(documents) > 20


@deep
@pytest.mark.parametrize("seed", range(10))
def test_both_refuse_the_same_step_of_a_damaged_derivation(seed):
    """2,200 damaged derivations a seed, whose later steps were made consistent with the damage."""
    rng = random.Random(f"formal {seed}")
    documents = [forged(rng, rng.choice(DERIVATIONS)) for _ in range(2200)]
    assert 100 < agree(documents) < 1500  # the damage is neither always harmless nor always fatal


@deep
@pytest.mark.parametrize("seed", range(10))
def test_both_agree_on_random_derivations_at_the_edges_of_side_conditions(seed):
    """10,000 derivations a seed, or more until every rule gave a statement, and refused, in some.

    So does every rule that may be given one about persons, and each that is about rows refuses it.
    """
    rng, verdicts, documents = random.Random(f"grown {seed}"), [], []
    wanted = {(rule, verdict, False) for rule in RULES for verdict in ("valid", "invalid")}
    # bounded range has no groups, messages and rows that move by a radius no persons
    wanted |= {(rule, "valid", True) for rule in KEEPS - {"to_pure", "local_view"}}
    wanted |= {(rule, "invalid", True) for rule in (REFUSES | {"compose", "mixture"}) - {"within"}}
    met = set()
    while len(documents) < 10_000 or not met >= wanted:
        assert len(documents) < 40_000, wanted - met
        for steps in grown(rng):
            documents.append(steps)
            verdicts.append(by_python(steps))
            end = steps[-1]["rule"], verdicts[-1][0]
            met |= {(*end, False), (*end, rests_on_persons(steps))}
    assert by_extracted(documents) == verdicts
    assert not met & {(rule, "valid", True) for rule in REFUSES}
