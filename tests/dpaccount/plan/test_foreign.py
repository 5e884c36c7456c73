"""Plans of other libraries: every type is read as what it means there, or refused by its name."""

import contextlib
import copy
import json
import math
import random
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction

import opendp.prelude as dp
import pytest

from audits import cli
from dpaccount.accounting.accountant import Accountant
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.plan.events import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianMixture,
    Laplace,
    PermuteAndFlip,
    Plan,
    PoissonReplaced,
    PoissonSubsampled,
    RandomizedResponse,
    Repeated,
    SampledWithoutReplacement,
    Sequence,
    TruncatedPoisson,
    Zcdp,
)
from dpaccount.plan.foreign import (
    NO_NOISE,
    TREE,
    dp_event_tree,
    opacus_history,
    opendp_measurement,
    to_dp_event,
)
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep
from tests.looped import looped

GAUSS = {"type": "GaussianDpEvent", "noise_multiplier": 1.1}
LAPLACE = {"type": "LaplaceDpEvent", "noise_multiplier": 2.0}


def tree(event, relation="add-remove"):
    return dp_event_tree(parse_json(json.dumps({"schema": TREE, "event": event}), "tree.json"), relation)


READ = [
    ({"type": "NoOpDpEvent"}, []),
    (GAUSS, [Gaussian(sigma=1.1)]),
    ({"type": "LaplaceDpEvent", "noise_multiplier": 2.0}, [Laplace(scale=2)]),
    (
        {"type": "DiscreteLaplaceDpEvent", "noise_parameter": 0.1, "sensitivity": 3},
        [DiscreteLaplace(scale=10, sensitivity=3)],
    ),
    ({"type": "ZCDpEvent", "rho": 0.5, "xi": 0.0}, [Zcdp(rho=0.5)]),
    ({"type": "ZCDpEvent", "rho": 0.5, "xi": 0.25}, [Zcdp(rho=0.5, xi=0.25)]),
    ({"type": "SelfComposedDpEvent", "event": GAUSS, "count": 7}, [Gaussian(sigma=1.1, count=7)]),
    ({"type": "SelfComposedDpEvent", "event": GAUSS, "count": 0}, []),
    (
        {
            "type": "SelfComposedDpEvent",
            "count": 2,
            "event": {"type": "ComposedDpEvent", "events": [GAUSS, GAUSS]},
        },
        [Gaussian(sigma=1.1, count=2)] * 2,
    ),
    (
        {"type": "PoissonSampledDpEvent", "sampling_probability": 0.01, "event": GAUSS},
        [PoissonSubsampled(rate=0.01, of=Gaussian(sigma=1.1))],
    ),
    (
        {
            "type": "PoissonSampledDpEvent",
            "sampling_probability": 0.01,
            "event": {"type": "ComposedDpEvent", "events": [GAUSS, {"type": "NoOpDpEvent"}, GAUSS]},
        },
        [PoissonSubsampled(rate=0.01, of=Sequence(of=(Gaussian(sigma=1.1),) * 2))],
    ),
    (
        {
            "type": "MixtureOfGaussiansDpEvent",
            "standard_deviation": 2.0,
            "sensitivities": [0.0, 1.0, 2.0],
            "sampling_probs": [0.2, 0.6, 0.2],
        },
        [GaussianMixture(sigma=2, moves=[0, 1, 2], weights=[0.2, 0.6, 0.2])],
    ),
    *(
        (
            {"type": "RepeatAndSelectDpEvent", "event": GAUSS, "mean": mean, "shape": shape},
            [Repeated(of=Gaussian(sigma=1.1), **law)] if law else [Gaussian(sigma=1.1)],
        )
        for mean, shape, law in (
            (20.0, "inf", {"mean": 20}),
            (20.0, 1.0, {"gamma": "1/20"}),
            (1.0, 0.0, None),
        )
    ),
    (
        {
            "type": "TruncatedSubsampledGaussianDpEvent",
            "dataset_size": 4,
            "sampling_probability": 0.5,
            "truncated_batch_size": 9,
            "noise_multiplier": 2.0,
        },
        [TruncatedPoisson(rate=0.5, population=4, batch=4, of=Gaussian(sigma=2))],
    ),
    ({"type": "EpsilonDeltaDpEvent", "epsilon": 1, "delta": 1e-6}, [Approximate(epsilon=1, delta="1e-6")]),
    ({"type": "ExponentialMechanismDpEvent", "epsilon": 0.5}, [Exponential(epsilon=0.5)]),
    ({"type": "PermuteAndFlipDpEvent", "epsilon": 0.5}, [PermuteAndFlip(epsilon=0.5)]),
    (
        {"type": "DiscreteGaussianDpEvent", "sigma": 2.0, "sensitivity": 3.0, "dimension": 1},
        [DiscreteGaussian(sigma=2, sensitivity=3)],
    ),
    (  # the bound of any dimension
        {"type": "DiscreteGaussianDpEvent", "sigma": 2.0, "sensitivity": 1.5, "dimension": None},
        [DiscreteGaussian(sigma=2, sensitivity=1.5, dimension=2)],
    ),
    # a record is in one leaf, under at most four nodes of the larger tree
    (
        {"type": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 3.0, "step_counts": [4, 9]},
        [Gaussian(sigma=3, count=4)],
    ),
    (
        {"type": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 3.0, "step_counts": 7},
        [Gaussian(sigma=3, count=3)],
    ),
]


