"""Functions of a user's own: attacked in processes that can be killed; whatever they do is a finding."""

import json
import os
from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import replace

from audits.api.dispatch import certify
from audits.api.on_code import certify as on_code
from audits.api.on_subject import with_cut_noted
from audits.api.requests import Audit, Certify
from audits.api.verdicts import not_attacked
from audits.attack.runs import silent
from audits.claim import read_claim
from audits.sandbox import crew as isolation
from audits.sandbox.crew import Crew
from audits.sandbox.outcomes import of_value
from audits.subjects.code import Code
from dpaccount.errors import DpaccountError
from tests.depth import deep
from tests.looped import looped

CLINIC = """
import os, signal, sys, time
import numpy as np

print("imported")
P = 1 - np.exp(-1.0)

def noise(rng):
    return int(rng.geometric(P) - rng.geometric(P))

def count(data, rng):            # epsilon = 1, tight
    print("a line for nobody")
    return int((data > 0.5).sum()) + noise(rng)

def twice(data, rng):            # epsilon = 2
    return 2 * int((data > 0.5).sum()) + noise(rng)

def word(data, rng):             # epsilon = 3
    return "yes" if (data[0] > 0.5) == (rng.random() < np.exp(3) / (1 + np.exp(3))) else None

def rows(data, rng):             # leaks the number of rows
    return np.zeros(len(data)) + noise(rng)

def raises(data, rng):
    if data.sum() > 4.5:
        raise ValueError("too large")
    return noise(rng)

def leaves(data, rng):
    sys.exit(3)

def crashes(data, rng):
    if data.sum() > 4.5:
        os.kill(os.getpid(), signal.SIGSEGV)
    return noise(rng)

def hangs(data, rng):
    while True:
        time.sleep(1)

def greedy(data, rng):
    return bytearray(10**13)

def fixed(data, rng):
    return float(data.sum() + np.random.default_rng(0).laplace())

def own_noise(data, rng):        # epsilon = 1, tight, but it cannot be repeated
    return count(data, np.random.default_rng()) + np.random.default_rng().random()  # never twice alike

def mutates(data, rng):
    data[:] = 0
    return noise(rng)

KEPT = []

def keeps(data, rng=None):       # its first result, for all datasets
    KEPT.append(int(data.sum()))
    return KEPT[0]

def ragged(data, rng):
    return [1] * int(rng.integers(1, 4))

class Neither:
    pass

three = 3

def mean(data):
    return float(np.mean(data))

def jump(data):
    return float(np.mean(data)) + (3.0 if 0.25 < data[2] < 0.35 else 0.0)
"""

NO_LIMIT = 10**6  #: seconds: no verdict of these tests depends on the machine's load

CLAIM = """
schema = "dpaccount/claim/1"
name = "clinic"
[guarantee]
model = "central"
unit = "one row"
relation = "{relation}"
epsilon = 1
[subject]
use = "clinic:{name}"
[subject.data]
shape = [5]
low = 0
high = 1
dtype = "int"
[audit]
trials = 2000
confidence = 0.999
seconds = {seconds}
"""


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "clinic.py").write_text(CLINIC)

    def claim(name, *more, relation="replace-one", seconds=NO_LIMIT):
        path = tmp_path / "claim.toml"
        text = CLAIM.format(name=name, relation=relation, seconds=seconds)
        for old, new in more:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        return path

    return claim


def certified(dpaccount, path):
    code, out, err = dpaccount("certify", path, "--json", "--jobs", 1)
    certificate = json.loads(out)
    assert {"REFUTED": 1, "UNPROVEN": 3}[certificate["verdict"]] == code
    assert dpaccount("check", "certificates/clinic/certificate.json")[0] == code
    assert "runs code from clinic.py" in err
    return certificate


