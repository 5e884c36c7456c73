"""Quick cases in one test, where an item of pytest would cost more than the case itself."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from dpaccount.checker.documents import Work

Test = Callable[..., None]
Param = type(pytest.param())


def looped(
    argnames: str | Sequence[str], argvalues: Iterable[Any], ids: object = None
) -> Callable[[Test], Test]:
    """Run a test on every case of a table, in one item; takes what `pytest.mark.parametrize` takes.

    The first case that fails is named in a note of its exception. The checker's arithmetic begins anew
    with each case. Fixtures are shared by all cases: a test that needs its own parametrises by pytest.

    :raises ValueError: if there is no case, or one that bears marks, which a loop would not heed.
    """
    names = [n.strip() for n in argnames.split(",")] if isinstance(argnames, str) else [*argnames]
    cases = []
    for case in argvalues:
        if isinstance(case, Param) and case.marks:
            raise ValueError(f"{case} bears marks")
        row = case.values if isinstance(case, Param) else (case,) if len(names) == 1 else tuple(case)
        cases.append(dict(zip(names, row, strict=True)))
    if not cases:
        raise ValueError(f"there is no case of {', '.join(names)}")

    def decorated(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def every_case(*args: Any, **others: Any) -> None:
            for case in cases:
                Work.begin()
                try:
                    test(*args, **others, **case)
                except pytest.skip.Exception as skipped:
                    raise AssertionError(f"a case in a loop is not skipped: {case}") from skipped
                except BaseException as error:
                    error.add_note(f"case: {case}")
                    raise

        rest = [p for name, p in signature.parameters.items() if name not in names]
        every_case.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return every_case

    return decorated
