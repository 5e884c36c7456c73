"""What every catalogued mechanism must keep to, found by file name and not registered here."""

import importlib.util
import inspect
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from audits.datasets.bases import dataset
from audits.datasets.domain_pairs import pairs
from audits.datasets.drawing import draw_examples
from audits.hypothesis_tests.replay import ReplayError, record, replay
from audits.hypothesis_tests.search import gather
from audits.subjects.catalogue import example_values
from dpaccount.errors import InputError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.leaves import leaves
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import ADD_REMOVE, Contribution, Covered, Shifts, Stable, compose, point, walk
from dpaccount.relation import radius_of
from mechanisms.subject.private import Private, release
from tests.depth import deep, examples
from tests.looped import looped
from tests.mechanisms.catalogued import mechanisms

DELTA = Fraction(1, 10**6)


def small(entry, **more):
    """Return a catalogued mechanism with few rows."""
    sizes = {"rows": 4, "rounds": 6}
    chosen = {name: value for name, value in sizes.items() if name in entry.parameters()}
    return entry.made_by(**{**example_values(entry.made_by), **chosen, **more})


def variants(*settings):
    """Yield every mechanism, and once more with each of the settings that it has."""
    for entry in mechanisms():
        yield pytest.param(small(entry), id=entry.name)
        for name, value in settings:
            if name in entry.parameters():
                yield pytest.param(small(entry, **{name: value}), id=f"{entry.name}-{name}-{value}")


MOVED = ("unit", Fraction(1))  # rows move by so much
SUBJECTS = list(variants(("relation", ADD_REMOVE), MOVED))
every = pytest.mark.parametrize("subject", SUBJECTS)
every_quickly = looped("subject", SUBJECTS)
every_grid = pytest.mark.parametrize(
    "subject",
    list(
        variants(
            ("relation", ADD_REMOVE),
            ("bits", 2),
            ("channel", "hybrid"),
            ("law", "gaussian"),
            ("keys", 2),
            MOVED,
        )
    ),
)


def size_of(norm, move, grid, candidates):
    """Return how far an integer vector moves in a norm of the kernel, exactly: ranges of choices add up."""
    match norm:
        case "l1":
            return sum(abs(v) for v in move) * grid
        case "range":
            return Fraction(int(np.ptp(np.reshape(move, (-1, candidates)), axis=1).sum()))
        case "each":
            return max(abs(v) for v in move) * grid
        case _:
            return sum(v * v for v in move) * grid**2


def excess(theorem, run, other):
    """Return the first private value that moves further than a leaf allows, or None; nothing is rounded."""
    each_by_itself = any(isinstance(part.conclusion, Covered) for part in walk(theorem))
    grids = {leaf.key: Fraction(leaf.parameters.get("grid", "1")) for leaf in leaves(theorem)}
    for part in walk(theorem):
        if "key" not in part.witness:
            continue
        key, fact = part.witness["key"], part.premises[0].conclusion
        steps = 1 if fact.relation == theorem.conclusion.relation else 2  # who is replaced goes and comes
        parts = [name for name in sorted(run.exact, key=str) if name[0] == key]
        moves = [[int(v) for v in (other.exact[name] - run.exact[name]).ravel()] for name in parts]
        joined = [[v for each in moves for v in each]]
        for move in moves if each_by_itself else joined:
            wide = run.exact[parts[0]].shape[-1] if parts else 1
            if isinstance(fact, Stable) and size_of(fact.norm, move, grids[key], wide) > fact.bound:
                return f"{key} moves by {move} in {fact.norm}, declared {fact.bound}"
            shift = tuple(sorted((abs(v) for v in move if v), reverse=True))
            if isinstance(fact, Shifts) and shift not in fact.shifts:
                return f"{key} moves by {move}, not among the declared shifts"
            if (
                isinstance(fact, Contribution)
                and fact.kind == "cell"
                and shift != (1,) * len(shift[: int(fact.high) * steps])
            ):
                return f"{key} moves by {move}, not so many cells by one"
        symbols = {int(v) for name in parts for v in run.exact[name].ravel()}
        if isinstance(fact, Contribution) and fact.kind == "points":
            if not {(symbol,) for symbol in symbols} <= set(fact.points):
                return f"{key} has the symbols {symbols}"
            if sum(any(move) for move in moves) > 1:
                return f"{key} moves in several people's messages"
    return None


class MovedTooFarError(Exception):
    """What moved, where it ends a search."""


