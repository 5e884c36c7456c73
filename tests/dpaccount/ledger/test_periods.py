"""Caps that hold anew every day, week, month or year, cohorts that grow, and what is said to be left."""

import json
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.cli import answers
from audits.cli.app import run
from audits.reports import of_ledger, review
from dpaccount.errors import BudgetError, InputError, LedgerError
from dpaccount.ledger import requests
from dpaccount.ledger.balances.budget import RENEWALS, calendar_period
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Gaussian, Plan, Relation
from tests.depth import deep, examples

from .conftest import VALID, by_hand, plan, recounted, sealed

PURE = {"unit": "person", "relation": "replace-one", "measure": "pure", "epsilon": 100, "delta": 0}
TENTH = Fraction(1, 10)


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, **PURE)
    return url


@pytest.fixture
def clock(monkeypatch):
    """Set the clock by calling it with a day."""

    def at(day):
        monkeypatch.setattr(entries, "now", lambda: f"{day}T12:00:00+00:00")

    at("2026-12-01")
    return at


@given(day=st.dates(min_value=date(1, 1, 8), max_value=date(9999, 12, 20)), every=st.sampled_from(RENEWALS))
def test_a_period_is_the_days_of_one_name(day, every):
    """Against the calendar of the standard library: two days are of one period if and only if its name is the same."""

    def name(one):
        year, week, _ = one.isocalendar()
        known = {"day": f"{one:%m-%d}", "week": f"{year:04}-W{week:02}", "month": f"{one:%m}", "year": ""}
        return known[every], one.year * (every != "week")

    later = day + timedelta(days=1)
    before, after = calendar_period(every, day.isoformat()), calendar_period(every, later.isoformat())
    assert (before < after) == (name(day) != name(later))
    assert before <= after
    assert before == name(day)[0] if every == "week" else day.isoformat().startswith(before)


@deep
@examples(15, 15)
@given(
    days=st.lists(st.tuples(st.integers(-20, 60), st.integers(1, 3), st.booleans()), max_size=12),
    every=st.sampled_from(RENEWALS),
)
def test_no_period_has_more_than_its_cap(tmp_path_factory, days, every):
    """A charge is accepted if and only if its period, by the latest clock so far, has room; verify agrees."""
    url = f"sqlite:///{tmp_path_factory.mktemp('periods')}/budget.db"
    init(url, **PURE)
    day, latest, spent = date(2026, 12, 30), None, {}
    with pytest.MonkeyPatch.context() as patch, Ledger.open(url) as ledger:
        patch.setattr(entries, "now", lambda: f"{day}T12:00:00+00:00")
        ledger.set_scope("team", 3 * TENTH, every=every)
        latest = calendar_period(every, day.isoformat())
        for more, tenths, many in days:
            day += timedelta(days=more)
            now = max(latest, calendar_period(every, day.isoformat()))
            fits = spent.get(now, 0) + tenths <= 3
            decided = ledger.charge_many([(plan(tenths * TENTH), "a", None)] * (1 + many), scope="team")
            assert (decided[0].reason is None) == fits
            for one in decided:
                if one.reason is None:
                    latest = now
                    spent[now] = spent.get(now, 0) + tenths
        assert max(spent.values(), default=0) <= 3
        assert ledger.verify() == VALID
        [shown] = ledger.show()["scopes"]
        now = max(latest, calendar_period(every, day.isoformat()))
        assert shown["spent"]["epsilon"]["upper"] == pytest.approx(spent.get(now, 0) / 10)
        assert (shown["every"], shown["period"]) == (every, now)
    assert recounted(url)


