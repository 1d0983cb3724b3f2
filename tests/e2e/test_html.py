"""The page of a diff, looked at in a real browser: read on a phone and a desk, in light and dark, on paper, and by a
reader of screens."""

import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import unpack

import pytest

from fingerprint.words import clean
from tests.browser import Browser, browser, needs_browser
from tests.e2e.conftest import Cli
from tests.report.hostile import HOSTILE, hostile_page

pytestmark = [pytest.mark.browser, needs_browser]
STORY = Path(__file__).parent.parent.parent / "examples/story"

# All but the states, of which there are thousands of facts, is unfolded; of these the two that differ most in kind.
UNFOLDED = """document.querySelectorAll("details:not(#states > *), #states > :is(:nth-child(2), :nth-child(7))")
  .forEach((it) => { it.open = true; })"""
# Of each text that is shown: the contrast of its colour with what is behind it, by WCAG 2's formula.
CONTRAST = """(() => {
  const channels = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (c) => { c /= 255; return c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
    return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  };
  const behind = (at) => {
    for (; at; at = at.parentElement) {
      const [r, g, b, a] = channels(getComputedStyle(at).backgroundColor);
      if (a === undefined || a > .5) return [r, g, b];
    }
    return null;
  };
  const worst = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const at = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !at.checkVisibility() || ["SCRIPT", "TITLE", "title"].includes(at.tagName))
      continue;
    const style = getComputedStyle(at);
    const color = channels(at.closest("svg") ? style.fill : style.color);
    const [dim, bright] = [light(color), light(behind(at))].sort((a, b) => a - b);
    worst.push([(bright + .05) / (dim + .05), walk.currentNode.data.slice(0, 40)]);
  }
  return worst.sort((a, b) => a[0] - b[0]).slice(0, 3);
})()"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the made-up story: 8 GPUs, three starts each."""
    folder = tmp_path_factory.mktemp("page")
    runs = (str(STORY / "run-A.json"), str(STORY / "run-B.json"))
    html = Cli(folder)("diff", *runs, "--format", "html", status=1).stdout
    (folder / "diff.html").write_text(html, encoding="utf-8")
    return folder / "diff.html"


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(360, False, id="360-light"),
        pytest.param(1280, True, id="1280-dark"),
        pytest.param(768, False, id="768-light", marks=pytest.mark.long),
        pytest.param(768, True, id="768-dark", marks=pytest.mark.long),
        pytest.param(360, True, id="360-dark", marks=pytest.mark.long),
        pytest.param(1280, False, id="1280-light", marks=pytest.mark.long),
    ],
)
def test_the_page_is_quiet_fits_its_width_and_can_be_read(
    chromium: Browser, page: Path, width: int, *, dark: bool
) -> None:
    chromium.open(page, width=width, dark=dark)
    assert chromium.told == []
    assert chromium.requests == [page.as_uri()]
    assert colours(chromium.screenshot()) > 20
    chromium.ask(UNFOLDED)
    assert chromium.ask("document.documentElement.scrollWidth") == width
    contrast, text = chromium.ask(CONTRAST)[0]
    assert contrast >= 4.5, text


def colours(png: bytes) -> int:
    """How many values its bytes have, inflated: a blank page has two or three."""
    data, at = b"", 8
    while at < len(png):
        length, kind = unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    return len(set(zlib.decompress(data)))


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_cut_off_or_lies_outside(chromium: Browser, page: Path, width: int) -> None:
    chromium.open(page, width=width)
    chromium.ask(UNFOLDED)
    outside = chromium.ask(
        "(() => { const end = document.querySelector('header').getBoundingClientRect().right + 1;"
        "return [...document.querySelectorAll('main *:not(.wide *)')]"
        ".filter((it) => it.checkVisibility() && !it.closest('thead') && it.getBoundingClientRect().right > end)"
        ".map((it) => it.outerHTML.slice(0, 80)); })()"
    )
    assert outside == []


def test_what_it_says_stands_in_an_order_that_is_heard_as_well(chromium: Browser, page: Path) -> None:
    chromium.open(page, width=1280)
    levels = chromium.ask("[...document.querySelectorAll('h1, h2, h3')].map((it) => Number(it.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for every, has in (("th", "scope"), ("svg[role=img]", "querySelector('title')"), ("input", "labels.length")):
        assert chromium.ask(f"[...document.querySelectorAll('{every}')].filter((it) => !it.{has}).length") == 0
    assert chromium.ask("document.documentElement.lang") == "en"


def test_a_fact_is_found_among_all_that_were_read(chromium: Browser, page: Path) -> None:
    chromium.open(page, width=1280)
    chromium.ask(
        "(() => { const field = document.getElementById('search'); field.value = 'NUMA_NODE';"
        " field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    shown = chromium.ask(
        "[...document.querySelectorAll('#states tbody tr')].filter((it) => it.checkVisibility())"
        ".map((it) => it.textContent)"
    )
    assert len(shown) == 16
    assert all("numa_node" in row for row in shown)
    assert chromium.ask("document.querySelector('#find output').textContent") == "16 facts"


def test_without_scripts_all_is_there_but_the_search(chromium: Browser, page: Path) -> None:
    chromium("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(page, width=360)
    finally:
        chromium("Emulation.setScriptExecutionDisabled", value=False)
    assert chromium.ask("document.getElementById('find').checkVisibility()") is False
    assert chromium.ask("document.querySelectorAll('#states tbody tr').length") > 2000


def test_on_paper_it_is_black_on_white_whatever_the_screen_was(chromium: Browser, page: Path) -> None:
    chromium.open(page, width=1280, dark=True)
    chromium("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert chromium.ask("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert chromium.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert chromium.ask("document.getElementById('find').checkVisibility()") is False
    assert chromium.ask(CONTRAST)[0][0] >= 4.5
    assert chromium.pdf().startswith(b"%PDF-")


@pytest.mark.parametrize("text", HOSTILE)
def test_what_comes_from_outside_is_shown_and_never_run(chromium: Browser, tmp_path: Path, text: str) -> None:
    (tmp_path / "hostile.html").write_text(hostile_page(text), encoding="utf-8")
    chromium.open(tmp_path / "hostile.html", width=360)
    assert chromium.told == []
    assert chromium.requests == [(tmp_path / "hostile.html").as_uri()]
    assert chromium.ask("typeof window.entered") == "undefined"
    assert chromium.ask("document.querySelectorAll('script').length") == 1
    assert chromium.ask("document.documentElement.scrollWidth") == 360
    assert chromium.ask("document.querySelector('h1').textContent").startswith(clean(text)[:20])
