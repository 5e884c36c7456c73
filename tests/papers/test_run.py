"""`run`: every world with its bandits, common seeds, the same bytes after kills; a wrong file is one sentence."""

import csv
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from audits.cli.options import paced
from audits.subjects import catalogue
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.selection import rehearsals
from bandits.simulation.simulated_people import WorldLaw
from dpaccount.errors import InputError
from papers.experiment_file import _opened, _runs, read_experiment, read_reproduction
from papers.experiment_worlds import LogWorld, PeopleWorld, RewardsWorld, SurfaceWorld
from papers.reproduce import PAPERS, certificate, reproduce, reproductions
from papers.reproduction import noise_of, trial
from tests.depth import deep
from tests.documents import wrong
from tests.looped import looped

SMALL = """
schema = "dpaccount/experiment/1"
name = "small"
trials = 3
rounds = 40
seed = 5
[[world]]
use = "people"
candidates = 6
[[algorithm]]
use = "uniform"
[[algorithm]]
use = "phased-gp-ucb"
parameters = { epsilon = [1, "1/2"], delta = 1e-6 }
"""

LOG = """
schema = "dpaccount/experiment/1"
name = "log"
trials = 2
[[world]]
use = "log"
file = "log.csv"
rows = 400
[world.columns]
arm = { type = "category", values = ["a", "b"] }
good = { type = "boolean" }
[world.log]
arm = "arm"
logging = "uniform"
reward = "good"
[[algorithm]]
use = "uniform"
[[algorithm]]
use = "logged-policy"
parameters = { epsilon = [0.5, 20] }
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write both files and a log in which arm b is better; work in their folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    arms = rng.integers(0, 2, 400)
    good = rng.random(400) < np.where(arms == 1, 0.9, 0.1)
    lines = [f"{'ab'[arm]},{str(bool(one)).lower()}" for arm, one in zip(arms, good, strict=True)]
    Path("log.csv").write_text("\n".join(["arm,good", *lines]) + "\n")
    Path("small.toml").write_text(SMALL)
    Path("log.toml").write_text(LOG)
    return tmp_path


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# ------------------------------------------------------------------ what is run


@deep
@pytest.mark.usefixtures("written")
def test_rows_are_those_of_the_bandits_by_themselves_and_pairs_have_common_seeds(dpaccount):
    code, out, _ = dpaccount("run", "small.toml", "--json", "--jobs", 1)
    answer, folder = json.loads(out), Path("experiments/small")
    assert code == 0
    assert not wrong("run", answer)
    assert json.loads((folder / "summary.json").read_text()) == answer
    bandits = [
        PhasedGpUcb(rounds=40, candidates=6, epsilon=epsilon, delta=Fraction(1, 10**6))
        for epsilon in (Fraction(1), Fraction(1, 2))
    ]
    known = [[PeopleWorld(40, 6).regrets(each, seed).sum() for seed in (5, 6, 7)] for each in bandits]
    lines = rows_of(folder / "results.csv")
    by_row = [[float(line["regret"]) for line in lines[k : k + 3]] for k in (0, 3, 6)]
    assert by_row[1:] == [pytest.approx(each) for each in known]
    assert [line["seed"] for line in lines] == ["5", "6", "7"] * 3
    assert [line["epsilon"] for line in lines] == [""] * 3 + ["1"] * 3 + ["1/2"] * 3
    for row, values in zip(answer["rows"], by_row, strict=True):
        assert row["value"] == pytest.approx(np.mean(values), abs=1e-6)
        assert row["standard_error"] == pytest.approx(np.std(values, ddof=1) / 3**0.5, abs=1e-6)
    assert [tuple(pair["rows"]) for pair in answer["pairs"]] == list(itertools.combinations(range(3), 2))
    for pair in answer["pairs"]:
        apart = np.subtract(*(by_row[k] for k in reversed(pair["rows"])))
        assert pair["difference"] == pytest.approx(apart.mean(), abs=1e-6)
        assert pair["standard_error"] == pytest.approx(apart.std(ddof=1) / 3**0.5, abs=1e-6)
    assert [row["proved"] for row in answer["rows"]] == [None, *map(certificate, bandits)]
    table = parquet.read_table(folder / "results.parquet").to_pylist()
    assert [row["regret"] for row in table] == [value for values in by_row for value in values]
    assert {each.name for each in folder.iterdir()} == {
        "summary.json", "results.csv", "results.parquet", "curves.csv", "regret.svg", "work.db",
    }  # fmt: skip


@deep
@pytest.mark.usefixtures("written")
def test_a_log_is_replayed_and_more_budget_regrets_less(dpaccount):
    code, out, _ = dpaccount("run", "log.toml", "--json", "--jobs", 1)
    uniform, small, large = json.loads(out)["rows"]
    assert code == 0
    assert uniform["standard_error"] == 0
    assert large["value"] < small["value"]
    assert large["value"] < uniform["value"] / 2
    assert (small["proved"]["epsilon"], small["proved"]["delta"]) == (
        pytest.approx(0.5, abs=0.01),
        pytest.approx(1e-6),
    )
    assert small["proved"]["epsilon"] <= 0.5


@pytest.mark.usefixtures("written")
def test_regrets_of_a_log_add_up_to_what_a_release_says():
    plan = read_experiment(Path("log.toml"))
    world, policy = plan.cells[2].play.args
    assert isinstance(world, LogWorld)
    view = policy.play(world.rows, noise_of(policy, 3, world.delta), 3)
    said = policy.regret(world.rows, view, 3)
    lost = trial(world, policy, 3)
    assert lost.shape == (400,)
    assert said["regret_fraction_of_uniform"] == pytest.approx(lost.sum() / trial(world, None, 3).sum())
    # a record that takes no part regrets nothing, and changes nobody else's
    absent = world.rows.copy()
    absent[7, 1] = -1
    assert trial(replace(world, rows=absent), None, 3)[7] == 0


@looped(
    "world", [RewardsWorld(2000), RewardsWorld(2000, "delays-by-hour"), SurfaceWorld(2000), SurfaceWorld(20, "michalewicz-10")]
)  # fmt: skip
def test_uniform_choices_regret_what_uniform_draws_do(world):
    """The mean of each point's regret, told by the world itself from points drawn uniformly."""
    rng, expected = np.random.default_rng(3), trial(world, None, 4)
    if isinstance(world, SurfaceWorld):
        known = catalogue.find("phased-posterior").made_by(surface=world.surface).world
        drawn = known.regret(np.stack([rng.integers(0, len(table), 20000) for table in known.tables], axis=1))
    else:
        people = world.people(1, 4)
        drawn = people.regrets(rng.integers(0, len(people.means), 20000))
        expected = expected * len(people.rows) if len(people.rows) != 1 else expected
    assert expected[0] == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 20000**0.5)


