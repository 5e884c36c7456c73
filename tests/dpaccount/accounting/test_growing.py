"""An accountant that grows: fresh answers meet those of plans counted at once, and rise with every step."""

import pickle
import random
import threading
from fractions import Fraction

import pytest

from dpaccount.accounting import accountant as accountant_module
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods import growing
from dpaccount.errors import InputError
from dpaccount.numerics.fourier.growing import GrowingBound, GrowingInversion
from dpaccount.plan.events import (
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Plan,
    PoissonExamples,
    PoissonReplaced,
    PoissonSubsampled,
    Pure,
    RandomAllocation,
    TruncatedPoisson,
    Zcdp,
)
from tests.depth import deep

ROOM = Fraction(1, 10**6)


def step(rate: str = "0.01", sigma: str = "1", count: int = 1) -> PoissonSubsampled:
    return PoissonSubsampled(rate=rate, of=Gaussian(sigma=sigma), count=count)


def begun(*events, relation: str = "add-remove") -> Accountant:
    """Return an accountant that has grown to these events."""
    accountant = Accountant([], relation=relation)
    accountant.compose(events)
    return accountant


def meet(one, other) -> bool:
    return max(one.lower, other.lower) <= min(one.upper, other.upper)


def random_events(seed: int) -> tuple[str, list]:
    """Return a relation and steps under it, many of them equal ones."""
    draw = random.Random(seed)
    relation = draw.choice(["add-remove", "replace-one"])
    sampled = PoissonSubsampled if relation == "add-remove" else PoissonReplaced
    kinds = [
        sampled(
            rate=f"{draw.choice([0.01, 0.05, 0.3, 0.9])}", of=Gaussian(sigma=f"{draw.uniform(0.8, 3):.2f}")
        )
        for _ in range(draw.randint(1, 3))
    ]
    kinds.append(draw.choice([Gaussian(sigma="20"), Laplace(scale="9"), Pure(epsilon="0.05")]))
    kinds.append(sampled(rate="0.2", of=Laplace(scale="3")))
    return relation, [draw.choice(kinds) * draw.choice([1, 1, 5, 20]) for _ in range(7)]


def test_steps_of_training_take_little_and_meet_the_whole():
    """Each answer meets that of a plan counted at once, and no step lowers the bound below an earlier one."""
    accountant, before = begun(step(count=40)), Fraction(0)
    for turn in range(41, 61):
        accountant.compose(step())
        found = accountant.epsilon("1e-5")
        assert found.upper - found.lower <= ROOM * max(1, found.lower)
        assert found.upper >= before
        before = found.lower
        if turn % 10 == 0:
            assert meet(found, Accountant(step(count=turn), relation="add-remove").epsilon("1e-5"))
    kept = next(iter(accountant._now.growing.memory.kept.values()))
    assert kept.begun == 41, "new contours for each step"
    assert {type(way) for way in kept.ways} == {GrowingInversion, GrowingBound}


@deep
@pytest.mark.parametrize(
    "bound",
    [
        TruncatedPoisson(rate="0.01", population=1000, batch=12, of=Gaussian(sigma=1), count=50),
        PoissonExamples(rate="0.01", examples=2, of=Gaussian(sigma=2), count=50),
        RandomAllocation(steps=20, times=3, of=Gaussian(sigma=2)),
    ],
)
def test_steps_that_are_only_bounded_take_little_too(bound):
    """They have an upper end alone, that of the plan at once; what has a lower one keeps it."""
    accountant = begun(bound)
    for turn in range(2, 9):
        accountant.compose([bound, Gaussian(sigma=50)])
        at_once = [bound * turn, Gaussian(sigma=50) * (turn - 1)]
        found, whole = accountant.epsilon("1e-5"), Accountant(at_once, relation="add-remove").epsilon("1e-5")
        assert (found.lower is None) == (whole.lower is None)
        assert abs(found.upper - whole.upper) <= 2 * ROOM * max(1, whole.upper)
    kept = accountant._now.growing.memory.kept
    assert bool(kept) == (bound.name != "random_allocation")


