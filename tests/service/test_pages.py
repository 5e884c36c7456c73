"""Pages of the service: what they show to whom, forms of other sites, and how they look in a real browser."""

import http.client
import json
from urllib.parse import urlencode

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from dpaccount.ledger.ledger import Ledger
from service import pages
from tests.audits.reports.test_browser import CHROMIUM, DRIVER, PATIENCE, SPILT, browser  # noqa: F401 - a fixture
from tests.depth import deep

PLAN = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "laplace", "scale": 10}],
}
HOSTILE = "<script>alert(1)</script>"


def visit(served, path="/pages", person=None, form=None, **headers):
    """Return the status, the headers and the text of a page."""
    if person is not None:
        headers["Cookie"] = f"dpaccount-token={served.secrets.get(person, person)}"
    link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    body = urlencode(form) if isinstance(form, dict) else form
    link.request("GET" if form is None else "POST", path, body, headers)
    got = link.getresponse()
    text = got.read().decode()
    link.close()
    return got.status, got.headers, text


@pytest.fixture
def team(served):
    """Return a service whose ledger has people with rights, and a request of ada that waits."""
    served.ids["olga"], served.secrets["olga"] = served.tokens.add("olga", None, None, arrange=True)
    for person, may in (("officer", ["arrange", "approve"]), ("olga", ["arrange", "approve"])):
        with Ledger.open(f"{served.ledger}?by=officer") as ledger:
            ledger.grant(person, may)
    asked = {"plan": PLAN, "purpose": f"weekly {HOSTILE}", "scope": "team", "key": "w1"}
    with Ledger.open(f"{served.ledger}?by=officer") as ledger:
        entry = ledger.grant("ada", ["request"], scope="team").number
    with Ledger.open(f"{served.ledger}?by=olga") as ledger:
        ledger.approve(entry)
    with Ledger.open(f"{served.ledger}?by=officer") as ledger:
        ledger.grant("ada", ["request"], scope="team")
    status, answer = served.ask("POST", "/v1/charges", asked)
    assert status == 409
    served.asked, served.wanted = answer["charge"]["entry"], asked
    return served


def test_without_a_token_a_page_asks_for_one(served):
    status, headers, text = visit(served)
    assert status == 200
    assert 'name="token"' in text
    assert "Scopes" not in text
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "script" not in headers["Content-Security-Policy"]
    for person in ("dpa_wrong", "é", ""):
        status, _, text = visit(served, "/pages/enter", form={"token": person})
        assert status == 401
        assert 'name="token"' in text


def test_a_token_is_kept_where_no_script_and_no_other_site_has_it(served):
    status, headers, _ = visit(served, "/pages/enter", form={"token": served.secrets["ada"]})
    assert (status, headers["Location"]) == (303, "/pages")
    cookie = headers["Set-Cookie"]
    assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/pages"} <= {*cookie.split("; ")}
    assert "Scopes" in visit(served, person="ada")[2]
    assert "Max-Age=0" in visit(served, "/pages/leave", person="ada", form={})[1]["Set-Cookie"]


def test_a_page_shows_what_its_reader_may_see_and_escapes_it(team):
    for person, seen in (("officer", True), ("ada", True), ("eve", False)):
        status, _, text = visit(team, person=person)
        assert status == 200
        assert ('<th scope="row">team</th>' in text) == seen
        assert ("weekly &lt;script&gt;" in text) == seen
        assert HOSTILE not in text
    text = visit(team, person="officer")[2]
    assert "laplace scale 10: each number ± 30" in text
    assert '<td data-label="asks for">charge, ε 0.1, scope team</td>' in text
    assert '<td data-label="in their words">purpose &#34;weekly &lt;script&gt;' in text
    assert "Report of the whole ledger" in text
    assert visit(team, "/pages/report", person="officer")[0] == 200
    assert visit(team, "/pages/report", person="ada")[0] == 403
    assert "Approve" not in visit(team, person="eve")[2]
    assert visit(team, person="eve", Authorization="Basic YTpi")[0] == 200  # of a proxy's own sign-in
    assert visit(team, person="eve", Authorization="Bearer YTpi")[0] == 401
    assert HOSTILE not in visit(team, "/pages/report", person="officer")[2]
    team.secrets["lead"] = team.tokens.add("lead", "team/eve", None, arrange=True)[1]
    assert "Report of the whole" not in visit(team, person="lead")[2]
    assert visit(team, "/pages/report", person="lead")[0] == 403


