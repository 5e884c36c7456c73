"""What events mean: the releases that each kind adds, for which units, and what is no event."""

import json
from fractions import Fraction
from random import Random

import pytest

from dpaccount.checker import Rejected
from dpaccount.checker.accounting.plan import classes
from dpaccount.checker.accounting.releases import PlanRelease, Releases
from dpaccount.checker.documents import Work
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan
from dpaccount.plan.plan_file import read_plan
from tests.looped import looped

F = Fraction
ADD, SWAP = "add-remove", "replace-one"


def read(relation, *events, group=1):
    Work.begin(10**8)
    return classes({"schema": "dpaccount/events/1", "relation": relation, "events": [*events]}, group)


def releases(relation, *events, group=1):
    [(unit, on)] = read(relation, *events, group=group)[1]
    assert unit is None
    return on


def one(kind, *numbers, count=1, on=None, square=0):
    return Releases(F(square), ((PlanRelease(kind, numbers, on), count),))


INNER = one("response", F(1, 2), 2)
NORMAL = Releases(F(1, 4), ())
PURE, GAUSSIAN = {"event": "pure", "epsilon": "0.5"}, {"event": "gaussian", "sigma": 2}
BANDED = {"event": "banded_poisson", "rounds": 6, "sigma": 2, "rate": "0.1", "parts": 2}
LAW = {"p": ["1/2", "1/4", "1/4"], "q": ["1/4", "1/4", "0.5"]}
MEANT = [
    (ADD, GAUSSIAN, NORMAL),
    (ADD, {**GAUSSIAN, "sensitivity": 3, "count": 4}, Releases(F(9), ())),
    (ADD, {"event": "gdp", "mu": "0.5"}, NORMAL),
    (SWAP, {"event": "laplace", "scale": 4, "sensitivity": 3, "count": 2}, one("laplace", F(3, 4), count=2)),
    (SWAP, {"event": "permute_and_flip", "epsilon": "0.3"}, one("laplace", F(3, 10))),
    (ADD, {"event": "discrete_laplace", "scale": "2.5", "sensitivity": 2}, one("geometric", F(5, 2), 2)),
    (ADD, {"event": "discrete_gaussian", "sigma": 2, "sensitivity": 3}, one("discrete-gaussian", F(2), 3)),
    (ADD, {"event": "discrete_gaussian", "sigma": 2, "dimension": 5, "sensitivity": "0.5"}, one("zcdp", F(1, 32))),
    (SWAP, {"event": "randomized_response", "epsilon": 1, "k": 7}, one("response", F(1), 7)),
    (SWAP, {"event": "randomized_response", "epsilon": 1}, one("response", F(1), 2)),
    (ADD, PURE, INNER),
    (ADD, {"event": "approximate", "epsilon": "0.5", "delta": "1e-3"}, one("approximate", F(1, 2), F(1, 1000))),
    (ADD, {"event": "approximate", "epsilon": 0, "delta": "1e-3"}, one("approximate", F(0), F(1, 1000))),
    (ADD, {"event": "approximate", "epsilon": 1, "delta": 1}, one("approximate", F(1), F(1))),
    (ADD, {"event": "exponential", "epsilon": "0.5"}, one("range", F(1, 2))),
    (ADD, {"event": "bounded_range", "eta": "0.5", "count": 3}, one("range", F(1, 2), count=3)),
    (ADD, {"event": "zcdp", "rho": "0.5", "count": 3}, one("zcdp", F(3, 2))),
    (ADD, {"event": "zcdp", "rho": "0.5", "xi": "0.25", "count": 2}, one("zcdp", F(1), F(1, 2))),
    (ADD, {"event": "rdp", "points": [[2, "0.1"], ["7/2", 1]], "count": 2}, one("rdp", ((F(2), F(1, 5)), (F(7, 2), F(2))))),
    (ADD, {"event": "dominating_pair", **LAW}, one("table", (F(1, 2), F(1, 4), F(1, 4)), (F(1, 4), F(1, 4), F(1, 2)))),
    (ADD, {"event": "sequence", "of": [PURE, {**GAUSSIAN, "count": 2}], "count": 3}, one("response", F(1, 2), 2, count=3, square=F(3, 2))),
    (ADD, {"event": "poisson_subsampled", "rate": "0.1", "of": PURE, "count": 5}, one("poisson", F(1, 10), on=INNER, count=5)),
    (ADD, {"event": "poisson_subsampled", "rate": "0.1", "of": {**GAUSSIAN, "count": 3}}, one("poisson", F(1, 10), on=Releases(F(3, 4), ()))),
    (ADD, {"event": "poisson_subsampled", "rate": 1, "of": PURE, "count": 5}, one("response", F(1, 2), 2, count=5)),
    (ADD, {"event": "poisson_examples", "rate": "0.1", "examples": 3, "of": GAUSSIAN, "count": 5}, one("sampled-group", F(1, 10), 3, 0, on=NORMAL, count=5)),
    (ADD, {"event": "poisson_examples", "rate": "0.1", "examples": 256, "of": {"event": "sequence", "of": [GAUSSIAN, {"event": "gdp", "mu": 1}]}}, one("sampled-group", F(1, 10), 256, 0, on=Releases(F(5, 4), ()))),
    (ADD, {"event": "poisson_examples", "rate": 1, "examples": 3, "of": GAUSSIAN, "count": 5}, Releases(F(45, 4), ())),
    (ADD, {**BANDED, "coefficients": [1, "-0.5"]}, one("poisson", F(1, 10), on=Releases(F(5, 16), ()), count=3)),
    (ADD, {**BANDED, "rate": 1, "coefficients": [1, "1/2"]}, Releases(F(15, 16), ())),
    (ADD, BANDED, one("poisson", F(1, 10), on=Releases(F(5, 16), ()), count=3)),
    (SWAP, {"event": "poisson_replaced", "rate": "0.1", "of": GAUSSIAN}, one("replaced", F(1, 10), on=NORMAL)),
    (SWAP, {"event": "poisson_replaced", "rate": 1, "of": PURE}, one("replaced", F(1), on=INNER)),
    (SWAP, {"event": "sampled_without_replacement", "size": 2, "population": 5, "of": PURE}, one("without-replacement", F(2, 5), on=INNER)),
    (SWAP, {"event": "sampled_without_replacement", "size": 2, "population": 5, "of": {"event": "sampled_without_replacement", "size": 1, "population": 2, "of": PURE}}, one("without-replacement", F(2, 5), on=one("without-replacement", F(1, 2), on=INNER))),
    (SWAP, {"event": "sampled_without_replacement", "size": 5, "population": 5, "of": PURE, "count": 2}, one("response", F(1, 2), 2, count=2)),
]  # fmt: skip


