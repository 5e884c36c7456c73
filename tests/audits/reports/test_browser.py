"""Reports in a real browser: headless Chromium shows them, folds them and prints them.

Chromium and its driver are Debian's packages chromium and chromium-driver; without them these tests are
skipped, and .ci/run installs them.  One browser serves the module, and its limits are far beyond what a busy
machine needs.  Nothing is tried twice.
"""

import base64
import copy
import json
import re
import shutil
import unicodedata
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfReader
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from audits import cli
from audits.certificate.document import seal
from audits.reports import page
from tests.audits.reports.test_reports import HOSTILE, RECEIVED, TITLES, released
from tests.depth import deep

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no browser: install the packages chromium and chromium-driver"
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
PATIENCE = 300  #: seconds; a loaded machine is slow, and not wrong
PAPER = {"A4": (8.27, 11.69), "Letter": (8.5, 11.0)}  #: inches
BLOCKS = "h1, h2, p, li, th, td, summary, pre, figcaption, svg text"  #: every text of a page stands in one
MARGIN = 18 / 25.4  #: of the page's own rule
#: Every word of the texts of a page that stands on more than one line, digests and hyphens aside.
BROKEN = r"""
const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  if (node.parentElement.closest('pre, .long, svg') || !node.parentElement.checkVisibility()) continue;
  for (const word of node.data.matchAll(/\d[\w.+]*(?:e-\d+)?|[\p{L}_]+/gu)) {
    const range = document.createRange();
    range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(word[0]);
  }
}
return found;
"""
#: Every element whose text is wider than its box, what scrolls by design aside.
SPILT = """
const wide = [...document.querySelectorAll('main *')].filter(each =>
  each.clientWidth && each.scrollWidth > each.clientWidth + 1 && !each.closest('svg') && getComputedStyle(each).overflowX !== 'auto');
if (document.documentElement.scrollWidth > window.innerWidth) wide.push(document.documentElement);
return wide.map(each => each.tagName + ': ' + each.textContent.slice(0, 60));
"""
#: Texts of pictures that leave their frame, or lie upon another text.
CROSSED = """
const found = [];
for (const picture of document.querySelectorAll('svg')) {
  const frame = picture.getBoundingClientRect(), seen = [];
  for (const each of picture.querySelectorAll('text')) {
    const box = each.getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      found.push('outside: ' + each.textContent);
    for (const other of seen) if (box.left < other.right && other.left < box.right && box.top + 2 < other.bottom && other.top + 2 < box.bottom)
      found.push('upon another: ' + each.textContent);
    seen.push(box);
  }
}
return found;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Yield one browser with an empty profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.command_executor.client_config.timeout = PATIENCE
    driver.set_page_load_timeout(PATIENCE)
    driver.set_script_timeout(PATIENCE)
    yield driver
    driver.quit()


@pytest.fixture
def certificate():
    return json.loads(RECEIVED.read_text())


class Shown:
    """A page in the browser."""

    def __init__(
        self, browser, file: Path, text: str | None = None, width: int = 1200, scheme: str = "light", media=""
    ):
        if text is not None:
            file.write_text(text)
        self.browser = browser
        browser.get_log("browser")  # what an earlier page said
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", features=features, media=media)
        frame = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", **frame)
        browser.get(file.as_uri())

    def tell(self, command, **words):
        return self.browser.execute_cdp_cmd(command, words)

    def ask(self, script, *words):
        return self.browser.execute_script(script, *words)

    def colour(self, name):
        colour = self.ask(f"return getComputedStyle(document.body).{name}")
        return [int(part) for part in re.findall(r"\d+", colour)[:3]]

    def printed(self, paper):
        wide, high = PAPER[paper]
        sheet = self.tell("Page.printToPDF", paperWidth=wide, paperHeight=high, printBackground=True)
        return PdfReader(BytesIO(base64.b64decode(sheet["data"])))


@deep
def test_a_report_shows_its_verdict_and_the_console_is_silent(browser, certificate, tmp_path):
    shown = Shown(browser, tmp_path / "report.html", page.html(certificate))
    assert browser.title == "CERTIFIED: histogram"
    assert shown.ask("return document.querySelector('h1').innerText") == "CERTIFIED histogram"
    headings = shown.ask("return [...document.querySelectorAll('h2')].map(each => each.innerText)")
    assert [*headings[:1], *headings[2:]][0] == "In plain words"
    assert all(any(title in heading for heading in headings) for title in TITLES)
    cells = shown.ask("return [...document.querySelectorAll('td')].map(each => each.innerText)")
    assert certificate["guarantee"]["unit"] in cells
    assert certificate["digest"] in cells
    assert browser.get_log("browser") == []


ENDS = {"low": [1, 60, 790], "high": [9, 90, 801], "level": 0.95, "of": "counts"}


def hostile(certificate):
    """Return a certificate with markup, long words and numbers wherever people may write."""
    certificate = copy.deepcopy(certificate)
    certificate["claim"]["governance"] = {
        "purpose": HOSTILE, "owner": "w" * 300, HOSTILE: HOSTILE, "why_epsilon": "a sentence of many words " * 20
    }  # fmt: skip
    certificate["guarantee"]["unit"] = HOSTILE
    certificate["claim"]["name"] = HOSTILE
    return certificate


@deep
@pytest.mark.parametrize("width", [1200, 390])
def test_text_stays_in_its_boxes_and_words_whole(browser, certificate, tmp_path, width):
    released(certificate)["release"]["report"] = {"counts": [3, 70, 800], "accuracy": {"counts": ENDS}}
    plain, odd = page.html(certificate, unfolded=True), page.html(hostile(certificate))
    shown = Shown(browser, tmp_path / "report.html", plain, width)
    assert shown.ask(BROKEN) == []
    for text in (plain, odd):
        shown = Shown(browser, tmp_path / "report.html", text, width)
        assert shown.ask(SPILT) == []
        assert shown.ask(CROSSED) == []


@deep
def test_the_measures_see_what_they_are_for(browser, tmp_path):
    """A page that breaks words, spills text and lays texts upon each other is found to do so."""
    bad = (
        "<main><p style='width: 3ch; overflow-wrap: anywhere'>fromage</p>"
        "<p style='width: 3ch; white-space: nowrap'>never within</p>"
        "<svg viewBox='0 0 90 20' width=90><text x=5 y=15>one</text><text x=8 y=15>two</text>"
        "<text x=80 y=15>three</text></svg></main><script>console.error('heard')</script>"
    )
    shown = Shown(browser, tmp_path / "bad.html", bad)
    assert shown.ask(BROKEN) == ["fromage"]
    assert shown.ask(SPILT) == ["P: never within"]
    assert shown.ask(CROSSED) == ["upon another: two", "outside: three"]
    (heard,) = browser.get_log("browser")
    assert "heard" in heard["message"]


@deep
def test_markup_in_words_and_file_names_is_inert(browser, certificate, tmp_path):
    folder = tmp_path / "<img src=x onerror=document.title=1>"
    folder.mkdir()
    certificate = {
        **hostile(certificate),
        "claim": {**certificate["claim"], "governance": {HOSTILE: HOSTILE}},
    }
    (folder / "certificate.json").write_text(json.dumps(seal(certificate)))
    assert cli.run(["report", str(folder / "certificate.json")]) == 0
    assert cli.run(["report", str(tmp_path)]) == 0
    for file in (folder / "report.html", tmp_path / "index.html"):
        shown = Shown(browser, file)
        assert shown.ask("return document.querySelectorAll('script, img, iframe, [onerror]').length") == 0
        assert HOSTILE in shown.ask("return document.body.textContent")
        assert browser.get_log("browser") == []
    shown = Shown(browser, tmp_path / "index.html", width=420)
    assert shown.ask(BROKEN) + shown.ask(SPILT) == []
    link = shown.ask("return document.querySelector('td a').href")
    browser.get(link)
    assert browser.title == "CERTIFIED: histogram"


@deep
def test_dark_is_dark_and_light_is_light(browser, certificate, tmp_path):
    for scheme, least, most in (("light", 200, 80), ("dark", 80, 200)):
        shown = Shown(browser, tmp_path / "report.html", page.html(certificate), scheme=scheme)
        ground, ink = shown.colour("backgroundColor"), shown.colour("color")
        assert (min(ground) > least, max(ink) < most) == (scheme == "light",) * 2
        assert abs(sum(ground) - sum(ink)) > 450  # black on white is 765


@deep
@pytest.mark.parametrize("paper", PAPER)
def test_nothing_is_cut_on_paper(browser, certificate, tmp_path, paper):
    """The words of the printed pages are the words of the page, and all of them lie within the paper."""
    text, (wide, high) = page.html(certificate, unfolded=True), PAPER[paper]
    inner = round((wide - 2 * MARGIN) * 96)
    shown = Shown(browser, tmp_path / "report.html", text, inner, media="print")
    assert shown.ask(SPILT) + shown.ask(BROKEN) + shown.ask(CROSSED) == []
    shown = Shown(browser, tmp_path / "report.html", text, scheme="dark")
    words, places, pages = "", [], shown.printed(paper).pages
    for sheet in pages:
        words += letters(sheet.extract_text(visitor_text=lambda *said: places.append(place(*said))))
        assert [round(float(side) / 72, 1) for side in sheet.mediabox[2:]] == [round(wide, 1), round(high, 1)]
    assert len(pages) > 3
    assert all(MARGIN - 0.01 < each[0] < wide - MARGIN and 0 < each[1] < high for each in places if each)
    blocks = shown.ask(
        "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent)", BLOCKS
    )
    for block in sorted(map(letters, blocks), key=len, reverse=True):
        assert block in words, block
        words = words.replace(block, "", 1)
    # what is left are the numbers of the contents and the heads of tables that go on on another page
    heads = shown.ask("return [...document.querySelectorAll('thead')].map(each => each.textContent)")
    left = re.sub("|".join(sorted(map(letters, heads), key=len, reverse=True)), "", words)
    assert re.fullmatch(r"\d*", left), left


def place(text, outer, inner, *_):
    """Return where a text of a PDF begins, in inches, as pypdf's visitor is told."""
    if not text.strip():
        return None
    (a, b, c, d, e, f), (x, y) = outer, inner[4:]
    return (a * x + c * y + e) / 72, (b * x + d * y + f) / 72


def letters(text: str) -> str:
    """Return the letters and digits of a text: where a line ends is the paper's affair."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", text))