@deep
@pytest.mark.parametrize(
    ("world", "bandit", "more"),
    [
        ('use = "surface"', "phased-posterior", ""),
        ('use = "surface"\nsurface = "michalewicz-10"', "surface-gp-ucb", ""),
        ('use = "rewards"', "ldp-ata-gp-ucb", ""),
        (
            'use = "rewards"\nkernel = "delays-by-carrier"',
            "local-posterior",
            'parameters = { privacy = "none" }',
        ),
        ('use = "rewards"\nkernel = "matern-5/2"', "ldp-moma-gp-ucb", ""),
        ('use = "people"\ndimension = 1', "local-gp-ucb", ""),
        ('use = "people"', "jdp-gp-ucb", 'parameters = { calibration = "published" }'),
    ],
)
def test_every_world_serves_its_bandits(world, bandit, more, dpaccount, tmp_path):
    made = SMALL.partition("[[world]]")[0] + f"[[world]]\n{world}\n[[algorithm]]\nuse = '{bandit}'\n{more}"
    (tmp_path / "made.toml").write_text(made + "\n[[algorithm]]\nuse = 'uniform'\n")
    code, out, err = dpaccount(
        "run", tmp_path / "made.toml", "--json", "--jobs", 1, "--out", tmp_path / "out"
    )
    assert code == 0, err
    private, uniform = json.loads(out)["rows"]
    assert (private["proved"] is None) == ("none" in more)
    assert uniform["proved"] is None
    assert min(private["value"], uniform["value"]) > 0


