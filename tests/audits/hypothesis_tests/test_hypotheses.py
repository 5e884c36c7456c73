"""Hypotheses on releases themselves: which unit enters which round, how many numbers, which part is drawn.

Each class below draws what its proof pays for and no bound is passed, so that only the hypothesis itself
can tell: its test must refute it.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from audits.consistency import verdict as of_verdict
from audits.consistency.verdict import promised
from audits.hypothesis_tests import search
from audits.hypothesis_tests.checks import _in_cells, check_of, untested
from audits.hypothesis_tests.search import gather
from audits.subjects import catalogue
from dpaccount.noise.proved import Proved
from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    assume_ball,
    assume_covers,
    assume_rounds,
    buffered,
    centred,
    factorised,
    fine_gaussian,
    gaussian,
    hypotheses,
    linear,
    nodes,
    to_approximate,
    write,
)
from mechanisms.buffered_toeplitz import BufferedToeplitz
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.optimal_factor import OptimalFactor
from mechanisms.shared import grid
from mechanisms.sqrt_toeplitz import SqrtToeplitz
from mechanisms.stable_histogram import StableHistogram
from mechanisms.subject import View
from tests.depth import deep
from tests.dpaccount.rules.statements import theorems
from tests.loading import on_path
from tests.looped import looped

with on_path([str(Path(__file__).parents[2] / "planted")]):
    from other_rounds import (
        DELTA,
        HUGE,
        Both,
        Fewer,
        Halved,
        HalvedBuffers,
        Late,
        LateDense,
        SameTwo,
        Spread,
        sums,
    )


def statuses(subject, examples=60, seed=1):
    found, _ = gather(
        subject, Proved(subject.proof(DELTA)), examples=examples, seed=seed, files=[Path(__file__)]
    )
    return {entry.rule: entry.status for entry in found}


@deep
@pytest.mark.parametrize("keys", [1, 2])
def test_a_replaced_row_goes_from_its_cells_and_comes_to_others(keys):
    """What is proved of rows that come and go is tested on one that is replaced: so many cells left, so many entered."""
    given = {"rows": 4, "cells": 30, "keys": keys, "relation": REPLACE_ONE}
    assert set(statuses(StableHistogram(**given)).values()) == {"tested"}
    assert statuses(Spread(**given), examples=300)["assume_cell"] == "refuted"


@pytest.mark.parametrize("most", [1, 2])
def test_movements_of_cells_are_those_that_units_make(most):
    """By brute force over units that add 1 to at most so many of three cells."""
    units = [unit for unit in product((0, 1), repeat=3) if sum(unit) <= most]
    replaced = {tuple(np.subtract(a, b).tolist()) for a, b in product(units, repeat=2)}
    gone = {tuple(np.multiply(unit, way).tolist()) for unit in units for way in (-1, 1)}
    for move in product((-1, 0, 1), repeat=3):
        assert _in_cells(list(move), Fraction(most), REPLACE_ONE) == (move in replaced)
        assert _in_cells(list(move), Fraction(most), ADD_REMOVE) == (move in gone)


@deep
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_a_row_in_two_cells_is_not_taken_for_one_that_goes_and_comes(relation):
    """Under a partition by value, where a row leaves one histogram for another, it would pay half."""
    planted = SameTwo(rows=2, cells=3, relation=relation)
    assert statuses(planted, examples=20)["assume_cell"] == "refuted"


@deep
@pytest.mark.parametrize("made_by", [Halved, Late, LateDense, HalvedBuffers])
def test_a_unit_that_enters_another_round_than_its_own_is_refuted(made_by):
    """One change of half the size in each of two rounds moves the stream no further than one whole change."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "name_of", lambda _: made_by.__mro__[1].__module__.rpartition(".")[2])
        found = statuses(made_by(rounds=8, radius=Fraction(1), sigma=Fraction(64)))
    assert found["assume_rounds"] == "refuted"


@pytest.mark.parametrize("made_by", [SqrtToeplitz, OptimalFactor, BufferedToeplitz])
@deep
def test_honest_streams_pass(made_by, depth):
    found = statuses(made_by(rounds=8, radius=Fraction(1), sigma=Fraction(64)), seed=depth.seed(1))
    assert set(found.values()) == {"tested"}


@deep
def test_more_numbers_than_are_declared_are_refuted():
    """The receipt refuses them in the first place, which is a finding on every hypothesis."""
    assert statuses(Fewer(rows=4, columns=3))["assume_numbers"] == "refuted"


