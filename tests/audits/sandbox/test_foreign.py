"""Functions in other interpreters and programs of any language: the same values, the same verdicts."""

import ast
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from audits.sandbox import foreign, foreign_worker
from audits.sandbox.foreign import OtherPython, Program, ProgramFailed, as_arrow, as_csv, as_json
from audits.sandbox.outcomes import Ending, of_value
from dpaccount.errors import InputError
from tests.depth import deep

C_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <fcntl.h>
#include <unistd.h>
int main(int n, char **a) { /* Laplace noise of scale 1/4 on a sum of entries up to 1, from the system */
  double x, sum = 0; FILE *f = fopen(a[1], "r");
  while (fscanf(f, "%lf", &x) == 1) sum += x;
  unsigned u; int fd = open("/dev/urandom", O_RDONLY);
  if (read(fd, &u, 4) != 4) return 1;
  double v = (u + 0.5) / 4294967296.0 - 0.5;
  double noise = (v < 0 ? 1 : -1) * log(1 - 2 * fabs(v)) / 4;
  printf("%.6f\\n", floor((sum + noise) * 64) / 64);
  return 0; }
"""
HOLED = {"a": np.array([1.0, np.nan]), "b,": np.array(['x"', None], object)}
PAIR = ["--shape", "2", "--low", "0", "--high", "1", "--left", "[0,0]", "--right", "[0,1]"]
VALUES = [
    None, True, 3, 10**30, -0.0, math.inf, "text\x00\ud800", b"\x00\xff", 1 + 2j, [1, [2.5, "a"]], (1,), {1: "a", "b": None},
    {3, 1}, np.arange(6.0).reshape(2, 3), np.float32(0.1), np.int64(5), np.array([], dtype=np.int8),
    np.array(["a", None], dtype=object), np.array(["ab", "c"]), np.zeros((2, 0)), {"k": np.bool_(True)},
]  # fmt: skip


@pytest.fixture
def noisy(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    (tmp_path / "noisy.c").write_text(C_PROGRAM)
    subprocess.run(
        [shutil.which("gcc"), "-o", str(tmp_path / "noisy"), str(tmp_path / "noisy.c"), "-lm"], check=True
    )
    return tmp_path / "noisy"


@pytest.fixture
def module(tmp_path):
    (tmp_path / "shop.py").write_text(
        "import os, sys\n"
        "def echo(data, rng): return data\n"
        "def total(data, rng): return float(sum(data)) + (rng.random() < .2)\n"
        "def leak(data, rng): return float(sum(data)) + rng.random() * .5\n"
        "def kind(data): print('noise'); return type(data).__name__, sys.version_info[0]\n"
        "def fails(data, rng): raise KeyError('x')\n"
        "def ends(data, rng): os._exit(3)\n"
        "class Thing: pass\n"
        "def thing(data): return Thing()\n"
    )
    return tmp_path


@pytest.fixture
def other(module):
    made = []

    def start(name, path=sys.executable):
        made.append(OtherPython(path, f"shop:{name}", [str(module)]))
        return made[-1]

    yield start
    for each in made:
        each.close()


# ------------------------------------------------------------------ the worker


def test_values_travel_whole():
    for value in VALUES:
        document = json.loads(json.dumps(foreign_worker.encode(value)))
        assert of_value(foreign_worker.decode(document)).key() == of_value(value).key(), value
    opaque = foreign_worker.decode(foreign_worker.encode(Path()))
    assert of_value(opaque).ending is Ending.OPAQUE


def test_values_travel_through_another_process(other):
    echo = other("echo")
    for data in (
        np.arange(4),
        np.arange(6.0).reshape(3, 2),
        {"a": np.arange(2), "b": np.array(["x", None], object)},
    ):
        found = of_value(echo(data, np.random.default_rng(1)))
        assert found.key() == of_value(data).key()


def test_without_numpy_arrays_are_lists(monkeypatch):
    monkeypatch.setattr(foreign_worker, "np", None)
    for array in (np.arange(3), np.arange(6.0).reshape(2, 3), np.zeros((2, 0)), np.array([True])):
        monkeypatch.undo()
        document = foreign_worker.encode(array)
        monkeypatch.setattr(foreign_worker, "np", None)
        assert foreign_worker.decode(document) == array.tolist()
    assert foreign_worker._answer(lambda data, rng: rng.random(), [1], 5) == foreign_worker._answer(
        lambda data, rng: rng.random(), [1], 5
    )


def test_the_worker_is_one_file_that_old_interpreters_read():
    source = Path(foreign_worker.__file__).read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names <= {"base64", "importlib", "inspect", "json", "os", "random", "sys", "numpy"}


@deep
def test_what_a_function_does_elsewhere_is_what_it_did(other):
    rng = np.random.default_rng(1)
    assert other("kind")(np.zeros(2), rng) == ("ndarray", 3)
    with pytest.raises(Exception, match="x") as raised:
        other("fails")(np.zeros(2), rng)
    assert type(raised.value).__name__ == "KeyError"
    ends = other("ends")
    for _ in range(2):  # and is started again
        with pytest.raises(ProgramFailed, match="ends with 3"):
            ends(np.zeros(2), rng)
    assert of_value(other("thing")(np.zeros(2), rng)).ending is Ending.OPAQUE


@pytest.mark.parametrize(
    ("path", "name", "said"),
    [
        ("/bin/false", "echo", "no Python interpreter"),
        ("/bin/cat", "echo", "no Python interpreter"),
        ("/nowhere", "echo", "no Python interpreter"),
        (sys.executable, "absent", "importing shop in .* failed"),
        (sys.executable, "Thing", "is no function"),
    ],
)
def test_what_cannot_run_a_function_is_refused(other, path, name, said):
    with pytest.raises(InputError, match=said):
        other(name, path)


def test_what_a_program_that_is_no_interpreter_says_is_not_shown(other, capfd):
    with pytest.raises(InputError, match="no Python interpreter"):
        other("echo", shutil.which("ls"))
    assert capfd.readouterr().err == ""


@deep
def test_an_audit_in_another_interpreter(dpaccount, module):
    words = ["--python", "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable]
    words += ["--epsilon", "1", "--trials", "300", "--seconds", "1e5", *PAIR, "--json"]
    code, out, _ = dpaccount("audit", "shop:leak", *words)
    answer = json.loads(out)
    assert (code, answer["verdict"]) == (1, "REFUTED")
    code, out, err = dpaccount("audit", "shop:leak", "--python", "/bin/false", *words[2:])
    assert (code, out) == (2, "")
    assert "no Python interpreter" in err


def interpreter(version):
    """Return an interpreter of this version, of pyenv or on the path, that runs; skip where there is none."""
    there = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for path in [*map(str, there), shutil.which(f"python{version}")]:
        if (
            path is not None
            and not subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode
        ):
            return path
    pytest.skip(f"no Python {version} that runs, in ~/.pyenv/versions or on the path")


@deep
@pytest.mark.statistical(0.05)  # `fair` meets ε = 1, and is tested at level .05
@pytest.mark.parametrize(("name", "verdict"), [("leak", "REFUTED"), ("fair", "NOT REFUTED")])
def test_old_and_new_interpreters_give_one_verdict(dpaccount, module, name, verdict):
    with (module / "shop.py").open("a") as more:
        more.write("def fair(data, rng): return int((sum(data) > .5) ^ (rng.random() < .3))\n")
    words = ["--epsilon", "1", "--trials", "3000", "--seconds", "1e5", *PAIR, "--json"]
    answers = []
    for version in ("3.8", "3.13"):
        code, out, err = dpaccount("audit", f"shop:{name}", "--python", interpreter(version), *words)
        assert out, err
        answers.append({**json.loads(out), "seconds": 0})
        assert (code, answers[-1]["verdict"]) == (verdict == "REFUTED", verdict)
    assert answers[0] == answers[1]


@deep
def test_a_sensitivity_in_another_interpreter(dpaccount, module):
    """What the query moves by is measured there; a query needs no generator, and none is seeded."""
    (module / "queries.py").write_text(
        "import random, sys\n"
        "def total(data): return float(sum(data)) if 'numpy' not in sys.modules or len(data) else 0.0\n"
        "def seeded(data): return float(random.getrandbits(1) < 0)\n"
        "def noisy(data, rng): return float(sum(data))\n"
    )
    where = ["--norm", "l1", "--shape", "4", "--low", "0", "--high", "3", "--seconds", "1e5", "--json"]
    there = ["--python", sys.executable]
    for bound, code in (("3", 0), ("2.5", 1)):
        words = ["sensitivity", "queries:total", "--bound", bound, *where]
        here, other = dpaccount(*words), dpaccount(*words, *there)
        answers = [{**json.loads(each[1]), "seconds": 0} for each in (here, other)]
        assert (here[0], other[0]) == (code, code)
        assert answers[0] == answers[1]
    words = [*where, "--bound", "1", *there]
    assert dpaccount("sensitivity", "queries:seeded", *words)[0] == 0
    code, out, err = dpaccount("sensitivity", "queries:noisy", *words)
    assert (code, out) == (2, "")
    assert "TypeError" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shop:echo", "--python", "/bin/false", "--norm", "l1", "--bound", "1"], "no Python interpreter"),
        (["shop:echo", "--python", sys.executable, "--norm", "l1", "--bound", "1", "--prove"], "--prove"),
        (["shop:echo", "--python", sys.executable], "--python runs a query of your own"),
        (["clipped-mean", "--python", sys.executable], "--python runs a query of your own"),
    ],
)
def test_a_sensitivity_that_cannot_be_measured_there_is_refused(dpaccount, module, words, said):
    data = ["--shape", "2", "--low", "0", "--high", "1"] if "--norm" in words else []
    code, out, err = dpaccount("sensitivity", *words, *data)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) <= 2


# ------------------------------------------------------------------ programs


def test_digits_beyond_a_double_are_part_of_a_result():
    for value in [0.1, -2.5e-300, 1 / 3, 5e-324, 2.0**70]:
        for text in (repr(value), f"{value:.16e}", f"{value:.1100f}"):
            assert foreign.printed_number(text) == value
    seen = [foreign.printed_number(f"1.{'0' * 20}{digit}") for digit in range(10)]
    assert seen[0] == 1.0
    assert len({str(each) for each in seen}) == 10
    assert foreign.printed_number("1e99999999999999999999") == np.inf
    assert foreign.printed_number("1e-99999999999999999999") == 0


def test_data_as_csv():
    assert as_csv(np.array([[1.5, -0.0], [np.inf, 2]])) == b"1.5,-0.0\ninf,2.0\n"
    assert as_csv(np.array([1, 2])) == b"1\n2\n"
    assert as_csv(np.zeros(0)) == b""
    assert as_csv(HOLED) == b'a,"b,"\n1.0,"x"""\n,\n'