def test_a_request_is_approved_once_and_only_by_a_form_of_ones_own_page(team):
    form = {"request": team.asked, "approved": "true"}
    own = f"http://127.0.0.1:{team.port}"
    attempts = (
        (form, {"Sec-Fetch-Site": "cross-site"}, 403),
        (form, {"Sec-Fetch-Site": "same-site", "Origin": own}, 403),
        (form, {"Origin": "https://evil.example"}, 403),
        (form, {"Origin": "null"}, 403),
        (form, {"Origin": own}, 403),  # without TLS: anybody on the way may have written that page
        (form, {"Origin": f"{own}.evil.example"}, 403),
        ({**form, "request": "999999"}, {}, 409),
        ({**form, "request": "x"}, {}, 400),
        ({**form, "approved": "perhaps"}, {}, 400),
        ({"x": "y" * 20_000}, {}, 413),
    )
    for given, headers, status in attempts:
        assert visit(team, "/pages/decide", "olga", given, **headers)[0] == status
        if status == 403:  # nor as a program asks, behind a proxy that adds the token
            body, secret = json.dumps({"request": team.asked}), f"Bearer {team.secrets['olga']}"
            sent = {"Authorization": secret, "Content-Type": "text/plain", **headers}
            assert visit(team, "/v1/approval", form=body, **sent)[0] == 403
    for path in ("/pages", "/pages/report", "/v1/show"):
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert visit(team, path, "olga", Authorization=f"Bearer {team.secrets['olga']}", **link)[0] == 200
        link["Sec-Fetch-Mode"] = "no-cors"  # an image or a prefetch
        assert visit(team, path, "olga", Authorization=f"Bearer {team.secrets['olga']}", **link)[0] == 403
    assert team.ask("POST", "/v1/charges", team.wanted)[0] == 409  # nothing was approved
    text = visit(team, person="ada")[2]
    assert "Withdraw" in text
    assert "Approve" not in text
    assert visit(team, "/pages/decide", "ada", form)[0] == 409
    assert visit(team, "/pages/decide", "olga", form, **{"Sec-Fetch-Site": "same-origin"})[0] == 303
    assert "approved by olga" in visit(team, person="officer")[2]
    assert visit(team, "/pages/decide", "olga", form)[0] == 409
    assert team.ask("POST", "/v1/charges", team.wanted)[0] == 200


def test_who_asked_sees_what_was_decided_and_how_much_of_their_own_fits(team):
    team.secrets["of the team"] = team.tokens.add("ada", "team", None, arrange=False)[1]
    team.ask("POST", "/v1/approval", {"request": team.asked, "approved": False}, "olga")
    told = team.ask("GET", "/v1/log", person="of the team")[1]["entries"][-1]
    assert told["kind"] == "approval"
    for most in (1, 2, 5):  # whatever pages a client reads it in
        after, seen = -1, []
        while after is not None:
            page = team.ask("GET", f"/v1/log?after={after}&most={most}", person="of the team")[1]
            after, seen = page["next"], [*seen, *page["entries"]]
        assert seen[-1] == told
    assert (told["about"], told["by"], "approved False" in told["reason"]) == (team.asked, "olga", True)
    assert "approved False" in visit(team, person="of the team")[2]
    assert "approved False" not in visit(team, person="eve")[2]  # of another scope
    charge = {"plan": PLAN, "purpose": "x", "scope": "team"}
    with Ledger.open(f"{team.ledger}?by=officer") as ledger:
        ledger.grant("officer", ["charge"], scope="team")
    with Ledger.open(f"{team.ledger}?by=olga") as ledger:
        ledger.approve(ledger.show()["requests"][-1]["entry"])
    with Ledger.open(f"{team.ledger}?by=officer") as ledger:
        ledger.grant("officer", ["charge"], scope="team")
    assert team.ask("POST", "/v1/charges", charge, "officer")[0] == 200
    assert "more_like_last" in team.ask("GET", "/v1/show", person="of the team")[1]
    assert "more_like_last" not in team.ask("GET", "/v1/show", person="eve")[1]