@looped(("mean", "shape"), [(m, s) for m in (1.001, 3.0, 1e6) for s in (0.0, 5e-324, 0.5, 2.0, 5.0)])
def test_a_gamma_of_repeat_and_select_is_just_below_that_of_its_mean(mean, shape):
    event = {"type": "RepeatAndSelectDpEvent", "event": GAUSS, "mean": mean, "shape": shape}
    gamma = float(tree(event).events[0].gamma)
    found = math.expm1(-math.log(gamma)) / -math.log(gamma)
    if shape > 1e-18:
        found = shape * (1 / gamma - 1) / (1 - gamma**shape)
    assert mean < found < mean * (1 + 1e-6)


@looped(("event", "means"), READ)
def test_a_dp_event_is_read_as_what_it_means(event, means):
    assert tree(event) == Plan("add-remove", means)


def test_samples_of_fixed_size_are_read_under_replace_one():
    drawn = {
        "type": "SampledWithoutReplacementDpEvent",
        "source_dataset_size": 100,
        "sample_size": 5,
        "event": GAUSS,
    }
    assert tree(drawn, "replace-one").events == (
        SampledWithoutReplacement(size=5, population=100, of=Gaussian(sigma=1.1, sensitivity=2)),
    )
    with pytest.raises(InputError, match="no meaning under add-remove"):
        tree(drawn)


def test_poisson_samples_are_read_under_replace_one():
    """A record's value counts once there, against a sample without it, and is not doubled here."""
    sampled = {"type": "PoissonSampledDpEvent", "sampling_probability": 0.01, "event": GAUSS}
    plan = tree({"type": "SelfComposedDpEvent", "event": sampled, "count": 3}, "replace-one")
    assert plan.events == (PoissonReplaced(rate=0.01, of=Gaussian(sigma=1.1), count=3),)
    back = to_dp_event(plan)["event"]["event"]
    assert (back["type"], back["event"]["type"]) == ("PoissonSampledDpEvent", "GaussianDpEvent")
    assert 1.1 - 1e-12 < back["event"]["noise_multiplier"] <= 1.1


@looped(("p", "k"), [(p, k) for p in ("0.5", "0.1", "1e-9") for k in (2, 8)])
def test_a_randomized_response_is_that_of_their_noise_parameter(p, k):
    """Their answers are 1 − p + p/k and p/k likely; one ε of ours, rounded up, has just these odds."""
    event = {"type": "RandomizedResponseDpEvent", "noise_parameter": float(p), "num_buckets": k}
    (found,) = tree(event, "replace-one").events
    odds = (1 - Fraction(p) + Fraction(p) / k) / (Fraction(p) / k)
    assert found.k == k
    with localcontext(prec=50):
        exact = Fraction(Decimal(odds.numerator).ln() - Decimal(odds.denominator).ln())
    assert 0 <= found.epsilon - exact < found.epsilon / 10**19
    with pytest.raises(InputError, match="no meaning under add-remove"):
        tree(event)


@looped(("p", "k", "means"), [(0, 2, [NO_NOISE]), (0, 1, []), (1, 4, [RandomizedResponse(epsilon=0, k=4)])])
def test_a_randomized_response_at_the_ends(p, k, means):
    event = {"type": "RandomizedResponseDpEvent", "noise_parameter": p, "num_buckets": k}
    assert tree(event, "replace-one").events == tuple(means)