# ------------------------------------------------------------------ what is wrong

EDITS = [
    ('"dpaccount/experiment/1"', '"dpaccount/experiment/2"', "schema"),
    ("trials = 3", "trials = 1", "trials"),
    ("trials = 3", "trials = 2.5", "trials: '2.5' is not whole"),
    ("trials = 3", "", "'trials' is missing"),
    ("rounds = 40", "", "world.0: the number of people is missing"),
    ("rounds = 40", "rounds = 1", "rounds"),
    ("seed = 5", "seed = -1", "seed"),
    ("seed = 5", "sed = 5", "unknown key 'sed'"),
    ('name = "small"', 'name = "../small"', "is not allowed"),
    ("candidates = 6", "candidates = 1", "world.0: a parameter is out of range"),
    ("candidates = 6", 'surface = "camelback"', "unknown key 'surface'"),
    ("candidates = 6", "candidates = [6, [7]]", "give a number"),
    ("candidates = 6", "candidates = []", "world.0.candidates: an empty list"),
    ("candidates = 6", "parameters = { epsilon = 1 }", "epsilon follows from the world"),
    ("candidates = 6", "parameters = 5", "give a table of keys and values"),
    ("trials = 3", "trials = 3\norder = ['epsilom']", "no run has 'epsilom'"),
    ("delta = 1e-6", "space = { file = 'x.csv' }", "space follows from the world"),
    ("delta = 1e-6", "delays = true", "delays follows from the world"),
    ('use = "people"\ncandidates = 6', 'use = "hard-functions"\nepsilon = 1e-300', "epsilon in [.001, 30]"),
    ('use = "people"\ncandidates = 6', 'use = "predictions"\npeople = 1e-300', "2 to 1000000 people"),
    ('use = "uniform"', 'use = "uniform"\nworlds = ["persons"]', "unknown value 'persons'; known here: people"),
    ('use = "uniform"', 'use = "uniform"\nworlds = []', "worlds: an empty list"),
    ('use = "uniform"', 'use = "uniform"\nname = "$x"', "is not allowed"),
    ("[[algorithm]]", "[[world]]\nuse = 'predictions'\n[[algorithm]]", "does not play in the world predictions"),
    ('use = "people"', 'use = "nobody"', "known here: people, surface, arms, rewards, hard-functions, predictions, outsourced, log"),
    ('use = "people"', 'use = "surface"', "unknown key 'candidates'"),
    ('use = "phased-gp-ucb"', 'use = "phased-posterior"', "does not play in the world people; there: "),
    ('use = "phased-gp-ucb"', 'use = "laplace-sum"', "does not play"),
    ('use = "phased-gp-ucb"', 'use = "os:system"\nname = "x"', "unknown subject 'os:system'"),
    ('use = "phased-gp-ucb"', 'use = "nothing"', "unknown subject"),
    ('use = "uniform"', 'use = "phased-gp-ucb"\nparameters = { delta = 1e-6 }', "two runs are the same"),
    ('use = "uniform"', 'use = "uniform"\nparameters = { epsilon = 1 }', "uniform choices have no parameters"),
    ("epsilon = [1,", "epsilons = [1,", "unknown key 'epsilons'"),
    ("epsilon = [1,", "epsilon = [nan,", "small.toml"),
    ("epsilon = [1,", "epsilon = [[1],", "give a number"),
    ("epsilon = [1,", "epsilon = [-1,", "small.toml"),
    ('epsilon = [1, "1/2"]', "epsilon = []", "parameters.epsilon: an empty list"),
    ("delta = 1e-6", "rounds = 50", "rounds follows from the world"),
    ("[[algorithm]]", "[[algorithms]]", "unknown key 'algorithms'"),
    ('use = "uniform"', 'use = "rehearsed"', "the key 'epsilon' is missing"),
    ('use = "uniform"', 'use = "rehearsed"\nparameters = { epsilon = 0, delta = 1e-6 }', "above 0"),
    ('use = "uniform"', 'use = "rehearsed"\nparameters = { epsilon = 1, delta = 0 }', "0 < delta < 1"),
    ('use = "uniform"', 'use = "theorem-3"\nparameters = { epsilon = 0, delta = 0.1 }', "above 0"),
    ('use = "people"\ncandidates = 6', 'use = "outsourced"\ndata = "fields"', "'fields'"),
    ('use = "people"\ncandidates = 6', 'use = "outsourced"\ndata = "loans"\nlengthscale = 1', "lengthscale of loans is known"),
    ('use = "people"\ncandidates = 6', 'use = "outsourced"\nlog_epsilon = 6', "log_epsilon in [-5, 5]"),
    ('use = "people"\ncandidates = 6', 'use = "outsourced"', "there: k-norm, gp-ucb, po-gp-ucb, uniform"),
    ('use = "people"\ncandidates = 6', 'use = "arms"\n[[algorithm]]\nuse = "rehearsed"\nparameters = { epsilon = 1, delta = 1e-6 }', "no rehearsals of this world"),
]  # fmt: skip