def test_a_month_begins_again_and_a_clock_that_goes_back_renews_nothing(url, clock):
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 2 * TENTH, every="month")
        ledger.charge_plan(plan(2 * TENTH), "a", scope="team")
        with pytest.raises(RefusedError, match=r"beyond the ε 0\.2 a month of the scope team"):
            ledger.charge_plan(plan(TENTH), "b", scope="team")
        clock("2027-01-01")
        ledger.charge_plan(plan(2 * TENTH), "c", scope="team")
        clock("2026-12-31")  # nothing is left, neither of December nor of January
        with pytest.raises(RefusedError):
            ledger.charge_plan(plan(TENTH), "d", scope="team")
        assert ledger.show()["life"]["epsilon"]["upper"] == 0.4
        assert ledger.verify() == VALID
    assert recounted(url)


def test_open_parts_count_in_each_month_and_drawn_ones_where_they_are_drawn(url, clock):
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 4 * TENTH, every="month")
        ledger.reserve_plan(plan(TENTH), "weeks", "k", rounds=4, scope="team")
        ledger.draw_parts("k", count=2)
        clock("2027-01-05")
        ledger.draw_parts("k")  # one in January, and one is still open
        with pytest.raises(RefusedError):
            ledger.charge_plan(plan(3 * TENTH), "a", scope="team")
        ledger.charge_plan(plan(2 * TENTH), "a", scope="team")
        clock("2027-02-05")
        ledger.return_parts("k")
        ledger.charge_plan(plan(4 * TENTH), "a", scope="team")
        assert ledger.verify() == VALID
    assert recounted(url)


def test_how_often_a_cap_renews_is_fixed_when_the_scope_is_made(url, clock):
    """The tree of a scope holds what was spent since the last renewal, and no other period begins with that."""
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", TENTH, every="month")
        ledger.set_scope("plain", TENTH)
        ledger.charge_plan(plan(TENTH), "a", scope="team")
        for every in ("day", "week", "year", "never", "hour", ""):
            with pytest.raises(InputError, match=r"cannot change|give day, week, month, year"):
                ledger.set_scope("team", TENTH, every=every)
        with pytest.raises(InputError, match="cannot change"):
            ledger.set_scope("plain", TENTH, every="week")
        for every in (None, "month"):
            ledger.set_scope("team", TENTH, every=every)
            with pytest.raises(RefusedError):
                ledger.charge_plan(plan(TENTH), "b", scope="team")
        assert ledger.verify() == VALID
    assert recounted(url)


def test_parts_that_a_forfeit_closes_count_in_the_month_in_which_it_closes_them(url, clock):
    """They may have been drawn by then."""
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 1, every="month")
        ledger.reserve_plan(plan(TENTH), "weeks", "k", rounds=9, scope="team")
        clock("2027-01-15")
        ledger.forfeit(None, "moved")
        with pytest.raises(RefusedError):
            ledger.charge_plan(plan(2 * TENTH), "a", scope="team")
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_cap_that_renews_without_saying_so_is_found(url, clock):
    """Whoever writes the file can make a charge's time later, or how often a cap renews: then no digest fits."""
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", TENTH, every="year")
    by_hand(url, "UPDATE entries SET body = replace(body, 'year', 'week') WHERE number = 1")
    assert not verify(url)["valid"]