@deep
@pytest.mark.statistical(0.01)  # a sound function is refuted: .001; a broken one is missed
@pytest.mark.parametrize(
    ("name", "relation", "verdict"),
    [
        ("count", "replace-one", "UNPROVEN"),
        ("count", "add-remove", "UNPROVEN"),
        ("twice", "replace-one", "REFUTED"),
        ("word", "replace-one", "REFUTED"),
        ("rows", "add-remove", "REFUTED"),
        ("rows", "replace-one", "UNPROVEN"),
        ("raises", "replace-one", "REFUTED"),
        ("fixed", "replace-one", "REFUTED"),
        ("own_noise", "replace-one", "UNPROVEN"),
        ("mutates", "replace-one", "UNPROVEN"),
        ("ragged", "replace-one", "UNPROVEN"),
    ],
)
def test_functions_are_refuted_or_unproven(dpaccount, clinic, name, relation, verdict):
    certificate = certified(dpaccount, clinic(name, relation=relation))
    assert certificate["verdict"] == verdict
    assert certificate["proved"]["epsilon"] is None
    assert certificate["releasable"] is False
    witness = certificate["audit"]["witness"]
    left, right = np.array(witness["left"]), np.array(witness["right"])
    assert len(left) - len(right) in ((1, -1) if relation == "add-remove" else (0,))


@deep
@pytest.mark.statistical(1e-3)  # one sound function
def test_what_a_function_does_is_a_finding(dpaccount, clinic):
    def findings(name):
        return " ".join(certified(dpaccount, clinic(name))["audit"]["witness"]["findings"])

    assert "too large" in findings("raises")
    assert "the same result for every seed" in findings("fixed")
    assert "different results" in findings("own_noise")
    assert "changes the dataset" in findings("mutates")
    assert "different kinds" in findings("ragged")
    assert findings("count") == ""


@deep
@pytest.mark.parametrize(("name", "said"), [("leaves", "exits: 3 on every run"), ("greedy", "MemoryError")])
def test_a_function_that_never_gives_a_result_is_a_wrong_request(dpaccount, clinic, name, said):
    code, out, err = dpaccount("certify", clinic(name), "--json", "--jobs", 1)
    assert (code, out) == (2, "")
    assert said in err.splitlines()[-1]


@deep
def test_a_first_result_that_is_kept_was_not_attacked(dpaccount, clinic):
    clinic("keeps")
    code, out, _ = dpaccount("audit", "--claim", "claim.toml", "--json", "--jobs", 1)
    answer = json.loads(out)
    assert (code, answer["verdict"]) == (3, "NOT ATTACKED")
    assert "keeps its first result" in out
    words = ["--norm", "l1", "--bound", "0.5", "--shape", "5", "--low=0", "--high=1"]
    code, out, err = dpaccount("sensitivity", "clinic:keeps", *words)
    assert (code, out) == (2, "")
    assert "keeps its first result" in err


@deep
def test_a_crash_that_depends_on_the_data_is_an_event(dpaccount, clinic):
    pair = (
        "shape = [5]\nleft = [1, 1, 1, 1, 1]\nright = [0, 1, 1, 1, 1]"  # every crash starts a process again
    )
    path = clinic("crashes", ("shape = [5]", pair), ("trials = 2000", "trials = 60"))
    certificate = certified(dpaccount, path)
    assert certificate["verdict"] == "REFUTED"
    assert "SIGSEGV" in " ".join(certificate["hazards"])


@deep
def test_a_hang_ends_within_the_wall_limit(dpaccount, clinic):
    certificate = certified(dpaccount, clinic("hangs", seconds=3))
    assert certificate["verdict"] == "UNPROVEN"
    assert "no answer" in certificate["proved"]["reason"]


@deep
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("clinic:count", "clinic:Neither", "not a class with"),
        ("clinic:count", "clinic:three", "not a class with"),
        ("clinic:count", "clinic:nothing", "has no attribute"),
        ("clinic:count", "nowhere:f", "No module named"),
        ("[subject.data]", "[subject.parameters]\nx = 1\n[subject.data]", "no parameters"),
        ("shape = [5]", "shape = []", "sizes"),
        ("shape = [5]", "shape = [0]", "subject.data.shape"),
        ("shape = [5]", "shape = [5, 2]\nleft = [[0]]\nright = [[1]]", "a record has 2"),
        ("shape = [5]", "shape = [2]\nleft = [0, 1]\nright = [1, 0]", "no neighbours"),
        ("shape = [5]", "shape = [2]\nleft = [0, 1]\nright = [0, 1]", "no neighbours"),  # NOT REFUTED, of anything
        ("shape = [5]", "shape = [2]\nleft = [0, 1]", "both left and right"),
        ("shape = [5]", "shape = [2]\nleft = [0, 1]\nright = [0, 7]", "outside the declared bounds"),
        ("high = 1", "high = -1", "above high"),
        ("high = 1", "high = [1, 2]", "one for each of 1"),
        ("high = 1", "high = true", "a boolean"),
        ("high = 1", "high = 1e400", "too large"),
        ("high = 1", "", "'high' is missing"),
        ('"int"', '"text"', "unknown value 'text'"),
        ("low = 0\nhigh = 1", "low = 0.2\nhigh = 0.4", "no integer"),
    ],
)  # fmt: skip
def test_a_bad_claim_about_a_function_is_one_line(dpaccount, clinic, old, new, said):
    code, out, err = dpaccount("certify", clinic("count", (old, new)), "--json")
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith("runs code from")]
    assert len(lines) == 1
    assert said in lines[0]


