"""Statements that use every rule between them, proved by the kernel."""

from fractions import Fraction

from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    apart,
    assume_ball,
    assume_cell,
    assume_clipped,
    assume_covers,
    assume_each,
    assume_event,
    assume_filter,
    assume_l1,
    assume_lipschitz,
    assume_neighbours,
    assume_persons,
    assume_points,
    assume_range,
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
    differences,
    discrete_gaussian,
    exponential,
    factorised,
    fine_gaussian,
    finite,
    gaussian,
    group,
    joint,
    k_norm,
    laplace,
    lattice_gaussian,
    linear,
    local,
    local_view,
    mixture,
    moved,
    nodes,
    parallel,
    partition,
    permute_and_flip,
    persons,
    post_process,
    refute,
    replace_one,
    shuffled,
    sparse_vector,
    stable_histogram,
    stream_l1,
    to_approximate,
    to_gdp,
    to_near_gdp,
    to_pure,
    to_renyi,
    to_zcdp,
    within,
    write,
)

F = Fraction
ONE, HALF = F(1), F(1, 2)


def clipped(query="q", relation=REPLACE_ONE):
    return assume_clipped(query, F(-1, 4), F(3, 4), relation, "t", source="coin")


def pure(query="q", relation=REPLACE_ONE):
    return laplace(linear(clipped(query, relation)), F(2), F(1, 8), f"key-{query}")


def vector(query="v", relation=REPLACE_ONE):
    return linear(assume_ball(query, F(3, 4), relation, "t"))


def counts():
    """How many of a batch's answers are alike, which a shuffler shows."""
    bits = assume_points("bits", [(0,), (1,)], REPLACE_ONE, "t")
    batch = shuffled(bits, [[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]], 5, HALF, F(1, 9), "bits")
    blocks = assume_covers("bits", [(1, 5), (6, 12)], "t")
    return post_process(nodes(batch, blocks), assume_view("counts", "everyone", "t"))


def late():
    """Noisy sums of answers, each in a round that it chooses itself."""
    sums = stream_l1(clipped("late"), assume_rounds("late", 4, "t", 2, 4))
    return laplace(sums, F(2), F(1, 8), "late")