#: Every class of dp_accounting's `dp_event` up to 0.6 and its sources of 2026, with or without a meaning here.
DP_EVENTS = {
    *("NoOp", "NonPrivate", "Unsupported", "RandomizedResponse", "EpsilonDelta", "Gaussian", "Laplace"),
    *("DiscreteLaplace", "DiscreteGaussian", "SelfComposed", "Composed", "PoissonSampled"),
    *("SampledWithReplacement", "SampledWithoutReplacement", "SingleEpochTreeAggregation"),
    *("RepeatAndSelect", "MixtureOfGaussians", "ZC", "ExponentialMechanism", "PermuteAndFlip"),
    "TruncatedSubsampledGaussian",
}


def test_every_class_of_dp_accounting_is_read_or_refused_with_its_reason():
    for kind in DP_EVENTS:
        with contextlib.suppress(InputError):
            tree({"type": f"{kind}DpEvent"})
            continue
        with pytest.raises(InputError) as refused:
            tree({"type": f"{kind}DpEvent"})
        assert "read are" not in str(refused.value), kind


def test_no_class_of_dp_accounting_is_missing_where_it_is_installed():
    dp_event = pytest.importorskip("dp_accounting.dp_event", reason="dp_accounting is not installed")
    theirs = {name for name in vars(dp_event) if name.endswith("DpEvent") and name != "DpEvent"}
    assert theirs <= {f"{kind}DpEvent" for kind in DP_EVENTS}


@looped(
    "kind",
    [
        "UnsupportedDpEvent",
        "SampledWithReplacementDpEvent",
        "os.system",
    ],
)
def test_other_dp_events_are_refused_by_name(kind):
    nested = {"type": "ComposedDpEvent", "events": [GAUSS, {"type": kind, "event": GAUSS}]}
    with pytest.raises(InputError, match=f"tree.json: /event/events/1: {kind} has no meaning here"):
        tree(nested)


@looped(
    "wrong",
    [
        {**GAUSS, "noise_multiplier": -1.0},
        {**GAUSS, "sensitivity": 2},
        {"type": "GaussianDpEvent"},
        {"type": "ZCDpEvent", "rho": 1.0, "xi": -0.1},
        {"type": "PoissonSampledDpEvent", "sampling_probability": 1.5, "event": GAUSS},
        3,
    ],
)
def test_a_wrong_dp_event_is_one_sentence(wrong):
    with pytest.raises(InputError, match=r"tree\.json: /event"):
        tree(wrong)


def test_a_replaced_record_moves_a_sum_by_two_of_its_values():
    """Their PLD accountant, asked for REPLACE_ONE, says 17.8566 for this event at 1e-5, and 7.5113 else."""
    event = {"type": "SelfComposedDpEvent", "event": {**GAUSS, "noise_multiplier": 2.0}, "count": 10}
    for relation, theirs in (("replace-one", 17.856587), ("add-remove", 7.511276)):
        assert math.isclose(Accountant(tree(event, relation)).epsilon(1e-5), theirs, rel_tol=1e-4)
    both = {"type": "ComposedDpEvent", "events": [LAPLACE, {"type": "ZCDpEvent", "rho": 1, "xi": 0}]}
    assert tree(both, "replace-one").events == (Laplace(scale=2, sensitivity=2), Zcdp(rho=1))


@looped(
    "event",
    [
        {"type": "NonPrivateDpEvent"},
        {**GAUSS, "noise_multiplier": 0.0},
        {**LAPLACE, "noise_multiplier": 0.0},
        {"type": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 0.0, "step_counts": 7},
    ],
)
def test_a_release_without_noise_guarantees_nothing(event):
    for relation in ("add-remove", "replace-one"):
        whole = Accountant(tree({"type": "ComposedDpEvent", "events": [GAUSS, event]}, relation))
        assert whole.epsilon(0.999).lower == whole.epsilon(0.999).upper == math.inf
        assert whole.delta(50).lower == 1
        assert (whole.zcdp(), whole.gdp(), whole.pure()) == (None, None, None)


