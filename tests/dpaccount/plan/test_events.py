"""Reading and building events: every rule of the vocabulary, and the place in every message."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.plan.event_base import Event
from dpaccount.plan.events import (
    VOCABULARY,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    Pure,
    Relation,
    Sequence,
    Tree,
)
from dpaccount.plan.plan_file import read_plan
from tests.looped import looped


def plan(*events, relation="replace-one", raw=None):
    text = raw or json.dumps({"schema": "dpaccount/events/1", "relation": relation, "events": list(events)})
    return read_plan(parse_json(text, "plan.json"))


def test_decimals_are_read_as_written():
    raw = '{"schema":"dpaccount/events/1","relation":"add-remove","events":[{"event":"pure","epsilon":0.1,"count":1e18}]}'
    assert plan(raw=raw).events == (Pure(epsilon=Fraction(1, 10), count=10**18),)


@looped("spelled", [0.1, "0.1", "1/10", Fraction(1, 10), Decimal("0.1"), np.float64(0.1)])
def test_a_number_is_the_same_in_every_spelling(spelled):
    assert Gaussian(sigma=spelled) == Gaussian(sigma=Fraction(1, 10))


GAUSS = {"event": "gaussian", "sigma": 1}


def test_relations_are_kept_apart():
    with pytest.raises(InputError, match="randomized_response has no meaning under add-remove"):
        plan({"event": "randomized_response", "epsilon": 1}, relation="add-remove")
    with pytest.raises(InputError, match="relation"):
        plan(relation="group")


def test_a_boolean_is_no_integer_even_after_one_was_read():
    first = {"event": "gaussian", "sigma": 1, "sensitivity": 1, "cover": [1, 2]}
    with pytest.raises(InputError, match="/events/1/sensitivity"):
        plan(first, {**first, "sensitivity": True})


def test_many_covers_share_one_reading():
    events = plan(*({**GAUSS, "cover": [i, i + 1]} for i in range(1, 50))).events
    assert [event.cover for event in events] == [(i, i + 1) for i in range(1, 50)]
    assert {event.bare() for event in events} == {Gaussian(sigma=1)}


@looped("rounds", [1, 2, 3, 7, 8, 13, 100])
def test_tree_classes_count_the_complete_nodes_over_every_round(rounds):
    touched = {}
    for depth, (first, last) in Tree(rounds=rounds, sigma=1, start=5).classes():
        touched |= dict.fromkeys(range(first - 5, last - 4), depth)
    levels = range(rounds.bit_length())
    assert touched == {o: sum((o // 2**j + 1) * 2**j <= rounds for j in levels) for o in range(rounds)}


def test_scalar_bounds():
    assert Event.zcdp(Gaussian(sigma=2, count=3)) == Fraction(3, 8)
    assert Event.mu_squared(Gaussian(sigma=2, count=4)) == 1
    assert Event.pure(Sequence(of=(Laplace(scale=2), Pure(epsilon=1)), count=2)) == 3
    assert Event.pure(Gaussian(sigma=1)) is None
    assert 1.51786 < Event.mu_squared(Pure(epsilon=1)) < 1.51792
    assert Relation("add-remove") is Relation.ADD_REMOVE
    assert len(VOCABULARY) == 27


@looped("cover", [(0, 1), (2, 1), (1.0, 2), (True, 2), (1,), (1, 2, 3), 5, "12"])
def test_covers_are_ranges_in_python_too(cover):
    with pytest.raises(InputError, match="cover"):
        Gaussian(sigma=1, cover=cover)


def test_what_is_no_event_or_relation_is_refused():
    for wrong in (lambda: Sequence(of=(1,)), lambda: Plan("replace-one", (1,)), lambda: Plan("other", ())):
        with pytest.raises(InputError):
            wrong()
    assert Plan("add-remove", [Gaussian(sigma=1, cover=[1, 2])]).events[0].cover == (1, 2)


def test_scalars_of_samples():
    """A sample of everything keeps its scalars; a smaller one has what its pure loss gives, or the whole's."""
    whole = PoissonSubsampled(rate=1, of=Gaussian(sigma=2), count=3)
    assert (Event.zcdp(whole), Event.mu_squared(whole)) == (Fraction(3, 8), Fraction(3, 4))
    assert Event.zcdp(PoissonSubsampled(rate="0.5", of=Gaussian(sigma=2))) == Fraction(1, 8)
    half = PoissonSubsampled(rate="0.5", of=Pure(epsilon=1))
    assert abs(float(Event.pure(half)) - math.log1p(math.expm1(1) / 2)) < 1e-12
    assert Event.pure(PoissonSubsampled(rate=0, of=Gaussian(sigma=2))) == 0