@pytest.mark.parametrize("command", ["certify", "audit", "sensitivity"])
def test_no_code_runs_none(dpaccount, clinic, tmp_path, command):
    clinic("count")
    (tmp_path / "clinic.py").write_text("open('ran', 'w')")
    words = {
        "certify": [tmp_path / "claim.toml"],
        "audit": ["--claim", tmp_path / "claim.toml"],
        "sensitivity": ["clinic:mean", "--norm", "l1", "--bound", "1", "--shape", "2", "--low=0", "--high=1"],
    }[command]
    code, out, err = dpaccount(command, *words, "--no-code")
    assert (code, out) == (2, "")
    assert "runs code" not in err.splitlines()[0].split("error")[0]
    assert not (tmp_path / "ran").exists()


@deep
def test_an_import_that_fails_or_hangs_is_a_wrong_request(dpaccount, clinic, tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "IMPORT", 2.0)
    for text in ("import sys; sys.exit(4)", "1 / 0", "import os; os._exit(5)", "while True: pass"):
        path = clinic("count", seconds=2)
        (tmp_path / "clinic.py").write_text(text)
        code, out, err = dpaccount("certify", path)
        assert (code, out) == (2, "")
        assert "importing clinic failed" in err


# ------------------------------------------------------------------ audit


AUDIT = (
    "--delta",
    "0",
    "--shape",
    "5",
    "--low=0",
    "--high=1",
    "--dtype",
    "int",
    "--trials",
    "3000",
    "--seconds",
    NO_LIMIT,
)
KEYS = {
    "schema", "verdict", "epsilon_lower", "epsilon_power", "delta", "confidence", "trials", "runs", "attack", "refuted",
    "witness", "seconds",
}  # fmt: skip


@deep
@pytest.mark.statistical(0.06)  # the sound one is refuted: .05; the broken one is missed
def test_audit_of_a_function(dpaccount, clinic):
    clinic("count")
    code, out, _ = dpaccount("audit", "clinic:twice", "--epsilon", "1", *AUDIT, "--json")
    answer = json.loads(out)
    assert (code, set(answer), answer["refuted"]) == (1, KEYS | {"other_relation"}, True)
    assert 1.6 < answer["epsilon_lower"] <= 2
    code, out, _ = dpaccount("audit", "clinic:count", "--epsilon", "1", *AUDIT, "--json")
    assert (code, json.loads(out)["refuted"]) == (0, False)
    assert json.loads(out)["epsilon_lower"] > 0.7
    code, out, _ = dpaccount("audit", "clinic:twice", "--epsilon", "1", *AUDIT, "--early", "--json")
    assert (code, json.loads(out)["refuted"]) == (1, True)
    assert "bets" in json.loads(out)["witness"]["event"]


@deep
def test_the_answer_does_not_depend_on_the_number_of_jobs(dpaccount, clinic, depth):
    clinic("count")
    answers, seed = [], depth.seed(5)
    for jobs in (1, 3):
        words = ["audit", "clinic:count", "--epsilon", "1", *AUDIT, "--seed", seed, "--jobs", jobs, "--json"]
        answers.append({**json.loads(dpaccount(*words)[1]), "seconds": 0})
    assert answers[0] == answers[1]