def test_on_a_sample_only_those_who_are_drawn_are_seen():
    """The chance to be drawn at all is δ at every ε, in Opacus' histories too."""
    bare = {**GAUSS, "noise_multiplier": 0.0}
    drawn = {"type": "PoissonSampledDpEvent", "sampling_probability": 0.25, "event": bare}
    history = opacus_history(parse_json("[[0, 0.25, 2]]", "history.json"))
    twice = {"type": "SelfComposedDpEvent", "event": drawn, "count": 2}
    for plan in (tree(twice), tree(twice, "replace-one"), history):
        for epsilon in (0, 1, 30):
            found = Accountant(plan).delta(epsilon)
            assert found.lower <= Fraction(7, 16) <= found.upper
            assert found.upper - found.lower < 1e-9
        assert Accountant(plan).epsilon("0.4").lower == math.inf


def test_an_account_of_no_noise_says_so(tmp_path, capsys):
    (tmp_path / "tree.json").write_text(
        json.dumps({"schema": TREE, "event": {**GAUSS, "noise_multiplier": 0}})
    )
    assert cli.run(["import", "dp-event", str(tmp_path / "tree.json")]) == 0
    (tmp_path / "plan.json").write_text(capsys.readouterr().out)
    assert cli.run(["account", str(tmp_path / "plan.json"), "--delta", "1e-6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == {"lower": "inf", "upper": "inf"}
    assert cli.run(["account", str(tmp_path / "plan.json"), "--delta", "1e-6"]) == 0
    assert "guarantee  none at delta 1e-06: epsilon is infinite\n" in capsys.readouterr().out


def test_a_tree_says_its_relation():
    written = to_dp_event(Plan("replace-one", Gaussian(sigma=2)))
    assert written["relation"] == "replace-one"
    place = parse_json(json.dumps(written), "tree.json")
    with pytest.raises(InputError, match=r"tree\.json: /relation"):
        dp_event_tree(place)
    assert dp_event_tree(place, "replace-one").events == (Gaussian(sigma=2, sensitivity=2),)


@looped("number", ["1/3", "2/3", "0.1", "1e-400", "0." + "9" * 30, "1" + "0" * 17 + "1"])
def test_what_is_written_costs_no_less(number):
    """Doubles below, above and next to the number: noise never grows, rates and rho never shrink."""

    def back(event):
        document = json.dumps(to_dp_event(Plan("add-remove", event)))
        return dp_event_tree(parse_json(document, "tree.json")).events[0]

    assert back(Zcdp(rho=number)).rho >= Fraction(number)
    assert back(Zcdp(rho=1, xi=number)).xi >= Fraction(number)
    if Fraction(number) <= 1:
        drawn = PoissonSubsampled(rate=number, of=Gaussian(sigma=1))
        assert back(drawn).rate >= Fraction(number)
    if Fraction(number) > Fraction(1, 10**300):
        assert back(Gaussian(sigma=number)).sigma <= Fraction(number)
        assert back(Laplace(scale=1, sensitivity=number)).scale <= 1 / Fraction(number)


@looped("event", [Gaussian(sigma="1e-400"), Zcdp(rho="1e400"), Laplace(scale=1, sensitivity="1e400")])
def test_what_no_double_says_is_refused(event):
    with pytest.raises(InputError, match="double"):
        to_dp_event(Plan("add-remove", event))


OUT = Plan(
    "add-remove",
    [
        PoissonSubsampled(rate="1/128", count=9, of=Sequence(of=(Gaussian(sigma=2), Laplace(scale=4)))),
        Zcdp(rho=0.25, xi=0.125),
    ],
)


def test_a_plan_that_is_written_as_a_tree_costs_the_same():
    back = dp_event_tree(parse_json(json.dumps(to_dp_event(OUT)), "tree.json"))
    assert back == OUT
    moved = Plan("add-remove", Gaussian(sigma=6, sensitivity=3))
    again = dp_event_tree(parse_json(json.dumps(to_dp_event(moved)), "tree.json"))
    assert Accountant(again).epsilon(1e-5) == Accountant(moved).epsilon(1e-5)


def test_what_a_tree_cannot_say_is_refused():
    for event in (
        Gaussian(sigma=1, cover=(1, 2)),
        DiscreteGaussian(sigma=1),
        Gaussian(sigma=1, sensitivity=0),
    ):
        with pytest.raises(InputError):
            to_dp_event(Plan("add-remove", event))


# ------------------------------------------------------------------ Opacus


def test_a_history_is_read_with_and_without_its_state():
    history = [[1.1, 0.004, 100], [1.3, 0.004, 50]]
    for document in (history, {"history": history, "mechanism": "prv"}):
        plan = opacus_history(parse_json(json.dumps(document), "history.json"))
        assert [(e.of.sigma, e.rate, e.count) for e in plan.events] == [
            (Fraction("1.1"), Fraction("0.004"), 100),
            (Fraction("1.3"), Fraction("0.004"), 50),
        ]


UNIFORM = {"history": [[1.1, 0.004, 100]], "sampling": "uniform"}  # a member that their state never has


@looped("wrong", [[[1, 2]], [[1.1, 2, 3]], [[-1, 0.1, 3]], [[1, 0.1, 0]], {"mechanism": "rdp"}, 3, UNIFORM])
def test_a_wrong_history_is_one_sentence(wrong):
    with pytest.raises(InputError, match=r"history\.json"):
        opacus_history(parse_json(json.dumps(wrong), "history.json"))


# ------------------------------------------------------------------ OpenDP


@pytest.fixture(scope="module")
def integers():
    dp.enable_features("contrib")
    return dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


def read(measurement):
    return opendp_measurement(parse_json(dp.serialize(measurement), "measurement.json"))


def test_their_bound_is_the_cost_of_what_is_read(integers):
    """Their map of one individual more or less is the ε, or the ρ, of the events."""
    count = integers >> dp.t.then_count() >> dp.m.then_laplace(5.0)
    total = integers >> dp.t.then_clamp((-3, 100)) >> dp.t.then_sum() >> dp.m.then_gaussian(500.0)
    both = dp.c.make_composition([count, count])
    assert math.isclose(Accountant(read(count)).pure(), count.map(1))
    assert math.isclose(Accountant(read(both)).pure(), both.map(1))
    assert math.isclose(Accountant(read(total)).zcdp(), total.map(1))


def test_noise_of_scale_0_is_read_from_opendp(integers):
    bare = integers >> dp.t.then_count() >> dp.m.then_laplace(0.0)
    assert bare.map(1) == math.inf
    assert Accountant(read(bare)).epsilon(1e-6).lower == math.inf


def test_what_is_not_known_of_opendp_is_refused(integers):
    floats = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    rounded = floats >> dp.t.then_clamp((0.0, 9.0)) >> dp.t.then_sum() >> dp.m.then_laplace(5.0)
    with pytest.raises(InputError, match=r"no bounds of whole numbers; .*measurement\.map"):
        read(rounded)
    with pytest.raises(InputError, match="make_randomized_response_bool is not read"):
        read(dp.m.make_randomized_response_bool(0.75))
    swapped = dp.serialize(integers >> dp.t.then_count() >> dp.m.then_laplace(5.0))
    swapped = swapped.replace('"symmetric_distance"', '"change_one_distance"')
    with pytest.raises(InputError, match="the metric change_one_distance"):
        opendp_measurement(parse_json(swapped, "measurement.json"))
    later = dp.serialize(integers >> dp.t.then_count() >> dp.m.then_laplace(5.0)).replace("0.16.0", "9.1.0")
    with pytest.raises(InputError, match="this version is not known"):
        opendp_measurement(parse_json(later, "measurement.json"))


def test_what_comes_before_a_count_is_read_too(integers):
    """A resize moves two rows for one: their map says twice what a bare count has."""
    clamped = integers >> dp.t.then_clamp((0, 10))
    resized = clamped >> dp.t.then_resize(10, 0) >> dp.t.then_count() >> dp.m.then_laplace(5.0)
    assert math.isclose(resized.map(1), 0.4)
    with pytest.raises(InputError, match=r"make_chain_tt moves is not read here"):
        read(resized)
    alone = clamped >> dp.t.then_count() >> dp.m.then_laplace(5.0)
    assert math.isclose(Accountant(read(alone)).pure(), alone.map(1))


def test_a_count_as_a_float_has_other_noise(integers):
    with pytest.raises(InputError, match="a count as a float"):
        read(integers >> dp.t.then_count(TO=float) >> dp.m.then_gaussian(5.0))


@deep
@pytest.mark.parametrize(
    "name", ["make_chain_pm", "make_chain_mt", "make_composition", "make_basic_composition"]
)
@pytest.mark.parametrize("given", [{}, [], 3, None])
def test_what_is_missing_of_opendp_is_one_sentence(name, given):
    call = {"__function__": name, "__module__": "combinators", "__kwargs__": given}
    with pytest.raises(InputError, match=r"measurement\.json: /__kwargs__"):
        opendp_measurement(parse_json(json.dumps(call), "measurement.json"))


def test_an_adaptive_composition_of_opendp_is_refused(integers):
    whole = dp.c.make_adaptive_composition(*integers, dp.max_divergence(), 1, [1.0])
    with pytest.raises(InputError, match="make_adaptive_composition is not read"):
        read(whole)
    older = dp.serialize(whole).replace("make_adaptive", "make_sequential")
    with pytest.raises(InputError, match="make_sequential_composition is not read"):
        opendp_measurement(parse_json(older, "measurement.json"))


def places(value, at=()):
    yield at
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield from places(member, (*at, key))


def test_a_file_that_is_changed_anywhere_is_read_or_refused_in_a_line(integers):
    count = integers >> dp.t.then_clamp((0, 9)) >> dp.t.then_sum() >> dp.m.then_laplace(5.0)
    files = [
        (opendp_measurement, json.loads(dp.serialize(count))),
        (opacus_history, {"history": [[1.1, 0.01, 5]]}),
        (dp_event_tree, to_dp_event(OUT)),
    ]
    dice, messages = random.Random(7), []
    for reader, document in files:
        every = [at for at in places(document) if at]
        for at in every if len(every) < 60 else dice.sample(every, 60):
            changed = copy.deepcopy(document)
            inside = changed
            for key in at[:-1]:
                inside = inside[key]
            inside[at[-1]] = dice.choice((None, True, -1, "", "?", [], {}, [[]], {"type": 3}, 10**400))
            if dice.random() < 0.3:
                del inside[at[-1]]
            try:
                reader(parse_json(json.dumps(changed), "file.json"))
            except InputError as error:
                messages.append(str(error))
    assert messages
    assert all("; " in line and "\n" not in line for line in messages)


# ------------------------------------------------------------------ the command


def test_the_command_prints_a_file_of_events(tmp_path, capsys):
    (tmp_path / "history.json").write_text("[[1.1, 0.004, 100]]")
    assert cli.run(["import", "opacus", str(tmp_path / "history.json")]) == 0
    said = capsys.readouterr()
    assert "with poisson_sampling=False" in said.err  # a history does not say
    plan = read_plan(parse_json(said.out, "out"))
    assert plan.events == (PoissonSubsampled(rate=0.004, of=Gaussian(sigma=1.1), count=100),)
    (tmp_path / "plan.json").write_text(plan.to_json())
    assert cli.run(["import", "events", str(tmp_path / "plan.json")]) == 0
    assert json.loads(capsys.readouterr().out) == to_dp_event(plan)
    assert cli.run(["import", "keras", str(tmp_path / "plan.json")]) == 2
    capsys.readouterr()
    words = ["import", "opacus", str(tmp_path / "history.json"), "--relation", "replace-one"]
    assert cli.run(words) == 2  # it had printed a plan under add-remove
    assert capsys.readouterr().out == ""


def test_the_script_writes_a_tree_and_loads_it(tmp_path, capsys):
    """It needs no more of a DpEvent than its type and fields; the stand-in has just these."""
    assert cli.run(["import", "script"]) == 0
    (tmp_path / "dp_event_script.py").write_text(capsys.readouterr().out)
    (tmp_path / "dp_accounting").mkdir()
    (tmp_path / "dp_accounting" / "__init__.py").write_text("")
    (tmp_path / "dp_accounting" / "dp_event.py").write_text(
        "class Field:\n    def __init__(self, name): self.name = name\n"
        "class GaussianDpEvent:\n    __attrs_attrs__ = [Field('noise_multiplier')]\n"
        "    def __init__(self, noise_multiplier): self.noise_multiplier = noise_multiplier\n"
        "class ComposedDpEvent:\n    __attrs_attrs__ = [Field('events')]\n"
        "    def __init__(self, events): self.events = events\n"
    )
    (tmp_path / "mine.py").write_text(
        "from dp_accounting.dp_event import *\nevent = ComposedDpEvent((GaussianDpEvent(1.1), GaussianDpEvent(2.0)))\n"
    )
    words = [sys.executable, "dp_event_script.py", "mine:event"]
    written = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert dp_event_tree(parse_json(written, "tree.json")).events == (Gaussian(sigma=1.1), Gaussian(sigma=2))
    (tmp_path / "tree.json").write_text(written)
    code = "from dp_event_script import load; print([e.noise_multiplier for e in load('tree.json').events])"
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "[1.1, 2.0]\n"