def theorems():
    """Statements that use every rule between them."""
    covers = assume_covers("v", [(1, 2), (2, 3)], "t")
    near = fine_gaussian(vector(), F(9, 4), F(1, 64), 2, F(1, 2**12), "v")
    yield post_process(to_approximate(nodes(near, covers), F(4), F(1, 8)), assume_view("s", "everyone", "t"))
    stream = factorised(vector("w"), 4, [[8, 4, 3]], 3, 2, 2)
    dense = factorised(vector("d"), 3, [[2], [1, 2], [-1, 1, 2]], 1)
    yield to_approximate(gaussian(stream, F(64), "w"), ONE, F(1, 8))
    yield to_approximate(to_zcdp(gaussian(dense, F(64), "d")), ONE, F(1, 8), F(7, 2))
    table = finite(
        assume_points("a", [(0,), (1,)], REPLACE_ONE, "t"), [[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)]], ONE, "a"
    )
    yield counts()
    yield local_view(
        to_approximate(local(table, assume_covers("a", [(1, 1), (2, 2)], "t")), ONE, F(0)),
        assume_view("l", "others", "t"),
    )
    sparse = sparse_vector(assume_each("n", HALF, ADD_REMOVE, "t"), F(2), F(4), 2, ONE, "n")
    choice = to_pure(exponential(assume_range("r", HALF, ADD_REMOVE, "t"), HALF, "r"))
    flip = permute_and_flip(assume_range("f", HALF, ADD_REMOVE, "t"), HALF, "f")
    yield to_near_gdp(to_gdp(mixture(sparse, choice, flip), F(25, 16)))
    histogram = stable_histogram(assume_cell("h", ADD_REMOVE, "t"), F(2), 20, F(1, 1000), "h")
    yield group(despite(histogram, assume_rare("h", "distance", F(1, 1000), "t"), F(1, 100)), 2, F(1, 10))
    lengths = k_norm(vector("k", ADD_REMOVE), F(1, 4), ONE, F(1, 64), "k")
    yield partition(assume_split("p", ["k", "q"], "t"), lengths, pure("q", ADD_REMOVE))
    swaps = [pure("q"), pure("u")]
    yield partition(assume_split("p", ["q", "u"], "t"), *swaps, pure("q", ADD_REMOVE), pure("u", ADD_REMOVE))
    yield to_approximate(laplace(assume_l1("s", F(3, 2), ADD_REMOVE, "t"), F(3), ONE, "s"), HALF, F(0))
    yield persons(
        group(gaussian(vector("g", ADD_REMOVE), F(64), "g"), 4),
        assume_persons("g", REPLACE_ONE, ADD_REMOVE, 4, "t"),
    )
    person = assume_rank_one("m", F(3, 2), REPLACE_ONE, "t")
    outer = linear(assume_rank_one("o", F(3), REPLACE_ONE, "t", "outer"), F(102))
    yield compose(
        to_zcdp(gaussian(linear(person), F(81), "m")),
        discrete_gaussian(outer, F(900), F(1, 2), "o"),
        discrete_gaussian(centred(vector("c"), 5), F(16), F(1, 8), "c"),
        to_zcdp(late()),
    )
    points = assume_lipschitz("near", ONE, F(1, 32), F(5, 2), "t")
    unit = k_norm(moved(points, ONE), F(3, 4), F(33, 32), F(1, 64), "near")
    rows = assume_covers("near", [(1, 1), (2, 2)], "t")
    yield within(group(nodes(unit, rows), 3), F(5, 2))
    yield gaussian(centred(moved(points, HALF), 3), F(4), "near")
    yield gaussian(moved(points, None), F(4), "near")
    decaying = buffered(vector("f"), 4, 2, [(3, 5), (1, 7)], 3, F(1, 64), F(8))
    yield to_approximate(gaussian(decaying, F(64), "f"), ONE, F(1, 8))
    yield to_approximate(gaussian(joint(person, F(16, 25)), F(16), "j"), F(2), F(1, 4))
    leaf = lattice_gaussian(differences(assume_points("x", [(0, 1), (1, 0)], REPLACE_ONE, "t")), F(9), "x")
    tree = to_approximate(nodes(leaf, assume_tree("x", 4, "t", 2)), ONE, F(1, 8))
    first = to_approximate(nodes(pure("y"), assume_covers("y", [(1, 2)], "t")), ONE, F(0))
    last = to_approximate(nodes(pure("z"), assume_covers("z", [(3, 4)], "t")), ONE, F(1, 64))
    yield billboard(compose(tree, parallel(first, last)), assume_view("b", "others", "t"))
    spent = assume_filter("e", "zcdp", [F(1, 50)], ADD_REMOVE, "t")
    yield to_approximate(to_renyi(replace_one(group(spent, 2)), [F(3), F(9)]), ONE, F(1, 4), F(9))
    pair = assume_neighbours("x", "vector", [ONE, F(0)], [F(0), ONE], REPLACE_ONE, "t")
    yield refute(apart(pair, assume_tree("x", 3, "t"), "gaussian", F(4)), HALF, F(1, 100))
    pair = assume_neighbours("o", "outer", [ONE, F(3)], [ONE, F(-2)], REPLACE_ONE, "t")
    yield refute(apart(pair, assume_covers("o", [(1, 1)], "t"), "gaussian", F(90)), HALF, F(1, 100))
    pair = assume_neighbours("q", "vector", [HALF], [F(0)], ADD_REMOVE, "t")
    yield refute(apart(pair, assume_covers("q", [(1, 4)], "t"), "laplace", F(1, 4)), ONE, F(1, 4))
    yield refute(assume_event("q", F(3, 4), F(1, 16), REPLACE_ONE, "t", "local"), ONE, HALF)
    yield refute(assume_event("q", ONE, F(0), "bounded-row, radius 1/2", "t"), F(90), HALF)


DERIVATIONS = [write(theorem) for theorem in theorems()]