def counterexample(subject, examples):
    """Search neighbouring pairs for one whose private values move too far; return what moved, or None.

    The examples are the same whatever else is loaded: a twin that is found is found in every order of tests.
    """
    theorem = subject.proof(DELTA)

    def search(pair, coins):
        run = record(subject, pair.left, rehearse(theorem, Rehearsal(coins)), coins)
        try:
            wrong = excess(theorem, run, replay(subject, pair.right, run, coins))
        except ReplayError as error:
            wrong = str(error)
        if wrong:
            raise MovedTooFarError(wrong)

    strategies = {"pair": pairs(subject.domain(), subject.relation), "coins": st.integers(0, 2**32 - 1)}
    try:
        draw_examples(search, 5, examples, Phase.generate, **strategies)
    except MovedTooFarError as found:
        return str(found)
    return None


@deep
@every_grid
def test_neighbours_move_at_most_the_declared_bound_bit_for_bit(subject):
    assert counterexample(subject, 60) is None


@deep(quick_every=1)
@every
def test_a_proof_at_several_deltas_costs_no_more_at_a_larger_one(subject):
    costs = []
    for delta in (Fraction(1, 10**9), DELTA, Fraction(1, 100)):
        theorem = subject.proof(delta)
        assert point(theorem)[1] == delta
        costs.append(point(theorem)[0])
    assert costs == sorted(costs, reverse=True)  # a larger δ never costs more ε


@deep(quick_every=1)
@every
def test_two_runs_compose_and_cost_no_more_than_twice_one(subject):
    once = subject.proof(DELTA)
    twice = compose(once, once)
    assert point(twice) == (2 * point(once)[0], 2 * DELTA)


@every_quickly
def test_nothing_is_shown_before_a_release_and_refused_noise_shows_nothing(subject):
    class Refuses:
        def noisy(self, key, part, values):
            raise ReceiptError("no receipt")

        noisy_symmetric = noisy

    with pytest.raises(ReceiptError, match="no receipt"):
        subject.play(dataset(subject.domain(), "uniform", 1), Refuses(), 0)


@every_quickly
def test_an_exhausted_receipt_refuses(subject):
    data = dataset(subject.domain(), "uniform", 1)
    receipt = rehearse(subject.proof(DELTA), Rehearsal(1))
    subject.play(data, receipt, 0)
    with pytest.raises(ReceiptError, match=r"already drawn|pays for|proved for"):
        subject.play(data, receipt, 0)


@pytest.fixture
def budget(tmp_path):
    """Return a function that makes a ledger file for a relation and returns its address."""

    def made(relation):
        url = f"sqlite:///{tmp_path}/budget.db"
        init(url, epsilon=100, delta=Fraction(1, 100), unit="row", relation=relation, measure="approximate")
        return url

    return made


class PowerCutError(Exception):
    """What a test raises where a process would die."""


@deep(quick_every=18)
@every
@pytest.mark.parametrize("drawn", [False, True], ids=["before-the-draw", "after-the-draw"])
def test_a_crash_after_the_charge_never_draws_twice(subject, drawn, budget):
    url, theorem = budget(subject.relation), subject.proof(DELTA)
    data = dataset(subject.domain(), "uniform", 1)

    class Dies:
        def __init__(self, inner):
            self.inner = inner

        def noisy(self, key, part, values):
            if drawn:
                self.inner.noisy(key, part, values)
            raise PowerCutError

        def noisy_symmetric(self, key, part, matrix):
            if drawn:
                self.inner.noisy_symmetric(key, part, matrix)
            raise PowerCutError

    with Ledger.open(url) as ledger, pytest.raises(PowerCutError):
        subject.play(data, Dies(ledger.charge(theorem, "first", key="monday")), 0)
    with Ledger.open(url) as ledger:
        if drawn:
            with pytest.raises(ReceiptError):
                ledger.charge(theorem, "first", key="monday")
        else:
            assert subject.play(data, ledger.charge(theorem, "first", key="monday"), 0)
        assert ledger.show()["entries"] == 1


@deep(quick_every=8)
@every
def test_data_of_a_wrong_shape_are_refused_before_any_charge(subject, budget):
    domain = subject.domain()
    good = dataset(domain, "uniform", 1)
    wrong = [good[:, :-1], np.hstack([good, good]), np.vstack([good, good])]
    wrong += [] if subject.relation == ADD_REMOVE else [good[:0], good[:-1]]
    with Ledger.open(budget(subject.relation)) as ledger:
        for data in wrong:
            with pytest.raises(InputError, match=r"needed|rows"):
                release(subject, Private(data), ledger, "test", DELTA)
        assert ledger.show()["entries"] == 0
        release(subject, Private(good), ledger, "test", DELTA)
        assert ledger.show()["entries"] == 1