@pytest.mark.parametrize("every", RENEWALS)
def test_a_clock_that_is_far_ahead_is_refused_and_one_word_ends_a_pause(url, clock, every):
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", TENTH, every=every)
        clock("2099-06-01")
        for act in (
            lambda: ledger.charge_plan(plan(TENTH), "a", scope="team"),
            lambda: ledger.charge_many([(plan(TENTH / 2), "a", None)] * 2, scope="team"),
            lambda: ledger.charge_plan(plan(TENTH), "a", scope="team", dry_run=True),
            lambda: ledger.reserve_plan(plan(TENTH), "a", "k", rounds=1, scope="team"),
            lambda: ledger.set_scope("team", 2 * TENTH),
            lambda: ledger.reset("x"),
        ):
            with pytest.raises(
                InputError, match="entry is of 2026-12-01, and this machine's clock says 2099-06-01"
            ):
                act()
        clock("2027-03-04")
        with pytest.raises(InputError, match="clock says 2027-03-04"):
            ledger.charge_plan(plan(TENTH), "a", "k", scope="team")
        clock("2027-03-03")  # 92 days later
        charged = ledger.charge_plan(plan(TENTH), "a", "k", scope="team").entry
        clock("2028-03-03")  # it rested for a year
        ledger.mark(charged, (1, 1))  # no mark makes a clock believed
        assert ledger.charge_plan(plan(TENTH), "a", "k", scope="team").known
        with pytest.raises(InputError, match="this machine's clock says 2028-03-03; set the clock, or if"):
            ledger.charge_plan(plan(TENTH), "b", scope="team")
        ledger.set_clock()
        ledger.charge_plan(plan(TENTH), "b", scope="team")
        assert ledger.show()["entries"] == 2
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_clock_that_is_behind_makes_no_other_one_ahead(url, clock):
    def charge(purpose="x"):
        return ledger.charge_plan(plan(TENTH / 100), purpose, scope="team")

    with Ledger.open(url) as ledger:
        clock("2099-01-01")
        charged = ledger.charge_plan(plan(TENTH), "before there is anything that renews").entry
        clock("2026-12-01")
        ledger.set_scope("team", TENTH, every="month")
        clock("1970-01-01")
        charge()
        clock("2026-12-02")
        assert charge().entry == charged + 3
        clock("1970-01-01")
        charge()
        clock("2098-12-31")  # nobody has believed the first charge's clock
        with pytest.raises(
            InputError, match="latest entry is of 2026-12-02, and this machine's clock says 2098"
        ):
            charge()
        ledger.set_clock()
        clock("1970-01-01")
        charge()
        clock("2099-01-02")
        charge()
        clock("2026-12-03")
        ledger.set_clock("2099")
        clock("2099-01-03")
        with pytest.raises(InputError, match="latest entry is of 2026-12-03"):
            charge()
        assert ledger.verify() == VALID
    assert recounted(url)


@pytest.mark.parametrize("every", RENEWALS)
@pytest.mark.parametrize("reset", [False, True])
def test_periods_that_a_clock_began_are_set_right(url, clock, every, reset):
    """What was spent in them counts in the present one, and they go on from there."""
    with Ledger.open(url) as ledger:
        if reset:
            ledger.reset("a year")
        ledger.set_scope("team", 2 * TENTH, every=every)
        clock("2099-06-01")
        ledger.set_clock()  # somebody believed it
        ledger.charge_plan(plan(TENTH), "a", scope="team")
        clock("2027-12-07")
        with pytest.raises(
            InputError, match="a clock was ahead, and began later periods; set them right with"
        ):
            ledger.set_clock()
        ledger.set_clock("a clock of 2099")
        [shown] = ledger.show()["scopes"]
        assert shown["period"] == calendar_period(every, "2027-12-07")
        assert shown["spent"]["epsilon"]["upper"] == 0.1
        with pytest.raises(RefusedError):
            ledger.charge_plan(plan(2 * TENTH), "b", scope="team")
        ledger.charge_plan(plan(TENTH), "b", scope="team")
        clock("2028-01-03")  # a Monday
        ledger.charge_plan(plan(2 * TENTH), "c", scope="team")
        # The year is that of the life until it turns: what it spent before is not known.
        assert ledger.show()["year"]["epsilon"]["upper"] == (0.2 if reset else 0.4)
        assert ledger.verify() == VALID
    assert recounted(url)


