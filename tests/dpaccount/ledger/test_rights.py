"""Who may charge, ask, approve and arrange: against a plain model, and attempts by people who may not."""

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.cli.app import run
from audits.reports import terminal
from audits.reports.log import _names, log, page
from dpaccount.errors import BudgetError, DpaccountError, InputError, LedgerError
from dpaccount.ledger import charging
from dpaccount.ledger import ledger as ledger_module
from dpaccount.ledger.balances import rights
from dpaccount.ledger.balances.budget import budget
from dpaccount.ledger.journal import entries, export
from dpaccount.ledger.journal.verify import repair, verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError, of_plan, plan_digest
from dpaccount.plan.events import Plan, Relation, allowed
from tests.depth import deep, examples
from tests.dpaccount.accounting.test_metamorphic import SAMPLES

from .conftest import VALID, by_hand, plan, pure, recounted

PURE = {"unit": "person", "relation": "replace-one", "measure": "pure", "epsilon": 9, "delta": 0}
SCOPES = (None, "team", "team/a", "other")
PEOPLE = ("ada", "bo", "cy", "di")
LAST_BODY = "SELECT body FROM entries ORDER BY number DESC LIMIT 1"
TODAY, SOON, LATER = "2026-12-01", "2026-12-31", "2027-03-01"
ENDS = {TODAY: SOON, SOON: "2027-01-30", LATER: "2027-03-31"}  #: of an approval on that day


@pytest.fixture
def url(tmp_path):
    return made(tmp_path)


def made(folder):
    url = f"sqlite:///{folder}/budget.db"
    init(url, **PURE)
    with Ledger.open(url) as ledger:
        for scope in SCOPES[1:]:
            ledger.set_scope(scope, 5)
    return url


def governed(url):
    """Let ada and bo arrange, bo approve everywhere, cy ask in team, and di charge in team/a."""
    with Ledger.open(url) as ledger:
        ledger.grant("ada", ["arrange"], by="ada")
        ledger.grant("bo", ["approve"], by="ada")
        ledger.grant("cy", ["request"], scope="team", by="ada")
        ledger.grant("di", ["charge"], scope="team/a", by="ada")
        ledger.grant("bo", ["arrange"], by="ada")
    return url


def twice(first, second, act):
    """Let one ask for what takes two people, another approve it, and the first do it."""
    entry = act(first)
    assert entry.kind == "request"
    second(entry.number)
    return act(first)


