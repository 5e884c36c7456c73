"""The checker alone: its numbers part by part, its rejections, and random damage to derivations."""

import contextlib
import json
import random
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpaccount import checker
from dpaccount.checker import Rejected, curves, distributions, intervals
from dpaccount.checker.__main__ import main
from dpaccount.checker.derivation import check_derivation
from dpaccount.checker.intervals import Interval
from dpaccount.numerics.curves import at_most, delta_ball
from dpaccount.proof import (
    Lattice,
    assume_covers,
    assume_points,
    assume_view,
    billboard,
    differences,
    lattice_gaussian,
    nodes,
    to_approximate,
    write,
)
from tests.dpaccount.checker.made import copied
from tests.dpaccount.checker.test_costs import chained
from tests.looped import looped

F = Fraction


def real(value: Decimal) -> mpmath.mpf:
    return mpmath.mpf(str(value))


def holds(pair, exact) -> bool:
    return real(pair[0]) <= exact <= real(pair[1])


# ------------------------------------------------------------------ numbers, each part alone


@given(st.fractions(min_value=-50, max_value=50, max_denominator=100), st.sampled_from([2, 3, 5, 30]))
def test_exp_encloses_at_every_precision(x, digits):
    i = Interval(digits)
    with mpmath.workdps(60):
        pair = i.of(x)
        assert holds(i.exp((pair[0], pair[0])), mpmath.exp(real(pair[0])))


@given(st.fractions(min_value=F(1, 100), max_value=100, max_denominator=100), st.sampled_from([2, 3, 5, 30]))
def test_ln_and_sqrt_enclose_at_every_precision(x, digits):
    i = Interval(digits)
    point = (i.of(x)[0],) * 2
    with mpmath.workdps(60):
        assert holds(i.ln(point), mpmath.log(real(point[0])))
        assert holds(i.sqrt(point), mpmath.sqrt(real(point[0])))


fraction = st.fractions(min_value=-9, max_value=9, max_denominator=60)


@given(fraction, fraction, fraction, fraction, st.sampled_from([1, 2, 4]))
def test_interval_arithmetic_holds_all_points(a, b, c, d, digits):
    i = Interval(digits)
    x = (i.of(min(a, b))[0], i.of(max(a, b))[1])
    y = (i.of(min(c, d))[0], i.of(max(c, d))[1])
    for p in (a, b):
        for q in (c, d):
            for pair, exact in ((i.add(x, y), p + q), (i.sub(x, y), p - q), (i.mul(x, y), p * q)):
                assert F(pair[0]) <= exact <= F(pair[1])
            if y[0] > 0:
                pair = i.div(x, y)
                assert F(pair[0]) <= p / q <= F(pair[1])
    assert i.neg(x) == (x[1].copy_negate(), x[0].copy_negate())


@looped("steps", [1, 2, 3, 10])
def test_a_short_fraction_still_encloses(steps):
    i = Interval(40)
    with mpmath.workdps(60):
        for x in ("4", "6.5", "20"):
            exact = mpmath.npdf(x) / (mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
            assert holds(distributions.tail_fraction(i, Decimal(x), steps), exact)


@looped("digits", [3, 10, 40])
@looped("x", ["-6", "-2.5", "0", "0.3", "3.9", "4", "8", "37"])
def test_the_upper_tail_encloses(x, digits):
    i = Interval(digits)
    with mpmath.workdps(80):
        exact = mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2
        pair = distributions.upper_tail(i, i.of(F(x)))
        assert holds(pair, exact)
        assert real(pair[1]) - real(pair[0]) <= mpmath.mpf(10) ** (3 - digits * 3 // 5)


@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=12),
    st.lists(st.integers(0, 10**12), min_size=1, max_size=12),
)
def test_long_products_are_exact(a, b):
    expected = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            expected[i + j] += x * y
    assert distributions.multiply(a, b) == expected


