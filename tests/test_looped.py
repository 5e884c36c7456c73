"""A loop over cases hides none that fails."""

from types import SimpleNamespace

import pytest

from tests.depth import deep
from tests.looped import looped


def ran(decorator, test):
    """Run a decorated test; return the exception it ends in, if any."""
    try:
        decorator(test)()
    except BaseException as error:
        return error
    return None


@pytest.mark.parametrize("bad", range(3))
def test_whichever_case_fails_is_named(bad):
    def test(case, sign):
        assert sign == 1
        assert case != bad

    error = ran(looped("case, sign", [(n, 1) for n in range(3)]), test)
    assert isinstance(error, AssertionError)
    assert error.__notes__ == [f"case: {{'case': {bad}, 'sign': 1}}"]


def test_all_cases_run_and_loops_nest():
    cases = []
    test = looped("a", [1, 2])(looped("b", [pytest.param(3, id="x"), 4])(lambda a, b: cases.append((a, b))))
    test()
    assert cases == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_a_case_may_have_members_of_any_name():
    case, seen = SimpleNamespace(values=(1, 2), marks="m"), []
    looped("a", [case])(lambda a: seen.append(a))()
    assert seen == [case]


def test_a_case_that_is_skipped_fails():
    assert isinstance(ran(looped("a", [1]), lambda a: pytest.skip("no")), AssertionError)


@pytest.mark.parametrize("cases", [[], [pytest.param(1, marks=deep)]])
def test_what_a_loop_would_not_heed_is_refused(cases):
    with pytest.raises(ValueError):  # noqa: PT011
        looped("a", cases)


def test_fixtures_and_what_pytest_fills_in_stay():
    @looped("a", [1])
    def test(root, a, b):
        raise NotImplementedError

    assert list(test.__signature__.parameters) == ["root", "b"]