class Team:
    """A ledger, and what people may do and asked for, in the plainest way; each method tries an act."""

    def __init__(self, ledger):
        self.ledger, self.day, self.cap, self.latest = ledger, TODAY, 5, ""
        self.grants = {
            ("ada", "arrange", "", "9"), ("bo", "arrange", "", "9"), ("bo", "approve", "", "9"),
            ("cy", "request", "team", "9"), ("di", "charge", "team/a", "9"),
        }  # fmt: skip
        self.asked = {}  # (person, what) to [entry, who approved, right of who may, scope]

    def holds(self, person, right, scope=None):
        places, day = {"", scope or "", (scope or "").split("/")[0]}, max(self.day, self.latest)
        return any(
            (who, may) == (person, right) and where in places and day <= until
            for who, may, where, until in self.grants
        )

    def seen(self):
        """Note the day of an entry: no right that has ended since lives again by a clock set back."""
        self.latest = max(self.latest, self.day)

    @property
    def day_seen(self):
        return max(self.day, self.latest)

    def late(self, asked):
        return self.day_seen > asked[4]

    def drop(self, concerned):
        """What was approved in another state waits anew."""
        for what, one in self.asked.items():
            if concerned(what, one):
                one[1] = None

    def drop_of(self, person):
        given = lambda what: what[1][0] == "grant" and what[1][1][0] == person  # noqa: E731
        self.drop(lambda what, one: person in (what[0], one[1]) or given(what))

    def clock(self, day, *_):
        self.day = day

    def charge(self, person, scope, size):
        what, fits = (person, ("charge", scope, size)), self.holds(person, "charge", scope)
        may_ask, asked = not fits and self.holds(person, "request", scope), self.asked.get(what)
        stale = asked and asked[1] and (self.late(asked) or not self.holds(asked[1], "approve", scope))

        def ask():
            self.ledger.charge_plan(plan(Fraction(size, 1000)), "x", by=person, scope=scope)

        if fits or (may_ask and asked and asked[1] and not stale):
            ask()
            self.seen()
            if not fits:
                del self.asked[what]
            return
        with pytest.raises(RefusedError) as refused:
            ask()
        said = ("asked for it" if asked else "asks for it") if may_ask else "may not charge"
        said = "may not do so any more|approved until" if may_ask and stale else said
        assert re.search(said, str(refused.value))
        if may_ask and not asked:
            self.asked[what] = [refused.value.charge.entry, None, "approve", scope, ""]
            self.seen()

    def approve(self, person, which, approved):
        waiting = sorted(self.asked.items(), key=lambda one: one[1][0])
        if which >= len(waiting):
            return
        what, (number, done, right, scope, until) = waiting[which]
        own, able = what[0] == person, self.holds(person, right, scope)
        again = approved and done and self.day_seen <= until and self.holds(done, right, scope)
        if again or (own and approved) or not (own or able):
            with pytest.raises(BudgetError):
                self.ledger.approve(number, person, approved=approved)
            return
        self.ledger.approve(number, person, approved=approved)
        self.seen()
        if approved:
            self.asked[what][1], self.asked[what][4] = person, ENDS[self.day]
        else:
            del self.asked[what]

    def arrange(self, person, what, act, *, two=True):
        """Try what takes one or two people who may arrange; return whether it was done."""
        asked = self.asked.get((person, what)) if two else [0, "nobody", "", None, "9"]
        if not self.holds(person, "arrange"):
            with pytest.raises(BudgetError, match="may not"):
                act()
        elif asked is None:
            entry = act()
            self.seen()
            assert entry.kind == "request"
            self.asked[person, what] = [entry.number, None, "arrange", None, ""]
        elif asked[1] is None:
            with pytest.raises(BudgetError, match="nobody has approved it yet"):
                act()
        elif asked[1] != "nobody" and (self.late(asked) or not self.holds(asked[1], "arrange")):
            with pytest.raises(BudgetError, match=r"may not do so any more|approved until"):
                act()
        else:
            assert act().kind != "request"
            self.seen()
            self.asked.pop((person, what), None)
            return True
        return False

    def grant(self, person, whom, which):
        right, scope, until = GRANTS[which]
        new = (whom, right, scope, until or "9")

        old = any(one[:3] == new[:3] and one[3] >= new[3] for one in self.grants)

        def give():
            return self.ledger.grant(whom, [right], scope=scope, until=until, by=person)

        if self.arrange(person, ("grant", new), give, two=not old):
            ended = any(one[0] == whom and one[3] < self.day_seen for one in self.grants)
            if ended or any(one[:3] == new[:3] for one in self.grants):
                self.drop_of(whom)
            self.latest = self.day
            self.grants = {one for one in self.grants if one[:3] != new[:3]} | {new}

    def revoke(self, person, whom, scope):
        left = {one for one in self.grants if one[0] != whom or scope not in ("*", one[2])}
        arrangers = [{who for who, may, *_ in all_ if may == "arrange"} for all_ in (left, self.grants)]
        few = len(arrangers[0]) < len(arrangers[1]) <= 2
        if not self.holds(person, "arrange") or few or left == self.grants:
            with pytest.raises((BudgetError, InputError)):
                self.ledger.grant(whom, [], scope=scope, by=person)
            return
        self.ledger.grant(whom, [], scope=scope, by=person)
        self.latest = self.day
        self.drop_of(whom)
        self.asked = {what: one for what, one in self.asked.items() if what[0] != whom}
        self.grants = left

    def reset(self, person, *_):
        if self.arrange(person, "reset", lambda: self.ledger.reset("x", by=person)):
            self.drop(lambda what, _: what[1] == "reset")

    def cap_of(self, person, cap, _):
        act = lambda: self.ledger.set_scope("other", cap, by=person)  # noqa: E731
        if self.arrange(person, ("cap", cap), act, two=cap > self.cap):
            self.cap = cap
            self.drop(lambda what, _: what[1][0] == "cap")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), st.sampled_from(PEOPLE), st.sampled_from(SCOPES), st.integers(1, 2)),
        st.tuples(st.just("approve"), st.sampled_from(PEOPLE), st.integers(0, 3), st.booleans()),
        st.tuples(st.just("grant"), st.sampled_from(PEOPLE), st.sampled_from(PEOPLE), st.integers(0, 9)),
        st.tuples(st.just("revoke"), st.sampled_from(PEOPLE), st.sampled_from(PEOPLE), st.sampled_from(("", "team", "*"))),
        st.tuples(st.just("reset"), st.sampled_from(PEOPLE), st.just(0), st.just(0)),
        st.tuples(st.just("cap_of"), st.sampled_from(PEOPLE), st.sampled_from((4, 5, 6)), st.just(0)),
        st.tuples(st.just("clock"), st.sampled_from((TODAY, SOON, LATER)), st.just(0), st.just(0)),
    ),
    max_size=25,
)  # fmt: skip
GRANTS = [("charge", "team", ""), ("request", "", ""), ("request", "team/a", TODAY), ("approve", "team", "")]
GRANTS += [("approve", "", LATER), ("arrange", "", ""), ("charge", "", TODAY), ("request", "other", "")]
GRANTS += [("charge", "team/a", LATER), ("approve", "other", TODAY)]


@deep
@examples(150, 150)
@given(steps=STEPS)
def test_everything_is_allowed_just_where_the_plain_rules_allow_it(tmp_path_factory, steps):
    url = governed(made(tmp_path_factory.mktemp("rights")))
    with pytest.MonkeyPatch.context() as patch, Ledger.open(url) as ledger:
        team = Team(ledger)
        patch.setattr(entries, "now", lambda: f"{team.day}T12:00:00+00:00")
        for kind, *what in steps:
            getattr(team, kind)(*what)
        shown = ledger.show()
        held = {(one["person"], one["may"], one["scope"], one["until"] or "9") for one in shown["people"]}
        assert held == team.grants
        waiting = sorted(one[0] for one in team.asked.values())
        assert [one["entry"] for one in shown["requests"]] == waiting
        assert ledger.verify() == VALID
    assert recounted(url)


