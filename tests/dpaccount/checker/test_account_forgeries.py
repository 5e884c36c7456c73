"""Damaged and forged certificates of accounts are refused, naming the step; so is too much work."""

import contextlib
import functools
import json
import re
import time
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from audits.accounts import certificate as account_certificate
from audits.accounts import lattice_witness
from audits.accounts.certificate import certificate, seal
from dpaccount import checker
from dpaccount.checker import accounting
from dpaccount.checker.accounting import examined, to_read
from dpaccount.checker.accounting.methods import symmetric
from dpaccount.checker.accounting.plan import classes
from dpaccount.checker.documents import Work
from dpaccount.checker.intervals import Interval
from tests.depth import examples, parts
from tests.dpaccount.checker.made import copied, of_each
from tests.looped import looped
from tests.seconds import within

SAMPLED = {"event": "poisson_subsampled", "rate": "0.1", "of": {"event": "pure", "epsilon": 1}, "count": 3}
PLAN = {
    "schema": "dpaccount/events/1",
    "relation": "add-remove",
    "events": [
        {**SAMPLED, "cover": [1, 5]},
        {"event": "laplace", "scale": 10, "cover": [1, 5]},
        {"event": "gaussian", "sigma": 9.5, "cover": [7, 9]},
    ],
}
UNKNOWN = {"lower": None, "upper": "inf"}
SMALL = {
    "LEAST": 300,
    "KEPT": 1000,
    "FINE": 0.2,
    "PER_UNIT": 10,
    "PER_DEVIATION": 10,
}  # of lattices: quickly checked


def made(plan, tight=UNKNOWN, levels=(1,), **question):
    """The certificate with lattices of so many steps at once."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(lattice_witness, name, value)
        patch.setattr(account_certificate, "FINENESS", [Fraction(k) for k in levels])
        return certificate(plan, tight, **question)


@functools.cache
def honest():
    return made(PLAN, delta=Fraction(1, 1000))


def sealed(document):
    return seal({name: value for name, value in document.items() if name != "digest"})


def said(document):
    """What the checker says against a document; None where it confirms it."""
    try:
        examined(json.dumps(document).encode())
    except (checker.Rejected, checker.Unreadable) as why:
        return str(why)
    return None


def edited(path, value, document=None):
    changed = copied(document or honest())
    *above, last = path
    place = changed
    for key in above:
        place = place[key]
    place[last] = value(place[last]) if callable(value) else value
    return sealed(changed)


def test_the_honest_document_is_confirmed_in_both_directions_of_both_classes():
    assert honest()["confirmed"]["upper"] is not None, honest()["confirmed"]
    assert said(honest()) is None
    ways = [(step["of"].get("unit"), step["of"].get("direction")) for step in honest()["derivation"]]
    assert ways == [(1, "there"), (1, "back"), (7, "both"), (None, None)]


PAIR = {"event": "dominating_pair", "p": ["0.55", "0.45"], "q": ["0.5", "0.5"]}
TRUST = ", if each dominating_pair dominates its release, as the plan says"


@looped(("event", "trust"), [({"event": "pure", "epsilon": "0.3"}, ""), (PAIR, TRUST)])
@looped(("asked", "answer"), [("delta", "epsilon"), ("epsilon", "delta")])
@looped(("group", "many"), [(1, ""), (3, " for any 3 units")])
def test_what_is_confirmed_is_said_with_what_it_rests_on(event, trust, asked, answer, group, many):
    document = made({**PLAN, "events": [event]}, levels=(2, 1), **{asked: Fraction(1, 100)}, group=group)
    upper, steps = document["confirmed"]["upper"], len(document["derivation"])
    meant = f"{answer} at most {upper} at {asked} 0.01{many}{trust}: {steps} steps follow"
    assert accounting.judged(document) == ("CONFIRMED", meant)


CHANGES = {
    ("plan", "events", 0, "rate"): ["0.05", "0.2"],
    ("plan", "events", 0, "count"): [2, 4],
    ("plan", "events", 0, "of", "epsilon"): [2],
    ("plan", "events", 1, "scale"): [5],
    ("plan", "events", 1, "cover"): [[1, 6], [1, 7]],
    ("plan", "events", 2, "sigma"): [4],
    ("plan", "events", 2, "event"): ["discrete_gaussian"],
    ("plan", "events"): [
        lambda events: events[:-1],
        lambda events: [*events, {"event": "pure", "epsilon": 1}],
    ],
    ("question", "delta"): ["0.0001", "0.01"],
    ("confirmed", "upper"): ["0.1", "9"],
    ("derivation",): [
        lambda steps: steps[2:],
        lambda steps: [steps[0], *steps[2:]],
        lambda steps: [steps[2], *steps[1:]],
    ],
    ("derivation", 0, "rule"): ["gaussian-curve", "largest-losses"],
    ("derivation", 0, "of", "direction"): ["both"],
    ("derivation", 0, "with", "digits"): [10],
    ("derivation", 0, "with", "parts", 0, "step"): ["1000"],
}


@looped(("path", "value"), of_each(CHANGES))
def test_a_change_with_the_digest_made_anew_is_refused_naming_a_step(path, value):
    assert (said(edited(path, value)) or "").startswith("step ")


def test_another_relation_is_refused():
    plan = {**PLAN, "events": PLAN["events"][1:]}
    whole = made(plan, delta=Fraction(1, 1000))
    assert said(whole) is None
    assert said(edited(("plan", "relation"), "replace-one", whole)).startswith("step ")
    assert "not counted under replace-one" in said(edited(("plan", "relation"), "replace-one"))


def consistent(plan, document=None, group=1):
    """A forger's document: the honest steps, which name what the checker reads in another plan."""
    document = document or honest()
    relation, units = classes(plan, group)
    wanted = [(u, w, on) for u, on in units for w in (("both",) if symmetric(on) else ("there", "back"))]
    steps = copied(document["derivation"])
    for step, (unit, way, on) in zip(steps, wanted, strict=False):
        step["of"] = {"unit": unit, "direction": way, "releases": on.written()}
    steps[-1]["of"] = {"relation": relation, "classes": len(units), "plan": checker.digest(plan)}
    return sealed({**document, "plan": plan, "derivation": steps})


