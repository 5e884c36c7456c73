"""Rules about who reads what: units of partitions, ends of covers, keys of views, rounds, one part of a mixture.

Each is checked against what the statement would mean if it were false: enumeration, or a small search.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.checker import Rejected
from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import BudgetError, InputError, RuleError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.proof import (
    ADD_REMOVE,
    ANYONE,
    REPLACE_ONE,
    Choice,
    Pure,
    assume_ball,
    assume_choice,
    assume_clipped,
    assume_covers,
    assume_filter,
    assume_points,
    assume_rank_one,
    assume_rare,
    assume_rounds,
    assume_split,
    assume_tree,
    assume_view,
    billboard,
    buffered,
    centred,
    compose,
    despite,
    discrete_gaussian,
    factorised,
    gaussian,
    hypotheses,
    joint,
    laplace,
    linear,
    local,
    local_view,
    mixture,
    nodes,
    parallel,
    partition,
    post_process,
    releases,
    stream_l1,
    to_approximate,
    write,
)
from tests.dpaccount.checker.made import step
from tests.dpaccount.proof.said import refuses
from tests.looped import looped

F = Fraction
ONE, HALF = F(1), F(1, 2)
LAST = ANYONE[1] - 1


def pure(query="q", relation=REPLACE_ONE, key=None, epsilon=ONE):
    inside = assume_clipped(query, F(0), ONE, relation, "t")
    return laplace(linear(inside), 1 / epsilon, ONE, key or f"{query}-{relation}")


def ball(query="q", relation=REPLACE_ONE, radius=HALF):
    return linear(assume_ball(query, radius, relation, "t"))


def over(leaf, *covers):
    return nodes(leaf, assume_covers(leaf.conclusion.subject, list(covers), "t"))


# ------------------------------------------------------------------ units


def test_a_ledger_charges_every_unit_that_a_partition_reads(tmp_path):
    url = f"sqlite:///{tmp_path}/l.db"
    init(url, epsilon=F(1), delta=F(0), unit="row", relation=ADD_REMOVE, measure="pure")
    cells = [over(pure(name, ADD_REMOVE), *[(k, k) for k in range(1, 101)]) for name in "ab"]
    table = partition(assume_split("t", ["a", "b"], "t"), *cells)
    with Ledger.open(url) as ledger:
        for cover in ((1, 1), (2, 100), (1, 99)):
            with pytest.raises(InputError):
                ledger.charge(table, "p", cover)
        ledger.charge(table, "p", (1, 100))
        for again in (1, 50, 100):
            with pytest.raises(BudgetError):
                ledger.charge(over(pure("c", ADD_REMOVE), (again, again)), "p", (again, again))


def test_no_part_is_disjoint_from_a_departure():
    point = to_approximate(pure(), ONE, F(0))
    rare = despite(point, assume_rare("q", "event", F(1, 10), "t"), F(1, 10))
    other = to_approximate(over(pure("b"), (LAST, LAST)), ONE, F(0))
    refuses(parallel, rare, other, match="overlap")


# ------------------------------------------------------------------ a view names what it reads


def test_a_view_is_tied_to_the_noise_that_is_paid_for():
    part = compose(pure("a", key="k"), pure("b", key="l"))
    assert releases(part) == ("k", "l")
    shown = post_process(part, assume_view("s", "everyone", "t"))
    assert shown.conclusion.subject == "s"
    (view,) = [each for each in hypotheses(shown) if each.rule == "assume_view"]
    assert view.statement["releases"] == ["k", "l"]
    post_process(part, assume_view("s", "everyone", "t", ["l", "k"]))
    for keys in (["k"], ["k", "l", "m"], ["m"]):
        refuses(post_process, part, assume_view("s", "everyone", "t", keys), match="does not read")
        refuses(billboard, part, assume_view("s", "others", "t", keys), match="does not read")
    refuses(assume_view, "s", "everyone", "t", ["k", "k"], match="each once")
    messages = local(pure("a", key="k"), assume_covers("a", [(1, 1)], "t"))
    refuses(local_view, messages, assume_view("s", "others", "t", ["l"]), match="does not read")
    local_view(messages, assume_view("s", "others", "t", ["k"]))
    spent = assume_filter("budget", "pure", [ONE], REPLACE_ONE, "t")
    assert releases(compose(spent, pure("a", key="k"))) == ("budget", "k")


def test_a_written_view_of_nothing_reads_no_noise():
    """The kernel's function would name the noise for it."""
    steps = write(pure("a", key="k"))
    step(steps, "assume_view", [], query="s", audience="everyone", releases=[], because="t")
    step(steps, "post_process", [2, 3])
    with pytest.raises(Rejected, match="does not read"):
        check_derivation(steps)