def attempts(ledger):
    """Yield what cy, who may ask for charges in team, is not to do, by name."""
    one = plan("1/100")
    for scope in (None, "other"):
        yield f"charge in {scope}", lambda scope=scope: ledger.charge_plan(one, "x", by="cy", scope=scope)
        yield (
            f"reserve in {scope}",
            lambda scope=scope: ledger.reserve_plan(one, "x", "k", by="cy", scope=scope),
        )
        yield f"many in {scope}", lambda scope=scope: refused(ledger, scope)
    for scope in ("team", "team/a"):
        yield f"charge in {scope}", lambda scope=scope: ledger.charge_plan(one, "x", by="cy", scope=scope)
        yield (
            f"reserve in {scope}",
            lambda scope=scope: ledger.reserve_plan(one, "x", "k", by="cy", scope=scope),
        )
    yield "a cohort", lambda: ledger.name_cohort("c", [(1, 2)], by="cy")
    yield "a scope", lambda: ledger.set_scope("team/b", 1, by="cy")
    yield "a lower cap", lambda: ledger.set_scope("team", 1, by="cy")
    yield "a raised cap", lambda: ledger.set_scope("team", 6, by="cy")
    yield "a renewal", lambda: ledger.set_scope("team", 5, by="cy", every="week")
    yield "a reset", lambda: ledger.reset("x", by="cy")
    yield "a forfeit", lambda: ledger.forfeit(one, "x", by="cy")
    yield "nothing lost", lambda: ledger.forfeit(None, "x", by="cy")
    for right in ("charge", "request", "approve", "arrange"):
        yield f"grant itself {right}", lambda right=right: ledger.grant("cy", [right], by="cy")
        yield f"grant another {right}", lambda right=right: ledger.grant("eve", [right], by="cy")
    for who in PEOPLE:
        yield f"revoke {who}", lambda who=who: ledger.grant(who, [], scope="*", by="cy")
    for number in range(13):
        yield f"approve {number}", lambda number=number: ledger.approve(number, "cy")
    for by in (None, "eve", "", "cy ", "CY"):
        yield f"as {by!r}", lambda by=by: ledger.charge_plan(one, "x", by=by, scope="team")
    yield "parts of another", lambda: ledger.draw_parts("di's", by="cy")
    yield "return another's", lambda: ledger.return_parts("di's", by="cy")
    yield "another's key", lambda: ledger.charge_plan(one, "x", "key", by="cy", scope="team/a")
    yield "a theorem", lambda: ledger.charge(pure("1/100"), "x", scope="team")


def refused(ledger, scope):
    [one] = ledger.charge_many([(plan("1/100"), "x", None)], scope=scope)
    raise RefusedError(one.reason, one)


def test_no_attempt_of_somebody_with_a_right_for_one_scope_changes_anything(url):
    """More than fifty: none spends, arranges, or gives a right."""
    governed(url)
    with Ledger.open(url) as ledger:
        ledger.charge_plan(plan("1/100"), "x", "key", by="di", scope="team/a")
        ledger.reserve_plan(plan("1/100"), "x", "di's", rounds=3, by="di", scope="team/a")
        before = ledger.show()
        tried = 0
        for name, act in attempts(ledger):
            with pytest.raises((BudgetError, InputError, LedgerError)):
                act()
            after = ledger.show()
            tried += 1
            for same in ("spent", "life", "people", "resets", "entries"):
                assert after[same] == before[same], name
            caps = [
                [(one["scope"], one["cap"], one.get("every")) for one in each["scopes"]]
                for each in (before, after)
            ]
            assert caps[0] == caps[1], name
        assert tried >= 50
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_charge_is_asked_for_approved_and_made_once(url):
    governed(url)
    with Ledger.open(url) as ledger:

        def charge(size="1/10", purpose="x", **more):
            return ledger.charge_plan(plan(size), purpose, by="cy", scope="team", **more)

        with pytest.raises(RefusedError, match="asks for it") as asked:
            charge()
        number = asked.value.charge.entry
        with pytest.raises(RefusedError, match="nobody has approved it yet"):
            charge()
        with pytest.raises(BudgetError, match="another person must approve it"):
            ledger.approve(number, "cy")
        ledger.approve(number, "bo")
        for other in ({"size": "1/5"}, {"purpose": "y"}):  # what was approved, and nothing else
            with pytest.raises(RefusedError, match="asks for it"):
                charge(**other)
        done = charge(key="k")
        assert charge(key="k").known
        assert charge(key="k").entry == done.entry
        with pytest.raises(RefusedError, match="asks for it"):  # it was used up
            charge()
        assert ledger.verify() == VALID
    assert recounted(url)


def test_an_approval_of_a_theorem_lets_who_asked_draw(url):
    """Noise is drawn only after the approved charge; the URL says who asks."""
    governed(url)
    with Ledger.open(f"{url}?by=cy") as ledger:
        with pytest.raises(RefusedError, match="asks for it") as asked:
            ledger.charge(pure("1/10"), "x", scope="team")
        with Ledger.open(f"{url}?by=bo") as other:
            other.approve(asked.value.charge.entry)
        receipt = ledger.charge(pure("1/10"), "x", scope="team")
        assert receipt.noisy("noise", 0, [7]).shape == (1,)
        assert ledger.verify() == VALID


def test_what_takes_two_is_done_by_two(url):
    governed(url)
    with Ledger.open(url) as ledger:
        approve = lambda number: ledger.approve(number, "bo")  # noqa: E731
        assert twice("ada", approve, lambda who: ledger.reset("new data", by=who)).kind == "reset"
        assert twice("ada", approve, lambda who: ledger.set_scope("team", 6, by=who)).kind == "scope"
        assert twice("ada", approve, lambda who: ledger.grant("eve", ["charge"], by=who)).kind == "grant"
        assert ledger.set_scope("team", 5, by="ada").kind == "scope"  # lower, by one
        assert ledger.grant("eve", [], by="bo").kind == "grant"
        with pytest.raises(BudgetError, match="two people who may arrange"):
            ledger.grant("ada", [], by="bo")
        assert ledger.show()["resets"] == 1
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_right_ends_on_its_day_and_a_leaver_keeps_none(url, monkeypatch):
    governed(url)
    day = [TODAY]
    monkeypatch.setattr(entries, "now", lambda: f"{day[0]}T23:59:59+00:00")
    with Ledger.open(url) as ledger:
        give = lambda who: ledger.grant("eve", ["charge"], scope="other", until=TODAY, by=who)  # noqa: E731
        twice("ada", lambda number: ledger.approve(number, "bo"), give)
        ledger.charge_plan(plan("1/10"), "x", by="eve", scope="other")
        day[0] = "2026-12-02"
        with pytest.raises(RefusedError, match="eve may not charge the scope other"):
            ledger.charge_plan(plan("1/10"), "x", by="eve", scope="other")
        ledger.charge_plan(plan("1/10"), "x", by="di", scope="team/a")
        ledger.grant("di", [], scope="*", by="bo")
        with pytest.raises(RefusedError, match="di may not charge"):
            ledger.charge_plan(plan("1/10"), "x", by="di", scope="team/a")
        assert ledger.verify() == VALID


