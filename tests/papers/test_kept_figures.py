"""Figures and experiments that keep what they do: the same answer again, after kills too, or one sentence."""

import pytest

from tests.audits.cli import test_work as work
from tests.depth import deep

FIGURE = ("reproduce", "kharkovskii2020-figure2c", "--trials", 2, "--rounds", 32, "--json", "--jobs", 1)
EXPERIMENT = """
schema = "dpaccount/experiment/1"
name = "people"
trials = 20
rounds = 128
[[world]]
use = "people"
[[algorithm]]
use = "uniform"
[[algorithm]]
use = "phased-gp-ucb"
parameters = { epsilon = [1, 2], delta = 1e-6 }
"""
LONG = {
    "figure": ("reproduce", "kharkovskii2020-figure2c", "--trials", "40", "--rounds", "40"),
    "run": ("run", "people.toml"),
}
WRONG = [
    ((*FIGURE, "--store", "text.db"), "not a database"),
    ((*FIGURE, "--store", "nowhere/x.db"), "No such file"),
    ((*FIGURE[:-1], "0"), "--jobs"),
]
done, cluster = work.done, work.cluster


def test_the_same_figure_does_nothing_twice_and_prints_the_same(dpaccount, tmp_path, done):
    work.is_done_once(dpaccount, tmp_path, done, FIGURE)


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_what_is_wrong_is_one_sentence(dpaccount, tmp_path, words, said):
    work.is_refused(dpaccount, tmp_path, words, said)


@deep
@pytest.mark.parametrize("backend", work.BACKENDS)
@pytest.mark.parametrize("what", LONG)
def test_ten_random_kills_leave_the_same_answer_results_and_files(root, tmp_path, request, what, backend):
    (tmp_path / "people.toml").write_text(EXPERIMENT)
    work.is_continued(root, tmp_path, request, LONG[what], backend)