@deep
@examples(15, 15)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 150), st.sampled_from([0, 0, 0, 40, 400, 30_000]), st.booleans()),
        max_size=12,
    ),
    every=st.sampled_from(RENEWALS),
)
def test_no_clock_ends_a_renewing_cap_for_longer_than_a_pause(tmp_path_factory, steps, every):
    """Whatever clocks say, a period begins at most 92 days early, and is set right by one entry."""
    url = f"sqlite:///{tmp_path_factory.mktemp('clocks')}/budget.db"
    init(url, **PURE)
    day = last = date(2026, 12, 30)
    shown = lambda: ledger.show()["scopes"][0]["period"]  # noqa: E731
    with pytest.MonkeyPatch.context() as patch, Ledger.open(url) as ledger:
        patch.setattr(entries, "now", lambda: f"{told}T12:00:00+00:00")
        told = day
        ledger.set_scope("team", 50, every=every)
        for more, ahead, mend in steps:
            day += timedelta(days=more)
            told = day + timedelta(days=ahead)
            if believed := (told - last).days <= entries.PAUSE:
                ledger.charge_plan(plan(TENTH), "x", scope="team")
            else:
                with pytest.raises(InputError, match="this machine's clock says"):
                    ledger.charge_plan(plan(TENTH), "x", scope="team")
            last = max(last, told) if believed else last
            told = day
            if (day - last).days > entries.PAUSE:
                ledger.set_clock("rested, and perhaps ahead")
                last = day
            assert shown() <= calendar_period(every, (day + timedelta(days=entries.PAUSE)).isoformat())
            if mend:
                ledger.set_clock("mended")
                last = day
                assert shown() == calendar_period(every, day.isoformat())
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_cohort_may_grow_if_it_was_made_so_and_never_loses_a_unit(url):
    with Ledger.open(url) as ledger:
        ledger.name_cohort("so-far", [(1, 10)], grows=True)
        ledger.charge_plan(plan(TENTH), "a", cohort="so-far")
        ledger.name_cohort("so-far", [(1, 20)], grows=True)
        ledger.charge_plan(plan(TENTH), "b", cohort="so-far")
        for units, grows in (([(1, 19)], True), ([(2, 30)], True), ([(1, 30)], False)):
            with pytest.raises(BudgetError, match="can only grow"):
                ledger.name_cohort("so-far", units, grows=grows)
        ledger.name_cohort("fixed", [(1, 10)])
        ledger.charge_plan(plan(TENTH), "c", cohort="fixed")
        with pytest.raises(BudgetError, match="cannot be changed"):
            ledger.name_cohort("fixed", [(1, 20)], grows=True)
        assert ledger.units_of("so-far") == [(1, 20)]
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_keys_charge_is_the_same_after_its_cohort_has_grown(url):
    """The answer may have been lost before; the entry is compared with what was asked when it was made."""
    with Ledger.open(url) as ledger:
        ledger.name_cohort("so-far", [(1, 10)], grows=True)
        first = ledger.charge_plan(plan(TENTH), "a", "k", cohort="so-far")
        ledger.name_cohort("other", [(3, 4)])
        ledger.name_cohort("so-far", [(1, 12)], grows=True)
        again = ledger.charge_plan(plan(TENTH), "a", "k", cohort="so-far")
        assert (again.entry, again.known) == (first.entry, True)
        assert ledger.charge_plan(plan(TENTH), "a", "k", cohort="so-far", dry_run=True).entry == first.entry
        assert ledger.show()["spent"]["epsilon"]["upper"] == 0.1
        for other, cohort in ((TENTH / 2, "so-far"), (TENTH, "other"), (TENTH, None)):
            with pytest.raises(LedgerError, match="different charge"):
                ledger.charge_plan(plan(other), "a", "k", cohort=cohort)


def test_units_that_a_keys_cohort_never_had_are_not_believed(url):
    """A role that may charge can write an entry by SQL, with the digest of what is asked, for fewer units."""
    with Ledger.open(url) as ledger:
        ledger.name_cohort("so-far", [(1, 10)], grows=True)
        ledger.charge_plan(plan(TENTH), "a", "k", cohort="so-far")
        fewer = requests.of_cohort(ledger.budget, plan(TENTH), "a", None, None, "so-far", [(2, 3)])

    def forged(body):
        steps = entries.written(fewer.steps)
        return entries.as_written({**json.loads(body), **fewer.facts, "digest": fewer.digest, "steps": steps})

    sealed(Path(url.removeprefix("sqlite:///")), 2, forged)
    with Ledger.open(url) as ledger, pytest.raises(LedgerError, match="different charge"):
        ledger.charge_plan(plan(TENTH), "a", "k", cohort="so-far")