@pytest.mark.parametrize(
    ("grant", "said"),
    [
        ({"person": "bo", "may": ["charge"]}, "name another one first"),
        ({"person": "bo", "may": ["arrange"], "scope": "team"}, "everywhere and for ever"),
        ({"person": "bo", "may": ["arrange"], "until": LATER}, "everywhere and for ever"),
        ({"person": "bo", "may": ["serve"], "scope": "team"}, "everywhere and for ever"),
        ({"person": "bo", "may": ["read"]}, "read are no rights"),
        ({"person": "b\no", "may": ["arrange"]}, "not a line of text"),
        (
            {"person": "bo", "may": ["arrange", "charge"], "scope": "none"},
            "there is no scope none|everywhere",
        ),
    ],
)
def test_a_grant_that_makes_no_sense_is_refused(url, grant, said):
    with Ledger.open(url) as ledger:
        with pytest.raises(DpaccountError, match=said):
            ledger.grant(**grant, by="ada")
        assert "people" not in ledger.show()
        ledger.charge_plan(plan("1/10"), "x")  # the ledger is free as before


def test_no_new_person_is_named_so_as_to_be_taken_for_another(url):
    governed(url)
    odd = [
        "bo ",
        " bo",
        "BO",
        "Bo",
        "b\u043e",
        "bo\u3164",
        "bo\u1160",
        "bo\u2800",
        "bo\u0301",
        "\uff42\uff4f",
        "b\u00ado",
    ]
    with Ledger.open(url) as ledger:
        for name in [*odd, "bo\u200b", "\u0430da", "bo\u0661"]:
            with pytest.raises(InputError, match=r"could be taken for|not a line of text"):
                ledger.grant(name, ["charge"], scope="team", by="ada")
        for name in ("Élodie Müller", "Анна", "山田 さくら", "o'hara@x.example", "김 철수", "bo-2"):
            assert ledger.grant(name, ["charge"], scope="team", by="ada").kind == "request"
        with pytest.MonkeyPatch.context() as patch:  # of an earlier version
            patch.setattr("dpaccount.ledger.balances.rights.new_name", lambda *_: None)
            twice(
                "ada",
                lambda number: ledger.approve(number, "bo"),
                lambda who: ledger.grant("BO", ["charge"], by=who),
            )
        assert ledger.grant("BO", [], scope="*", by="ada").kind == "grant"
        assert ledger.verify() == VALID
    assert recounted(url)


def test_an_entry_has_an_end(url):
    """One that holds no amounts is at most 4 MiB long; a refusal leaves the plan out rather than be longer."""
    governed(url)
    with Ledger.open(url) as ledger:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(charging, "MOST_BODY", 700)
            with pytest.raises(RefusedError):
                ledger.charge_plan(
                    Plan(Relation.REPLACE_ONE, plan(10).events * 9), "x", by="di", scope="team/a"
                )
        assert "plan" not in json.loads(by_hand(url, LAST_BODY)[0][0])
        assert ledger.verify() == VALID
        with ledger._store.writing() as rows:
            body = {"reason": "x" * 2**22, "time": entries.now()}
            rows.append("refusal", entries.as_written(body), ledger._totals(rows).text)
        assert ledger.verify() == VALID  # earlier versions wrote longer refusals
        with ledger._store.writing() as rows:
            number = rows.append("reset", entries.as_written(body), ledger._totals(rows).text).number
        with pytest.raises(LedgerError, match="more than 4194304 characters"):
            ledger.charge_plan(plan("1/100"), "x", by="di", scope="team/a")
    assert verify(url)["first_bad"] == number
    assert not recounted(url)


def test_who_writes_the_file_cannot_make_an_approval_up(url, tmp_path):
    """Entries that a person without the right made, with valid digests, are found by `verify` and by import."""
    governed(url)
    with Ledger.open(url) as ledger, pytest.MonkeyPatch.context() as patch:
        with pytest.raises(RefusedError) as asked:
            ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team")
        patch.setattr("dpaccount.ledger.balances.rights.holds", lambda *_: True)
        ledger.approve(asked.value.charge.entry, "eve")
        ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team")
    assert verify(url)["first_bad"] == asked.value.charge.entry + 1
    (tmp_path / "lines").write_bytes(b"".join(export.lines(url)))
    with pytest.raises(DpaccountError):
        export.imported(tmp_path / "lines", f"sqlite:///{tmp_path}/copy.db")


def test_a_charge_that_was_not_allowed_is_found(url):
    governed(url)
    with Ledger.open(url) as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpaccount.ledger.balances.rights.denied", lambda *_: None)
        number = ledger.charge_plan(plan("1/10"), "x", by="eve", scope="team").entry
    assert verify(url)["first_bad"] == number