@deep
@pytest.mark.statistical(0.01)  # it is missed
def test_an_explicit_pair_is_taken_as_it_is(dpaccount, clinic):
    pair = "shape = [5]\nleft = [0, 0]\nright = [0, 1]"  # fewer rows than the shape says: a small example
    code, out, _ = dpaccount("audit", "--claim", clinic("twice", ("shape = [5]", pair)), "--json")
    witness = json.loads(out)["witness"]
    assert (code, witness["left"], witness["right"], witness["pairs_tried"]) == (1, [0, 0], [0, 1], 1)


@deep
def test_bad_requests_are_one_line(dpaccount, clinic):
    clinic("count")
    for words in (
        ("clinic:count", "--epsilon", "1"), ("clinic:count", "--epsilon", "1", *AUDIT, "--relation", "swap"),
        ("clinic:count", "--epsilon", "1", *AUDIT[:2], "--shape", "a", "--low=0", "--high=1"),
        ("clinic:count", "--epsilon", "1", *AUDIT[:2], "--shape", "5", "--low=nan", "--high=1"),
        ("clinic:count", "--epsilon", "1", *AUDIT, "--relation", "bounded-row"),
        ("--claim", "claim.toml", "--shape", "5"),
        ("laplace-sum", "--epsilon", "1", "--shape", "5"),
        ("laplace-sum", "--epsilon", "1", "--relation", "add-remove"),
        ("fixed-seed", "--epsilon", "1", "--relation", "add-remove"),
    ):  # fmt: skip
        code, out, err = dpaccount("audit", *words)
        assert (code, out) == (2, "")
        assert err.splitlines()[-1].startswith("error: ")


# ------------------------------------------------------------------ sensitivity


def sensitivity(dpaccount, name, bound, *more, norm="l1", shape="5"):
    words = ["--norm", norm, "--bound", bound, "--shape", shape, "--low=0", "--high=1", *more]
    code, out, err = dpaccount("sensitivity", f"clinic:{name}", *words, "--json")
    return code, json.loads(out) if out else err


@deep
def test_a_declared_sensitivity_is_tested(dpaccount, clinic):
    clinic("count")
    code, answer = sensitivity(dpaccount, "mean", "0.2")
    assert (code, answer["refuted"], answer["left"]) == (0, False, None)
    assert 0.2 <= answer["worst"] < 0.2 * (1 + 1e-9)
    assert answer["rounding"] is None or answer["rounding"] < 1e-15
    code, answer = sensitivity(dpaccount, "mean", "0.19")
    assert (code, answer["refuted"]) == (1, True)
    assert abs(np.mean(answer["left"]) - np.mean(answer["right"])) == pytest.approx(0.2)
    code, answer = sensitivity(dpaccount, "mean", "0.5", "--relation", "add-remove")
    assert (code, answer["worst"]) == (1, "inf")  # the mean of nothing
    code, answer = sensitivity(dpaccount, "jump", "1")
    assert code == 1
    assert answer["worst"] > 3
    code, out, _ = dpaccount(
        "sensitivity", "clinic:jump", "--norm", "l2", "--bound", "1", "--shape", "5", "--low=0", "--high=1"
    )
    test = out[out.index("import numpy") :]
    space = {}
    exec(compile(test.replace("from clinic import jump", CLINIC), "printed", "exec"), space)  # noqa: S102
    with pytest.raises(AssertionError):
        space["test_sensitivity_of_jump"]()


@deep
def test_queries_that_give_no_numbers_are_refused(dpaccount, clinic):
    clinic("count")
    for name in ("count", "Neither", "three", "missing"):
        code, said = sensitivity(dpaccount, name, "1")
        assert code == 2
        assert "error: " in said


# ------------------------------------------------------------------ the process itself


@deep
def test_processes_end_with_their_crew(tmp_path):
    (tmp_path / "pid.py").write_text("import os\ndef f(data): return os.getpid()")
    with Crew(Code("pid:f", (str(tmp_path),)), seconds=20) as crew:
        crew.set_datasets([np.zeros(1)])
        (pid,) = crew.run([(0,)])[0].numbers
        os.kill(int(pid), 0)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


