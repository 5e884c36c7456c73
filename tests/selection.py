"""A plug-in of pytest: which items a run has (README.md).

pytest                     the quick items
pytest --deep              the deep ones: all cases, fresh examples; --seed N draws other ones
pytest --slice 7/20        the deep ones of one slice, which is a hash of an item's name
pytest --log FILE          without what passed before, as --log wrote it (tests/seconds.py)
"""

import gc
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests import depth
from tests.seconds import passed_before

FAULTS = Path(__file__).with_name("known_faults.toml")
MOST_FAULTS, FAULT_DAYS = 5, 7
ALL = "0"  #: the seed of who names none, and means all rows of a test


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that are told above."""
    group = parser.getgroup("depth")
    group.addoption("--deep", action="store_true", help="deep items: all cases, fresh examples")
    group.addoption("--slice", type=slice_of, metavar="K/S", help="deep items of one slice of S")
    group.addoption("--seed", default=ALL, help="what fresh examples of a deep run are drawn by")


def slice_of(text: str) -> tuple[int, int]:
    """Read K/S."""
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise ValueError(f"{text} should be a slice and how many there are, such as 7/20")
    return int(number), int(of)


def slice_number(name: str, slices: int) -> int:
    """Return the slice of an item, from 1."""
    return depth.number(name) % slices + 1


def pytest_configure(config: pytest.Config) -> None:
    """Set how far this process looks, before tests are imported."""
    config.option.deep = whole = config.option.deep or config.option.slice is not None
    depth.set_run(depth.Depth(whole, draw=config.option.seed if whole else None))


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which deep items a run has, and how its fresh examples are had again."""
    if not config.option.deep:
        return None
    which = "{}/{}".format(*config.option.slice) if config.option.slice else "all"
    return f"deep items: {which}; --seed {config.option.seed}"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without the garbage collector: it would walk every test again as the next ones are made."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # what is collected stays until the end
        gc.set_threshold(100_000, 50, 100)
        gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make the parts of a test that has some; a quick run has one item of it."""
    mark = metafunc.definition.get_closest_marker("parts")
    if mark is not None and metafunc.config.option.deep:
        metafunc.fixturenames.append("part_of_cases")
        (parts,) = mark.args
        names = [f"part {part + 1} of {parts}" for part in range(parts)]
        metafunc.parametrize("part_of_cases", range(parts), ids=names, indirect=True)


@pytest.fixture
def part_of_cases(request: pytest.FixtureRequest) -> int:
    """Return which part of its cases an item has."""
    return getattr(request, "param", 0)


@pytest.fixture(name="depth")
def depth_of_item(request: pytest.FixtureRequest, part_of_cases: int) -> depth.Depth:
    """Return how far this item looks (tests/depth.py)."""
    return depth.depth_of(request.node, depth.RUN, part_of_cases)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the items of this run; a known fault may fail."""
    kept, rest, cases = [], [], Counter[str]()
    before, faults = passed_before(config), known_faults()
    rows = Counter(item.nodeid.partition("[")[0] for item in items)
    for item in items:
        test = item.nodeid.partition("[")[0]
        has_it = wanted(config, item, cases[test], rows[test]) and item.nodeid not in before
        (kept if has_it else rest).append(item)
        cases[test] += 1
        if config.option.deep and item.nodeid in faults:
            item.add_marker(pytest.mark.xfail(reason=faults[item.nodeid], strict=False))
    if rest:
        config.hook.pytest_deselected(items=rest)
        items[:] = kept


def wanted(config: pytest.Config, item: pytest.Item, case: int, rows: int) -> bool:
    """Return whether a run has an item, the `case`th of the `rows` of its test."""
    if not config.option.deep:
        return depth.is_quick(item, case)
    which = config.option.slice
    here = which is None or slice_number(item.nodeid, which[1]) == which[0]
    drawn = config.option.seed == ALL or depth.is_drawn(item, rows, depth.RUN)
    return here and depth.is_deep(item) and drawn


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give a property of a deep run its seed."""
    if depth.RUN.whole and depth.is_property(item):
        part = item.callspec.params.get("part_of_cases", 0) if hasattr(item, "callspec") else 0
        depth.seed_properties(depth.depth_of(item, depth.RUN, part))


def known_faults() -> dict[str, str]:
    """Return the items with known faults, each with its reason (tests/known_faults.toml)."""
    return {row["test"]: row["why"] for row in tomllib.loads(FAULTS.read_text()).get("fault", [])}