def test_balances_can_be_repaired_and_the_log_says_who(url):
    governed(url)
    with Ledger.open(url) as ledger, pytest.raises(RefusedError):
        ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team")
    by_hand(url, "DELETE FROM nodes")
    assert repair(url)["repaired"] == ["balances"]
    assert verify(url) == VALID
    said = {line["reason"] for line in log(url)}
    assert {"person bo, may 'approve'", "person cy, may 'request'", "asks charge"} <= said


def test_by_the_commands(url, tmp_path, capsys):
    file = tmp_path / "plan.json"
    event = {"event": "pure", "epsilon": "1/10"}
    file.write_text(
        json.dumps({"schema": "dpaccount/events/1", "relation": "replace-one", "events": [event]})
    )
    for person in ("ada", "bo"):
        assert run(["ledger", "grant", url, person, "--may", "arrange", "--by", "ada"]) == 0
    grant = ["ledger", "grant", url, "cy", "--scope", "team", "--until", "2999-01-01", "--by", "ada"]
    assert run(grant) == 1  # it waits
    capsys.readouterr()
    assert run(["ledger", "show", url, "--json"]) == 0
    [waits] = json.loads(capsys.readouterr().out)["requests"]
    assert run(["ledger", "approve", url, str(waits["entry"]), "--by", "ada"]) == 1
    assert run(["ledger", "approve", url, str(waits["entry"]), "--by", "bo"]) == 0
    assert run(grant) == 0
    charge = ["ledger", "charge", url, str(file), "--scope", "team"]
    assert run([*charge, "--by", "cy"]) == 0
    assert run([*charge, "--by", "di"]) == 1
    assert run(charge) == 2  # names nobody
    assert "give --by" in capsys.readouterr().err
    assert run(["ledger", "revoke", url, "cy", "--by", "bo"]) == 0
    assert run([*charge, "--by", "cy"]) == 1
    assert run(["ledger", "show", url]) == 0
    assert "bo may arrange" in capsys.readouterr().out


def test_a_right_that_has_ended_does_not_live_again_by_a_clock_set_back(url, monkeypatch):
    governed(url)
    day = [TODAY]
    monkeypatch.setattr(entries, "now", lambda: f"{day[0]}T00:00:00+00:00")
    with Ledger.open(url) as ledger:
        give = lambda who: ledger.grant("eve", ["charge"], until="2026-12-05", by=who)  # noqa: E731
        twice("ada", lambda number: ledger.approve(number, "bo"), give)
        for wrong in ("20261205", "2026-W49-6", "soon"):
            with pytest.raises(InputError):
                ledger.grant("eve", ["charge"], until=wrong, by="ada")
        day[0] = "2026-12-20"
        ledger.charge_plan(plan("1/10"), "x", by="di", scope="team/a")
        day[0] = "2026-12-04"
        with pytest.raises(RefusedError, match="eve may not charge"):
            ledger.charge_plan(plan("1/10"), "x", by="eve")
        assert ledger.grant("eve", [], scope="*", by="ada").kind == "grant"
        with pytest.raises(InputError, match="no right there"):  # a name that was misspelt, perhaps
            ledger.grant("eva", [], scope="*", by="ada")
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_leaver_uses_no_parts_and_who_may_arrange_returns_them(url):
    with Ledger.open(url) as ledger:
        ledger.reserve_plan(plan("1/10"), "before there were rights", "old", rounds=2, scope="team/a")
    governed(url)
    with Ledger.open(url) as ledger:
        ledger.reserve_plan(plan("1/10"), "x", "di's", rounds=3, by="di", scope="team/a")
        ledger.draw_parts("di's", by="di")
        ledger.draw_parts("old", by="di")
        ledger.grant("di", [], scope="*", by="bo")
        for act in (ledger.draw_parts, ledger.return_parts):
            for key in ("di's", "old"):
                with pytest.raises(BudgetError, match="di may not charge there any more"):
                    act(key, by="di")
        for key in ("di's", "old"):
            ledger.return_parts(key, by="ada")
        assert ledger.show()["spent"]["epsilon"]["upper"] == 0.2
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_key_serves_only_who_has_it_and_only_while_they_may_charge(url):
    governed(url)
    with Ledger.open(url) as ledger:
        made = ledger.charge_plan(plan("1/10"), "x", "key", by="di", scope="team/a")
        assert ledger.charge_plan(plan("1/10"), "x", "key", by="di", scope="team/a").entry == made.entry
        with pytest.raises(LedgerError, match="another person's"):
            ledger.charge_plan(plan("1/10"), "x", "key", by="cy", scope="team/a")
        with pytest.raises(InputError, match="names nobody"):
            ledger.charge_plan(plan("1/10"), "x", "key", scope="team/a")
        ledger.grant("di", [], scope="*", by="bo")
        with pytest.raises(LedgerError, match="di may not charge"):
            ledger.charge_plan(plan("1/10"), "x", "key", by="di", scope="team/a")


def test_who_approves_sees_all_that_it_holds_for(url, capsys):
    governed(url)
    with Ledger.open(url) as ledger:
        with pytest.raises(RefusedError):
            ledger.charge_plan(plan("1/10", (3, 7)), "ages", by="cy", scope="team")
        ledger.grant("cy", ["arrange"], by="ada")
        ledger.set_scope("team", 7, by="ada")
        with pytest.raises(InputError, match="there is no scope none"):
            ledger.grant("cy", ["charge"], scope="none", by="ada")
    assert run(["ledger", "show", url]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "waits for an approval" in line]
    asked = [" ".join(row[1:]) for row in rows]
    assert asked == [
        'cy charge, ε 0.1, scope team, units 3, 7 waits for an approval purpose "ages"',
        "ada grant, may 'arrange' waits for an approval person \"cy\"",
        "ada scope, ε 7, δ 0, scope team waits for an approval",
    ]