@every_quickly
def test_under_add_remove_no_data_at_all_is_data_too(subject):
    if subject.relation == ADD_REMOVE:
        empty = dataset(subject.domain(), "uniform", 1)[:0]
        view = subject.play(empty, rehearse(subject.proof(DELTA), Rehearsal(1)), 0)
        assert all(np.isfinite(np.asarray(shown, dtype=float)).all() for shown in view.public.values())


@deep(quick_every=1)
@every
def test_nan_infinities_and_huge_values_stay_within_the_declared_movement(subject):
    moves = radius_of(subject.relation) is not None
    theorem = subject.replaced(DELTA) if moves else subject.proof(DELTA)
    data = dataset(subject.domain(), "uniform", 1)
    for bad in (np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324):
        other = data.copy()
        other[0] = bad
        pair = (data, np.delete(other, 0, axis=0)) if subject.relation == ADD_REMOVE else (data, other)
        pair = (other, pair[1]) if subject.relation == ADD_REMOVE else pair
        run = record(subject, pair[0], rehearse(theorem, Rehearsal(1)), 0)
        assert excess(theorem, run, replay(subject, pair[1], run, 0)) is None
        assert all(np.isfinite(np.asarray(shown, dtype=float)).all() for shown in run.view.public.values())


@every_quickly
def test_what_nan_and_infinities_count_as_is_the_same_in_a_release(subject):
    """A release clamps rows first: a mechanism must see there what its docstring says of NaN."""
    theorem, data = subject.proof(DELTA), dataset(subject.domain(), "uniform", 1)
    for bad in (np.nan, np.inf, -np.inf):
        other = data.copy()
        other[0] = bad
        runs = [
            record(subject, rows, rehearse(theorem, Rehearsal(1)), 0)
            for rows in (other, subject.domain().clamped(other))
        ]
        assert all((runs[0].exact[part] == runs[1].exact[part]).all() for part in runs[0].exact), bad


CELLS = st.one_of(st.floats(), st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324, 0.5, 193.0]))


@deep(quick_every=4)
@examples(8)
@given(facts=st.data())
@pytest.mark.parametrize("subject", list(variants(("relation", ADD_REMOVE))))
def test_a_refusal_of_data_is_a_function_of_public_facts_only(subject, facts):
    """Datasets that differ in one row's numbers are refused in the same words, or both are admitted."""
    domain = subject.domain()
    size = facts.draw(st.integers(0, domain.rows + 1))
    columns = facts.draw(st.sampled_from([len(domain.low), 1, len(domain.low) + 1]))
    left = facts.draw(st.lists(CELLS, min_size=columns, max_size=columns))
    right = facts.draw(st.lists(CELLS, min_size=columns, max_size=columns))

    def answer(row):
        data = np.vstack([np.full((size, columns), 0.25), [row]])
        try:
            domain.admit(data, subject.relation)
        except InputError as refused:
            return str(refused)
        rows = domain.clamped(data)
        assert domain.contains(rows)
        return rows[:-1].tolist()  # all other rows stay

    assert answer(left) == answer(right)


# ------------------------------------------------------------------ planted twins


def twins():
    """Return the classes of tests/planted/*twin*.py, and of what `bandits` has that releases rows."""
    twin_classes = []
    tests = Path(__file__).parent.parent
    for file in sorted([*tests.glob("planted/*twin*.py"), *tests.glob("bandits/planted/mapped_*twin*.py")]):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        classes = (kind for _, kind in inspect.getmembers(module, inspect.isclass))
        twin_classes += [kind for kind in classes if kind.__module__ == file.stem]
    return twin_classes


def refuted(subject):
    """Say whether the property tests of hypotheses, or exact movement, catch a subject."""
    evidence, _ = gather(subject, Proved(subject.proof(DELTA)), examples=300, seed=1, files=[])
    return any(each.status == "refuted" for each in evidence) or counterexample(subject, 150) is not None


@deep
@pytest.mark.parametrize("entry", mechanisms(), ids=lambda e: e.name)
def test_every_mechanism_has_a_broken_twin_that_is_caught(entry):
    planted = [twin for twin in twins() if entry.made_by in twin.__mro__[1:]]
    assert planted, f"plant a broken {entry.name} in tests/planted, in a file named *twin*.py"
    for twin in planted:
        sizes = {"rows": 4, "rounds": 6}
        chosen = {name: value for name, value in sizes.items() if name in entry.parameters()}
        assert refuted(twin(**{**example_values(twin), **chosen})), twin.__name__