# ------------------------------------------------------------------ one round a unit


def test_rounds_are_a_hypothesis_of_their_own():
    for theorem in (
        centred(ball(), 4),
        factorised(ball(), 4, [[1, 1]]),
        buffered(ball(), 4, 1, [(1, 1)], 1, F(1, 16), F(9)),
    ):
        assert theorem.conclusion.units == (1, 4)
        assert [h.statement["rounds"] for h in hypotheses(theorem) if h.rule == "assume_rounds"] == [4]
    for times, apart in ((1, 3), (2, 3), (3, 1)):
        [entered] = [
            h for h in hypotheses(factorised(ball(), 9, [[1]], 0, times, apart)) if h.rule == "assume_rounds"
        ]
        more = {"participations": times, "separation": apart} if times > 1 else {}
        assert entered.statement == {"query": "q", "rounds": 9, "because": "movement", **more}
    assert factorised(ball(), 9, [[1]]).conclusion.bound == 1  # no bits, and each unit in one round
    entered = assume_rounds("q", 4, "t")
    assert factorised(ball(), entered, [[1, 1]]).conclusion.units == (1, 4)


def farthest(points, matrix, times, apart, relation):
    """The largest squared movement over all patterns of rounds, before and after, and all contributions."""
    rounds, best = matrix.shape[1], 0.0
    patterns = [
        chosen
        for count in range(times + 1)
        for chosen in itertools.combinations(range(rounds), count)
        if all(b - a >= apart for a, b in itertools.pairwise(chosen))
    ]
    streams = []
    for chosen in patterns:
        for values in itertools.product(points, repeat=len(chosen)):
            stream = np.zeros(rounds)
            stream[list(chosen)] = values
            streams.append(matrix @ stream)
    others = streams if relation == REPLACE_ONE else [np.zeros(rounds)]
    for one in streams:
        for other in others:
            best = max(best, float(np.sum((one - other) ** 2)))
    return best


@looped("relation", [REPLACE_ONE, ADD_REMOVE])
@looped("points", [(5, 6), (0, 1), (-2, 3), (-2, 2), (4,)])
@looped(("times", "apart"), [(2, 1), (2, 2), (3, 1), (2, 4)])
def test_a_neighbour_may_take_part_at_other_rounds(relation, points, times, apart):
    """Points 5 and 6: replaced in its rounds a unit moves them by 1, moved to other rounds by 5 and 6."""
    coefficients, rounds = [2, 1, -1], 4
    matrix = sum(np.diag([float(c)] * (rounds - lag), -lag) for lag, c in enumerate(coefficients))
    query = linear(assume_points("q", [(p,) for p in points], relation, "t"))
    stream = factorised(query, rounds, [coefficients], 0, times, apart).conclusion
    movement = farthest(points, matrix, times, apart, relation)
    assert movement <= float(stream.bound) * (1 + 1e-12)
    if relation == REPLACE_ONE and points == (5, 6):
        assert (
            movement > float(query.conclusion.bound) * times**2 * 6
        )  # what the difference in place would allow