@examples(100)
@given(
    text=st.text(min_size=1, max_size=60).filter(str.isprintable)
    | st.just("counts, ε 0.001); approved by officer")
)
def test_what_people_write_stands_apart_from_what_is_asked(text):
    """No text changes what an approver reads beside it, and it ends where its quotes do."""
    wants = {"purpose": text, "scope": "team", "epsilon": 0.5, "units": [3, 7]}
    assert terminal.wanted("charge", wants) == "charge, ε 0.5, scope team, units 3, 7"
    said = terminal.quoted(wants).removeprefix("purpose ")
    assert json.JSONDecoder().raw_decode(said) == (text, len(said))
    line = {
        **dict.fromkeys(terminal.NOTED),
        **dict.fromkeys(terminal.WRITTEN),
        **wants,
        "entry": 1,
        "time": "",
    }
    row = terminal.log_row(
        {**line, "kind": "reset", "reason": text, "spends": None, "first": None, "last": None}
    )
    assert row[5] == "scope team"
    assert json.dumps(text, ensure_ascii=False) in row[6]


def lying(patch, **beside):
    """Let a request be written, as by SQL, with this beside what is asked for."""
    real = charging.request_for

    def written(kind, facts, body):
        made = real(kind, facts, body)
        return {**made, **beside.get("outer", {}), "facts": {**made["facts"], **beside.get("inner", {})}}

    for module in (charging, ledger_module):
        patch.setattr(module, "request_for", written)


MILD = [{"event": "laplace", "count": "1/1", "cover": ["1/1", "2/1"], "scale": "f4240/1"}]


def test_an_approver_is_shown_what_is_asked_for_and_nothing_that_stands_beside(url):
    """Whoever may insert entries by SQL may write any members into a request: none of them says what it is."""
    governed(url)
    honest = [{"event": "pure", "count": "1", "cover": ["3", "7"], "epsilon": "0.1"}]
    with Ledger.open(url) as ledger:

        def asked(purpose, **beside):
            with pytest.MonkeyPatch.context() as patch:
                lying(patch, **beside)
                with pytest.raises(RefusedError) as refused:
                    ledger.charge_plan(plan("1/10", (3, 7)), purpose, by="cy", scope="team")
            wants = ledger.show()["requests"][-1]["wants"]
            return wants, page(url, refused.value.charge.entry - 1, 1)[0]

        wants, line = asked("a")
        assert line["plan"] == honest
        for purpose, beside in {"b": {"inner": {"plan": MILD}}, "c": {"outer": {"plan": MILD}}}.items():
            shown, line = asked(purpose, **beside)
            assert (shown, line["plan"]) == (
                {**wants, "purpose": purpose},
                honest if purpose == "c" else None,
            )
        forged = {"plan": MILD, "purpose": "mild", "scope": "other", "digest": plan_digest(plan("1/1000"))}
        _, line = asked("d", outer=forged)
        assert (line["plan"], line["purpose"], line["scope"]) == (honest, "d", "team")
        shown, _ = asked("e", inner={"units": [[3, 3]]})
        assert shown["units"] == [3, 7]
        with pytest.MonkeyPatch.context() as patch:
            lying(patch, inner={"epsilon": "6; approved by bo"})
            with pytest.raises((DpaccountError, ValueError)):
                ledger.set_scope("team", 6, by="ada")


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_a_plan_of_any_kind_is_known_again_by_its_digest(kind):
    event = SAMPLES[kind]
    relation = next(one for one in Relation if allowed(kind, one))
    asked = Plan(relation, (event, event))
    request = of_plan(budget(9, Fraction("1e-6"), "p", relation.value, "zcdp"), asked, "x")
    for within in (request, request.within("team"), request.within("team", "c", [(1, 5)])):
        facts = {**within.facts, "digest": within.digest}
        assert _names(facts, relation.value)
        assert not _names({**facts, "plan": facts["plan"][:1]}, relation.value)
        assert not _names({**facts, "scope": "else"}, relation.value)


def test_an_approval_ends_with_the_right_of_who_gave_it(url):
    governed(url)
    with Ledger.open(url) as ledger:
        with pytest.raises(RefusedError) as asked:
            ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team")
        give = lambda who: ledger.grant("eve", ["approve"], by=who)  # noqa: E731
        twice("ada", lambda number: ledger.approve(number, "bo"), give)
        ledger.approve(asked.value.charge.entry, "eve")
        ledger.grant("eve", [], scope="*", by="ada")
        with pytest.raises(RefusedError, match="nobody has approved it yet, or not since"):
            ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team")
        for number in (-1, 0, 2**63, True, "1"):
            with pytest.raises((InputError, BudgetError)):
                ledger.approve(number, "bo")