LOG_EDITS = [
    ('"log.csv"', '"../log.csv"', "leaves the claim's directory"),
    ('"log.csv"', '"nothing.csv"', "No such file"),
    ("rows = 400", "rows = 399", "the claim declares 399"),
    ("rows = 400", "", "rows"),
    ('reward = "good"', "", "'reward' is missing"),
    ('reward = "good"', 'reward = "better"', "better"),
    ("epsilon = [0.5, 20]", "epsilon = 0", "must be above 0"),
    ("epsilon = [0.5, 20]", "batches = 0", "batches"),
    ("epsilon = [0.5, 20]", "sigma = 1", "unknown key 'sigma'"),
    ("[world.log]", "[world.logs]", "unknown key 'logs'"),
    ('use = "logged-policy"', 'use = "arm-means"', "does not play in the world log; there: logged-policy, uniform"),
]  # fmt: skip


@deep(quick_every=8)
@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [("small.toml", *each) for each in EDITS] + [("log.toml", *each) for each in LOG_EDITS],
)
def test_what_is_wrong_with_a_file_is_one_sentence_and_nothing_is_written(
    file, before, after, said, dpaccount
):
    text = Path(file).read_text()
    assert before in text
    if "[[1]" in after:
        said = "parameters.epsilon"
    if "twice" in said or "two runs" in said:
        text = text.replace('epsilon = [1, "1/2"], ', "")
    Path(file).write_text(text.replace(before, after))
    code, out, err = dpaccount("run", file, "--json")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert said in line
    assert not Path("experiments").exists()


def test_a_file_of_the_schema_is_what_the_schema_says(root):
    import tomllib

    for path in sorted((root / "examples").rglob("*.toml")):
        document = tomllib.loads(path.read_text())
        assert (document.get("schema") == "dpaccount/experiment/1") == (not wrong("experiment", document)), (
            path
        )
    for edit in ({"trials": None}, {"sed": 5}, {"world": []}, {"algorithm": [{}]}):
        assert wrong("experiment", {**tomllib.loads(SMALL), **edit})


# ------------------------------------------------------------------ tables and figures of papers

PUBLISHED = """
[[published]]
kernel = "matern-5/2"
epsilon = [1, 4]
channel = ["laplace", "piecewise"]
algorithm = ["ldp-ata-gp-ucb", "local-posterior"]
value = [7, 8]
"""
CLAIMED = "[[algorithm]]\nuse = 'local-posterior'\nname = 'claimed'\n"
NOISELESS = "[[algorithm]]\nuse = 'uniform'\n"


def lower_bound():
    return (PAPERS / "zhou/lower-bound.toml").read_text().replace("[0.25, 0.5, 1, 2]", "[1]")