@looped("text", ["256/60000", "+1/2", "1e-3", "0.1", ".5"])
def test_a_real_number_may_be_text_in_a_file(text):
    sampled = {"event": "poisson_subsampled", "rate": text, "of": {**GAUSS, "sigma": text}}
    (event,) = plan(sampled, relation="add-remove").events
    assert event.rate == event.of.sigma == Fraction(text)


@looped("text", ["1/0", "1/-2", "1.5/2", "1/2/3", "", "1 /2", "0x1", "nan", "1" * 300 + "/" + "1" * 300])
def test_other_text_is_no_number(text):
    with pytest.raises(InputError, match=r"/events/0/sigma: .*; "):
        plan({**GAUSS, "sigma": text})


@pytest.mark.parametrize("key", ["count", "k"])
def test_a_count_is_no_text(key):
    with pytest.raises(InputError, match=f"/events/0/{key}: found a string"):
        plan({"event": "randomized_response", "epsilon": 1, key: "3"})


PLANS = [
    Plan(
        "replace-one",
        [Gaussian(sigma="1/3", count=3), Laplace(scale=0.1, cover=(2, 9)), Tree(rounds=9, sigma=2)],
    ),
    Plan(
        "add-remove",
        PoissonSubsampled(rate="256/60000", of=Sequence(of=(Gaussian(sigma=1), Pure(epsilon="1e-30")))),
    ),
    Plan("replace-one"),
]


@looped("written", PLANS)
def test_a_plan_is_read_back_as_it_was_written(written):
    assert read_plan(parse_json(written.to_json(), "plan.json")) == written
    assert all(
        eval(repr(event), {kind.__name__: kind for kind in VOCABULARY.values()}) == event  # noqa: S307
        for event in written.events
    )


def test_plans_add_up_and_multiply():
    one, other = Gaussian(sigma=4), Laplace(scale=3, count=2)
    both = Plan("replace-one", one) + Plan("replace-one", other) + [one]
    assert both.events == (one, other, one)
    assert (3 * both).events == (one * 3, other * 3, 3 * one)
    assert (3 * both).events[1].count == 6
    for wrong in (0, 1.5, True, "2"):
        with pytest.raises(InputError, match="whole number"):
            both * wrong
    with pytest.raises(InputError, match="do not add up"):
        both + Plan("add-remove", one)


def test_a_plan_prints_as_a_table():
    shown = str(PLANS[1])
    assert "poisson_subsampled" in shown
    assert "rate 8/1875, of sequence (of [gaussian (sigma 1), pure (epsilon 1e-30)])" in shown
    wide = Plan("replace-one", [Gaussian(sigma=4, cover=(j, j)) for j in range(1, 100)])
    assert "and 39 more" in str(wide)
    assert wide._repr_html_().count("<tr>") == 61


@pytest.mark.parametrize("relation", ["bounded-row", "bounded-row, radius 1"])
def test_rows_that_move_by_a_radius_are_no_relation_of_a_plan(relation):
    with pytest.raises(InputError, match=r"^unknown relation .*; known here: replace-one, add-remove$"):
        Plan(relation, (Pure(epsilon=1),))
    with pytest.raises(InputError, match="relation: ") as refusal:
        plan({"event": "pure", "epsilon": 1}, relation=relation)
    assert "\n" not in str(refusal.value)