@deep
def test_folders_stay_at_the_end_of_the_path(tmp_path):
    """What a function imports while it runs is found as its file's own imports are."""
    (tmp_path / "where.py").write_text(
        "import sys\nduring = list(sys.path)\ndef f(data): return [during[-1], sys.path[-1]]"
    )
    with Crew(Code("where:f", (str(tmp_path),)), seconds=20) as crew:
        crew.set_datasets([np.zeros(1)])
        assert crew.run([(0,)])[0].labels == (str(tmp_path), str(tmp_path))


@looped(
    ("value", "structure", "labels", "numbers"),
    [
        (None, "None", (), []),
        (True, "bool", (), [1]),
        (3, "int", (), [3]),
        (2**60, "int", (str(2**60),), []),
        (np.float64(1.5), "float64", (), [1.5]),
        ("a\ud800", "str", ("a\\ud800",), []),
        (np.zeros((2, 1)), "float64[2, 1]", (), [0, 0]),
        ([1, "x", None], "list3 int str None", ("x",), [1]),
        ({"k": 2.0}, "dict1 'k' float", (), [2]),
        (1j, "complex", (), [0, 1]),
        (object(), "object object", (), []),
        (np.array(["x", "y"]), "<U1[2] str str", ("x", "y"), []),
    ],
)
def test_values_of_any_kind_become_outcomes(value, structure, labels, numbers):
    outcome = of_value(value)
    assert (outcome.structure, outcome.labels, outcome.numbers.tolist()) == (structure, labels, numbers)


# ------------------------------------------------------------------ mechanism classes


OWN_CLASS = """
import os, time
from dataclasses import dataclass
from dpaccount.proof import post_process
from dpaccount.proof import assume_view
from mechanisms.laplace_sum import LaplaceSum

class Own(LaplaceSum):
    def proof(self, delta):
        return post_process(super().proof(delta), assume_view("own", "everyone", "replay"))

@dataclass(frozen=True)
class Hangs(Own):
    def play(self, data, noise, coins):
        time.sleep(1000)

@dataclass(frozen=True)
class Crashes(Own):
    def play(self, data, noise, coins):
        os._exit(9)

@dataclass(frozen=True)
class SlowProof(LaplaceSum):
    def proof(self, delta):
        time.sleep(1000)

@dataclass(frozen=True)
class Leaves(LaplaceSum):
    def proof(self, delta):
        raise SystemExit
"""

CLASS_CLAIM = """
schema = "dpaccount/claim/1"
name = "own"
[guarantee]
model = "central"
unit = "one row"
relation = "replace-one"
epsilon = 0.5
[subject]
use = "own:{name}"
[subject.parameters]
rows = 5
low = 0
high = 1
[audit]
trials = 100
seconds = {seconds}
"""


@deep
@pytest.mark.parametrize(
    ("name", "said", "seconds", "audited"),
    [
        ("Hangs", "no answer", 3, 3),
        ("Crashes", "exit code 9", NO_LIMIT, 2),
        ("SlowProof", "no answer", 3, 3),
        ("Leaves", "Exit", NO_LIMIT, 2),
    ],
)
def test_classes_that_misbehave_are_unproven(dpaccount, tmp_path, name, said, seconds, audited):
    (tmp_path / "own.py").write_text(OWN_CLASS)
    (tmp_path / "claim.toml").write_text(CLASS_CLAIM.format(name=name, seconds=seconds))
    got, out, _ = dpaccount("certify", "claim.toml", "--json", "--jobs", 1)
    certificate = json.loads(out)
    assert (got, certificate["verdict"]) == (3, "UNPROVEN")
    assert dpaccount("check", "certificates/own/certificate.json")[0] == 3
    assert said in certificate["proved"]["reason"]
    got, out, err = dpaccount("audit", "--claim", "claim.toml", "--json", "--jobs", 1)
    assert got == audited
    assert json.loads(out)["verdict"] == "NOT ATTACKED" if got == 3 else out == ""
    assert said.lower() in (out if got == 3 else err).lower()


RAISES = """
from dataclasses import dataclass
from dpaccount.proof import post_process
from dpaccount.proof import assume_view
from mechanisms.laplace_sum import LaplaceSum

RUNS = []

class Own(LaplaceSum):
    def proof(self, delta):
        return post_process(super().proof(delta), assume_view("own", "everyone", "replay"))

@dataclass(frozen=True)
class Raises(Own):
    def play(self, data, noise, coins):
        raise ValueError("no data")

@dataclass(frozen=True)
class Shows(Own):
    def play(self, data, noise, coins):
        return None

@dataclass(frozen=True)
class Fine(Own):
    pass
"""