@looped("declared", [1, 2, 3, 4])
def test_numbers_are_counted_by_their_own_check(declared):
    subject = GaussianSum(rows=4, columns=3)
    theorem = fine_gaussian(sums(subject), HUGE, grid.step(subject.bits), declared, Fraction(1, 1000), "sum")
    (found,) = [each for each in hypotheses(theorem) if each.rule == "assume_numbers"]
    check, words = check_of(Proved(theorem), found)
    run = ran({("sum", 0): np.zeros(3, dtype=np.int64)})
    assert words == f"numbers: at most {declared}"
    assert (check(run, run, 1).wrong is None) == (declared >= 3)
    assert check(run, run, 1).moved == 3


def ran(exact):
    from audits.hypothesis_tests.replay import Run

    return Run(exact=exact, released=dict(exact), view=View())


@deep
def test_two_parts_of_a_mixture_in_one_run_are_refuted():
    assert statuses(Both(rows=4))["assume_choice"] == "refuted"
    theorem = Both(rows=4).proof(DELTA)
    (found,) = [each for each in hypotheses(theorem) if each.rule == "assume_choice"]
    check, words = check_of(Proved(theorem), found)
    assert words == "one part is drawn"
    value = np.zeros(3, dtype=np.int64)
    for drawn, fine in (("a", True), ("b", True), ("ab", False), ("c", True), ("ac", True)):
        run = ran({(key, 0): value for key in drawn})
        assert (check(run, run, 1).wrong is None) == fine


def moves(theorem, rule="assume_rounds"):
    (found,) = [each for each in hypotheses(theorem) if each.rule == rule]
    check, _ = check_of(Proved(theorem), found)

    def wrong(before, after, unit):
        runs = [
            ran({("k", t): np.array(row, dtype=np.int64) for t, row in rows.items()})
            for rows in (before, after)
        ]
        return check(*runs, unit).wrong

    return wrong


def test_the_rows_of_a_table_are_centred_by_one_unit_each():
    """A row that is replaced moves by (n − 1)v, every other by −v: in multiples of n, exactly."""
    ball = linear(assume_ball("g", Fraction(1), REPLACE_ONE, "t"))
    wrong = moves(gaussian(centred(ball, 3), HUGE, "k"))
    zero = {0: [0] * 6}
    assert wrong(zero, {0: [-2, 4, 4, -8, -2, 4]}, 2) is None
    assert wrong(zero, zero, 2) is None
    assert wrong(zero, {0: [-2, 4, 4, -8, -2, 4]}, 1) is not None
    assert wrong(zero, {0: [-2, 4, 4, -8, -2, 5]}, 2) is not None


