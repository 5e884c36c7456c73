"""``import dpaccount`` offers what most programs need, each name imported when it is first asked for."""

import doctest
import subprocess
import sys

import pytest

import dpaccount

HEAVY = ("flint", "sqlite3", "numpy", "opendp", "dpaccount.plan", "dpaccount.ledger")


def test_its_example():
    assert doctest.testmod(dpaccount).failed == 0


def test_importing_it_imports_nothing_heavy(root):
    code = f"import sys, dpaccount; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", dpaccount.__all__)
def test_every_name_is_there_with_its_documentation(name):
    assert getattr(dpaccount, name).__doc__


def test_a_plan_counts_without_the_database():
    code = "import sys; from dpaccount import Accountant, Plan, events; print('sqlite3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'dpaccount' has no attribute 'Accounts'"):
        dpaccount.Accounts  # noqa: B018