@looped(("relation", "given", "meant"), MEANT)
def test_an_event_adds_its_releases(relation, given, meant):
    assert releases(relation, given) == meant
    more = releases(relation, given, {**given, "count": 2 * given.get("count", 1)}, GAUSSIAN)
    assert more.mu_squared == 3 * meant.mu_squared + F(1, 4)
    summed = {release.kind: count for release, count in more.others}
    for release, count in meant.others:
        assert summed[release.kind] == {"zcdp": 1, "rdp": 1}.get(release.kind, 3 * count)


NOTHING = Releases(F(0), ())
EMPTY = [
    (ADD, {"event": "laplace", "scale": 4, "sensitivity": 0}),
    (ADD, {"event": "permute_and_flip", "epsilon": 0}),
    (ADD, {"event": "discrete_laplace", "scale": 4, "sensitivity": 0}),
    (ADD, {"event": "discrete_gaussian", "sigma": 4, "sensitivity": 0}),
    (SWAP, {"event": "randomized_response", "epsilon": 0}),
    (ADD, {"event": "pure", "epsilon": 0}),
    (ADD, {"event": "approximate", "epsilon": 0, "delta": 0}),
    (ADD, {"event": "bounded_range", "eta": 0}),
    (ADD, {"event": "zcdp", "rho": 0}),
    (ADD, {"event": "dominating_pair", "p": ["1/2", "1/2"], "q": ["1/2", "1/2"]}),
    (ADD, {"event": "poisson_subsampled", "rate": 0, "of": PURE}),
    (ADD, {"event": "poisson_examples", "rate": 0, "examples": 2, "of": GAUSSIAN}),
    (ADD, {**BANDED, "rate": 0}),
    (ADD, {**BANDED, "sensitivity": 0}),
    (ADD, {"event": "poisson_subsampled", "rate": "0.5", "of": {"event": "gdp", "mu": 0}}),
    (SWAP, {"event": "poisson_replaced", "rate": 0, "of": PURE}),
    (SWAP, {"event": "poisson_replaced", "rate": "0.5", "of": {"event": "gdp", "mu": 0}}),
    (
        SWAP,
        {"event": "sampled_without_replacement", "size": 1, "population": 4, "of": {"event": "gdp", "mu": 0}},
    ),
]