@deep
def test_a_copy_of_a_paper_s_file_is_run_and_gives_the_reproduction_s_values(dpaccount, tmp_path):
    small = lower_bound().replace("trials = 10", "trials = 2").replace("rounds = 10_000", "rounds = 32")
    (tmp_path / "copy.toml").write_text(small)
    code, out, _ = dpaccount("run", tmp_path / "copy.toml", "--json", "--jobs", 1, "--out", tmp_path / "out")
    assert code == 0
    answer, _ = reproduce("zhou2020-lower-bound", trials=2, rounds=32)
    there = {(r["kernel"], r["epsilon"], r["algorithm"]): r for r in answer["rows"]}
    rows = json.loads(out)["rows"]
    assert len(rows) == 8
    for row in rows:
        kernel = "matern-5/2" if "matern" in row["world"] else "squared-exponential"
        again = there[kernel, 4.0 if "large" in row["world"] else 1.0, row["algorithm"]]
        assert row["value"] == pytest.approx(again["value"], abs=0.01)
        assert row["proved"] == again["proved"]


def test_every_file_of_a_paper_is_of_the_schema_and_lists_what_reproduce_lists():
    import tomllib

    files = sorted(PAPERS.glob("*/*.toml"))
    assert len(files) == 14
    names = {each.name: each.source for each in reproductions()}
    for path in files:
        document = tomllib.loads(path.read_text())
        assert not wrong("experiment", document), path
        assert names[document["name"]] == document["source"]


def test_published_numbers_stand_beside_their_rows_at_the_paper_s_own_rounds(tmp_path):
    path = tmp_path / "file.toml"
    path.write_text(lower_bound() + PUBLISHED)
    cells = read_reproduction(path).cells(10_000)
    assert {(c.row["epsilon"], c.row["algorithm"], c.published) for c in cells if c.published} == {
        (1, "ldp-ata-gp-ucb", 7),
        (4, "local-posterior", 8),
    }
    assert not any(cell.published for cell in read_reproduction(path).cells(40))


@deep
@looped(
    ("before", "after", "said"),
    [
        ("value = [7, 8]", "value = [7]", "lists of two lengths"),
        ("value = [7, 8]", "", "no value that is a number"),
        ("value = [7, 8]", "value = [7, '8']", "no value that is a number"),
        ("value = [7, 8]", "value = [7, true]", "no value that is a number"),
        ("value = [7, 8]", "value = [7, 8]\nlike = 1", "give true or false"),
        ("epsilon = [1, 4]", "epsilon = [1, 5]", "0 rows are"),
        ("[[published]]", PUBLISHED + "[[published]]", "two numbers are printed for"),
        ("[[published]]", NOISELESS + "claim = { name = 'zhou-ctl' }\n[[published]]", "unknown key 'claim'"),
        ("[[published]]", NOISELESS + "private = true\n[[published]]", "unknown key 'private'"),
        (
            "[[published]]",
            CLAIMED + "claim = { name = 'zhou-cut' }\n[[published]]",
            "unknown claim 'zhou-cut'",
        ),
        ("[[published]]", CLAIMED + "claim = { name = 'zhou-ctl', epsilon = 'e' }\n[[published]]", "is 'e'"),
        ('kernel = "matern-5/2"\nepsilon = [1', "epsilon = [1", "2 rows are"),
        ('constants = "constants"', 'constants = "constant"', "no run has 'constant'"),
        ('algorithm = "algorithm"', "", "0 rows are"),
        ('epsilon = "epsilon"', "", "two runs are the same"),
    ],
)
def test_numbers_and_rows_that_are_no_run_s_are_refused(before, after, said):
    with TemporaryDirectory() as folder:
        path, text = Path(folder) / "file.toml", lower_bound() + PUBLISHED
        assert before in text
        path.write_text(text.replace(before, after))
        with pytest.raises(InputError, match=re.escape(said)):
            read_reproduction(path).cells(10_000)


def test_worlds_of_two_measures_make_no_table(dpaccount, tmp_path):
    text = SMALL[: SMALL.rindex("[[algorithm]]")] + "[[world]]\nuse = 'predictions'\n"
    (tmp_path / "two.toml").write_text(text)
    code, _, err = dpaccount("run", tmp_path / "two.toml")
    assert code == 2
    assert "worlds of two measures" in err