@deep
@examples(15, 15)
@given(acts=st.lists(st.sampled_from(["grow", "month", "reset", "a", "b", "c"]), max_size=12))
def test_every_key_pays_once_whatever_its_cohort_is_now(tmp_path_factory, acts):
    """Each key's first charge pays for the units of that day, and every later one, for any purpose, is that entry."""
    url = f"sqlite:///{tmp_path_factory.mktemp('keys')}/budget.db"
    init(url, **PURE)
    size, paid, months = 10, {}, 0
    with pytest.MonkeyPatch.context() as patch, Ledger.open(url) as ledger:
        patch.setattr(entries, "now", lambda: f"20{26 + months // 12}-{months % 12 + 1:02}-01T12:00:00+00:00")
        ledger.set_scope("team", 3 * TENTH, every="month")
        ledger.name_cohort("so-far", [(1, size)], grows=True)
        for act in acts:
            months += act == "month"
            if act == "grow":
                size += 1
                ledger.name_cohort("so-far", [(1, size)], grows=True)
            elif act == "reset":
                ledger.reset("x")
            elif act != "month":
                done = ledger.charge_plan(plan(TENTH), f"in {months}", act, scope="team", cohort="so-far")
                assert done.known == (act in paid)
                assert paid.setdefault(act, done.entry) == done.entry
            else:
                ledger.set_clock()
        assert ledger.show()["life"]["epsilon"]["upper"] == pytest.approx(len(paid) / 10)
        assert ledger.verify() == VALID
    assert recounted(url)


@deep(quick_every=6)
@pytest.mark.parametrize("measure", ["pure", "approximate", "gdp", "zcdp", "approximate-zcdp", "either"])
@pytest.mark.parametrize("size", [2, 5])
def test_as_many_charges_like_the_last_one_fit_as_is_said(tmp_path, measure, size):
    """Until one is refused, in every measure; covers, scopes and the life cap count."""
    url = f"sqlite:///{tmp_path}/budget.db"
    delta = 0 if measure == "pure" else Fraction(1, 10**6)
    terms = {"epsilon": 2, "delta": delta, "measure": measure, "life_epsilon": Fraction(9, 4)}
    init(url, **{**PURE, **terms})
    event = plan(Fraction(1, size), (3, 9))
    if measure not in ("pure", "approximate"):
        event = Plan(Relation.REPLACE_ONE, (Gaussian(sigma=10 * size, cover=(3, 9)),))
    with Ledger.open(url) as ledger:
        assert "more_like_last" not in ledger.show()
        ledger.set_scope("team", Fraction(3, 2))
        ledger.charge_plan(plan(Fraction(1, 3), (9, 12)), "another")
        ledger.reset("a period")
        first = ledger.charge_plan(event, "a", scope="team")
        said = ledger.show()["more_like_last"]
        assert (said["entry"], said["charges"] > 0) == (first.entry, True)
        for _ in range(said["charges"]):
            ledger.charge_plan(event, "a", scope="team")
        assert ledger.show()["more_like_last"]["charges"] == 0
        with pytest.raises(RefusedError):
            ledger.charge_plan(event, "a", scope="team")
    assert "no more charge like entry" in answers.show(url)["explained"]