@deep
@pytest.mark.parametrize("number", range(24))
def test_every_growing_plan_meets_the_plan_at_once(number, depth):
    relation, events = random_events(depth.seed(number))
    accountant, before = Accountant([], relation=relation), Fraction(0)
    for turn, event in enumerate(events, 1):
        accountant.compose(event)
        for delta in ("1e-3", "1e-6"):
            found = accountant.epsilon(delta)
            assert meet(found, Accountant(Plan(relation, events[:turn])).epsilon(delta))
        assert found.upper >= before
        before = found.lower
    assert Accountant(accountant.plan).plan == accountant.plan


@deep
def test_different_steps_meet_the_plan_at_once():
    steps = [step(sigma=f"{1 + k / 50}") for k in range(60)]
    accountant = begun(*steps[:20])
    for each in steps[20:]:
        accountant.compose(each)
        found = accountant.epsilon("1e-6")
        assert found.upper - found.lower <= ROOM
    assert meet(found, Accountant(steps, relation="add-remove").epsilon("1e-6"))


@deep
def test_the_direction_that_costs_less_may_come_to_cost_more():
    """Steps at a large rate make both directions alike: the Chernoff bound of one no longer suffices."""
    for rate, steps in (("0.5", 12), ("0.9", 10), ("0.99", 10)):
        accountant = begun(step(count=10))
        for _ in range(steps):
            accountant.compose(step(rate, "2"))
            found = accountant.epsilon("1e-5")
            assert found.upper - found.lower <= ROOM * max(1, found.lower)
        whole = Accountant([step(count=10), step(rate, "2", steps)], relation="add-remove").epsilon("1e-5")
        assert meet(found, whole)


def test_a_bound_that_is_not_within_is_not_taken(monkeypatch):
    """Where no bound suffices for the second direction, it gets an inversion of its own."""
    monkeypatch.setattr(GrowingBound, "within", lambda *_: False)
    accountant = begun(step(count=60))
    found = accountant.epsilon("1e-5")
    [kept] = accountant._now.growing.memory.kept.values()
    assert [type(way) for way in kept.ways] == [GrowingInversion] * 2
    assert meet(found, Accountant(step(count=60), relation="add-remove").epsilon("1e-5"))


@pytest.mark.parametrize(
    "event",
    [
        PoissonSubsampled(rate="0.01", of=Gaussian(sigma="1"), cover=(1, 10), count=50),
        Zcdp(rho="0.1"),
        Gaussian(sigma="4"),
        DiscreteGaussian(sigma="3"),
    ],
    ids=["cover", "bound", "gaussian", "discrete"],
)
def test_what_does_not_grow_is_answered_as_at_once(event):
    accountant = begun(event, event)
    whole = Accountant([event * 2], relation="add-remove")
    found, known = accountant.worst_epsilon("1e-5"), whole.worst_epsilon("1e-5")
    assert found.bounds == known.bounds
    assert (found.method, found.unit) == (known.method, known.unit)


@deep
def test_groups_and_ends_are_answered_as_at_once():
    event = step(count=50)
    assert (
        begun(event).worst_epsilon(0).bounds
        == Accountant(event, relation="add-remove").worst_epsilon(0).bounds
    )
    accountant = Accountant([], 2, relation="add-remove")
    accountant.compose([event, event])
    assert (
        accountant.epsilon("1e-3").upper
        == Accountant(event * 2, 2, relation="add-remove").epsilon("1e-3").upper
    )


def test_spellings_of_the_same_steps_are_one_plan():
    one_by_one, together, as_plan = Accountant([], relation="add-remove"), begun(step(count=3)), begun()
    for _ in range(3):
        one_by_one.compose(step())
    as_plan.compose(Plan("add-remove", [step(count=2), step()]))
    assert one_by_one.plan == together.plan == as_plan.plan == Plan("add-remove", [step(count=3)])