def test_worlds_parameters_and_names_choose_who_plays_where(tmp_path):
    """A listed key is a world each; a world's parameters are everybody's there; `order` puts rows together."""
    text = SMALL.replace("candidates = 6", "candidates = [6, 7]\nparameters = { growth = [0, 1] }")
    text = text.replace("trials = 3", "trials = 3\norder = ['epsilon']")
    text = text.replace('use = "phased-gp-ucb"', 'use = "jdp-gp-ucb"\nworlds = ["people 7"]')
    (tmp_path / "made.toml").write_text(text)
    cells = read_experiment(tmp_path / "made.toml").cells
    rows = [(c.row["world"], c.row["algorithm"], c.row.get("epsilon"), c.row.get("growth")) for c in cells]
    assert rows == [
        ("people 6", "uniform", None, None),
        ("people 7", "uniform", None, None),
        *(("people 7", "jdp-gp-ucb", epsilon, growth) for epsilon in (1, "1/2") for growth in (0, 1)),
    ]
    assert [c.subject.candidates for c in cells[2:]] == [7] * 4
    assert [c.subject.growth for c in cells[2:]] == [0, 1, 0, 1]


@deep
def test_what_loses_least_in_rehearsals_is_chosen_for_each_budget(tmp_path, monkeypatch):
    """The choice is that of the public rehearsals, and what is run and proved is what was chosen."""
    monkeypatch.setattr(rehearsals, "STAGES", (2,))
    text = SMALL.replace("phased-gp-ucb", "rehearsed").replace("candidates = 6", "candidates = 7")
    (tmp_path / "chosen.toml").write_text(text)
    cells = read_experiment(tmp_path / "chosen.toml", 1).cells[1:]
    for cell, epsilon in zip(cells, (Fraction(1), Fraction(1, 2)), strict=True):
        budget = (epsilon, Fraction(1, 10**6))
        choice = rehearsals.choose("joint", *budget, 40, candidates=7, laws=(WorldLaw(),))
        assert cell.row["algorithm"] == choice.subject
        assert (cell.subject.epsilon, cell.subject.delta) == budget
        assert isinstance(cell.subject, catalogue.find(choice.subject).made_by)
        assert {key: getattr(cell.subject, key) for key in choice.parameters} == choice.parameters
        assert cell.details((), None) == {"because": choice.because}


@given(st.none() | st.integers(-1, 300))
def test_a_race_is_as_short_as_the_run_that_it_chooses_for(trials):
    looks = rehearsals.stages(trials)
    assert looks == rehearsals.STAGES or trials is not None
    assert looks[-1] == (96 if trials is None else min(max(trials, 2), 96))
    assert set(looks[:-1]) == {each for each in rehearsals.STAGES if each < looks[-1]}


def test_choices_tell_how_far_they_are_and_so_when_they_end(tmp_path):
    """On a clock of 1 s a report, which no result depends on."""
    told, clock = [], itertools.count()
    step = paced(lambda: float(next(clock)))
    text = SMALL.replace("phased-gp-ucb", "rehearsed").replace("candidates = 6", "candidates = 5")
    (tmp_path / "chosen.toml").write_text(text)
    place = _opened(tmp_path / "chosen.toml")
    runs = _runs(place, 40, tmp_path, 1, told.append)
    because = [cell.details((), None)["because"] for _, cell in runs[1:]]
    assert all("; at most 2 of each; not rehearsed" in each for each in because)
    percents = [
        int(re.fullmatch("choosing by rehearsals: ([0-9]+) of 100 percent", each)[1]) for each in told
    ]
    assert percents == sorted(percents)
    assert {0, 50, 100} <= set(percents)
    shown = [step(each)[3] for each in told]
    assert shown[0] is None
    assert all(left > 0 for left in shown[2:-1] if left is not None)
    assert sum(left is not None for left in shown) > len(shown) // 2


