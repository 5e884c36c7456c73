"""Groups of units: what is confirmed of them lies above the accountant's answer and near it."""

import itertools
import random
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from audits.accounts.certificate import certificate
from dpaccount.accounting.accountant import Accountant
from dpaccount.checker.accounting.bounds import chained
from dpaccount.checker.accounting.plan import classes, harmonic
from dpaccount.checker.accounting.releases import Releases
from dpaccount.checker.intervals import Interval
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan
from tests.depth import deep
from tests.dpaccount.checker.enumeration import number
from tests.dpaccount.checker.test_account_forgeries import consistent, edited, made, said

F = Fraction
EVENTS = {
    "gaussian": ev.Gaussian(sigma=6, count=4),
    "laplace": ev.Laplace(scale=9, count=2),
    "pure": ev.Pure(epsilon="0.2", count=5),
    "permute_and_flip": ev.PermuteAndFlip(epsilon="0.2"),
    "randomized_response": ev.RandomizedResponse(epsilon="0.3", k=3),
    "discrete_laplace": ev.DiscreteLaplace(scale=9, sensitivity=2),
    "discrete_gaussian": ev.DiscreteGaussian(sigma=6),
    "bounded_range": ev.BoundedRange(eta="0.2"),
    "zcdp": ev.Zcdp(rho="0.01", count=3),
    "sequence": ev.Sequence(of=(ev.Gdp(mu="0.2"), ev.Gaussian(sigma=7))),
    "tree": ev.Tree(rounds=6, sigma=30),
}
WIDER = ("randomized_response", "tree")


def answered(event, group, delta="1e-4"):
    plan = Plan("replace-one", event)
    tight = Accountant(plan, group).epsilon(delta)
    return tight, certificate(plan.as_json(), tight.as_json(), delta=F(delta), group=group)


SLOW = {"laplace": deep, "bounded_range": deep, "zcdp": deep}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in EVENTS])
def test_a_group_is_confirmed_above_what_it_costs(name):
    tight, document = answered(EVENTS[name], 3)
    assert said(document) is None, document["confirmed"]
    upper = F(document["confirmed"]["upper"])
    assert upper >= (tight.lower or 0)
    assert upper <= tight.upper * F(10001, 10000) or name in (*WIDER, *SLOW)
    single, _ = answered(EVENTS[name], 1)
    assert upper > single.upper  # a group that is forgotten would cost as little


def test_another_group_is_refused_by_its_text_and_a_larger_one_by_its_mathematics():
    _, document = answered(EVENTS["pure"], 2)
    assert said(document) is None
    for group in (1, 3, 4):
        assert said(edited(("question", "group"), group, document)).startswith("step 0")
    for group in (0, -1, 1.5, "2", None, True):
        assert said(edited(("question", "group"), group, document)) is not None
    larger = edited(("question", "group"), 3, document)
    assert "does not follow" in said(consistent(larger["plan"], larger, 3))


CHAINED = {
    "approximate": ("replace-one", [ev.Approximate(epsilon="0.1", delta="1e-9")]),
    "two covers": (
        "replace-one",
        [ev.Gaussian(sigma=40, cover=(1, 5)), ev.Pure(epsilon="0.1", cover=(6, 9))],
    ),
    "pair": ("replace-one", [ev.DominatingPair(p=["0.55", "0.45"], q=["0.5", "0.5"])]),
    "replaced": ("replace-one", [ev.PoissonReplaced(rate="0.1", of=ev.Pure(epsilon="0.2"))]),
    "sampled": ("add-remove", [ev.PoissonSubsampled(rate="0.1", of=ev.Pure(epsilon="0.2"))]),
    "users": (
        "add-remove",
        [ev.PoissonExamples(rate="0.1", examples=2, of=ev.Gaussian(sigma=8))],
    ),
    "bands": ("add-remove", [ev.BandedPoisson(rounds=2, sigma=6, rate="0.1", parts=2)]),
    "Laplace": ("add-remove", [ev.PoissonSubsampled(rate="0.1", of=ev.Laplace(scale=5))]),
}


def chain_of(name, group=2, **question):
    relation, events = CHAINED[name]
    plan = Plan(relation, events)
    total = Accountant(plan, group)
    tight = total.epsilon(question["delta"]) if "delta" in question else total.delta(question["epsilon"])
    return tight, made(plan.as_json(), tight.as_json(), (2, 1), **question, group=group)


QUESTIONS = ({"delta": F(1, 1000)}, {"epsilon": F(1, 4)})


