"""``import dpaccount`` offers what most programs need, each name imported when it is first asked for."""

import doctest
import inspect
import re
import subprocess
import sys

import pytest

import dpaccount
import mechanisms
from tests.depth import deep
from tests.looped import looped

HEAVY = ("flint", "sqlite3", "numpy", "opendp", "dpaccount.plan", "dpaccount.ledger")


def test_its_example():
    assert doctest.testmod(dpaccount).failed == 0


def test_importing_it_imports_nothing_heavy(root):
    code = f"import sys, dpaccount; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@looped("name", dpaccount.__all__)
def test_every_name_is_there_with_its_documentation(name):
    assert getattr(dpaccount, name).__doc__


#: made by functions of theirs, which document what they take
MADE = ("Ledger", "Relation")


@looped("name", [name for name in dpaccount.__all__ if name not in MADE])
def test_every_parameter_is_typed_and_documented(name):
    """By its name in the docstring, for all that is called."""
    called = getattr(dpaccount, name)
    if not callable(called) or (isinstance(called, type) and issubclass(called, Exception)):
        return
    words, parameters = inspect.getdoc(called), inspect.signature(called).parameters
    assert [each for each in parameters if not re.search(rf"\b{each}\b", words)] == []
    assert [each for each, one in parameters.items() if one.annotation is inspect.Parameter.empty] == []


@deep
def test_a_plan_counts_without_the_database():
    code = "import sys; from dpaccount import Accountant, Plan, events; print('sqlite3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@deep
def test_the_code_of_the_docs_passes_a_strict_type_check(root, tmp_path):
    """Every example of docs/accounting.md and of the package's first page, as one program."""
    pages = [(root / "docs" / "accounting.md").read_text(), dpaccount.__doc__]
    for number, page in enumerate(pages):
        examples = [
            each.source for each in doctest.DocTestParser().get_examples(page) if each.exc_msg is None
        ]
        (tmp_path / f"page{number}.py").write_text("".join(examples))
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *map(str, tmp_path.glob("*.py"))]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@deep
def test_an_answer_is_drawn_and_shown_in_a_notebook():
    import matplotlib as mpl

    mpl.use("Agg")
    answer = dpaccount.Accountant(dpaccount.Gaussian(sigma=4)).epsilon(1e-5)
    assert answer.plot().get_ylabel() == "δ(ε)"
    misses = answer.plot("trade-off").lines[0].get_ydata()
    assert misses[0] > 0.99
    assert misses[-1] == 0
    assert repr(answer) in answer._repr_html_()
    with pytest.raises(dpaccount.DpaccountError, match="profile, trade-off"):
        answer.plot("pie")


@deep
def test_files_and_claims_are_asked_from_python(tmp_path, root):
    plan = 2 * dpaccount.Plan("replace-one", dpaccount.Gaussian(sigma="1/3"))
    (tmp_path / "plan.json").write_text(plan.to_json())
    assert dpaccount.read_events(tmp_path / "plan.json") == plan
    with pytest.raises(dpaccount.DpaccountError, match=r"plan\.json"):
        dpaccount.check(tmp_path / "plan.json")
    found = dpaccount.audit("svt-5", 1, trials=2000, seed=1)
    assert found["verdict"] == "REFUTED"
    with pytest.raises(dpaccount.DpaccountError, match="no argument 'trails'"):
        dpaccount.audit("svt-5", 1, trails=3)


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match=r"'dpaccount' has no attribute 'Zorp'$"):
        dpaccount.Zorp  # noqa: B018
    with pytest.raises(AttributeError, match="'Acountant'; did you mean 'Accountant'"):
        dpaccount.Acountant  # noqa: B018
    with pytest.raises(AttributeError, match="'Domains'; did you mean 'Domain'"):
        mechanisms.Domains  # noqa: B018