def test_products_of_full_scale_masses_are_exact():
    a = [10**30 - 1] * 50
    assert distributions.multiply(a, a)[49] == 50 * (10**30 - 1) ** 2
    assert distributions.power([1, 1], 60)[30] == 118264581564861424


def test_the_lattice_law_accounts_for_what_it_cuts():
    """At one digit the floors are gross: true masses must lie between floor and floor + excess."""
    cells, reach, least, excess = distributions.lattice_law(F(9), (1,), 2, 1)
    weights = {x: mpmath.exp(-mpmath.mpf(x * x) / 18) for x in range(-60, 61)}
    norm = mpmath.fsum(weights.values())
    assert least <= (norm * 10) ** 2 <= least + excess
    below = mpmath.fsum(weights[x] * weights[y] for x in weights for y in weights if x + y < 0)
    kept = sum(cells[:reach])
    assert kept <= below * 100 <= kept + excess


@looped(("n", "k", "odds"), [(3, 0, "1/7"), (40, 25, "3/4"), (90, 89, "1/3"), (5, 5, "1/9"), (2, 0, "1/5")])
def test_sums_over_their_first_term_are_enclosed_to_the_last_part(n, k, odds):
    """Sums of few terms, exactly; rounding inwards anywhere is seen, and the enclosure is a few parts wide."""
    ratio, whole, term = Fraction(odds), Fraction(1), Fraction(1)
    for j in range(k, n):
        term *= Fraction(n - j, j + 1) * ratio
        whole += term
    low, high = distributions.falling_sum(n, k, ratio)
    assert low <= whole * distributions.FIXED_ONE <= high
    assert high - low <= 40 * n


def test_tails_of_many_runs_are_enclosed_closely():
    i = Interval(40)
    low, high = distributions.binomial_tail(i, 10**6, F(3, 10), 301_500, up=True)
    exact = stats.binom.sf(301_499, 10**6, 0.3)
    assert float(low) <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-9) <= float(high) <= float(low) * (1 + 1e-12)


# ------------------------------------------------------------------ derivations


def derivation():
    basis = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
    leaf = lattice_gaussian(
        differences(assume_points("sums", basis, "replace-one", "movement")), F(400), "sums"
    )
    tree = nodes(leaf, assume_covers("sums", [(1, 4), (5, 8), (1, 8)], "movement"))
    return write(billboard(to_approximate(tree, F(1), F("1e-6")), assume_view("subject", "others", "replay")))


def recomputed(steps):
    """Return the same steps with honest digests: a forger has those too."""
    for step in steps:
        body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
        step["digest"] = checker.digest({**body, "from": [steps[k]["digest"] for k in step["from"]]})
    return steps


def test_the_honest_derivation_is_accepted():
    assert check_derivation(derivation())[-1][2] == ["approximate", "1", "1/1000000"]


def test_an_edit_without_new_digests_is_caught():
    steps = derivation()
    steps[2]["with"]["variance"] = "500"
    with pytest.raises(Rejected, match="step 2"):
        check_derivation(steps)