@deep
@pytest.mark.parametrize(
    ("name", "said"), [("Raises", "ValueError: no data"), ("Shows", "must return a View")]
)
def test_a_class_that_raises_on_every_run_is_a_wrong_request(dpaccount, tmp_path, name, said):
    (tmp_path / "own.py").write_text(RAISES)
    (tmp_path / "claim.toml").write_text(CLASS_CLAIM.format(name=name, seconds=NO_LIMIT))
    for words in (
        ["certify", "claim.toml", "--jobs", 1],
        ["audit", "--claim", "claim.toml", "--jobs", 1],
        ["sensitivity", f"own:{name}"],
    ):
        code, out, err = dpaccount(*words, "--json")
        assert (code, out) == (2, ""), words
        line = err.splitlines()[-1]
        assert line.startswith("error: ")
        assert said in line
        assert "on every run" in line


@deep
def test_a_claim_on_a_class_that_is_edited_meanwhile_is_refused(dpaccount, tmp_path, monkeypatch):
    """The process that runs the class reads the file by itself, perhaps after the question was answered."""
    (tmp_path / "own.py").write_text(RAISES)
    path = tmp_path / "claim.toml"
    path.write_text(CLASS_CLAIM.format(name="Fine", seconds=NO_LIMIT))
    asked = read_claim(path)
    path.write_text(path.read_text().replace("epsilon = 0.5", "epsilon = 2"))
    right = r"claim.toml: changed since it was read; give the command again"
    with pytest.raises(DpaccountError, match=right) as refused:
        certify(Certify(path), silent, asked)
    assert refused.value.exit_code == 2


@deep
def test_the_audit_of_a_class_says_what_it_could_have_shown(dpaccount, tmp_path):
    (tmp_path / "own.py").write_text(RAISES)
    (tmp_path / "claim.toml").write_text(CLASS_CLAIM.format(name="Fine", seconds=NO_LIMIT))
    for epsilon, expected in (("1.5", (0, "NOT REFUTED")), ("9", (3, "NOT ATTACKED"))):
        words = ["audit", "--claim", "claim.toml", "--jobs", 1, "--epsilon", epsilon, "--json"]
        code, out, _ = dpaccount(*words)
        answer = json.loads(out)
        assert (code, answer["verdict"]) == expected
        assert (answer["epsilon_power"] > float(epsilon)) == (code == 0)
        assert answer["trials"] > 0


@deep
def test_a_proof_whose_attack_measured_nothing_is_unproven(dpaccount, tmp_path, monkeypatch):
    def stopped(worker, task, progress):
        raise on_code.Stopped("audit", "gives no answer within 60 seconds")

    monkeypatch.setattr(on_code, "done_by", stopped)
    (tmp_path / "own.py").write_text(RAISES)
    (tmp_path / "claim.toml").write_text(CLASS_CLAIM.format(name="Fine", seconds=NO_LIMIT))
    code, out, _ = dpaccount("certify", "claim.toml", "--json", "--jobs", 1)
    certificate = json.loads(out)
    assert (code, certificate["verdict"]) == (3, "UNPROVEN")
    assert certificate["proved"]["reason"] == "audit: the code gives no answer within 60 seconds"


def test_a_class_that_time_cut_says_so(dpaccount, tmp_path):
    (tmp_path / "own.py").write_text(RAISES)
    (tmp_path / "claim.toml").write_text(CLASS_CLAIM.format(name="Fine", seconds=NO_LIMIT))
    claim = read_claim(tmp_path / "claim.toml")  # it asks for 100 runs
    nothing = not_attacked(Audit("own:Fine", Fraction(1), Fraction(0), claim.audit), "")
    answer = replace(nothing, trials=60, attack="white box")
    assert with_cut_noted(answer, claim.audit).attack == "white box; cut by time: 60 of 100 runs"
    assert with_cut_noted(replace(answer, trials=100), claim.audit).attack == "white box"