@looped(("relation", "given"), EMPTY)
def test_what_moves_nothing_adds_nothing(relation, given):
    assert releases(relation, given) == NOTHING


REFUSED = [
    (ADD, {"event": "unknown"}, "unknown event"),
    (ADD, {"event": ["pure"], "epsilon": 1}, "unhashable"),
    (ADD, [], "unknown event"),
    (ADD, {"event": "gaussian"}, "look at sigma"),
    (ADD, {**GAUSSIAN, "other": 1}, "look at other"),
    (ADD, {"event": "gaussian", "sigma": 0}, "out of range"),
    (ADD, {"event": "gaussian", "sigma": -1}, "out of range"),
    (ADD, {**GAUSSIAN, "sensitivity": -1}, "out of range"),
    (ADD, {**GAUSSIAN, "sigma": True}, "a number"),
    (ADD, {**GAUSSIAN, "sigma": "1/0"}, "a number"),
    (ADD, {**GAUSSIAN, "sigma": "nan"}, "a number"),
    (ADD, {**GAUSSIAN, "sigma": "1" * 401}, "a number"),
    (ADD, {**GAUSSIAN, "count": 0}, "out of range"),
    (ADD, {**GAUSSIAN, "count": "1"}, "an integer"),
    (ADD, {**GAUSSIAN, "count": 1.5}, "an integer"),
    (ADD, {**GAUSSIAN, "cover": [3, 2]}, "a cover"),
    (ADD, {**GAUSSIAN, "cover": [1, 2, 3]}, "a cover"),
    (ADD, {**GAUSSIAN, "cover": [0, 2]}, "out of range"),
    (ADD, {**GAUSSIAN, "cover": "12"}, "a list"),
    (ADD, {"event": "gdp", "mu": -1}, "out of range"),
    (ADD, {"event": "pure", "epsilon": -1}, "out of range"),
    (ADD, {"event": "approximate", "epsilon": 1, "delta": "1.1"}, "out of range"),
    (ADD, {"event": "discrete_laplace", "scale": 2, "sensitivity": "0.5"}, "whole"),
    (ADD, {"event": "discrete_gaussian", "sigma": 2, "sensitivity": "0.5"}, "whole"),
    (SWAP, {"event": "randomized_response", "epsilon": 1, "k": 1}, "out of range"),
    (ADD, {"event": "rdp", "points": []}, "orders"),
    (ADD, {"event": "rdp", "points": [[1, "0.1"]]}, "orders"),
    (ADD, {"event": "rdp", "points": [[2, "-0.1"]]}, "out of range"),
    (ADD, {"event": "dominating_pair", "p": ["1/2"], "q": ["1"]}, "laws"),
    (ADD, {"event": "dominating_pair", "p": ["1"], "q": ["1/2"]}, "laws"),
    (ADD, {"event": "dominating_pair", "p": ["1", "0"], "q": ["1"]}, "laws"),
    (ADD, {"event": "dominating_pair", "p": ["3/2", "-1/2"], "q": ["1", "0"]}, "a number"),
    (ADD, {"event": "dominating_pair", "p": ["1/4097"] * 4097, "q": ["1/4097"] * 4097}, "laws"),
    (ADD, {"event": "sequence", "of": [{**PURE, "cover": [1, 2]}]}, "inside another"),
    (ADD, {"event": "sequence", "of": [{"event": "dominating_pair", **LAW}]}, "inside another"),
    (ADD, {"event": "sequence", "of": [{"event": "tree", "rounds": 3, "sigma": 1}]}, "unknown event"),
    (ADD, {"event": "poisson_subsampled", "rate": "1.1", "of": PURE}, "out of range"),
    (ADD, {**BANDED, "rate": "1.1"}, "out of range"),
    (ADD, {"event": "poisson_examples", "rate": "1.1", "examples": 2, "of": GAUSSIAN}, "out of range"),
    (SWAP, {"event": "poisson_replaced", "rate": "1.1", "of": PURE}, "out of range"),
    (SWAP, {"event": "poisson_subsampled", "rate": "0.1", "of": PURE}, "not counted under replace-one"),
    (ADD, {"event": "poisson_replaced", "rate": "0.1", "of": PURE}, "not counted under add-remove"),
    (SWAP, {"event": "poisson_examples", "rate": "0.1", "examples": 2, "of": GAUSSIAN}, "not counted under replace-one"),
    (ADD, {"event": "poisson_examples", "rate": "0.1", "examples": 2, "of": PURE}, "no pair"),
    (ADD, {"event": "poisson_examples", "rate": "0.1", "examples": 2, "of": {"event": "laplace", "scale": 2}}, "no pair"),
    (ADD, {"event": "poisson_examples", "rate": "0.1", "examples": 257, "of": GAUSSIAN}, "no pair"),
    (ADD, {"event": "poisson_examples", "rate": "0.1", "examples": 0, "of": GAUSSIAN}, "out of range"),
    (SWAP, BANDED, "not counted under replace-one"),
    (ADD, {**BANDED, "coefficients": [1, 1, 1]}, "more bands than parts"),
    (ADD, {**BANDED, "coefficients": []}, "more bands than parts"),
    (ADD, {**BANDED, "parts": 1025}, "more bands than this checker"),
    (ADD, {**BANDED, "rows": [[1], [1, 1]]}, "a matrix that is written out"),
    (ADD, {"event": "dp_ftrl", "rounds": 2, "sigma": 1, "participations": 1, "separation": 1, "mechanism": "matrix", "rows": [[1], [1, 1]]}, "a matrix that is written out"),
    (ADD, {"event": "dp_ftrl", "rounds": 2, "sigma": 1, "participations": 1, "separation": 1, "mechanism": "toeplitz", "coefficients": [1, 2]}, "coefficients that rise"),
    (ADD, {"event": "randomized_response", "epsilon": 1}, "not counted under add-remove"),
    (ADD, {"event": "sampled_without_replacement", "size": 1, "population": 4, "of": PURE}, "not counted"),
    (SWAP, {"event": "poisson_replaced", "rate": "0.1", "of": {**PURE, "count": 2}}, "no pair"),
    (SWAP, {"event": "poisson_replaced", "rate": "0.1", "of": {"event": "zcdp", "rho": 1}}, "no pair"),
    (SWAP, {"event": "poisson_replaced", "rate": "0.1", "of": {"event": "sequence", "of": [PURE, GAUSSIAN]}}, "no pair"),
    (SWAP, {"event": "poisson_replaced", "rate": "0.1", "of": {"event": "sequence", "of": [PURE, {"event": "laplace", "scale": 2}]}}, "no pair"),
    (SWAP, {"event": "poisson_replaced", "rate": "0.1", "of": {"event": "randomized_response", "epsilon": 1, "k": 3}}, "no pair"),
    (SWAP, {"event": "poisson_replaced", "rate": "0.1", "of": {"event": "randomized_response", "epsilon": 1}}, "no pair"),
    (ADD, {"event": "random_allocation", "steps": 7, "of": PURE}, "does not confirm random_allocation"),
    (SWAP, {"event": "shuffled", "epsilon": "1/2", "population": 7}, "does not confirm shuffled"),
    (SWAP, {"event": "sampled_without_replacement", "size": 5, "population": 4, "of": PURE}, "size exceeds"),
    (SWAP, {"event": "sampled_without_replacement", "size": 1, "population": 1, "of": {"event": "sequence", "of": [PURE, {"event": "sampled_without_replacement", "size": 1, "population": 2, "of": PURE}]}}, "population in it"),
    (SWAP, {"event": "sampled_without_replacement", "size": 1, "population": 4, "of": PURE, "cover": [2, 4]}, "fewer units"),
    (SWAP, {"event": "sequence", "of": [PURE, {"event": "sampled_without_replacement", "size": 1, "population": 4, "of": PURE}], "cover": [2, 4]}, "fewer units"),
    (ADD, {"event": "tree", "rounds": 3, "sigma": 1, "cover": [1, 3]}, "look at"),
    (ADD, {"event": "tree", "rounds": 0, "sigma": 1}, "out of range"),
    (ADD, {"event": "tree", "rounds": 3, "sigma": 0}, "out of range"),
    (ADD, {"event": "matrix_factorisation", "rounds": 3, "sigma": 1, "kind": "other"}, "unknown kind"),
]  # fmt: skip