def test_a_dearer_plan_is_refused_by_its_mathematics():
    """Every text of the document agrees with the plan; the numbers do not follow."""
    assert said(consistent(PLAN)) is None
    for key, value in (("rate", "0.11"), ("count", 4), ("of", {"event": "pure", "epsilon": "1.1"})):
        events = [{**PLAN["events"][0], key: value}, *PLAN["events"][1:]]
        against = said(consistent({**PLAN, "events": events}))
        assert against.startswith("step 0"), key
        assert "does not follow" in against


@functools.cache
def drawn(name):
    """A plan of a user of three examples, or of a banded factor, and its document."""
    of = {"event": "gaussian", "sigma": 2}
    event = {
        "users": {"event": "poisson_examples", "rate": "0.1", "examples": 3, "of": of, "count": 2},
        "bands": {"event": "banded_poisson", "rounds": 6, "sigma": 1, "rate": "0.1", "parts": 3},
    }[name]
    found = made({**PLAN, "events": [event]}, delta=Fraction(1, 1000))
    assert said(found) is None
    return found


DEARER = {
    "users": {"examples": 4, "rate": "0.11", "count": 3, "of": {"event": "gaussian", "sigma": "1.9"}},
    "bands": {"rounds": 9, "rate": "0.11", "sigma": "0.9", "parts": 2, "coefficients": [1, 1]},
}


@looped(("name", "changed"), of_each({name: changes.items() for name, changes in DEARER.items()}))
def test_a_dearer_user_or_factor_is_refused_by_its_text_and_by_its_mathematics(name, changed):
    key, value = changed
    assert said(edited(("plan", "events", 0, key), value, drawn(name))).startswith("step 0")
    event = {**drawn(name)["plan"]["events"][0], key: value}
    against = said(consistent({**PLAN, "events": [event]}, drawn(name)))
    assert "does not follow" in against, (name, key)


def test_bands_beyond_the_parts_are_refused_by_the_checker_too():
    event = {**drawn("bands")["plan"]["events"][0], "coefficients": [1, 0, 0, 1]}
    against = said(edited(("plan", "events", 0, "coefficients"), event["coefficients"], drawn("bands")))
    assert "more bands than parts" in against