@looped(
    ("index", "edit", "message"),
    [
        (2, lambda s: s["with"].update(variance="100"), "claims"),
        (2, lambda s: s["with"].update(variance="-400"), "above 0"),
        (2, lambda s: s["with"].update(variance="400/1"), "lowest terms"),
        (2, lambda s: s["with"].update(variance=400), "quotes"),
        (2, lambda s: s["with"].update(variance="9" * 2000), "exact number"),
        (2, lambda s: s["with"].update(extra="1"), "extra"),
        (0, lambda s: s["with"].update(relation="swap"), "relation"),
        (0, lambda s: s["with"]["points"].append([0, 0]), "sorted"),
        (3, lambda s: s["with"].update(covers=[[1, 4]]), "claims"),
        (4, lambda s: s.update({"from": [2, 4]}), "not an earlier step"),
        (4, lambda s: s.update({"from": [2, 7]}), "not an earlier step"),
        (4, lambda s: s.update({"from": [2, -1]}), "not an earlier step"),
        (4, lambda s: s.update({"from": [2, True]}), "not an earlier step"),
        (4, lambda s: s.update(rule="compose"), "needed premises"),
        (4, lambda s: s.update(rule="believe"), "unknown rule"),
        (5, lambda s: s["with"].update(epsilon="1/2"), "does not follow"),
        (5, lambda s: s["with"].update(delta="1/" + "1" + "0" * 60), "does not follow"),
        (5, lambda s: s["with"].update(order="2"), "order"),
        (7, lambda s: s["gives"].__setitem__(4, "central"), "claims"),
    ],
)
def test_a_consistent_forgery_names_the_step(index, edit, message):
    steps = derivation()
    edit(steps[index])
    if "from" not in message and "not an earlier" not in message:
        steps = recomputed(steps)
    with pytest.raises(Rejected, match=f"step {index} .*{message}"):
        check_derivation(steps)


