"""Mechanisms that the search was not made for: broken ones are found, sound ones left alone."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import libraries
from benchmarks.unseen import found, mechanisms
from benchmarks.wrapped import unseen_set
from tests.depth import deep, parts
from tests.looped import looped

SET = mechanisms()


def test_the_set_is_large_and_each_of_it_runs():
    assert sum(each.broken for each in SET) >= 30
    assert sum(not each.broken for each in SET) >= 20
    assert len({each.name for each in SET}) == len(SET)
    rng = np.random.default_rng(1)
    failed = {each.name: 0 for each in SET}
    for each in SET:
        function = getattr(unseen_set, each.name)
        given = each.shape.data(np.full((each.shape.rows, each.shape.width), each.shape.high[0]))
        for _ in range(20):
            try:
                function(given) if "hash" in each.name else function(given, rng)
            except ValueError:
                failed[each.name] += 1
    assert [name for name, times in failed.items() if times] in ([], ["fails_now_and_then"])


@deep
@parts(16)  # a fifth of the set; `python -m benchmarks.unseen` attacks all, half a minute each
@pytest.mark.statistical(0.06)  # a sound one is accused: .05; a broken one is missed
def test_broken_ones_are_found_and_sound_ones_are_not_accused(depth):
    for each in depth.drawn(sorted(SET, key=lambda each: each.name), 1):
        assert (found(each, 50_000)[0] > 1) == each.broken, each.name


def test_every_known_fault_has_a_sound_neighbour_and_a_function():
    """Of the same release; every function is in its file, and every command names its interpreter."""
    for release in {case.release for case in libraries.CASES}:
        of_it = [case for case in libraries.CASES if case.release == release]
        faults = [case for case in of_it if case.thread != libraries.SOUND]
        assert 2 * len(faults) <= len(of_it)
        assert faults
    for case in libraries.CASES:
        module, _, name = case.function.partition(":")
        assert re.search(rf"^def {name}\(data", (libraries.WRAPPED / f"{module}.py").read_text(), re.M)
        words = case.words(Path("cache"))
        assert words[words.index("--python") + 1].startswith("cache/")
        assert ("--confidence" in words) == (case.thread == libraries.SOUND and words[1] == "audit")


@looped("case", libraries.CASES)
def test_a_known_fault_that_is_not_found_is_missed_whatever_is_noted_of_it(case):
    sound = case.thread == libraries.SOUND
    assert [libraries.right(case, {"exit": code}) for code in range(4)] == [sound, not sound, False, False]
    for code, word in ((0, "not refuted" if sound else "MISSED"), (3, "not measured" if sound else "MISSED")):
        assert f"| {word}, " in libraries.table([(case, {"exit": code, "seconds": 1})])