def test_hard_functions_of_two_coordinates_bring_their_points(tmp_path):
    text = lower_bound().replace('name = "matern"\n', 'name = "matern"\ndimension = 2\n')
    (tmp_path / "two.toml").write_text(text.replace("rounds = 10_000", "rounds = 100"))
    cells = read_experiment(tmp_path / "two.toml").cells
    two = [cell for cell in cells if cell.row["world"].startswith("matern ") or cell.row["world"] == "matern"]
    assert len(two) == 2
    for cell in two:
        world = cell.play.args[0]
        assert cell.subject.points == world.functions.count == len(cell.subject.domain_points)
        assert cell.subject.domain_points.dimension == 2
        assert cell.play(0).shape == (100,)


@deep
def test_a_curator_of_one_s_own_noise_is_proved_at_what_it_costs(dpaccount, tmp_path):
    text = SMALL.replace('"people"\ncandidates = 6', '"outsourced"\ndata = "property"')
    text = text.replace(
        'phased-gp-ucb"\nparameters = { epsilon = [1, "1/2"], delta = 1e-6 }',
        'k-norm"\nparameters = { rate = [1, 4] }',
    )
    (tmp_path / "own.toml").write_text(text)
    code, out, _ = dpaccount("run", tmp_path / "own.toml", "--json", "--jobs", 1, "--out", tmp_path / "out")
    proved = [row["proved"] for row in json.loads(out)["rows"]]
    assert (code, json.loads(out)["measure"], proved[0]) == (0, "simple regret", None)
    assert [(round(each["epsilon"], 1), each["delta"]) for each in proved[1:]] == [(1.0, 0), (4.0, 0)]


# ------------------------------------------------------------------ the same bytes

FILES = ("summary.json", "results.csv", "results.parquet", "curves.csv", "regret.svg")


def contents(folder):
    return [(folder / name).read_bytes() for name in FILES]


@deep
@pytest.mark.parametrize("jobs", [1, 2])
def test_ten_random_kills_of_a_run_leave_the_same_bytes(written, dpaccount, jobs, depth):
    assert dpaccount("run", "small.toml", "--out", "whole", "--jobs", 1)[0] == 0
    words = [sys.executable, "-m", "dpaccount", "run", "small.toml", "--out", "killed", "--jobs", str(jobs)]
    rng = random.Random(depth.seed(jobs))
    for _ in range(10):
        process = subprocess.Popen(words, cwd=written, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.5, 3.0))
        process.kill()
        process.wait()
    assert subprocess.run(words, cwd=written, capture_output=True, check=False).returncode == 0
    assert contents(Path("killed")) == contents(Path("whole"))


@deep
def test_another_store_and_no_work_left_give_the_same_bytes(written, dpaccount):
    first = dpaccount("run", "small.toml", "--out", "one", "--jobs", 1)
    again = dpaccount("run", "small.toml", "--out", "one", "--jobs", 1)
    assert first[:2] == again[:2]
    before = contents(Path("one"))
    other = dpaccount(
        "run", "small.toml", "--out", "two", "--jobs", 1, "--store", "kept.db", "--backend", "serial"
    )
    assert other[:2] == first[:2]
    assert contents(Path("two")) == before == contents(Path("one"))
    assert Path("kept.db").exists()
    assert not Path("two/work.db").exists()
    shutil.rmtree(written / "one")
    assert re.search(r"people phased-gp-ucb epsilon=1/2 delta=1e-06 +[0-9.]+ +[0-9.]+ ", first[1])


@deep(quick_every=5)
@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("name", FILES)
def test_what_cannot_be_written_leaves_the_files_of_the_former_run(dpaccount, name):
    """Never a summary of one run next to results of another."""
    folder = Path("out")
    folder.mkdir()
    for each in FILES:
        (folder / each).write_text("former") if each != name else (folder / each).mkdir()
    code, out, err = dpaccount("run", "small.toml", "--out", folder, "--jobs", 1)
    assert (code, out) == (2, "")
    assert f"error: out/{name}: this is a folder" in err
    left = {
        each.name: each.read_text() for each in folder.iterdir() if each.is_file() and each.suffix != ".db"
    }
    assert left == {each: "former" for each in FILES if each != name}