def test_a_refusal_names_the_largest_charges_of_the_unit_in_the_limit(url, clock):
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 1, every="month")
        ledger.charge_plan(plan(TENTH * 9), "last month", scope="team")
        clock("2027-01-01")
        for tenths, units in ((1, (1, 9)), (3, (5, 5)), (5, (9, 9)), (2, (5, 7)), (2, (5, 5))):
            ledger.charge_plan(plan(tenths * TENTH, units), f"{tenths} tenths", by="ada", scope="team")
        ledger.charge_plan(plan(9), "elsewhere")
        with pytest.raises(RefusedError) as refused:
            ledger.charge_plan(plan(TENTH * 4, (5, 6)), "too much", scope="team")
    over = refused.value.charge.over
    assert (over.scope, over.unit) == ("team", 5)
    causes = review.largest(url, over)
    assert [one.purpose for one in causes] == ["3 tenths", "2 tenths", "2 tenths"]
    assert [one.entry for one in causes] == [4, 6, 7]
    assert {one.by for one in causes} == {"ada"}


def test_a_new_months_refusal_names_nothing_of_the_month_before_but_what_is_open(url, clock):
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 1, every="month")
        ledger.reserve_plan(plan(TENTH), "open", "k", rounds=3, scope="team")
        ledger.charge_plan(plan(6 * TENTH), "December", scope="team")
        clock("2027-01-01")
        for _ in range(2):
            with pytest.raises(RefusedError) as refused:
                ledger.charge_plan(plan(8 * TENTH), "too much", scope="team")
            named = [one.purpose for one in review.largest(url, refused.value.charge.over)]
            assert named == ["open"]
        ledger.charge_plan(plan(5 * TENTH), "January", scope="team")
        clock("2026-12-31")  # January goes on
        with pytest.raises(RefusedError) as refused:
            ledger.charge_plan(plan(8 * TENTH), "too much", scope="team")
    assert [one.purpose for one in review.largest(url, refused.value.charge.over)] == ["January", "open"]


def test_no_number_is_said_where_a_cohort_has_grown_since(url):
    with Ledger.open(url) as ledger:
        ledger.name_cohort("so-far", [(1, 10)], grows=True)
        ledger.charge_plan(plan(TENTH), "a", cohort="so-far")
        assert ledger.show()["more_like_last"]["charges"] == 999
        ledger.name_cohort("so-far", [(1, 20)], grows=True)
        assert "more_like_last" not in ledger.show()


def test_parts_that_are_drawn_in_a_month_are_named_in_it(url, clock):
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 1, every="month")
        ledger.reserve_plan(plan(TENTH), "before", "old", rounds=3, scope="team")
        ledger.draw_parts("old", count=3)
        ledger.reserve_plan(plan(TENTH), "weeks", "k", rounds=6, scope="team")
        clock("2027-01-15")
        ledger.draw_parts("k", count=6)
        ledger.charge_plan(plan(TENTH), "January", scope="team")
        with pytest.raises(RefusedError) as refused:
            ledger.charge_plan(plan(5 * TENTH), "too much", scope="team")
    assert [one.purpose for one in review.largest(url, refused.value.charge.over)] == ["weeks", "January"]


def test_a_clock_by_the_commands(url, clock, capsys):
    place = ["ledger", "clock", url]
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", TENTH, every="month")
    clock("2028-03-03")
    assert run(["ledger", "scope", url, "team", "--epsilon", "1"]) == 2
    assert "set the clock, or if the ledger has rested run `dpaccount ledger clock" in capsys.readouterr().err
    assert run(place) == 2
    assert run([*place, "--after-a-pause", "--reason", "x"]) == 2
    assert run([*place, "--after-a-pause"]) == 0
    assert run(["ledger", "scope", url, "team", "--epsilon", "1"]) == 0
    clock("2028-02-03")
    assert run([*place, "--after-a-pause"]) == 2
    assert "a clock was ahead, and began later periods; set" in capsys.readouterr().err
    assert run([*place, "--reason", "it was March there"]) == 0
    assert recounted(url)
    told = review.report(url)
    assert [one.get("reason") for one in told["clocks"]["rows"]] == [None, "it was March there"]
    assert "it was March there" in of_ledger.html({**told, "nist": []}, "x")
