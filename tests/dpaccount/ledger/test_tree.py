"""The tree of totals against one number per unit, from few amounts and adjacent covers; and against forgers."""

import hashlib
import random
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import LedgerError
from dpaccount.ledger.balances import segment_tree, step_functions
from dpaccount.ledger.balances.segment_tree import SpentTree, marks_of, nothing, read
from dpaccount.ledger.balances.step_functions import LAST_UNIT, plus, spent_on, total, written, zero
from tests.depth import deep, examples
from tests.looped import looped

UNITS = 20
sizes = st.sampled_from([Fraction(1, 10), Fraction(1, 4), Fraction(0)])
amounts = st.tuples(sizes, sizes)
covers = st.one_of(
    st.none(),
    st.sampled_from([(1, 7), (8, 8), (8, 15), (1, 15), (16, 16), (9, 16)]),
    st.tuples(st.integers(1, UNITS), st.integers(1, UNITS)).map(lambda ends: (min(ends), max(ends))),
)
parts = st.lists(st.tuples(covers, amounts), max_size=4)
charges = st.lists(parts.map(lambda some: total([spent_on(*one) for one in some], 2)), max_size=7)


def charge(tree: SpentTree, steps) -> None:
    tree.add(*marks_of(steps, len(tree.root.everyone.amounts)))


def first_unit(tree: SpentTree, holds) -> tuple:
    """Return the first unit whose amounts satisfy this, and its amounts."""
    return tree.beyond(lambda amounts: not holds(amounts)) or (1, tree.root.peak)


def of_charges(charges, width):
    """Return the tree of charges, in memory."""
    tree = SpentTree(nothing(width), lambda _: None)
    for steps in charges:
        charge(tree, steps)
    return tree


def stored(nodes: dict, tree: SpentTree) -> None:
    for node, body in tree.changed.items():
        if body is None:
            nodes.pop(node, None)
        else:
            nodes[node] = body


def one_by_one(many) -> tuple[SpentTree, dict]:
    """Charge one after another, each in a tree read anew from what is stored."""
    nodes: dict = {}
    root = nothing(2)
    for steps in many:
        tree = SpentTree(read(root.text, 2), nodes.get)
        charge(tree, steps)
        stored(nodes, tree)
        root = tree.root
    return SpentTree(root, nodes.get), nodes


def levels(many) -> list:
    """Return what each unit, and one beyond all, has spent."""
    steps = total(many, 2)
    units = [*range(1, UNITS + 2), LAST_UNIT]
    return [next((level for first, level in reversed(steps) if first <= unit), zero(2)) for unit in units]


@given(parts)
def test_a_sum_of_step_functions_is_one_number_per_unit(some):
    steps = total([spent_on(*one) for one in some], 2)
    for unit in range(1, UNITS + 3):
        pays = [spent for cover, spent in some if cover is None or cover[0] <= unit <= cover[1]]
        level = next((level for first, level in reversed(steps) if first <= unit), zero(2))
        assert level == tuple(map(sum, zip(zero(2), *pays, strict=True)))


@given(st.tuples(st.fractions(0, 2, max_denominator=6), st.fractions(0, 1, max_denominator=4)))
def test_text_of_amounts_is_read_back(spent):
    assert step_functions.read(written(spent), 2) == spent


@looped(
    "text",
    [
        *(
            "1/2 0 0",
            "1/2",
            "2/4 0",
            "0.5 0",
            "-1 0",
            "1/2  0",
            "+1 0",
            " 1 0",
            "1/0 0",
            "x 0",
            "1_0 0",
            "٣ 0",
        ),
        *("1e999999999 0", "1e-999999999 0"),  # as fractions they would take all memory
    ],
)
def test_text_of_amounts_has_one_spelling(text):
    with pytest.raises(ValueError, match=r"amount|invalid literal"):
        step_functions.read(text, 2)


@deep
@examples(100, 400)
@given(charges)
def test_the_peak_and_the_first_unit_to_reach_a_level_are_those_of_one_number_per_unit(many):
    tree, _ = one_by_one(many)
    spent = levels(many)
    assert tree.root.peak == (max(one[0] for one in spent), max(one[1] for one in spent))
    for which in (0, 1):
        for least in {one[which] for one in spent}:
            unit, level = first_unit(tree, lambda top, which=which, least=least: top[which] >= least)
            first = next(place for place, one in enumerate(spent) if one[which] >= least)
            assert level == spent[first]
            assert unit == (first + 1 if first <= UNITS else 1 << tree.root.height)


@deep
@examples(100, 400)
@given(charges, st.randoms(use_true_random=False))
def test_the_tree_depends_on_which_charges_were_made_and_not_on_when(many, dice):
    tree, nodes = one_by_one(many)
    shuffled = list(many)
    dice.shuffle(shuffled)
    other, others = one_by_one(shuffled)
    together = of_charges(many, 2)
    assert tree.root.text == other.root.text == together.root.text
    assert nodes == others == {node: body for node, body in together.changed.items() if body is not None}


@deep
@examples(100, 400)
@given(charges, charges)
def test_what_was_added_can_be_taken_away(before, later):
    there, nodes = one_by_one([*before, *later])
    back = SpentTree(there.root, nodes.get)
    for steps in later:
        everyone, marks = marks_of(steps, 2)
        negative = [(first, last, tuple(-one for one in spent)) for first, last, spent in marks]
        back.add(tuple(-one for one in everyone), negative)
    back.shrink()
    stored(nodes, back)
    wanted, expected = one_by_one(before)
    assert back.root.text == wanted.root.text
    assert nodes == expected


