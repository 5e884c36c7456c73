"""What a subject is handed and what of its answer is shown; scores of what is shown; digests of code."""

import contextlib
import ctypes
import enum
import io
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.attack.output_scores import learn, sample_of
from audits.attack.white_box import AttackPlan, Target, attack
from audits.datasets.bases import BACKGROUNDS, BASES, crowd, dataset
from audits.datasets.domain_pairs import named_coins
from audits.hypothesis_tests import replay as replaying
from audits.hypothesis_tests.extreme_inputs import difference_on_any_data
from audits.hypothesis_tests.replay import Run, differing, packed, record, replay, run_side, unpacked
from audits.hypothesis_tests.search import gather, search
from audits.sandbox import fork
from audits.sandbox.fork import NoAnswer, in_fork
from audits.sandbox.outcomes import LENGTH
from audits.subjects import sources
from audits.subjects.code_constants import Landmarks, landmarks, numbers_in
from dpaccount.errors import InputError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.binary_tree import BinaryTree
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.subject import Domain, View
from mechanisms.subject.isolation import Handed, NotPlain, identical, kept, plain, played, watched
from mechanisms.subject.private import Private, release
from tests.depth import deep
from tests.loading import import_subject
from tests.looped import looped

DELTA = Fraction(1, 10**6)
UNIT = {"low": Fraction(0), "high": Fraction(1)}
HERE = Path(__file__).parent


# ------------------------------------------------------------------ the noise that is handed over


@looped(
    "name", ["releasable", "theorem", "entry", "inner", "exact", "__class__", "__dict__", "_inner", "_asked"]
)
def test_noise_has_no_attribute_that_tells_who_answers(name):
    asked = []
    noise = Handed(NoNoise(), asked, [])
    assert not hasattr(noise, name)
    assert asked == [name]
    assert noise.noisy("k", 0, np.array([3])).tolist() == [3]
    assert asked == [name]


class Spent(NoNoise):
    """Answers no more."""

    def noisy(self, key, part, values):
        raise ReceiptError("already drawn")


@dataclass(frozen=True)
class Undeterred(LaplaceSum):
    """Shows the sum without noise where there is none to be had."""

    def play(self, data, noise, coins):
        total = self.query(data)
        with contextlib.suppress(Exception):
            total = noise.noisy("sum", 0, total)
        return View(public={"sum": total})


@pytest.mark.parametrize("run", [played, lambda *given: record(*given).view], ids=["played", "record"])
def test_a_run_whose_noise_failed_shows_nothing_whatever_the_code_made_of_it(run):
    subject, data = Undeterred(**UNIT, rows=3), np.ones((3, 1))
    assert run(subject, data, NoNoise(), 0).public["sum"].size == 1
    with pytest.raises(ReceiptError, match="already drawn"):
        run(subject, data, Spent(), 0)


def test_a_second_release_under_one_key_shows_nothing_without_noise(tmp_path):
    init(f"sqlite:///{tmp_path}/l.db", epsilon=5, delta=0, unit="row", relation="replace-one", measure="pure")
    subject, rows = Undeterred(**UNIT, rows=3, scale=Fraction(2)), Private(np.ones(3))
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        held = ledger.charge(subject.proof(Fraction(0)), "sum", (1, 3), "k")
        release(subject, rows, ledger, "sum", cover=(1, 3), key="k")
        with pytest.raises(ReceiptError, match="already drawn"):
            release(subject, rows, ledger, "sum", cover=(1, 3), key="k")
        assert held.entry == 1


@dataclass(frozen=True)
class Shows(LaplaceSum):
    """Shows what `what` makes of the data, the noise and the sum."""

    what: object = None

    def play(self, data, noise, coins):
        return View(public=self.what(data, noise, noise.noisy("sum", 0, self.query(data))))


def seen_by(subject, data, noise):
    return played(subject, data, noise, 0)