def test_what_a_unit_adds_must_be_known_by_itself_in_several_rounds():
    person = assume_rank_one("q", HALF, REPLACE_ONE, "t")
    refuses(factorised, joint(person, ONE), 4, [[1]], 0, 2, 1, match="not what the query sums")
    near = assume_ball("q", F(1, 4), REPLACE_ONE, "t")
    refuses(factorised, ball(), 4, [[1]], 0, 2, 1, near, match="is not what")
    inside = assume_ball("q", HALF, REPLACE_ONE, "t")
    assert factorised(ball(), 4, [[1]], 0, 2, 1, inside).conclusion.bound == 2  # two rounds, 2r in each


@looped("relation", [REPLACE_ONE, ADD_REMOVE])
@looped(("low", "high"), [(-2, 1), (0, 3), (1, 3), (-3, -1), (0, 0)])
def test_a_number_may_stand_in_any_round_before_and_in_any_other_after(low, high, relation):
    """The largest ℓ1 movement over all rounds, or none, before and after, and all numbers: the bound is attained."""
    rounds = 3
    streams = [
        tuple(number if s == entered else 0 for s in range(rounds))
        for entered in range(rounds + 1)
        for number in range(low, high + 1)
    ]
    others = streams if relation == REPLACE_ONE else [(0,) * rounds]
    moves = [
        sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in itertools.product(streams, others)
    ]
    person = assume_clipped("q", F(low), F(high), relation, "t")
    for times, apart in ((2, rounds), (9, rounds + 1)):
        stream = stream_l1(person, assume_rounds("q", rounds, "t", times, apart)).conclusion
        assert (stream.bound, stream.units) == (max(moves), ANYONE)
    for times, apart in ((1, 1), (2, rounds - 1)):  # one round that is known beforehand; two rounds
        refuses(stream_l1, person, assume_rounds("q", rounds, "t", times, apart), match="enters")


def test_a_stream_of_rounds_is_no_release_at_once():
    person = assume_clipped("q", F(0), ONE, REPLACE_ONE, "t")
    entered = [assume_rounds("q", rounds, "t", 2, 9) for rounds in (4, 5)]
    shown = [
        laplace(query, ONE, ONE, "k") for query in (linear(person), *(stream_l1(person, e) for e in entered))
    ]
    for one, two in itertools.combinations(shown, 2):
        refuses(compose, one, two, match="names two draws")
    wider = assume_clipped("q", F(0), F(2), REPLACE_ONE, "t")
    again = assume_rounds("q", 4, "other words", 2, 9)
    compose(shown[1], laplace(stream_l1(wider, again), ONE, ONE, "k"))  # two bounds of one stream


# ------------------------------------------------------------------ one part of a mixture


def test_of_a_mixture_one_part_is_assumed_to_be_drawn():
    parts = [pure("a", key="k"), compose(pure("b", key="l"), pure("c", key="m"))]
    coin = mixture(*parts)
    assert coin.conclusion.curve == Pure(F(2))
    choices = [h for h in hypotheses(coin) if h.rule == "assume_choice"]
    assert [h.statement["parts"] for h in choices] == [[["k"], ["l", "m"]]]
    assert Choice("a or b + c", (("k",), ("l", "m"))) in [p.conclusion for p in coin.premises]
    right = assume_choice("a or b + c", [["k"], ["l", "m"]], "t")
    mixture(*parts, choice=right)
    for wrong in (
        assume_choice("a or b", [["k"], ["l", "m"]], "t"),
        assume_choice("a or b + c", [["k"], ["l"]], "t"),
        assume_choice("a or b + c", [["k"]], "t"),
        assume_choice("a or b + c", [["l", "m"], ["k"]], "t"),
    ):
        refuses(mixture, *parts, choice=wrong, match="the choice is not among")
    stream, other = (gaussian(factorised(ball(q), 10, [[1, 1]], 0, 2, 3), ONE, q) for q in "ab")
    mixture(stream, other)
    refuses(mixture, stream, stream, match="share noise")  # which may depart in one of them alone