@deep
@examples(100, 400)
@given(charges)
def test_a_node_is_authentic(many):
    """Every stored text is fixed by the root: each is what a digest above it is taken over, and no other is."""
    tree, nodes = one_by_one(many)
    digests = {tree.root.edge[2]} | {part for body in nodes.values() for part in body.split("|")[2::3]}
    assert {hashlib.sha256(body.encode()).hexdigest() for body in nodes.values()} == digests - {""}


@looped("seed", range(20))
def test_a_changed_node_is_refused_by_every_charge_that_reads_it(seed):
    dice = random.Random(seed)
    ends = [sorted(dice.sample(range(1, 1000), 2)) for _ in range(30)]
    tree, nodes = one_by_one([spent_on((a, b), (Fraction(1, 7), Fraction(0))) for a, b in ends])
    for node in dice.sample(sorted(nodes), 10):
        wrong = dict(nodes)
        body = nodes[node]
        wrong[node] = dice.choice([None, body + " ", body.replace("/7", "/9"), body[::-1], body.encode(), ""])
        height = 63 - node.bit_length() + 1
        low = (node - (1 << (63 - height))) << height
        inside = (max(low, 1), low + (1 << height) - 2)  # covers its node in part
        read: list = []
        again = SpentTree(tree.root, lambda at, read=read, wrong=wrong: (read.append(at), wrong.get(at))[1])
        if wrong[node] == body:
            continue
        with pytest.raises(LedgerError, match="totals were changed"):
            charge(again, spent_on(inside, (Fraction(1), Fraction(0))))
        assert read[-1] == node


@deep
def test_a_charge_reads_two_nodes_a_height_and_writes_as_many():
    dice = random.Random(1)
    tree, nodes = SpentTree(nothing(1), lambda _: None), dict[int, str]()
    for _ in range(300):
        first, last = sorted(dice.sample(range(1, 10**6), 2))
        read: list = []
        tree = SpentTree(tree.root, lambda at, read=read: (read.append(at), nodes.get(at))[1])
        charge(tree, spent_on((first, last), (Fraction(1, dice.randrange(1, 999)),)))
        stored(nodes, tree)
        assert len(read) <= 2 * 20
        assert len(tree.changed) <= 2 * 20
        read.clear()
        charge(SpentTree(tree.root, lambda at, read=read: read.append(at)), [(1, (Fraction(1),))])
        assert not read


def test_units_end_where_the_store_does():
    tree = of_charges(
        [spent_on((LAST_UNIT, LAST_UNIT), (Fraction(1),)), spent_on((1, LAST_UNIT), (Fraction(2),))], 1
    )
    assert tree.root.height == 63
    assert first_unit(tree, lambda top: top[0] >= 3) == (LAST_UNIT, (Fraction(3),))
    assert all(0 < node < 2**63 for node in tree.changed)


@looped(
    "steps",
    [[(2, (Fraction(1),))], [(1, (Fraction(1),)), (3, (Fraction(2),))], [(0, (Fraction(1),)), (3, zero(1))]],
)
def test_steps_that_no_charge_has_are_refused(steps):
    with pytest.raises(ValueError, match="not the steps"):
        marks_of(steps, 1)


@looped(
    "text", ["", "0|0|0|0", "0|0|0|0|x|", "64|0|0|0|", "-1|0|0|0|", "00|0|0|0|", "0|0.0|0|0|", "0|0 0|0|0|"]
)
def test_a_root_has_one_spelling(text):
    for _ in range(2):  # what is remembered of roots that were made must not let it in
        with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
            read(text, 1)


def test_what_is_remembered_is_what_the_text_says():
    """Two trees with nodes in the same places; one is charged between two reads of the other."""
    first, ones = one_by_one([spent_on((3, 5), (Fraction(1, 2), Fraction(0)))])
    other, others = one_by_one([spent_on((3, 5), (Fraction(1, 3), Fraction(1)))])
    assert set(ones) == set(others)
    for tree, nodes, amount in ((first, ones, (Fraction(1, 2), 0)), (other, others, (Fraction(1, 3), 1))):
        again = SpentTree(read(tree.root.text, 2), nodes.get)
        assert again.at(4) == amount
        assert again.at(6) == (0, 0)
    with pytest.raises(LedgerError, match="totals were changed"):
        SpentTree(read(first.root.text, 2), others.get).at(4)
    for gone in (None, b"", 5):
        with pytest.raises(LedgerError, match="totals were changed"):
            SpentTree(read(first.root.text, 2), lambda _, gone=gone: gone).at(4)


def test_the_broken_twin_that_checks_no_digest_believes_a_lowered_total(monkeypatch):
    """What the tests above rest on: without the digests a lowered node is read as it stands."""
    tree, nodes = one_by_one([spent_on((3, 5), (Fraction(1, 2), Fraction(0)))])
    monkeypatch.setattr(segment_tree, "text_digest", lambda _: "same")
    monkeypatch.setattr(segment_tree, "_MEANT", {})
    lowered = {node: re.sub("[0-9a-f]{64}", "same", body.replace("1/2", "0")) for node, body in nodes.items()}
    edge = tree.root.edge._replace(digest="same")
    believed = SpentTree(segment_tree.Root(tree.root.height, tree.root.everyone, edge), lowered.get)
    charge(believed, spent_on((3, 5), (Fraction(1, 2), Fraction(0))))
    assert believed.root.peak == (Fraction(1, 2), Fraction(0))
    assert plus(tree.root.peak, tree.root.peak) == (Fraction(1), Fraction(0))