@looped(
    ("relation", "event", "kind"),
    [
        ("add-remove", {"event": "random_allocation", "steps": 5}, "random_allocation"),
        ("replace-one", {"event": "shuffled", "epsilon": 1, "population": 5}, "shuffled"),
    ],
)
@looped("inside", [False, True])
def test_a_rare_kind_is_not_confirmed_and_another_plans_answer_does_not_pass_for_its(
    relation, event, kind, inside
):
    """Alone, in a sequence, and put into a confirmed document whose steps are consistent with no such kind."""
    given = {**event, "of": {"event": "gaussian", "sigma": 1}} if kind == "random_allocation" else event
    given = {"event": "sequence", "of": [given]} if inside else given
    plan = {**PLAN, "relation": relation, "events": [given]}
    found = certificate(plan, {"lower": 1, "upper": 2}, delta=Fraction(1, 9))
    assert found["confirmed"] == {"upper": None, "why": f"this checker does not confirm {kind}"}
    assert said(found) == f"nothing is confirmed: this checker does not confirm {kind}"
    forged = edited(("plan", "events"), [given], edited(("plan", "relation"), relation, honest()))
    assert f"this checker does not confirm {kind}" in said(forged)


def test_a_smaller_answer_is_refused_by_its_mathematics():
    less = Fraction(honest()["confirmed"]["upper"]) * Fraction(9999, 10000)
    forged = copied(honest())
    forged["confirmed"]["upper"] = str(float(less))
    for step in forged["derivation"]:
        step["gives"]["epsilon"] = str(Fraction(str(float(less))))
    assert "does not follow" in said(sealed(forged))


@looped(
    ("path", "value"),
    [
        (("derivation", 0, "with", "parts", 1, "step"), "1/" + "9" * 40),
        (("derivation", 0, "with", "digits"), 10**9),
        (("derivation", 0, "with", "parts", 0, "spacing"), "1/" + "9" * 40),
        (("plan", "events", 0, "count"), 10**300),
        (("plan", "events", 2, "sigma"), "1e-3000"),
        (("plan", "events", 1, "scale"), "1e-3000"),
        (("plan", "events", 0, "of", "epsilon"), "1e3000"),
    ],
)
def test_too_much_work_is_refused_before_it_is_done(path, value):
    document = edited(path, value)
    begun = time.process_time()
    with contextlib.suppress(checker.Rejected, ValueError):  # there are numbers that Python does not write
        document = consistent(document["plan"], document)
    assert said(document) is not None
    assert within(time.process_time() - begun, 5)


def leaves(value, path=()):
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from leaves(value[key], (*path, key))
    else:
        yield path


OTHERS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 40), st.text("0123456789/e.-x", max_size=8), st.just([]), st.just({}),
    st.sampled_from(["1/2", "1e-300", "there", "lattice", "0", "1/1024"]),
)  # fmt: skip


@parts(4)
@examples(12, 500, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1000), OTHERS)
def test_no_leaf_can_be_replaced(which, value):
    """With a leaf replaced a document is refused, but by a witness that confirms the same number."""
    whole = honest()
    leaf = [path for path in leaves(whole) if path[0] not in ("digest", "tight")]
    path = leaf[which % len(leaf)]
    document = edited(path, value, whole)
    if document == whole:
        return
    against = said(document)
    assert against is not None or "with" in path, path


def test_without_a_new_digest_nothing_can_be_changed():
    changed = copied(honest())
    changed["tight"]["upper"] = 0
    assert said(changed) == "the document's digest does not match its content"


@looped(
    ("path", "value"),
    [
        (("plan", "events", 0, "rate"), "0.05"),
        (("plan", "events", 1, "cover"), [6, 9]),
        (("plan", "events", 1, "event"), "gaussian"),
        (("plan", "relation"), "replace-one"),
        (("question", "delta"), "0.01"),
        (("question", "group"), 2),
    ],
)
def test_a_change_without_a_new_digest_is_refused_naming_the_step_too(path, value):
    changed = {**edited(path, value), "digest": honest()["digest"]}
    assert re.match(r"the document's digest does not match its content; step \d \(", said(changed))


@functools.cache
def closed():
    """A document whose steps take no lattice."""
    normal = PLAN["events"][2]
    return made(
        {**PLAN, "events": [{**normal, "sigma": 4, "cover": [1, 5]}, normal]}, delta=Fraction(1, 1000)
    )