def test_missing_numbers_of_an_array_are_null():
    assert json.loads(as_json(np.array([[1.0, np.nan]])), parse_constant=pytest.fail) == [[1.0, None]]


def test_data_as_json_and_arrow():
    """The same numbers as in CSV, to the last digit; missing cells are null."""
    numbers = np.random.default_rng(3).normal(size=(5, 2))
    for data, wanted in ((numbers, numbers.tolist()), (HOLED, {"a": [1.0, None], "b,": ['x"', None]})):
        assert json.loads(as_json(data)) == wanted
        columns = dict(zip("01", zip(*wanted, strict=True), strict=True)) if data is numbers else wanted
        read = pyarrow.ipc.open_file(as_arrow(data)).read_all().to_pydict()
        assert read == {name: list(each) for name, each in columns.items()}


@pytest.mark.parametrize("kind", ["json", "arrow"])
def test_a_program_gets_the_file_that_its_command_asks_for(tmp_path, kind):
    (tmp_path / "p.py").write_text("import sys; print(open(sys.argv[1], 'rb').read(6).hex().join('\"\"'))")
    program = Program(f"{sys.executable} {tmp_path / 'p.py'} {{data.{kind}}}", tmp_path)
    head = bytes.fromhex(program(np.zeros((2, 1)), np.random.default_rng(1)))
    assert head == {"json": b"[[0.0]", "arrow": b"ARROW1"}[kind]