@pytest.mark.parametrize(("name", "question"), [*zip(CHAINED, QUESTIONS * 4, strict=True)])
def test_any_plan_is_confirmed_for_groups_by_a_chain_of_neighbours(name, question):
    tight, document = chain_of(name, **question)
    assert said(document) is None, document["confirmed"]
    assert document["derivation"][-1]["rule"] == "group-chain"
    upper = F(document["confirmed"]["upper"])
    assert (tight.lower or 0) <= upper <= F(3, 2) * tight.upper + F(1, 1000)


def test_a_chain_is_refused_where_its_numbers_do_not_follow():
    _, document = chain_of("sampled", delta=F(1, 1000))
    step = len(document["derivation"]) - 1
    chain = document["derivation"][-1]["with"]
    for key in chain:
        for factor in (F(99, 100), F(101, 100)):  # what one unit loses, less or more than is derived
            other = str(F(chain[key]) * factor)
            against = said(edited(("derivation", step, "with", key), other, document))
            assert against.startswith("step "), (key, factor)
    for group in (1, 3):
        assert said(edited(("question", "group"), group, document)).startswith(f"step {step} (group-chain)")
    forged = edited(("derivation", step, "of", "group"), 3, edited(("question", "group"), 3, document))
    assert "does not follow for 3 units" in said(forged)
    huge = edited(
        ("derivation", step, "of", "group"), 10**70, edited(("question", "group"), 10**70, document)
    )
    assert said(huge) is not None
    assert said(edited(("derivation",), [document["derivation"][-1]], document)) is not None
    assert "no bound of groups" in said(edited(("derivation",), document["derivation"][:-1], document))


def test_a_chain_of_laws_costs_no_more_than_is_said():
    """Any k + 1 laws, neighbours of which differ by (ε, δ) in both orders: the first and the last one."""
    for seed in range(60):
        chance = random.Random(seed)
        group, size = chance.choice([2, 3, 5]), chance.choice([2, 3])
        weights = [[chance.randint(0, 9) for _ in range(size)] + [1] for _ in range(group + 1)]
        laws = [[F(w, sum(each)) for w in each] for each in weights]
        epsilon = chance.choice([F(0), F(1, 100), F(1, 3), F(2)])

        def cost(p, q, at):
            return sum(
                max(mpf(0), number(a) - mp.exp(number(at)) * number(b)) for a, b in zip(p, q, strict=True)
            )

        near = [cost(*each, epsilon) for a, b in itertools.pairwise(laws) for each in ((a, b), (b, a))]
        delta = F(mp.nstr(max(near), 40)) + F(1, 10**38)
        bound = chained(Interval(40), epsilon, delta, group)
        assert cost(laws[0], laws[-1], group * epsilon) <= number(F(bound[1]))


def test_the_chain_is_the_sum_of_its_links():
    for epsilon, group in ((F(0), 7), (F(1, 1000), 7), (F(3, 2), 4)):
        low, high = chained(Interval(30), epsilon, F(1, 50), group)
        links = mp.fsum(mp.exp(j * number(epsilon)) for j in range(group)) / 50
        assert number(F(low)) <= links * (1 + mpf(10) ** -25)
        assert number(F(high)) >= links * (1 - mpf(10) ** -40)
        assert F(high) - F(low) < F(1, 10**20)


def test_units_that_meet_different_gaussian_noise_are_counted_as_the_worst_of_them():
    events = [ev.Gaussian(sigma=8, cover=(1, 5)), ev.Gdp(mu="0.1", cover=(4, 9)), ev.Tree(rounds=7, sigma=40)]
    written = Plan("replace-one", events).as_json()
    single = max(on.mu_squared for _, on in classes(written)[1])
    [(_, on)] = classes(written, 3)[1]
    assert on == Releases(9 * single, ())


def test_the_offset_of_zcdp_grows_with_the_harmonic_numbers():
    assert [harmonic(group) for group in (1, 2, 3, 4)] == [1, F(3, 2), F(11, 6), F(25, 12)]


@deep
def test_a_group_on_poisson_samples_is_confirmed_near_what_it_costs():
    event = ev.PoissonSubsampled(rate="0.1", of=ev.Gaussian(sigma=2), count=2)
    plan = Plan("add-remove", event)
    tight = Accountant(plan, 2).epsilon("1e-3")
    document = made(plan.as_json(), tight.as_json(), (2, 1), delta=F(1, 1000), group=2)
    assert said(document) is None, document["confirmed"]
    assert [step["of"].get("direction") for step in document["derivation"]] == ["there", "back"] * 2 + [None]
    assert tight.lower <= F(document["confirmed"]["upper"]) <= tight.upper * F(11, 10)
    steps = document["derivation"][2:]  # of all units in one dataset alone
    assert said(edited(("derivation",), steps, document)).startswith("step 0")