@looped(("relation", "given", "why"), REFUSED)
def test_what_is_no_event_is_refused(relation, given, why):
    with pytest.raises((Rejected, TypeError), match=why):
        read(relation, given)


def test_a_population_is_covered():
    given = {"event": "sampled_without_replacement", "size": 1, "population": 4, "of": PURE}
    [(unit, on)] = read(SWAP, {**given, "cover": [2, 5]})[1]
    assert (unit, on.others[0][0].numbers) == (2, (F(1, 4),))


def test_a_plan_says_its_schema_and_a_relation():
    whole = {"schema": "dpaccount/events/1", "relation": ADD, "events": [PURE]}
    assert classes(whole) == (ADD, [(None, INNER)])
    for change in ({"schema": "dpaccount/events/2"}, {"relation": "either"}, {"events": {}}, {"more": 1}):
        with pytest.raises(Rejected):
            classes({**whole, **change})


def test_units_meet_the_events_that_cover_them():
    covers = [(1, 5), (4, 9), (5, 5), (7, 12), (20, 21)]
    events = [{"event": "pure", "epsilon": f"{k}/7", "cover": [*cover]} for k, cover in enumerate(covers, 1)]
    found = read(ADD, GAUSSIAN, *events)[1]
    met = {unit: {on for on in range(5) if covers[on][0] <= unit <= covers[on][1]} for unit in range(1, 23)}
    classes_found = {unit: {int(7 * r.numbers[0]) - 1 for r, _ in on.others} for unit, on in found}
    assert all(met[unit] == held for unit, held in classes_found.items())
    for held in met.values():  # whatever a unit meets, some class meets too
        assert any(held <= other for other in classes_found.values())
    assert all(on.mu_squared == F(1, 4) for _, on in found)