def test_arrow_without_pyarrow_says_what_to_install(monkeypatch):
    monkeypatch.setattr(foreign, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"dpaccount\[tables\]"):
        foreign.check_command("/bin/echo {data.arrow}")


def test_a_program_gets_a_seed_and_a_file(tmp_path):
    script = "import json,sys; print(json.dumps([int(sys.argv[1]), open(sys.argv[2]).read()]))"
    (tmp_path / "p.py").write_text(script)
    program = Program(f"{sys.executable} {tmp_path / 'p.py'} {{seed}} {{data}}", tmp_path)
    one, two = (program(np.array([1, 2]), np.random.default_rng(seed)) for seed in (1, 1))
    assert one == two
    assert one[1] == "1\n2\n"
    assert program(np.array([1, 2]), np.random.default_rng(2))[0] != one[0]


@pytest.mark.parametrize(
    ("script", "said"),
    [("print('no')", "prints no JSON"), ("", "prints nothing"), ("raise SystemExit(4)", "exit code 4")],
)
def test_a_program_that_fails_says_how(dpaccount, tmp_path, script, said):
    (tmp_path / "p.py").write_text(script)
    command = f"{sys.executable} p.py {{data}}"
    with pytest.raises(ProgramFailed, match=said):
        Program(command.replace("p.py", str(tmp_path / "p.py")), tmp_path)(
            np.zeros(1), np.random.default_rng(1)
        )