# ------------------------------------------------------------------ a key is drawn once, on one query


@pytest.mark.parametrize("rule", [compose, mixture])
def test_one_key_is_not_drawn_on_two_queries(rule):
    first, other = pure("a", key="k"), pure("b", key="k")
    refuses(rule, first, other, match="names two draws")
    refuses(
        rule, compose(first, pure("c", key="l")), compose(pure("d", key="m"), other), match="names two draws"
    )
    rule(first, pure("b", key="l"))
    rule(first, first)
    wide = laplace(linear(assume_clipped("a", F(0), F(2), REPLACE_ONE, "t")), ONE, ONE, "k")
    rule(first, wide)  # two statements about one draw


def test_parts_and_cells_do_not_share_a_key():
    first, last = over(pure("a", key="k"), (1, 5)), over(pure("b", key="k"), (6, 9))
    refuses(parallel, first, last, match="names two draws")
    parallel(first, over(pure("b", key="l"), (6, 9)))
    split = assume_split("t", ["a", "b"], "t")
    cells = [pure(name, ADD_REMOVE, "k") for name in "ab"]
    refuses(partition, split, *cells, match="names two draws")
    both = [pure(name, relation, name) for relation in (REPLACE_ONE, ADD_REMOVE) for name in "ab"]
    partition(split, *both)  # each cell's one draw, stated for both relations


def test_one_key_is_not_drawn_over_two_lists_of_covers():
    leaf = pure("a", key="k")
    first, last = over(leaf, (1, 5)), over(leaf, (6, 9))
    refuses(parallel, first, last, match="names two draws")
    for one, two in (
        (leaf, first),
        (over(leaf, (1, 2), (3, 5)), over(leaf, (1, 3), (4, 5))),  # alike in number, width and ends
        (over(leaf, (1, 4)), nodes(leaf, assume_tree("a", 4, "t", 1))),
    ):
        refuses(compose, one, two, match="names two draws")
    again = nodes(leaf, assume_covers("a", [(1, 5)], "other words"))
    compose(first, again)


def test_a_transformed_query_is_another_one():
    plain, centre = ball(radius=HALF), centred(ball(radius=HALF), 4)
    streams = [
        factorised(ball(), 4, [[1, 1]]),
        factorised(ball(), 4, [[1, 2]]),
        factorised(ball(), 5, [[1, 1]]),
    ]
    person = assume_rank_one("q", HALF, REPLACE_ONE, "t")
    shown = [gaussian(query, ONE, "k") for query in (plain, centre, *streams, joint(person, ONE))]
    for one, two in itertools.combinations(shown, 2):
        refuses(compose, one, two, match="names two draws")
    for one in shown:
        compose(one, one)
    buffers = [buffered(ball(), 4, 1, [(1, 1)], 1, F(1, 16), most) for most in (F(9), F(10))]
    compose(*[gaussian(query, ONE, "k") for query in buffers])  # two bounds of one stream
    spent = assume_filter("k", "gdp", [ONE], REPLACE_ONE, "t")
    refuses(compose, spent, shown[0], match="names two draws")


def twice_entered(radius, rounds=4):
    sums = linear(assume_ball("stream", F(radius), ADD_REMOVE, "t"))
    stream = factorised(sums, rounds, [[1, 1]], participations=2, separation=2)
    return discrete_gaussian(stream, F(100), F(1, 16), "k")


def test_one_draw_may_be_stated_with_two_bounds_of_its_stream():
    """What a draw is on is its query, transformed over its rounds; how far that moves may be stated twice."""
    both = compose(twice_entered(1), twice_entered(2))
    assert check_derivation(write(both))[-1][2] == ["zcdp", str(both.conclusion.curve.rho)]
    with pytest.raises(RuleError, match="names two draws"):
        compose(twice_entered(1), twice_entered(1, rounds=5))