@looped("name", ["tree", "matrix_factorisation"])
@looped("start", [{}, {"start": 1}, {"start": 4}])
def test_the_units_of_a_stream_are_its_rounds_from_the_first_one_on(name, start):
    rounds = range(start.get("start", 1), start.get("start", 1) + 3)
    for unit in range(1, 9):
        met = read(ADD, {"event": name, "rounds": 3, "sigma": 1, **start}, {**PURE, "cover": [unit, unit]})[1]
        assert any(on.others and on.mu_squared for _, on in met) == (unit in rounds)


@looped(
    "event",
    [
        ev.Tree(rounds=13, sigma=3, sensitivity=2, start=4, count=2),
        ev.Tree(rounds=8, sigma=3),
        ev.DpFtrl(rounds=12, sigma=8, participations=2, separation=5),
        ev.DpFtrl(rounds=16, sigma=8, participations=4, separation=4),
    ],
)
def test_streams_move_what_the_accountant_says(event):
    """Trees are exact in both programs."""
    found = max(on.mu_squared for _, on in classes(Plan(ADD, event).as_json())[1])
    assert found == event.mu_squared()


@looped(
    "event",
    [
        ev.MatrixFactorisation(rounds=9, sigma=3, sensitivity=2, count=2),
        ev.DpFtrl(rounds=30, sigma=8, participations=3, separation=7, mechanism="sqrt-toeplitz"),
        ev.DpFtrl(rounds=30, sigma=8, participations=3, separation=7, mechanism="banded-toeplitz", bands=4),
        ev.DpFtrl(
            rounds=9,
            sigma=2,
            participations=2,
            separation=4,
            mechanism="toeplitz",
            coefficients=(1, "1/2", "1/3"),
        ),
    ],
)
def test_factors_move_at_least_what_the_accountant_says_and_hardly_more(event):
    found = max(on.mu_squared for _, on in classes(Plan(ADD, event).as_json())[1])
    known = event.mu_squared()
    assert abs(found - known) <= known * F(1, 10**12)