def test_rehearsal_replay_and_release_hand_over_noise_of_one_type(tmp_path):
    types = []

    def what(data, noise, noisy):
        types.append((type(noise), type(noise.noisy), noisy.dtype, noisy.flags.c_contiguous, data.dtype))
        return {"sum": noisy}

    subject = Shows(**UNIT, rows=3, what=what)
    data = dataset(subject.domain(), "uniform", 1)
    run = record(subject, data, rehearse(subject.proof(DELTA), Rehearsal(1)), 0)
    replay(subject, data, run, 0)
    url = f"sqlite:///{tmp_path}/l.db"
    init(url, epsilon=9, delta=DELTA, unit="row", relation="replace-one", measure="approximate")
    with Ledger.open(url) as ledger:
        release(subject, Private(data), ledger, "test", DELTA)
    assert len(types) == 3
    assert len(set(types)) == 1


def test_a_release_carries_nothing_beside_what_it_shows(tmp_path):
    class Tagged(np.ndarray):
        pass

    def what(data, noise, noisy):
        tagged = noisy.view(Tagged)
        tagged.exact = data.sum()
        exact = np.array([data.sum()])
        return {"sum": tagged, "hidden": np.ma.array(exact, mask=True), "part": np.hstack([noisy, exact])[:1]}

    subject = Shows(**UNIT, rows=3, what=what)
    data = dataset(subject.domain(), "uniform", 1)
    url = f"sqlite:///{tmp_path}/l.db"
    init(url, epsilon=9, delta=DELTA, unit="row", relation="replace-one", measure="approximate")
    with Ledger.open(url) as ledger:
        view = release(subject, Private(data), ledger, "test", DELTA)
    assert all(type(shown) is np.ndarray and shown.base is None for shown in view.public.values())
    assert not hasattr(view.public["sum"], "exact")
    assert data.sum() not in view.public["hidden"]


def test_a_run_gets_a_copy_of_the_data():
    def what(data, noise, noisy):
        data.sort(axis=0)
        return {"sum": noisy}

    subject = Shows(**UNIT, rows=3, what=what)
    data = np.array([[0.9], [0.1], [0.5]])
    done = watched(subject, data, NoNoise(), 0)
    assert done.changed
    assert data.tolist() == [[0.9], [0.1], [0.5]]
    assert not watched(LaplaceSum(**UNIT, rows=3), data, NoNoise(), 0).changed


# ------------------------------------------------------------------ what is shown