def test_the_rows_of_a_stream_move_as_one_column_does():
    ball = linear(assume_ball("g", Fraction(1), REPLACE_ONE, "t"))
    zero = {t: [0, 0] for t in range(3)}
    toeplitz = moves(gaussian(factorised(ball, 3, [[2, 1]]), HUGE, "k"))
    assert toeplitz(zero, {0: [0, 0], 1: [2, -4], 2: [1, -2]}, 2) is None
    assert toeplitz(zero, {0: [0, 0], 1: [2, -4], 2: [1, -3]}, 2) is not None
    assert toeplitz(zero, {0: [2, 0], 1: [1, 0], 2: [0, 0]}, 2) is not None
    assert toeplitz(zero, {0: [2, 0], 1: [1, 0], 2: [1, 0]}, 1) is not None
    stray = {0: [0, 0], 1: [0, 0], 7: [0, 0]}
    assert toeplitz(stray, {**stray, 0: [2, 0], 1: [1, 0]}, 1) is not None  # no such round
    batches = moves(
        gaussian(factorised(ball, assume_rounds("g", 3, "t", ends=[2, 5, 6]), [[2, 1]]), HUGE, "k")
    )
    second = {0: [0, 0], 1: [2, -4], 2: [1, -2]}
    assert [batches(zero, second, unit) is None for unit in (1, 2, 3, 5, 6, 7)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert batches(zero, zero, 7) is None  # who comes after the last batch enters nothing
    dense = moves(gaussian(factorised(ball, 3, [[0], [3, 2], [-3, 1, 1]]), HUGE, "k"))
    assert dense(zero, {0: [0, 0], 1: [3, 9], 2: [-3, -9]}, 1) is None  # the first round is not seen itself
    assert dense(zero, {0: [0, 0], 1: [3, 9], 2: [-3, 9]}, 1) is not None
    one = Fraction(1)
    pairs = buffered(ball, 3, 2, [(8, 8)], 4, Fraction(1, 2**20), 9 * one)
    rows = moves(gaussian(pairs, HUGE, "k"))
    moved = {0: [0, 0], 1: [1600, 320], 2: [800, 160]}
    assert rows(zero, moved, 2) is None
    assert rows(zero, {**moved, 2: [801, 158]}, 2) is None  # floors may be lost
    assert rows(zero, {**moved, 2: [805, 160]}, 2) is not None


def test_a_stream_of_several_rounds_a_unit_has_no_test():
    ball = linear(assume_ball("g", Fraction(1), REPLACE_ONE, "t"))
    theorem = gaussian(factorised(ball, assume_rounds("g", 4, "t", 2, 2), [[1, 1]]), HUGE, "k")
    (found,) = [each for each in hypotheses(theorem) if each.rule == "assume_rounds"]
    assert check_of(Proved(theorem), found) == (untested, "no release of g is tested")


# ------------------------------------------------------------------ checker and evidence agree on what is tested


def test_the_checker_takes_as_tested_what_has_a_test():
    """Over statements that use every rule: a hypothesis without a test is never taken for a tested one."""
    rules, tested = set(), set()
    for theorem in theorems():
        steps = write(theorem)
        if any(step["rule"] == "partition" for step in steps):
            continue  # two statements about one cell there draw by different keys, which no receipt does
        for each in hypotheses(theorem):
            check, words = check_of(Proved(theorem), each)
            known = promised(steps, each.digest)[1]
            assert known == (check is not untested)
            assert known == (not words.startswith("no "))
            rules.add(each.rule)
            tested |= {each.rule} if known else set()
    assert tested <= of_verdict.TESTED
    assert rules - of_verdict.TESTED == {
        *("assume_rare", "assume_filter", "assume_neighbours", "assume_event")
    }
    subjects = [GaussianSum(rows=4), SqrtToeplitz(rounds=4), BufferedToeplitz(rounds=4)]
    for subject in subjects:
        for each in hypotheses(subject.proof(DELTA)):
            assert promised(write(subject.proof(DELTA)), each.digest)[1]


@deep
def test_what_a_certificate_says_it_found_is_within_what_it_promises():
    """Every entry of an honest run passes the checker's limits; a tenth of the bound does not."""
    subject = SqrtToeplitz(rounds=4)
    theorem = subject.proof(DELTA)
    steps = write(theorem)
    found, _ = gather(subject, Proved(theorem), examples=30, seed=2, files=[Path(__file__)])
    for entry in found:
        step = next(s for s in steps if s["digest"] == entry.step)
        most = of_verdict.limit_of(steps, step)
        assert most is None or Fraction(entry.worst) <= most
        if entry.rule == "assume_ball":
            assert Fraction(entry.worst) > most / 10
    assert to_approximate(theorem, HUGE, Fraction(1, 2))
    assert replace(subject, rounds=5).proof(DELTA)


# ------------------------------------------------------------------ units where a declared batch ends


def test_units_on_both_sides_of_a_batch_are_tried():
    ball = linear(assume_ball("g", Fraction(1), REPLACE_ONE, "t"))
    stream = factorised(ball, assume_rounds("g", 3, "t", ends=[2, 5, 6]), [[2, 1]])
    assert search.batch_boundaries(Proved(gaussian(stream, HUGE, "k"))) == [2, 3, 5, 6, 6, 7]
    batches = nodes(gaussian(ball, HUGE, "k"), assume_covers("g", [(1, 4), (5, 9), (10, 10)], "t"))
    assert search.batch_boundaries(Proved(batches)) == [1, 4, 5, 9, 10]
    alone = nodes(gaussian(ball, HUGE, "k"), assume_covers("g", [(i, i) for i in range(1, 9)], "t"))
    assert search.batch_boundaries(Proved(alone)) == []
    many = assume_covers("g", [(2 * i + 1, 2 * i + 2) for i in range(500)], "t")
    assert (
        len(search.batch_boundaries(Proved(nodes(gaussian(ball, HUGE, "k"), many))))
        <= 2 * search.MAX_BOUNDARIES
    )