def test_an_approval_can_be_taken_back_and_given_again_by_another(url):
    """What was approved by somebody who has left waits for nobody for ever; who leaves leaves no request behind."""
    governed(url)
    with Ledger.open(url) as ledger:
        twice(
            "ada",
            lambda number: ledger.approve(number, "bo"),
            lambda who: ledger.grant("fay", ["arrange"], by=who),
        )
        number = ledger.reset("r", by="ada").number
        ledger.approve(number, "bo")
        with pytest.raises(BudgetError, match="is approved, and was not made yet"):
            ledger.approve(number, "fay")
        ledger.approve(number, "bo", approved=False)  # taken back
        number = ledger.reset("r", by="ada").number
        ledger.approve(number, "bo")
        ledger.grant("bo", [], scope="*", by="fay")
        with pytest.raises(BudgetError, match="nobody has approved it yet, or not since"):
            ledger.reset("r", by="ada")
        ledger.approve(number, "fay")
        assert ledger.reset("r", by="ada").kind == "reset"
        with pytest.raises(RefusedError) as asked:
            ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team")
        give = lambda who: ledger.grant("bo", ["approve"], by=who)  # noqa: E731
        twice("ada", lambda number: ledger.approve(number, "fay"), give)
        ledger.approve(asked.value.charge.entry, "bo")
        ledger.grant("cy", [], scope="*", by="ada")
        give = lambda who: ledger.grant("cy", ["request"], scope="team", by=who)  # noqa: E731
        twice("ada", lambda number: ledger.approve(number, "fay"), give)
        with pytest.raises(RefusedError, match="asks for it"):  # the approval of before does not count
            ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team")
        assert ledger.verify() == VALID
    assert recounted(url)


def changed(ledger, way):
    """Change in one way what an approval of bo's for cy, or of ada's requests, rests on."""
    if way == "who approved comes back":
        ledger.grant("bo", ["approve"], until=SOON, by="ada")
    elif way == "a right of who asked is shortened":
        ledger.grant("cy", ["request"], scope="team", until=SOON, by="ada")
    elif way == "who would get it leaves":
        ledger.grant("di", [], scope="*", by="ada")
    elif way == "the cap is lowered":
        ledger.set_scope("team", 4, by="bo")


@pytest.mark.parametrize("lives_by", ["its end", "an earlier version's rule"])
def test_an_approval_holds_only_in_the_state_in_which_it_was_given(url, monkeypatch, lives_by):
    """One without an end is of an earlier version: its entries are read as they were meant, and stay valid."""
    governed(url)
    kept, day = lives_by != "its end", [TODAY]
    monkeypatch.setattr(entries, "now", lambda: f"{day[0]}T12:00:00+00:00")
    waits = "entry [0-9]+ (asked for it, and nobody|was approved until)"
    with Ledger.open(url) as ledger:
        acts = {
            "who approved comes back": lambda: ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team"),
            "a right of who asked is shortened": lambda: ledger.charge_plan(
                plan("1/10"), "y", by="cy", scope="team"
            ),
            "who would get it leaves": lambda: ledger.grant("di", ["charge"], scope="other", by="ada"),
            "the cap is lowered": lambda: ledger.set_scope("team", 6, by="ada"),
            "time": lambda: ledger.reset("new data", by="ada"),
        }
        for way, act in acts.items():
            try:
                number = act().number
            except RefusedError as asked:
                number = asked.charge.entry
            if kept:
                ledger._arrange("approval", {"request": number, "approved": True}, "bo")
            else:
                ledger.approve(number, "bo")
            changed(ledger, way)
            day[0] = "2027-01-01" if way == "time" else day[0]
            if kept:
                act()
            else:
                with pytest.raises(BudgetError, match=waits):
                    act()
                assert {one["entry"]: one["approved"] for one in ledger.show()["requests"]}[number] is None
        if not kept:
            number = ledger.show()["requests"][-1]["entry"]
            assert ledger.approve(number, "bo", valid_days=1).kind == "approval"
            day[0] = "2027-01-02"
            assert acts["time"]().kind == "reset"
        assert ledger.verify() == VALID
    assert recounted(url)


def test_an_approval_may_not_hold_for_ever(url, capsys):
    governed(url)
    with Ledger.open(url) as ledger:
        number = ledger.reset("x", by="ada").number
        for days in (0, 367, -1):
            with pytest.raises(InputError, match="from 1 to 366"):
                ledger.approve(number, "bo", valid_days=days)
        for end in ("9999-12-31", "2020-01-01", "20270101"):
            with pytest.raises(InputError, match="an approval ends on"):
                ledger._arrange("approval", {"request": number, "approved": True, "until": end}, "bo")
    assert run(["ledger", "approve", url, str(number), "--by", "bo", "--valid-days", "7"]) == 0
    assert "until 20" in log(url)[-1]["reason"]


@pytest.mark.parametrize("steps", [[[1, "zz"]], [[1, "-3"]], [[1, "1/0"]], [[2, "1"], [1, "1"]]])
def test_a_request_of_malformed_amounts_is_a_bad_entry_and_breaks_nothing_for_others(url, steps):
    governed(url)
    facts = {"digest": "sha256:" + "0" * 64, "events": 1, "scope": "team", "steps": steps}
    with Ledger.open(url) as ledger, pytest.MonkeyPatch.context() as patch:
        with pytest.raises((DpaccountError, ValueError)):
            ledger._arrange("request", {"asks": "charge", "facts": facts}, "cy")
        assert ledger.show()["requests"] == []
        patch.setattr("dpaccount.ledger.balances.bodies.Requested.check", lambda *_: None)
        written = ledger._arrange("request", {"asks": "charge", "facts": facts}, "cy")
        patch.undo()
        with pytest.raises(LedgerError, match="an entry cannot be read"):
            ledger.show()
    assert verify(url)["first_bad"] == written.number