def test_answers_are_remembered_until_more_is_counted(monkeypatch):
    asked = []
    accountant = Accountant(Gaussian(sigma=4))
    original = Accountant._grouped
    monkeypatch.setattr(
        Accountant, "_grouped", lambda self, question: asked.append(1) or original(self, question)
    )
    first = accountant.epsilon("1e-5")
    assert accountant.epsilon(1e-5) == first
    assert accountant.delta(1) == accountant.delta("1")
    assert len(asked) == 2
    accountant.compose(Gaussian(sigma=4))
    assert accountant.epsilon("1e-5").lower > first.upper
    assert len(asked) == 3


def test_what_has_no_meaning_is_refused_and_nothing_is_lost():
    accountant = begun(step(count=3))
    with pytest.raises(InputError, match="no meaning under add-remove"):
        accountant.compose([step(), PoissonReplaced(rate="0.1", of=Gaussian(sigma=1))])
    with pytest.raises(InputError, match="no event"):
        accountant.compose("gaussian")
    with pytest.raises(InputError, match="do not add up"):
        accountant.compose(Plan("replace-one", Gaussian(sigma=1)))
    assert accountant.plan == Plan("add-remove", [step(count=3)])


def test_an_accountant_that_grew_can_be_kept_and_read_back():
    accountant = begun(step(count=60))
    found = accountant.epsilon("1e-5")
    again = pickle.loads(pickle.dumps(accountant))  # noqa: S301 - of this test
    assert again.plan == accountant.plan
    assert meet(again.epsilon("1e-5"), found)


def test_few_questions_are_kept():
    accountant = begun(step(count=100))
    for k in range(growing.MOST_KEPT + 3):
        accountant.epsilon(Fraction(1, 10**5 + k))
    assert len(accountant._now.growing.memory.kept) == growing.MOST_KEPT


@deep
def test_threads_that_compose_and_ask_see_whole_plans():
    """An answer is that of the plan at some moment between its question and itself."""
    accountant, stopped, failed = begun(step(count=50)), threading.Event(), []

    def ask() -> None:
        try:
            while not stopped.is_set():
                accountant.epsilon("1e-5")
        except Exception as error:
            failed.append(error)

    def compose(sigma: str) -> None:
        for _ in range(4):
            accountant.compose(step(sigma=sigma, count=10))

    asking, composing = (
        threading.Thread(target=ask),
        [threading.Thread(target=compose, args=(sigma,)) for sigma in ("1.2", "1.3", "1.4")],
    )
    for thread in (asking, *composing):
        thread.start()
    for thread in composing:
        thread.join()
    stopped.set()
    asking.join()
    assert not failed
    assert sum(event.count for event in accountant.plan.events) == 50 + 3 * 4 * 10
    for _ in range(2):
        assert meet(accountant.epsilon("1e-5"), Accountant(accountant.plan).epsilon("1e-5"))
        accountant.compose(step(sigma="5"))


def test_who_is_interrupted_has_the_old_plan(monkeypatch):
    accountant = begun(step(count=60))
    before = accountant.epsilon("1e-5")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for at in ("_counted", "_together", "_Counted"):
        monkeypatch.setattr(accountant_module, at, interrupted)
        with pytest.raises(KeyboardInterrupt):
            accountant.compose(step(sigma="2", count=10))
        monkeypatch.undo()
        assert accountant.plan == Plan("add-remove", [step(count=60)])
        assert accountant.epsilon("1e-5") == before
    accountant.compose(step(sigma="2", count=10))
    assert meet(accountant.epsilon("1e-5"), Accountant(accountant.plan).epsilon("1e-5"))


def test_an_accountant_that_grew_is_counted_in_another_one():
    one, other = begun(step(count=30)), begun(step(count=20))
    one.compose(other)
    assert meet(one.epsilon("1e-5"), Accountant(step(count=50)).epsilon("1e-5"))


def test_a_width_below_all_doubles_is_another_methods():
    assert begun(step()).epsilon("1e-5", "1e-400").upper > 0