@deep
@given(
    st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), st.text()),
        max_size=5,
    )
)
def test_plain_objects_are_kept_and_equal_themselves_only(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    shown = kept(View(public={"x": array})).public["x"]
    assert identical(shown, array)
    for place in range(len(values)):
        other = array.copy()
        other[place] = [values[place]]
        assert not identical(shown[place : place + 1], np.array([("another",)], dtype=object))
        with pytest.raises(NotPlain):
            kept(View(public={"x": other}))


@pytest.mark.parametrize(("kind", "same"), [("q", "l"), ("Q", "L")])
def test_integers_of_one_width_are_of_one_type(kind, same):
    if np.dtype(kind) != np.dtype(same):
        pytest.skip("here these have other widths")
    shown = kept(View(public={"x": np.arange(3, dtype=kind)})).public["x"]
    assert type(shown[0]) is type(np.arange(3, dtype=same)[0])


def test_one_and_true_zero_and_its_negative_are_told_apart():
    def one(value):
        return np.array([value], dtype=object)

    assert not identical(one(1), one(True))
    assert not identical(one(1), one(1.0))
    assert not identical(one(0.0), one(-0.0))
    assert identical(one(float("nan")), one(float("nan")))


@looped(
    "shown",
    [
        [1, 2],
        {"a": 1},
        np.array([object()]),
        np.zeros(2, dtype=[("a", "i4"), ("b", "i1")]),
        np.zeros(2, dtype=np.longdouble),
    ],
)
def test_what_cannot_be_compared_in_full_is_refused(shown):
    with pytest.raises(NotPlain):
        kept(View(public={"x": shown}))
    with pytest.raises(NotPlain, match="must return a View"):
        kept(shown)


def test_reports_are_plain_values():
    report = {"a": np.float64(0.5), "b": [np.int64(3), None], "c": np.array([1, 2]), "d": ("x", True)}
    assert repr(plain(report, "it")) == "{'a': 0.5, 'b': [3, None], 'c': [1, 2], 'd': ['x', True]}"
    for wrong in ({1: 2}, {"a": {1}}, object()):
        with pytest.raises(NotPlain):
            plain(wrong, "it")


# ------------------------------------------------------------------ processes of their own


def test_a_forked_call_leaves_nothing_behind_and_its_death_is_no_answer():
    state = []
    assert in_fork(lambda: state.append(1) or len(state)) == 1
    assert state == []
    with pytest.raises(NoAnswer):
        in_fork(lambda: os.kill(os.getpid(), 9))


@pytest.mark.parametrize("hostile", [b"\xc1", b"\x07", b"\xc0", b"\x91\x01", b"\x91" * 100_000 + b"\x01"])
def test_what_is_no_answer_of_ours_is_none(monkeypatch, hostile):
    """Code that writes into its process's answers is taken for code that ended it."""
    honest = fork.write_frame
    monkeypatch.setattr(
        fork,
        "write_frame",
        lambda stream, said: (
            stream.write(LENGTH.pack(len(hostile)) + hostile)
            if isinstance(said, list)
            else honest(stream, said)
        ),
    )
    with pytest.raises(NoAnswer):
        in_fork(lambda: 1)


class Arm(enum.IntEnum):
    LEFT = 1


class Step(str, enum.Enum):  # noqa: UP042 - its `str` is its name, unlike a StrEnum's
    FIRST = "first"


PARTS = [0, True, 2**70, -(2**63), 0.5, "a", b"a", None, Fraction(1, 3), Arm.LEFT, Step.FIRST, "\ud800"]
PARTS += [np.int64(3), np.float64(-0.0), np.str_("x"), np.datetime64("2026-01-01"), (1, ("a", np.int32(2)))]
SHOWN = {
    "zeros": np.array([0.0, -0.0, np.nan]),
    "none": np.zeros((0, 3), dtype=">i4"),
    "text": np.array(["ä", ""]),
    "objects": np.array([[None, 1], [2**70, -0.0]], dtype=object),
    "scalar": np.array(True),
    "times": np.array(["NaT", "2026-01-01"], dtype="datetime64[D]"),
    "fields": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
}


@deep
def test_a_run_that_travels_arrives_as_it_left():
    """Bit for bit, with the types and the order of parts; a part of another kind is refused in words."""
    values = {("k", part): np.array([k]) for k, part in enumerate(PARTS)}
    odd = {"asked": ("seed",), "changed": True, "printed": True, "report": "it"}
    run = Run(values, values, View(SHOWN, SHOWN), dict.fromkeys(values, "noisy"), SHOWN, **odd)
    there = unpacked(packed(run))
    assert differing(run, there, 0) is None
    assert list(there.exact) == list(there.released) == list(there.asked_by) == list(values)
    assert {hash(part) for part in there.exact} == {hash(part) for part in values}
    assert {name: getattr(there, name) for name in odd} == odd
    for name, array in SHOWN.items():
        assert identical(there.view.own[name], array)
        assert identical(there.hidden[name], array)
    for part in (object(), frozenset([1]), ("a", 1j)):
        with pytest.raises(ReceiptError, match="cannot name a part; give a number, a text"):
            packed(replace(run, exact={("k", part): np.array([0])}))
        with pytest.raises(InputError, match="cannot name a part"):  # a wrong request, no finding
            run_side(lambda part=part: replace(run, exact={("k", part): np.array([0])}), apart=True)


def test_an_answer_that_is_no_run_executes_nothing():
    for answer in (os.getpid, np.load, Path, np.zeros(3), 1):
        assert unpacked(pickle.dumps(answer)).wrong == "its process gave no run"
    with pytest.raises(pickle.UnpicklingError):
        replaying._Unpickler(io.BytesIO(pickle.dumps(np.load))).load()
    assert unpacked(b"\x80").wrong == "its process gave no run"


WRITERS = {
    "an early stream": lambda: sys.__stdout__.write("total 17\n"),
    "bytes": lambda: os.write(1, b"total 17\n"),
    "a library in C": lambda: ctypes.CDLL(None).puts(b"total 17"),
    "another program": lambda: subprocess.run([sys.executable, "-c", "print(17)"], check=True),
    "code that ends its process": lambda: os.write(2, b"17") and os._exit(3),
    "nothing": lambda: None,
}


@looped("how", list(WRITERS))
def test_whatever_reaches_the_standard_streams_of_a_process_apart_is_seen(how):
    def play():
        WRITERS[how]()
        return Run({}, {}, View())

    done = run_side(play, apart=True)
    assert done.printed == (how != "nothing")


@deep
def test_code_that_fails_on_every_run_is_a_wrong_request():
    def fails(data, noise, noisy):
        raise KeyError("age")

    subject = Shows(**UNIT, rows=3, what=fails)
    with pytest.raises(InputError, match=r"fails on every run .*KeyError"):
        gather(subject, Proved(subject.proof(DELTA)), examples=20, seed=1, files=[])
    with pytest.raises(InputError, match="fails on every run"):
        search(subject, Proved(subject.proof(DELTA)), [], examples=5, seed=1).require_runs(subject)


@deep
def test_code_that_fails_on_some_runs_says_how_many():
    def fails(data, noise, noisy):
        if data.max() > 0.9:
            raise ValueError("too large")
        return {"sum": noisy}

    subject = Shows(**UNIT, rows=3, what=fails)
    found, _ = gather(subject, Proved(subject.proof(DELTA)), examples=12, seed=1, files=[])
    assert all(each.status == "refuted" for each in found)
    assert "runs fail)" in found[0].counterexample.wrong


# ------------------------------------------------------------------ numbers in the code


def test_numbers_in_the_code_are_landmarks_and_those_of_other_subjects_are_not(tmp_path):
    (tmp_path / "coded.py").write_text(
        "from mechanisms.laplace_sum import LaplaceSum\nCODE = '7777'\n"
        "def helper(x):\n    return x > 41.5\n"
        "class Coded(LaplaceSum):\n    def play(self, data, noise, coins):\n        return data == -99\n"
        "class Other(LaplaceSum):\n    def play(self, data, noise, coins):\n        return data == 123456\n"
    )
    coded = import_subject("coded:Coded", [str(tmp_path)])(**UNIT)
    found = landmarks(coded).numbers
    assert {7777.0, 41.5, -99.0, 99.0} <= set(found)
    assert 123456.0 not in found
    with (tmp_path / "coded.py").open("a") as file:
        file.write("LATER = 31337\n")
    assert set(landmarks(coded).numbers) == {*found, 31337.0, -31337.0}  # what was written since is seen
    assert 424242 in named_coins(1, (424242.0, 0.5))


@looped("others", BACKGROUNDS)
def test_a_crowd_has_its_size(others):
    rows = dataset(Domain(9, (0.0,), (10.0,), (False,)), crowd(4, 7.5, 0, others), 3)
    assert (rows[:, 0] == 7.5).sum() == 4


# ------------------------------------------------------------------ scores of what is shown


def runs_of(subject, number):
    theorem, data = subject.proof(DELTA), dataset(subject.domain(), "uniform", 1)
    return [record(subject, data, rehearse(theorem, Rehearsal(seed)), 0) for seed in range(number)]


@pytest.mark.parametrize(
    "subject", [LaplaceSum(**UNIT, rows=3), BinaryTree(rounds=8)], ids=["scaled", "prefix sums"]
)
def test_releases_are_decoded_from_what_is_shown(subject):
    runs = runs_of(subject, 60)
    score = learn([sample_of(run, 0.0, 0) for run in runs[:40]])
    assert score.weights is not None
    for run in runs[40:]:
        assert score.of(run, 1.5, lambda _: pytest.fail("decoded wrongly"), 0) == 1.5


def test_a_score_depends_on_nothing_but_what_is_shown():
    """Whatever the run's own releases and ratio are, two runs that show the same get the same score."""
    first, *rest = runs_of(LaplaceSum(**UNIT, rows=3), 40)
    score = learn([sample_of(run, 0.0, 0) for run in rest])
    moved = {part: values + 5 for part, values in first.released.items()}
    lying = replace(first, released=moved)  # other releases inside, the same view
    decoded = []
    score.of(lying, 99.0, lambda released: decoded.append(released) or 0.25, 0)
    assert [{part: v.tolist() for part, v in each.items()} for each in decoded] == [
        {part: v.tolist() for part, v in first.released.items()}
    ]
    same = replace(first, view=View(public={"done": np.array([1])}))
    blind = learn([sample_of(same, ratio, 0) for ratio in (-1.0, 2.0, 5.0)])
    assert blind.of(same, 99.0, lambda _: pytest.fail("nothing is decoded"), 0) == 2.0
    assert blind.of(first, 99.0, lambda _: pytest.fail("nothing is decoded"), 0) == 0.0


@deep
@pytest.mark.statistical(1e-3)  # a true claim falls
@pytest.mark.parametrize(
    ("what", "falls"),
    [
        (lambda data, noise, noisy: {"sum": noisy * 0.5}, True),
        (lambda data, noise, noisy: {"sum": -3 - noisy}, True),
        (lambda data, noise, noisy: {"done": np.array([1])}, False),
        (lambda data, noise, noisy: {"sign": np.sign(noisy - 10**12)}, False),
    ],
    ids=["scaled", "shifted", "silent", "coarse"],
)
def test_a_claim_falls_by_what_is_shown_only(what, falls):
    """ε = 1 of the releases, claimed ½."""
    subject = Shows(**UNIT, rows=3, scale=Fraction(1), what=what)
    theorem = subject.proof(Fraction(0))
    worst_pair = search(subject, Proved(theorem), [], examples=60, seed=1).worst_pair()
    points = [Target("claim", Fraction(1, 2), Fraction(0)), Target("proof", Fraction(1, 2), Fraction(0))]
    outcome = attack(
        subject, Proved(theorem), points, worst_pair, AttackPlan(1500, Fraction(1, 1000), seed=2)
    )
    exceeded = {target.of for target, bound in outcome.results if bound.epsilon_lower > target.limit}
    assert exceeded == ({"claim", "proof"} if falls else {"proof"})


# ------------------------------------------------------------------ digests


def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "deep.py").write_text("FACTOR = 1\n")
    (tmp_path / "late.py").write_text("OFFSET = 0\n")
    (tmp_path / "beside.py").write_text("NOTHING = 0\n")
    (tmp_path / "digested.py").write_text(
        "from dataclasses import dataclass\nfrom parts import deep\n"
        "from mechanisms.laplace_sum import LaplaceSum\n"
        "@dataclass(frozen=True)\nclass Digested(LaplaceSum):\n"
        "    def query(self, data):\n        import late\n"
        "        return super().query(data) * deep.FACTOR + late.OFFSET\n"
    )
    return import_subject("digested:Digested", [str(tmp_path)])