def test_a_grant_sets_the_day_anew_after_a_clock_that_was_ahead(url, monkeypatch):
    governed(url)
    day = [TODAY]
    monkeypatch.setattr(entries, "now", lambda: f"{day[0]}T00:00:00+00:00")
    with Ledger.open(url) as ledger:
        give = lambda who: ledger.grant("eve", ["charge"], until=LATER, by=who)  # noqa: E731
        twice("ada", lambda number: ledger.approve(number, "bo"), give)
        day[0] = "2099-01-01"
        ledger.set_clock(by="ada")
        ledger.charge_plan(plan("1/10"), "x", by="di", scope="team/a")
        day[0] = "2026-12-02"
        with pytest.raises(RefusedError, match="eve may not charge"):
            ledger.charge_plan(plan("1/10"), "x", by="eve")
        ledger.grant("ada", ["arrange"], by="ada")
        ledger.charge_plan(plan("1/10"), "x", by="eve")
        with pytest.raises(InputError, match="has no end"):
            ledger.grant("eve", [], until=LATER, by="ada")
        assert ledger.verify() == VALID
    assert recounted(url)


def test_a_clock_is_believed_by_one_who_may_arrange_and_set_back_by_two(url, monkeypatch):
    governed(url)
    day = [TODAY]
    monkeypatch.setattr(entries, "now", lambda: f"{day[0]}T00:00:00+00:00")
    with Ledger.open(url) as ledger:
        ledger.set_scope("month", 1, by="ada", every="month")
        day[0] = "2099-01-01"
        with pytest.raises(BudgetError, match="di may not arrange"):
            ledger.set_clock(by="di")
        assert ledger.set_clock(by="ada").kind == "clock"
        ledger.set_scope("month", Fraction(1, 2), by="ada")
        day[0] = "2026-12-02"
        with pytest.raises(BudgetError, match="di may not"):
            ledger.set_clock("2099", by="di")
        with pytest.raises(InputError, match="set them right with --reason"):
            ledger.set_clock(by="ada")
        asked = ledger.set_clock("2099", by="ada")
        assert asked.kind == "request"
        assert ledger.set_clock("2099", by="bo").kind == "request"
        with pytest.raises(BudgetError, match="another person must approve it"):
            ledger.approve(asked.number, "ada")
        with pytest.raises(BudgetError, match="nobody has approved it yet"):
            ledger.set_clock("2099", by="ada")
        ledger.approve(asked.number, "bo")
        day[0] = "2099-03-01"  # what was approved was to set right one month
        ledger.set_scope("month", Fraction(1, 3), by="ada")
        day[0] = "2026-12-02"
        with pytest.raises(BudgetError, match="nobody has approved it yet, or not since"):
            ledger.set_clock("2099", by="ada")
        ledger.approve(asked.number, "bo")
        assert ledger.set_clock("2099", by="ada").kind == "clock"
        assert ledger.set_clock(by="bo").kind == "clock"  # nothing is ahead any more
        assert [one["period"] for one in ledger.show()["scopes"] if "period" in one] == ["2026-12"]
        assert ledger.verify() == VALID
    assert recounted(url)


def test_requests_of_earlier_versions_keep_their_names(url):
    """The name has the members that they had: with a later one a valid chain would be another."""
    governed(url)
    with Ledger.open(url) as ledger:
        asked = ledger.set_scope("team", 7, by="ada")
        with ledger._store.reading() as rows:
            names = dict(ledger._totals(rows).state(rows.node).register.items())
        scope = {"scope": "team", "epsilon": "7", "delta": "0", "every": None}
        assert names[rights.asked_name("ada", ["ScopeBody", scope])].entry == asked.number


def test_nobody_is_asked_to_approve_what_can_never_be_done(url):
    governed(url)
    with Ledger.open(url) as ledger:
        with pytest.raises(InputError, match="cannot change"):
            ledger.set_scope("team", 9, by="ada", every="week")
        ledger.name_cohort("ends", [(1, 5), (90, 100)], by="ada")
        with pytest.raises(RefusedError):
            ledger.charge_plan(plan("1/10"), "x", by="cy", scope="team", cohort="ends")
        with pytest.raises(RefusedError):
            ledger.reserve_plan(plan("1/100"), "x", "k", rounds=7, by="cy", scope="team")
        first, second = (one["wants"] for one in ledger.show()["requests"])
        assert (first["units"], first["cohort"]) == ([(1, 5), (90, 100)], "ends")
        assert (second["rounds"], second["epsilon"]) == (7, 0.07)


@pytest.mark.parametrize("parts", [False, True])
def test_a_request_is_not_asked_anew_in_other_words_under_its_key(url, parts):
    """It would wait for ever, beside one that is approved: the answer names what differs."""
    governed(url)
    with Ledger.open(url) as ledger:

        def act(purpose, key, size="1/10"):
            how = ledger.reserve_plan if parts else ledger.charge_plan
            return how(plan(size), purpose, key, by="cy", scope="team")

        def refused(*args):
            with pytest.raises(RefusedError) as error:
                act(*args)
            return error.value.charge

        first = refused("weekly", "k").entry
        ledger.approve(first, by="bo")
        again = refused("plan", "k")
        assert again.entry is None
        assert f"entry {first} under this key has purpose 'weekly'; repeat it so" in again.reason
        assert refused("plan", "another").entry == first + 2  # the approval is between them
        assert refused("plan", "k", "1/5").entry == first + 3
        paid = act("weekly", "k")
        repeat = act("plan", "k")
        assert (repeat.entry, repeat.known) == (paid.entry, True)
        if not parts:
            named = [(f"sha256:{sign * 64}", "1") for sign in "ab"]
            says = r"has certificate 'sha256:aaaa.*; repeat it so|another person"
            for one in named:
                with pytest.raises(RefusedError, match=says) as error:
                    ledger.charge_plan(plan(), "x", "n", by="cy", scope="team", certificate=one)
            assert error.value.charge.entry is None
        assert ledger.verify() == VALID
    assert recounted(url)