@deep
def test_a_program_that_never_prints_json_is_a_wrong_request(dpaccount, tmp_path):
    words = ["--epsilon", "1", "--trials", "20", *PAIR, "--json"]
    code, out, err = dpaccount("audit", "--command", "/bin/echo no {data}", *words)
    assert (code, out) == (2, "")
    assert "prints no JSON" in err


@pytest.mark.parametrize(
    "command",
    [
        "",
        "prog",
        "/bin/echo {seed}",
        "/bin/echo {data} {more}",
        "/bin/echo {data} {data.json}",
        "absent-program {data}",
        "'",
    ],
)
def test_commands_that_cannot_work_are_refused(dpaccount, command):
    code, out, err = dpaccount("audit", "--command", command, "--epsilon", "1", *PAIR, "--json")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")


def test_what_does_not_go_with_a_command_is_refused(dpaccount):
    for words in (
        ["a:b", "--command", "/bin/echo {data}"],
        ["--command", "/bin/echo {data}", "--catalogue-only"],
    ):
        assert dpaccount("audit", *words, "--epsilon", "1", *PAIR, "--json")[:2] == (2, "")
    assert dpaccount("audit", "--command", "/bin/echo {data}", "--epsilon", "1", "--json")[:2] == (2, "")
    assert dpaccount("audit", "fixed-seed", "--python", sys.executable, "--epsilon", "1", "--json")[:2] == (
        2,
        "",
    )


@deep
@pytest.mark.statistical(1e-3)  # the system draws the seeds; the broken claim practically never stands
def test_a_c_program_with_noise_of_its_own(dpaccount, noisy):
    words = ["--trials", "1000", "--seconds", "1e5", "--confidence", "0.999", *PAIR, "--json"]
    for epsilon, verdict in (("1", "REFUTED"), ("4", "NOT REFUTED")):
        _, out, _ = dpaccount("audit", "--command", f"{noisy} {{data}}", "--epsilon", epsilon, *words)
        assert json.loads(out)["verdict"] == verdict