def scramble(rng: random.Random, value):
    """Return a random edit of one place of a JSON value."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: scramble(rng, value[key])}
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        action = rng.random()
        if action < 0.1:
            return value[:at] + value[at + 1 :]
        if action < 0.2:
            return [*value, value[at]]
        if action < 0.3:
            return rng.sample(value, len(value))
        return [*value[:at], scramble(rng, value[at]), *value[at + 1 :]]
    choices = [
        "0",
        "1",
        "-1",
        "1/2",
        "10000000",
        "1/0",
        "x",
        "",
        None,
        True,
        0,
        1,
        2,
        -1,
        10**30,
        0.5,
        [],
        {},
        "9" * 999,
    ]
    return rng.choice(choices)


@looped("seed", range(4))
def test_random_damage_is_rejected_or_sound(seed):
    """500 edits a seed, digests recomputed where that is possible: what is still accepted is still proved.

    Soundness of a survivor is judged by the balls of `numerics`, another program: the final (ε, δ)
    must follow from the variance, points and covers that the edited derivation states.
    """
    rng = random.Random(seed)
    honest = derivation()
    accepted = 0
    for _ in range(500):
        steps = scramble(rng, copied(honest))
        with contextlib.suppress(KeyError, TypeError, IndexError, AttributeError, ValueError):
            steps = recomputed(steps)
        try:
            facts = check_derivation(steps)
        except Rejected:
            continue
        accepted += 1
        for fact, step in zip(facts, steps, strict=True):
            if step["rule"] == "to_approximate":
                _, _, (_, variance, shifts, count), *_ = facts[step["from"][0]]
                curve = Lattice(F(variance), tuple(map(tuple, shifts)), count)
                epsilon, delta = F(fact[2][1]), F(fact[2][2])
                assert at_most(lambda bits, c=curve, e=epsilon: delta_ball(c, e, bits), delta)
            if step["rule"] == "nodes":
                covers = steps[step["from"][1]]["with"]["covers"]
                most = max(sum(a <= u <= b for a, b in covers) for u in range(1, 12))
                assert fact[2][3] == most
            if step["rule"] == "differences":
                points = steps[step["from"][0]]["with"]["points"]
                pairs = [zip(a, b, strict=True) for a in points for b in points]
                moves = {tuple(sorted((abs(x - y) for x, y in p if x != y), reverse=True)) for p in pairs}
                assert {tuple(s) for s in fact[2]} == moves
    assert accepted < 250


def test_huge_numbers_are_refused_quickly():
    leaf = derivation()
    leaf[2]["with"]["variance"] = "9" * 900
    leaf[2]["gives"][2][1] = "9" * 900
    leaf[4]["gives"][2][1] = "9" * 900
    with pytest.raises(Rejected, match="step 5"):
        check_derivation(recomputed(leaf))


def test_it_runs_alone_and_isolated(tmp_path, root: Path):
    file = tmp_path / "derivation.json"
    file.write_text(json.dumps({"schema": "dpaccount/derivation/1", "steps": derivation()}))
    script = root / "dpaccount" / "checker"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script), str(file), "--derivation"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("valid: derivation of 8 steps")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        *(("{}", 2), ("[]", 2), ("{", 2), ('{"a":1,"a":2}', 2), ("[" * 10000, 2), ('{"a": NaN}', 2)),
        *(
            ("1", 2),
            (b"\xff", 2),
            ("", 2),
            ('{"schema": "dpaccount/derivation/1", "steps": [{"rule": 1}]}', 2),
        ),
        *(('{"schema": "dpaccount/certificate/1"}', 1), ('{"schema": "dpaccount/derivation/1"}', 2)),
        *(("[0.50]", 1), ("[1e-400]", 1), ("[-0.0]", 1), ("[-0]", 1), ("[0.5]", 2)),
    ],
)
def test_other_files_have_the_right_exit_code(tmp_path, capsys, content, code):
    file = tmp_path / "c.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main([str(file)]) == code
    out, err = capsys.readouterr()
    assert (out == "") == (code == 2)
    assert len((out + err).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [
        *(('{"schema": "dpaccount/derivation/1", "steps": [{"rule": 1}]}', 1), ("[]", 2)),
        *(('{"schema": "dpaccount/derivation/1"}', 2), ('{"schema": "dpaccount/certificate/1"}', 2)),
        ('{"schema": "dpaccount/derivation/1", "steps": [], "verdict": "CERTIFIED"}', 2),
    ],
)
def test_bare_derivations_are_asked_for_and_hold_nothing_else(tmp_path, content, code):
    file = tmp_path / "c.json"
    file.write_text(content)
    assert main([str(file), "--derivation"]) == code
    assert main([str(file)]) in (1, 2)


def test_a_missing_file_and_wrong_arguments(capsys, tmp_path):
    assert main([str(tmp_path / "none")]) == 2
    assert main([]) == 2
    assert main(["x", "--at", "tomorrow"]) == 2
    assert all(line.startswith("error: ") for line in capsys.readouterr().err.splitlines())


def test_gdp_decisions_at_tiny_delta():
    assert intervals.at_most(curves.gdp_delta(F(1), F("37.4488480")), F("1e-300"))
    assert not intervals.at_most(curves.gdp_delta(F(1), F("37.4488479")), F("1e-300"))


def test_what_a_unit_adds_is_not_said_of_a_joint_vector():
    """The bound of the joint vector is that of the ball by chance; its numbers are not the ball's sums."""
    both = {"query": "q", "because": "t", "relation": "replace-one"}
    rounds = {"query": "q", "rounds": 3, "participations": 2, "separation": 2, "because": "t"}
    plain = [
        ("assume_rank_one", [], {**both, "reward": "1/2", "kind": "rank-one"}),
        ("assume_ball", [], {**both, "radius": "3/2"}),
        ("assume_rounds", [], rounds),
    ]
    last = {"matrix": [[0], [1, -1], [1, -1, 0]], "bits": 0}
    vectors = {"joint": ("joint", [0], {"weight": "9"}), "linear": ("linear", [1], {})}
    for rule, vector in vectors.items():
        steps = chained(*plain, vector, ("factorised", [3, 2, 1], last))
        assert steps[-2]["gives"] == ["Stable", "q", "l2-squared", "9", "replace-one", None]
        if rule == "linear":
            assert check_derivation(steps)[-1][3] == "18"
        else:
            with pytest.raises(Rejected, match="plain sum"):
                check_derivation(steps)
            once = ("assume_rounds", [], {"query": "q", "rounds": 3, "because": "t"})
            assert check_derivation(chained(*plain, vector, once, ("factorised", [3, 4], last)))