@deep
def test_the_digest_covers_what_a_class_imports_from_its_folder(tmp_path):
    made_by = folder(tmp_path)
    try:
        before = sources.digest_of_code(made_by)
        assert before == sources.digest_of_code(made_by)
        for name, covered in (
            ("parts/deep.py", True),
            ("parts/__init__.py", True),
            ("late.py", True),
            ("digested.py", True),
            ("beside.py", False),
        ):
            file = tmp_path / name
            kept_text = file.read_text()
            file.write_text(kept_text + "# changed\n")
            assert (sources.digest_of_code(made_by) != before) == covered, name
            file.write_text(kept_text)
        (tmp_path / "digested.py").unlink()
        with pytest.raises(InputError, match="is not there"):
            sources.digest_of_code(made_by)
    finally:
        sys.modules.pop("digested")


def test_a_class_that_was_typed_in_has_no_digest():
    made = type("Typed", (LaplaceSum,), {"__module__": "nowhere"})
    with pytest.raises(InputError, match="put the class into a file"):
        sources.digest_of_code(made)


@deep
def test_a_digest_needs_no_package_to_be_loaded(tmp_path):
    (tmp_path / "lonely.py").write_text("class Lonely:\n    pass\n")
    code = (
        "import sys; from audits.subjects.sources import digest_of_code; import lonely; "
        "assert 'bandits' not in sys.modules; print(digest_of_code(lonely.Lonely))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{HERE.parents[2]}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("sha256:")


# ------------------------------------------------------------------ any data, any releases


@deep
@given(st.integers(0, 2**32 - 1), st.sampled_from(BASES))
def test_made_up_data_lie_in_their_domain(seed, base):
    domain = Domain(7, (0.0, -3.0, 70.05), (1.0, 5.0, 70.07), (False, True, False))
    rows = dataset(domain, base, seed)
    assert rows.shape == (7, 3)
    assert ((rows >= domain.low) & (rows <= domain.high)).all()
    assert (rows[:, 1] == np.floor(rows[:, 1])).all()


def flag(of):
    def what(data, noise, noisy):
        return {"sum": noisy, "flag": np.array([of(data, noisy)])}

    return what


@looped("threshold", [0.2, 0.5, 0.8])
def test_an_exact_mean_is_told_by_unrelated_data_however_many_rows(threshold):
    subject = Shows(**UNIT, rows=5000, what=flag(lambda data, noisy: data.mean() > threshold))
    found = difference_on_any_data(subject, Proved(subject.proof(DELTA)), subject.domain(), Landmarks(), 1)
    assert found is not None
    assert "the public flag differs" in found[2]


def test_a_function_of_the_releases_is_none_of_the_data():
    subject = Shows(**UNIT, rows=50, what=flag(lambda data, noisy: noisy[0] > 20))
    assert (
        difference_on_any_data(subject, Proved(subject.proof(DELTA)), subject.domain(), Landmarks(), 1)
        is None
    )


@deep
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), st.sampled_from([" ", ", ", "-", "/"]))
def test_numbers_in_text_and_tables_are_found(numbers, between):
    text = between.join(map(str, numbers))
    assert set(numbers_in({"codes": (text,)})) == set(map(float, numbers))
    assert set(numbers_in([{n: None} for n in numbers])) == set(map(float, numbers))


@deep
@pytest.mark.parametrize(
    ("many", "slow", "said"),
    [
        (0, False, ()),
        (500, False, ("250 of 500 numbers in the code",)),
        (0, True, ("changed records", "tables")),
    ],
)
def test_what_is_left_out_of_the_tours_is_said(many, slow, said):
    """Numbers in the code that are too many, and all of which slow runs leave no room for."""
    subject = Shows(**UNIT, rows=4)
    marks = Landmarks(tuple(np.linspace(0, 1, many).tolist()), work=10**6 if slow else 10)
    proved = Proved(subject.proof(DELTA))
    seen = search(subject, proved, [], marks, examples=1, seed=1, sweep=True)
    assert bool(seen.skipped) == bool(said)
    assert all(part in seen.skipped for part in said)