def test_who_asked_may_take_it_back_and_nobody_else_of_the_scope(team):
    for person, name in (("ada", "of the team"), ("bob", "another")):
        team.secrets[name] = team.tokens.add(person, "team", None, arrange=False)[1]
    no = {"request": team.asked, "approved": False}
    assert team.ask("POST", "/v1/approval", no, "another")[0] == 403
    assert team.ask("POST", "/v1/approval", {**no, "approved": True}, "of the team")[0] == 403
    assert team.ask("POST", "/v1/approval", {"request": 1, "approved": False}, "of the team")[0] == 403
    assert team.ask("POST", "/v1/approval", {"request": 999, "approved": False}, "of the team")[0] == 403
    assert "Withdraw" in visit(team, person="of the team")[2]
    assert visit(team, "/pages/decide", "of the team", {"request": team.asked, "approved": "false"})[0] == 303
    assert "Withdraw" not in visit(team, person="of the team")[2]


def test_whatever_noise_a_request_names_its_page_is_shown(team):
    """Else a request could hide itself, and all others, from who decides."""
    noises = (
        ("laplace", {"scale": "1e390"}, ""),
        ("discrete_laplace", {"scale": "33/100"}, ": each number ± 1"),  # 0 alone comes 91 times of 100
        ("discrete_laplace", {"scale": "10/3"}, ": each number ± 10"),
        ("randomized_response", {"epsilon": "1/100"}, ""),
    )
    for number, (name, amounts, said) in enumerate(noises):
        plan = {**PLAN, "events": [{"event": name, **amounts}]}
        asked = {"plan": plan, "purpose": "x", "scope": "team", "key": f"n{number}"}
        team.ask("POST", "/v1/charges", asked)
        status, _, text = visit(team, person="olga")
        assert (status, said in text) == (200, True)


def test_many_requests_do_not_keep_a_page_waiting(team, monkeypatch):
    monkeypatch.setattr(pages, "LATEST", 2)
    for number in range(3):
        team.ask("POST", "/v1/charges", {**team.wanted, "purpose": f"other {number}", "key": f"o{number}"})
    text = visit(team, person="olga")[2]
    assert "The first 2 of 4." in text
    assert text.count(">Approve<") == 2


def test_no_log_has_a_token(team, capfd):
    visit(team, person="olga")
    visit(team, "/pages/enter", form={"token": team.secrets["olga"]})
    visit(team, "/pages/decide", "olga", {"request": team.asked, "approved": "false"})
    lines = capfd.readouterr().err
    assert team.secrets["olga"] not in lines
    assert {json.loads(line)["what"] for line in lines.splitlines()} >= {"page /pages", "page /pages/decide"}


@deep
@pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no browser: install the packages chromium and chromium-driver"
)
def test_a_person_signs_in_and_approves_by_keyboard(team, browser, tmp_path):  # noqa: F811
    """On a phone and a desktop, light and dark: nothing spills, no message of the browser, no script."""
    team.ask("POST", "/v1/charges", {**team.wanted, "key": "w2", "purpose": "a purpose of many words " * 9})
    place = f"http://127.0.0.1:{team.port}/pages"
    browser.get(place)
    browser.get_log("browser")
    typed = webdriver.ActionChains(browser)
    browser.find_element(By.NAME, "token").click()
    typed.send_keys(team.secrets["olga"], Keys.ENTER).perform()
    WebDriverWait(browser, PATIENCE).until(lambda page: "Scopes" in page.page_source)
    seen = set()
    for width, scheme in ((360, "light"), (360, "dark"), (1200, "light"), (1200, "dark")):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(place)
        assert browser.execute_script(SPILT) == []
        seen.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        browser.save_screenshot(str(tmp_path / f"{width} {scheme}.png"))
    assert len(seen) == 2
    for _ in range(30):
        webdriver.ActionChains(browser).send_keys(Keys.TAB).perform()
        focused = browser.switch_to.active_element
        if (focused.get_attribute("aria-label") or "").startswith("Approve"):
            break
    assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    focused.send_keys(Keys.ENTER)
    WebDriverWait(browser, PATIENCE).until(lambda page: "approved by olga" in page.page_source)
    assert browser.get_log("browser") == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