def test_a_group_moves_noise_by_as_many_times_as_much():
    for given, meant in (
        (GAUSSIAN, Releases(F(9, 4), ())),
        ({"event": "laplace", "scale": 4}, one("laplace", F(3, 4))),
        ({"event": "bounded_range", "eta": 1}, one("range", F(3))),
        ({"event": "discrete_laplace", "scale": 4, "sensitivity": 2}, one("geometric", F(4), 6)),
        ({"event": "discrete_gaussian", "sigma": 4, "sensitivity": 2}, one("discrete-gaussian", F(4), 6)),
        (PURE, one("geometric", F(2), 3)),
        ({"event": "zcdp", "rho": "0.1", "count": 2}, one("zcdp", F(9, 5))),
    ):
        assert releases(ADD, given, group=3) == meant
    sample = {"event": "poisson_subsampled", "rate": "0.1", "of": GAUSSIAN, "count": 2}
    for group, known in ((2, (1, 2)), (3, (2, 3)), (4, (2, 3, 4))):  # so many in the first dataset alone
        assert [on for _, on in read(ADD, sample, GAUSSIAN, group=group)[1]] == [
            one("sampled-group", F(1, 10), a, group - a, count=2, on=NORMAL, square=F(group**2, 4))
            for a in known
        ]
    assert len(read(ADD, sample, group=9)[1]) == 5
    with pytest.raises(Rejected, match="more than this checker takes"):
        read(ADD, sample, group=10)
    for given in (
        {"event": "approximate", "epsilon": 1, "delta": "0.1"},
        {"event": "rdp", "points": [[2, 1]]},
        BANDED,
        {"event": "sequence", "of": [GAUSSIAN, BANDED]},
    ):
        with pytest.raises(Rejected, match="no bound of groups"):
            read(ADD, given, group=2)
    with pytest.raises(Rejected, match="groups are confirmed"):
        read(ADD, {**PURE, "cover": [1, 2]}, {**PURE, "epsilon": 1, "cover": [3, 4]}, group=2)


NAMES = [
    {"event": "gaussian", "sigma": 1},
    {"event": "gdp", "mu": 1},
    {"event": "laplace", "scale": 1},
    {"event": "discrete_laplace", "scale": 1},
    {"event": "discrete_gaussian", "sigma": 1},
    {"event": "pure", "epsilon": 1},
    {"event": "approximate", "epsilon": 1, "delta": "0.1"},
    {"event": "zcdp", "rho": 1},
    {"event": "rdp", "points": [[2, 1]]},
    {"event": "exponential", "epsilon": 1},
    {"event": "bounded_range", "eta": 1},
    {"event": "permute_and_flip", "epsilon": 1},
    {"event": "randomized_response", "epsilon": 1},
    {"event": "dominating_pair", **LAW},
    {"event": "dp_ftrl", "rounds": 4, "sigma": 1, "participations": 2, "separation": 2},
    {"event": "tree", "rounds": 3, "sigma": 1},
]
AROUND = [
    {"event": "sequence"},
    {"event": "poisson_subsampled", "rate": "0.1"},
    {"event": "poisson_replaced", "rate": "0.1"},
    {"event": "poisson_examples", "rate": "0.1", "examples": 2},
    {"event": "sampled_without_replacement", "size": 1, "population": 4},
]


def nested(rng, depth=0):
    """Return a random event, most of them of no meaning."""
    if depth == 3 or rng.random() < 0.4:
        return {**rng.choice(NAMES), **({"count": 2} if rng.random() < 0.2 else {})}
    around = rng.choice(AROUND)
    inner = [nested(rng, depth + 1) for _ in range(rng.randint(1, 2))]
    return {**around, "of": inner if around["event"] == "sequence" else inner[0]}


def drawn(event):
    """Return the largest population that is drawn from."""
    of = event.get("of", [])
    return max([event.get("population", 0), *map(drawn, of if isinstance(of, list) else [of])])


@looped("seed", range(4))
def test_what_the_checker_takes_the_reader_of_plans_takes_and_no_cover_lacks_who_is_drawn(seed):
    rng, taken = Random(seed), 0
    for _ in range(500):
        given = {**nested(rng), **rng.choice([{}, {"cover": [2, 4]}, {"cover": [1, 4]}])}
        plan = {"schema": "dpaccount/events/1", "relation": rng.choice([ADD, SWAP]), "events": [given]}
        try:
            classes(plan)
        except Rejected:
            continue
        try:
            read_plan(parse_json(json.dumps(plan).encode(), "plan"))
        except InputError as why:
            assert "several releases" in str(why)  # noqa: PT017  # it counts a sequence of one as two
        assert given.get("cover") != [2, 4] or drawn(given) < 4
        taken += 1
    assert taken > 50