@looped(
    ("path", "value", "why"),
    [
        *[
            ((*place, "more"), 1, "look at more")
            for place in ((), ("question",), ("tight",), ("confirmed",), ("derivation", 0))
        ],
        (("question", "delta"), "1.5", "out of range"),
        (("tight",), {"lower": 1.9, "upper": 1.95}, "the tight lower end is above what is confirmed"),
        (("tight",), {"lower": 0.2, "upper": 0.1}, "the tight ends are in the wrong order"),
        (("tight", "upper"), 9, "the tight upper end is above what is confirmed"),
        (("tight", "upper"), "inf", "the tight upper end is above what is confirmed"),
        (("confirmed",), {"upper": None, "why": "no reason"}, "nothing is confirmed: no reason"),
        (("confirmed",), {"upper": None, "why": "no reason", "more": 1}, "look at more"),
        (("derivation", 2, "with"), [], "a table"),
        (("derivation", 2, "with"), {"digits": 10}, "the last step takes nothing"),
        (("derivation", 2, "rule"), "lattice", "no such step belongs here"),
        (("derivation",), [], "needed 3 steps, found 0"),
        (("derivation",), lambda steps: steps[:-1], "needed 3 steps, found 2"),
        (("derivation",), lambda steps: [*steps, steps[-1]], "no such step belongs here"),
    ],
)
def test_what_does_not_belong_is_refused(path, value, why):
    assert why in said(edited(path, value, closed()))


def test_ends_may_be_equal_and_a_delta_is_at_most_one():
    upper = closed()["confirmed"]["upper"]
    for tight in (
        {"lower": upper, "upper": upper},
        {"lower": None, "upper": "0"},
        {"lower": "0", "upper": "0"},
    ):
        assert said(edited(("tight",), tight, closed())) is None
    asked = made({**PLAN, "events": [PAIR]}, epsilon=Fraction(0))
    for delta, why in (("1", None), ("1.01", "delta is above 1")):
        forged = edited(("confirmed", "upper"), delta, asked)
        for step in forged["derivation"]:
            step["gives"]["delta"] = str(Fraction(delta))
        assert said(sealed({k: v for k, v in forged.items() if k != "digest"})) == why


def test_an_account_is_no_bare_derivation_and_its_rules_are_listed():
    raw = json.dumps(closed()).encode()
    with pytest.raises((checker.Rejected, checker.Unreadable)):
        examined(raw, derivation=True)
    assert [entry["rule"] for entry in to_read(raw)["rules"]] == ["gaussian-curve", "worst-unit"]
    assert accounting.EXIT["CONFIRMED"] == 0


def test_what_is_not_confirmed_is_not_valid():
    plan = {**PLAN, "events": [{"event": "zcdp", "rho": "1e-3000"}, {"event": "pure", "epsilon": 1}]}
    whole = made(plan, epsilon=Fraction(1, 10**9))
    if whole["confirmed"]["upper"] is None:
        assert said(whole).startswith("nothing is confirmed")


def test_the_work_of_another_document_is_not_counted():
    Work.spent = 10**12
    assert accounting.judged(honest())[0] == "CONFIRMED"
    Work.spent = 10**12
    plan = {**PLAN, "events": [{"event": "pure", "epsilon": 1}]}
    assert made(plan, epsilon=Fraction(1))["confirmed"]["upper"] is not None


def spent(*events):
    """The work that the classes of a plan take."""
    Work.begin(10**9)
    classes({**PLAN, "events": [*events]})
    return Work.spent


def test_a_release_of_many_numbers_is_work_for_every_class_of_units():
    points = {"event": "rdp", "points": [[2 + k, 1] for k in range(500)]}
    covers = [{"event": "gaussian", "sigma": k, "cover": [2 * k, 2 * k]} for k in range(1, 21)]
    assert spent(points, *covers) - spent(points) - spent(*covers) > 20 * 500


def test_an_exponent_that_makes_numbers_of_a_megabit_is_refused():
    assert "exponent" in said(edited(("plan", "events", 1, "scale"), "1e5001"))
    assert said(edited(("plan", "events", 1, "scale"), "1e-99999")) is not None
    assert spent({"event": "laplace", "scale": "1e-5000", "sensitivity": "1e-5000"}) < 2000


def test_long_numbers_are_more_work_than_short_ones():
    Work.begin()
    Interval(30).of(Fraction("1." + "3" * 300 + "e4000"))
    assert Work.spent > 300


def test_a_factor_without_coefficients_is_not_free():
    rounds = {"rounds": 4, "sigma": 1, "participations": 1, "separation": 1}
    factor = {"event": "dp_ftrl", **rounds, "mechanism": "toeplitz"}
    assert spent({**factor, "coefficients": [1]}) > 0
    with pytest.raises(checker.Rejected, match="one coefficient"):
        spent({**factor, "coefficients": []})
